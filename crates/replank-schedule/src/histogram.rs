//! How many nodes object for the same reason.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::plugin::Reason;

/// How many nodes object for each reason.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram(pub(super) BTreeMap<Reason, usize>);

impl Histogram {
    pub(super) fn add(&mut self, reasons: &[Reason], nodes: usize) {
        for reason in reasons.iter().filter(|_| nodes > 0) {
            *self.0.entry(reason.clone()).or_default() += nodes;
        }
    }

    /// As the scheduler words it (`FitError.Error`): the reasons are sorted with their counts, as texts.
    pub(super) fn message(&self, nodes: usize) -> String {
        let mut texts: Vec<String> =
            self.0.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        texts.sort();
        let mut message = format!("0/{nodes} nodes are available:");
        if !texts.is_empty() {
            write!(message, " {}.", texts.join(", ")).expect("a string takes everything");
        }
        message
    }
}
