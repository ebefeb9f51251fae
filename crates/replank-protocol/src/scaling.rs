//! Why nodes are not added, or not removed.

use std::fmt;

use replank_model::text::{GroupName, Text, Zone};
use replank_model::time::Time;
use serde::{Deserialize, Serialize};

/// What a node that is not needed waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Hold {
    /// It must not have been needed for a while.
    Until(Time),
    /// No node is removed for a while after one was added, or removed, or that failed.
    After(Event, Time),
    /// No node is removed within a window.
    Window {
        /// When it ends.
        until: Option<Time>,
    },
    /// No node is removed during a scale-up.
    ScaleUp,
    /// As many nodes are being removed as may be at once.
    Enough {
        /// That many.
        most: u32,
    },
    /// As many nodes are being drained as may be at once.
    EnoughDrains {
        /// That many.
        most: u32,
    },
    /// No node is removed while so many nodes are not ready.
    Unready {
        /// Nodes that are not ready.
        unready: i64,
        /// All nodes.
        all: i64,
    },
    /// `--scale-down-enabled=false`.
    Disabled,
}

/// What delays the removal of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// A node was added.
    Added,
    /// A node was removed.
    Deleted,
    /// A removal failed.
    Failed,
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Until(until) => write!(f, "removed at {until} unless needed again"),
            Self::After(Event::Added, until) => {
                write!(f, "delayed until {until} after a node was added (--scale-down-delay-after-add)")
            }
            Self::After(Event::Deleted, until) => {
                write!(f, "delayed until {until} after a node was removed (--scale-down-delay-after-delete)")
            }
            Self::After(Event::Failed, until) => {
                write!(f, "delayed until {until} after a removal failed (--scale-down-delay-after-failure)")
            }
            Self::Window { until: Some(until) } => {
                write!(f, "no node is removed within the window, which ends at {until}")
            }
            Self::Window { until: None } => {
                f.write_str("no node is removed within the window, which has no end")
            }
            Self::ScaleUp => f.write_str("a scale-up is in progress"),
            Self::Enough { most } => {
                write!(f, "{most} nodes are being removed already (--max-scale-down-parallelism)")
            }
            Self::EnoughDrains { most } => {
                write!(f, "{most} nodes are being drained already (--max-drain-parallelism)")
            }
            Self::Unready { unready, all } => {
                write!(f, "{unready} of {all} nodes are not ready (--max-total-unready-percentage)")
            }
            Self::Disabled => f.write_str("--scale-down-enabled=false"),
        }
    }
}

/// Why a group does not grow for a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum GroupWhy {
    /// None of its new nodes would take the pod.
    Objects {
        /// What a new node objects to, by zone; zones that object to the same are one.
        zones: Vec<(Vec<Zone>, Vec<String>)>,
    },
    /// It would help, and is as large as it may be.
    AtMaximum {
        /// The maximum.
        max: u32,
    },
    /// It would help, and the cluster is as large as it may be.
    AtLimit(Limit),
    /// It would help, and has failed a short while ago.
    BackedOff {
        /// What has failed.
        scope: Scope,
        /// Until when it is left alone.
        until: Time,
        /// What the cloud said.
        why: Text,
    },
    /// It would help, and a run rolls it, or moves its nodes into another group.
    Rolling,
    /// It would help, and a newer Replank has written on it.
    NewerVersion {
        /// The version of what it wrote.
        version: u64,
    },
    /// It would help, and its launches are suspended.
    Suspended,
    /// It would help, is empty, and `--scale-up-from-zero=false`.
    Empty,
    /// A new node would take the pod by itself; what is between the pods keeps it away.
    BetweenPods {
        /// What a new node objects to once all others are placed.
        words: Vec<String>,
    },
    /// One choice adds no more than `--max-nodes-per-scaleup`.
    EnoughAtOnce {
        /// That many.
        most: u32,
    },
}

impl fmt::Display for GroupWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objects { zones } => {
                let all: Vec<String> = zones
                    .iter()
                    .map(|(names, words)| {
                        let names: Vec<&str> = names.iter().map(Zone::as_str).collect();
                        match zones.len() {
                            1 => words.join(", "),
                            _ => format!("in {}: {}", names.join(", "), words.join(", ")),
                        }
                    })
                    .collect();
                f.write_str(&all.join("; "))
            }
            Self::AtMaximum { max } => write!(f, "is at its maximum size of {max}"),
            Self::AtLimit(limit) => limit.fmt(f),
            Self::BackedOff { scope, until, why } => write!(f, "backed off until {until}: {scope}: {why}"),
            Self::Rolling => f.write_str("is being rolled"),
            Self::NewerVersion { version } => {
                write!(f, "is left alone: a newer Replank has written on it (version {version})")
            }
            Self::Suspended => f.write_str("has its Launch process suspended"),
            Self::Empty => f.write_str("has no nodes, and --scale-up-from-zero=false"),
            Self::BetweenPods { words } => {
                write!(f, "fits it on an empty new node, but not beside the other pods: {}", words.join(", "))
            }
            Self::EnoughAtOnce { most } => write!(f, "--max-nodes-per-scaleup={most} is reached"),
        }
    }
}

/// A limit of the cluster that is reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Limit {
    /// `--max-nodes-total`.
    Nodes {
        /// How many there are.
        have: i64,
        /// The limit.
        max: i64,
    },
    /// `--cores-total`.
    Cores {
        /// How many there are.
        have: i64,
        /// The limit.
        max: i64,
    },
    /// `--memory-total`.
    MemoryGib {
        /// How much there is.
        have: i64,
        /// The limit.
        max: i64,
    },
    /// `--gpu-total`.
    Gpus {
        /// Which.
        resource: Text,
        /// How many there are.
        have: i64,
        /// The limit.
        max: i64,
    },
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes { have, max } => {
                write!(f, "the cluster has {have} nodes, --max-nodes-total is {max}")
            }
            Self::Cores { have, max } => write!(f, "the cluster has {have} cores, --cores-total is {max}"),
            Self::MemoryGib { have, max } => {
                write!(f, "the cluster has {have} GiB, --memory-total is {max}")
            }
            Self::Gpus { resource, have, max } => {
                write!(f, "the cluster has {have} {resource}, --gpu-total is {max}")
            }
        }
    }
}

/// What failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Scope {
    /// A group as a whole: its instances did not become nodes in time, or the cloud refused for another reason.
    Group(GroupName),
    /// There is no capacity of an instance type in a zone (`InsufficientInstanceCapacity`).
    Capacity {
        /// The type.
        instance_type: Text,
        /// The zone.
        zone: Zone,
        /// The market.
        market: Market,
    },
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(group) => write!(f, "group {group}"),
            Self::Capacity { instance_type, zone, market } => {
                write!(f, "{instance_type} in {zone}, {market}")
            }
        }
    }
}

/// How instances are bought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Market {
    /// At the list price.
    #[default]
    OnDemand,
    /// On the spot market.
    Spot,
    /// Reserved for a time.
    CapacityBlock,
}

impl Market {
    /// From EKS's word.
    #[must_use]
    pub fn of_label(word: &str) -> Self {
        match word {
            "SPOT" => Self::Spot,
            "CAPACITY_BLOCK" => Self::CapacityBlock,
            _ => Self::OnDemand,
        }
    }

    /// EKS's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OnDemand => "ON_DEMAND",
            Self::Spot => "SPOT",
            Self::CapacityBlock => "CAPACITY_BLOCK",
        }
    }
}

impl fmt::Display for Market {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::OnDemand => "on demand",
            Self::Spot => "spot",
            Self::CapacityBlock => "capacity block",
        })
    }
}
