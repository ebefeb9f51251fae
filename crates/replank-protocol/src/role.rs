//! What a node is to a run, and how that is marked.

use replank_model::time::Time;
use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::owner::Owner;

/// What is written on a node beside a cordon, so that anybody can see whose it is and a later run can clear it. How it is
/// written: [`crate::mark::laid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    /// Which part of Replank has the node.
    pub owner: Owner,
    /// What the node is to the run.
    pub role: NodeRole,
    /// Since when the run has had the node.
    pub since: Time,
    /// When the mark may be cleared by anybody, should its owner be gone.
    pub expires: Time,
}

/// What a node is to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum NodeRole {
    /// To be replaced, not yet begun.
    Queued,
    /// To be replaced, not yet begun, and not cordoned: it takes pods that find no room elsewhere (`provider: external`).
    Listed,
    /// Being drained.
    Draining {
        /// When the first pod may be moved.
        from: Time,
    },
    /// Not drained any further for now, because what is left on it cannot be moved: not cordoned, until it is taken up again.
    Postponed {
        /// How often that has happened.
        times: u32,
    },
    /// Left out of the run, because a batch pod outlived its deadline: not cordoned.
    Skipped,
    /// A new node that is to go again, because the run ends before it was needed.
    Surplus,
    /// Replaced and empty, and kept for a while so that there is a way back (`retain.capacity: cordoned`).
    Retained,
    /// Empty: somebody else is to replace it (`provider: external`).
    Drained,
    /// Taken away by something that nobody here decides, and drained in the time that is left.
    Interrupted {
        /// By what.
        by: Cause,
        /// When it is gone for certain, where that is known.
        until: Option<Time>,
        /// Since when its pods are moved, where that was written down beforehand: always, where it may stay after all.
        from: Option<Time>,
    },
}

impl NodeRole {
    /// Whether pods may have been moved off a node of this role because of its interruption: if it stays, it is not capacity.
    #[must_use]
    pub fn depletes(self) -> bool {
        match self {
            Self::Interrupted { by, from, .. } => from.is_some() || !by.may_pass(),
            Self::Queued
            | Self::Listed
            | Self::Draining { .. }
            | Self::Postponed { .. }
            | Self::Skipped
            | Self::Surplus
            | Self::Retained
            | Self::Drained => false,
        }
    }

    /// The value of the annotation [`crate::mark::ROLE`].
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Listed => "listed",
            Self::Draining { .. } => "draining",
            Self::Postponed { .. } => "postponed",
            Self::Skipped => "skipped",
            Self::Surplus => "surplus",
            Self::Retained => "retained",
            Self::Drained => "drained",
            Self::Interrupted { .. } => "interrupted",
        }
    }

    /// Whether nodes of this role take no new pods.
    #[must_use]
    pub fn is_cordoned(self) -> bool {
        match self {
            Self::Queued
            | Self::Draining { .. }
            | Self::Surplus
            | Self::Retained
            | Self::Drained
            | Self::Interrupted { .. } => true,
            Self::Postponed { .. } | Self::Skipped | Self::Listed => false,
        }
    }
}
