//! What breaks a rule.

use std::fmt;

/// A dependency that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// The crate that has it.
    pub(super) owner: String,
    /// What it depends on, and through what.
    pub(super) dependency: String,
    /// Why it must not.
    pub(super) reason: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { owner, dependency, reason } = self;
        write!(f, "{owner}: depends on {dependency}: {reason}")
    }
}
