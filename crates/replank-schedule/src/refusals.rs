//! What nodes refuse, kept per base.

use super::intern::Interned;
use super::plugin::Failure;

/// What the nodes object to by themselves.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusals {
    /// Up to where the log was read.
    pub(super) read: u64,
    /// Each node's objection.
    pub(super) of: Vec<u16>,
    /// Objections, and how many nodes have each.
    pub(super) kinds: Interned<Failure, (Failure, usize)>,
}

impl Refusals {
    pub(super) fn number(&mut self, failure: Failure) -> u16 {
        let known = self.kinds.find(&failure);
        let number = known.unwrap_or_else(|| self.kinds.insert(failure.clone(), (failure, 0)));
        u16::try_from(number).expect("a few resources fail in fewer than 2^16 ways")
    }
}
