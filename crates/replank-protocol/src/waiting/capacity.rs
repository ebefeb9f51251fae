//! Shared reasons of new nodes.

use std::fmt;

use replank_model::object::cloud::{Registrar, TargetHealth};
use replank_model::text::Text;
use replank_model::time::Time;
use serde::{Deserialize, Serialize};

use super::finality::counted;
use crate::subject::Hope;

/// Why new nodes are not there yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CapacityWait {
    /// Instances were requested and are not ready.
    Capacity {
        /// Ready nodes of the new template.
        ready: u32,
        /// How many there are to be.
        wanted: u32,
        /// Why the last launch failed, while instances are missing.
        failure: Option<Text>,
    },
    /// A new node is not ready, or its DaemonSet pods are not.
    NodeReady {
        /// DaemonSet pods that are missing or not ready.
        daemon_pods_missing: u32,
    },
    /// An instance has taken longer than any should and is no Ready node.
    InstanceLate {
        /// When it was launched, or its node registered.
        since: Time,
        /// DaemonSet pods that are missing or not ready, if the node itself is Ready.
        daemon_pods_missing: u32,
    },
    /// An instance from before the run has no node: somebody deleted its object, or it never registered.
    NodeMissing,
    /// A new node is Ready, and load balancers do not send to it.
    TargetHealth {
        /// The target group's name.
        target_group: Text,
        /// What the node's instance is there.
        health: TargetHealth,
        /// Who registers it.
        registrar: Registrar,
        /// When the node became Ready.
        since: Time,
    },
}

impl CapacityWait {
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Capacity { .. } => ("capacity", "new nodes"),
            Self::NodeReady { .. } => ("nodeReady", "a new node to become Ready"),
            Self::InstanceLate { .. } => ("instanceLate", "a late instance to become a Ready node"),
            Self::NodeMissing => ("nodeMissing", "an instance without a node to register one"),
            Self::TargetHealth { .. } => {
                ("targetHealth", "a new node to become healthy in its target groups")
            }
        }
    }

    pub(super) fn hope(&self) -> Hope {
        match self {
            Self::Capacity { .. } | Self::NodeReady { .. } => Hope::Moving,
            Self::TargetHealth { health: TargetHealth::Initial, .. } => Hope::Moving,
            Self::InstanceLate { .. } | Self::NodeMissing | Self::TargetHealth { .. } => Hope::Possible,
        }
    }
}

impl fmt::Display for CapacityWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity { ready, wanted, failure } => {
                write!(f, "new nodes: {ready} of {wanted} Ready")?;
                failure.as_ref().map_or(Ok(()), |failure| write!(f, "; {failure}"))
            }
            Self::NodeReady { daemon_pods_missing: 0 } => f.write_str("the new node to become Ready"),
            Self::NodeReady { daemon_pods_missing } => {
                write!(
                    f,
                    "{} on the new node to become Ready",
                    counted(*daemon_pods_missing, "DaemonSet pod")
                )
            }
            Self::InstanceLate { since, daemon_pods_missing: 0 } => {
                write!(f, "the instance to become a Ready node; no progress since {since}")
            }
            Self::InstanceLate { since, daemon_pods_missing } => {
                let pods = counted(*daemon_pods_missing, "DaemonSet pod");
                write!(f, "{pods} on the new node to become Ready; no progress since {since}")
            }
            Self::NodeMissing => f.write_str(
                "its node: the instance was there before the run and has none; terminate it, or restart its kubelet",
            ),
            Self::TargetHealth { target_group, health: TargetHealth::Unused, registrar, since } => {
                let by_hand = match registrar {
                    // It registers instances when it puts them into service, and never later.
                    Registrar::AutoScaling => ": register its instance",
                    Registrar::Controller => "",
                };
                write!(
                    f,
                    "the new node to be registered in target group {target_group}; Ready since {since}{by_hand}"
                )
            }
            Self::TargetHealth { target_group, health, registrar: _, since } => {
                write!(
                    f,
                    "the new node to become healthy in target group {target_group}: {health}; Ready since {since}"
                )
            }
        }
    }
}
