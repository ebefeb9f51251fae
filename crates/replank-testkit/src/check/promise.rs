//! What is promised, and what was found broken.

use std::fmt;

use replank_model::time::{Span, Time};

/// How late core may see things: the longest lag of a watch, a second for whole seconds, and a command's way.
pub(super) const SEEN_WITHIN: Span = Span::from_millis(3_200);

/// What is promised; see the module's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// Disruption budgets.
    S1,
    /// Batch pods.
    S2,
    /// Marks.
    S3,
    /// Capacity and sizes.
    S4,
    /// Ends of instances, moves of pods.
    S5,
    /// Nothing is done twice.
    S6,
    /// Rehearsals, and runs that are refused, have no effects.
    S7,
    /// Nothing is begun with what blocks.
    S9,
    /// What EKS owns is EKS's to change.
    S10,
    /// Gates.
    H1,
    /// Ways back.
    H2,
    /// Runs end.
    L1,
    /// Rest.
    L2,
    /// Queues.
    L4,
    /// What the driver shows is true.
    D1,
    /// What the driver calls done was done as the command says.
    D2,
}

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When.
    pub at: Time,
    /// Which.
    pub promise: Promise,
    /// How.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}: {}", self.promise, self.at, self.what)
    }
}

/// Where violations are put down.
pub(super) struct Found<'a> {
    pub(super) at: Time,
    pub(super) list: &'a mut Vec<Violation>,
}

impl Found<'_> {
    pub(super) fn broken(&mut self, promise: Promise, what: String) {
        self.list.push(Violation { at: self.at, promise, what });
    }
}
