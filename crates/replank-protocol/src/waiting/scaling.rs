//! Reasons of scaling: what new nodes and nodes that are not needed wait on.

use std::fmt;

use replank_model::text::GroupName;
use replank_model::time::Time;
use serde::{Deserialize, Serialize};

use super::finality::counted;
use crate::scaling::{GroupWhy, Hold};
use crate::subject::Hope;

/// What scaling waits on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ScalingWait {
    /// Pods that no node group helps.
    NoGroup {
        /// How many.
        pods: u32,
        /// What each group says.
        groups: Vec<(GroupName, GroupWhy)>,
    },
    /// Nodes that are added for pending pods.
    NewNodes {
        /// How many.
        count: u32,
        /// Until when they are waited for.
        until: Time,
    },
    /// A node that is not needed is not removed yet.
    NotNeeded {
        /// Why.
        hold: Hold,
    },
}

impl ScalingWait {
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::NoGroup { .. } => ("noGroup", "a node that no node group adds"),
            Self::NewNodes { .. } => ("newNodes", "nodes added for pending pods"),
            Self::NotNeeded { .. } => ("notNeeded", "scale-down: not needed"),
        }
    }

    pub(super) fn hope(&self) -> Hope {
        match self {
            Self::NewNodes { .. } | Self::NotNeeded { .. } => Hope::Moving,
            Self::NoGroup { .. } => Hope::Possible,
        }
    }
}

impl fmt::Display for ScalingWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGroup { pods, groups } => {
                let said: Vec<String> = groups.iter().map(|(group, why)| format!("{group} {why}")).collect();
                let said = if said.is_empty() { "no node group exists".to_owned() } else { said.join("; ") };
                write!(f, "a node for {}, which no node group adds: {said}", counted(*pods, "pod"))
            }
            Self::NewNodes { count, until } => {
                write!(f, "{} added for pending pods, expected by {until}", counted(*count, "node"))
            }
            Self::NotNeeded { hold } => write!(f, "scale-down: not needed; {hold}"),
        }
    }
}
