//! What takes an instance away. Of several causes the first is the one that is told.

use serde::{Deserialize, Serialize};
use std::fmt;

/// See the module's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Cause {
    /// It is going down, or is down.
    Down,
    /// A spot instance is taken back.
    Spot,
    /// An instance of an interruptible capacity reservation is taken back.
    Reclaimed,
    /// AWS has scheduled a change for it.
    Scheduled,
    /// It is likely to be taken back soon.
    Rebalance,
    /// Its group ends it: by itself, or because it was asked to for one of the other causes.
    Terminating,
    /// Its group puts it back into the warm pool.
    Retreating,
}

impl Cause {
    const ALL: [Self; 7] = [
        Self::Down,
        Self::Spot,
        Self::Reclaimed,
        Self::Scheduled,
        Self::Rebalance,
        Self::Terminating,
        Self::Retreating,
    ];

    /// The value of the taint and of the annotation [`crate::mark::INTERRUPTED`].
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Down => "instance-down",
            Self::Spot => "spot-interruption",
            Self::Reclaimed => "capacity-reclaimed",
            Self::Terminating => "group-termination",
            Self::Retreating => "to-warm-pool",
            Self::Scheduled => "scheduled-change",
            Self::Rebalance => "rebalance-recommendation",
        }
    }

    /// The cause of such a value.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.as_str() == text)
    }

    /// Whether its instance may well stay: what takes away others comes within minutes, or has come.
    #[must_use]
    pub fn may_pass(self) -> bool {
        match self {
            Self::Scheduled | Self::Rebalance => true,
            Self::Down | Self::Spot | Self::Reclaimed | Self::Terminating | Self::Retreating => false,
        }
    }

    /// Whether its group launches another in its place by itself: not after what comes without a hook or the group's doing.
    pub fn is_of_group(self) -> bool {
        match self {
            Self::Terminating | Self::Retreating => true,
            Self::Down | Self::Spot | Self::Reclaimed | Self::Scheduled | Self::Rebalance => false,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
