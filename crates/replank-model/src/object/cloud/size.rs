//! How many instances a group has.

use std::fmt;

/// Minimum, maximum and desired number of instances of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupSize {
    /// Lower bound.
    pub min: u32,
    /// Upper bound.
    pub max: u32,
    /// What the group works towards.
    pub desired: u32,
}

impl fmt::Display for GroupSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (min {}, max {})", self.desired, self.min, self.max)
    }
}
