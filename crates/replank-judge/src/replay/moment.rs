//! A moment of a rehearsal.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;

/// A time as the program prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Moment(Timestamp);

impl Moment {
    /// How long it is after another; nothing if it is before.
    pub(super) fn since(self, other: Self) -> Duration {
        Duration::try_from(self.0.duration_since(other.0)).unwrap_or_default()
    }
}

impl TryFrom<String> for Moment {
    type Error = jiff::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
