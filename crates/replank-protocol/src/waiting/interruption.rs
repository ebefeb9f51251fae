//! Reasons of interruptions: what is left to do on an interrupted node, and interruptions that are over.

use std::fmt;

use replank_model::text::Text;
use replank_model::time::Time;
use serde::{Deserialize, Serialize};

use super::finality::{Finality, counted};
use crate::cause::Cause;
use crate::release::Release;

/// What an interrupted node waits on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum InterruptionWait {
    /// A node is taken away, and drained in the time that is left.
    Interrupted {
        /// By what.
        by: Cause,
        /// When its instance is certain to be gone, where that is known.
        until: Option<Time>,
        /// Pods that are still to leave.
        pods: u32,
    },
    /// An interrupted instance has no node, or no known one.
    Unregistered {
        /// Until when it is looked for.
        until: Time,
    },
    /// An empty node has volumes attached.
    Volumes {
        /// How many.
        volumes: u32,
        /// Until when they are waited for.
        until: Time,
    },
}

impl InterruptionWait {
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Interrupted { .. } => ("interrupted", "pods to leave interrupted nodes"),
            Self::Unregistered { .. } => ("unregistered", "the node of an interrupted instance"),
            Self::Volumes { .. } => ("volumes", "volumes to be detached"),
        }
    }
}

impl fmt::Display for InterruptionWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted { by, until, pods } => {
                match pods {
                    0 => write!(f, "its instance to be terminated")?,
                    pods => write!(f, "{} to leave the node", counted(*pods, "pod"))?,
                }
                match until {
                    Some(until) => write!(f, " before {until} ({by})"),
                    None => write!(f, " ({by})"),
                }
            }
            Self::Unregistered { until } => write!(f, "the node of this instance to appear, until {until}"),
            Self::Volumes { volumes, until } => {
                write!(f, "{} to be detached, until {until}", counted(*volumes, "volume"))
            }
        }
    }
}

/// Interruptions that are over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum InterruptionEnd {
    /// A node that was to be taken away runs on, and is released: its cordon is removed, unless a run takes it over as it is.
    Release {
        /// What was to take it away.
        by: Cause,
        /// Why it is not waited for any more.
        why: Release,
        /// Pods that are still on it, except those that stay on every node.
        pods: u32,
    },
    /// A message cannot be read. It is left to the dead-letter queue, and stops no other.
    Poison {
        /// What is wrong with it.
        why: Text,
        /// How often it has been received.
        received: u32,
    },
}

impl InterruptionEnd {
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Release { .. } => ("release", "interruptions that did not happen"),
            Self::Poison { .. } => ("poison", "unreadable messages"),
        }
    }

    pub(super) fn finality(&self) -> Finality {
        match self {
            Self::Release { .. } => Finality::GivenUp,
            Self::Poison { .. } => Finality::Blocked,
        }
    }
}

impl fmt::Display for InterruptionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Release { by, why, pods } => {
                write!(f, "released with {} on it: {by} {why}", counted(*pods, "pod"))
            }
            Self::Poison { why, received } => {
                write!(f, "the message cannot be read: {why} (received {received} times)")
            }
        }
    }
}
