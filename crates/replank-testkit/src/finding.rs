//! Something that should not be, as an account of a cluster finds it.

use std::fmt;

use replank_model::time::Time;

/// One case of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding<F> {
    /// When.
    pub at: Time,
    /// What.
    pub fault: F,
    /// Which pods, and how.
    pub what: String,
}

impl<F: fmt::Debug> fmt::Display for Finding<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}: {}", self.fault, self.at, self.what)
    }
}
