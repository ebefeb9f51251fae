//! Why an interruption is not waited for any more.

use std::fmt;

use replank_model::time::Time;
use serde::{Deserialize, Serialize};

/// Why a case is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Release {
    /// Its instance might have been taken away, and nobody knows when; not all of its pods could be moved.
    GivenUp {
        /// Since when it was known.
        since: Time,
    },
    /// Its instance was to be gone by now, and runs on.
    Spared {
        /// When it was to be gone.
        until: Time,
    },
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GivenUp { since } => {
                write!(f, "has been known since {since} and did not happen, giving up")
            }
            Self::Spared { until } => write!(f, "was announced for {until} and did not happen"),
        }
    }
}
