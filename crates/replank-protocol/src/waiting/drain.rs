//! Reasons of a drain that a person has asked for: what nodes wait on, and which are not drained.

use std::fmt;

use replank_model::object::meta::Key;
use replank_model::time::Span;
use serde::{Deserialize, Serialize};

use super::finality::{Finality, counted};
use crate::policy::PodClass;
use crate::subject::Hope;

/// What the drain of a node waits on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum DrainWait {
    /// Nothing is evicted before every node is cordoned: what moves must not land on the next one.
    AllCordoned {
        /// Nodes that are not.
        nodes: u32,
    },
    /// Other nodes come first.
    DrainTurn {
        /// How many are being drained.
        active: u32,
        /// How many may be at once.
        limit: u32,
    },
    /// Pods are still to leave the node.
    PodsLeft {
        /// How many.
        pods: u32,
    },
}

impl DrainWait {
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::AllCordoned { .. } => ("allCordoned", "all nodes to be cordoned"),
            Self::DrainTurn { .. } => ("drainTurn", "their turn to be drained"),
            Self::PodsLeft { .. } => ("podsLeft", "pods to leave"),
        }
    }

    pub(super) fn hope(&self) -> Hope {
        match self {
            Self::AllCordoned { .. } => Hope::Moving,
            Self::DrainTurn { .. } | Self::PodsLeft { .. } => Hope::Possible,
        }
    }
}

impl fmt::Display for DrainWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllCordoned { nodes } => write!(f, "{} to be cordoned", counted(*nodes, "node")),
            Self::DrainTurn { active, limit } => {
                write!(f, "its turn: {active} of at most {limit} being drained")
            }
            Self::PodsLeft { pods } => write!(f, "{} to leave", counted(*pods, "pod")),
        }
    }
}

/// Pods of one class that keep a node from being drained.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusedPods {
    /// The class.
    pub class: PodClass,
    /// The pods, sorted.
    pub pods: Vec<Key>,
}

/// kubectl's words.
impl fmt::Display for RefusedPods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pods: Vec<String> = self.pods.iter().map(ToString::to_string).collect();
        write!(f, "cannot delete {}: {}", self.class, pods.join(", "))
    }
}

/// Why a node is not drained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum DrainEnd {
    /// The flags do not allow to move pods of the node, so that none is.
    RefusedPods {
        /// Which.
        refused: Vec<RefusedPods>,
    },
    /// The time that a node may take is over.
    DrainTimeout {
        /// How long that was.
        limit: Span,
        /// Pods that are left.
        pods: u32,
    },
    /// Pods are left that nothing will move.
    Immovable {
        /// How many.
        pods: u32,
    },
    /// The node was uncordoned by another actor: pods may land on it again.
    Uncordoned,
    /// The node does not exist, or is another one of the same name.
    NodeGone,
}

impl DrainEnd {
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::RefusedPods { .. } => ("refusedPods", "pods that the flags do not allow to move"),
            Self::DrainTimeout { .. } => ("drainTimeout", "nodes not drained in time"),
            Self::Immovable { .. } => ("immovable", "nodes with pods that nothing moves"),
            Self::Uncordoned => ("uncordoned", "nodes uncordoned by another actor"),
            Self::NodeGone => ("nodeGone", "nodes that are gone"),
        }
    }

    pub(super) fn finality(&self) -> Finality {
        match self {
            Self::RefusedPods { .. }
            | Self::DrainTimeout { .. }
            | Self::Immovable { .. }
            | Self::Uncordoned => Finality::Blocked,
            Self::NodeGone => Finality::Kept,
        }
    }
}

impl fmt::Display for DrainEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RefusedPods { refused } => {
                let all: Vec<String> = refused.iter().map(ToString::to_string).collect();
                f.write_str(&all.join("; "))
            }
            Self::DrainTimeout { limit, pods } => {
                write!(f, "global timeout reached: {limit}; {} left", counted(*pods, "pod"))
            }
            Self::Immovable { pods } => write!(f, "{} left that nothing moves", counted(*pods, "pod")),
            Self::Uncordoned => f.write_str("it was uncordoned by another actor while it was drained"),
            Self::NodeGone => f.write_str("it no longer exists"),
        }
    }
}
