//! Which version of Kubernetes is served.

use std::fmt;

/// A version of Kubernetes 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

impl Release {
    /// The version whose behaviour is imitated.
    pub const LATEST: Self = Self { minor: 36, patch: 2 };
    /// The oldest that can be served: the last with `extensions/v1beta1` workloads.
    pub const OLDEST: Self = Self { minor: 15, patch: 0 };
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v1.{}.{}", self.minor, self.patch)
    }
}
