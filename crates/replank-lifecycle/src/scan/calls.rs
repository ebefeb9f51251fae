//! Who called an API version that goes, and how often.

use crate::source::Place;
use crate::table::Gvk;

/// Who asks for what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Caller {
    /// What is asked for.
    pub used: Gvk,
    /// The user.
    pub user: String,
    /// The program, without its build.
    pub agent: String,
}

/// How often, and the latest of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Calls {
    pub(super) count: u64,
    pub(super) last: String,
    pub(super) first_seen: Option<Place>,
}

impl Calls {
    pub(super) fn add(&mut self, more: Calls) {
        self.count += more.count;
        self.last = std::mem::take(&mut self.last).max(more.last);
        self.first_seen = self.first_seen.take().or(more.first_seen);
    }
}
