//! Why nodes are not added, or not taken away.

use std::fmt;

use replank_model::text::{GroupName, Text, Zone};
use replank_model::time::Time;
use serde::{Deserialize, Serialize};

/// What a node that nobody needs waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Hold {
    /// It must not have been needed for a while.
    Until(Time),
    /// Nothing goes for a while after a node was added, or taken away, or that failed.
    After(Event, Time),
    /// Nothing goes within a window.
    Window {
        /// When it ends.
        until: Option<Time>,
    },
    /// Nothing goes while pods bring nodes.
    ScaleUp,
    /// As many go at once as may.
    Enough {
        /// That many.
        most: u32,
    },
    /// As many with pods go at once as may.
    EnoughDrains {
        /// That many.
        most: u32,
    },
    /// Nothing goes while so many nodes are not ready.
    Unready {
        /// Nodes that are not ready.
        unready: i64,
        /// All nodes.
        all: i64,
    },
    /// `--scale-down-enabled=false`.
    Disabled,
}

/// What nodes are taken away after, only when some time has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// A node was added.
    Added,
    /// A node was taken away.
    Deleted,
    /// Taking one away failed.
    Failed,
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Until(until) => write!(f, "goes at {until}, if it is not needed until then"),
            Self::After(Event::Added, until) => {
                write!(f, "waits until {until}: a node was added (--scale-down-delay-after-add)")
            }
            Self::After(Event::Deleted, until) => {
                write!(f, "waits until {until}: a node was taken away (--scale-down-delay-after-delete)")
            }
            Self::After(Event::Failed, until) => {
                write!(f, "waits until {until}: taking a node away failed (--scale-down-delay-after-failure)")
            }
            Self::Window { until: Some(until) } => {
                write!(f, "waits until {until}: nothing goes within the window")
            }
            Self::Window { until: None } => {
                f.write_str("waits: nothing goes within the window, which has no end")
            }
            Self::ScaleUp => f.write_str("waits: pods bring nodes"),
            Self::Enough { most } => write!(f, "waits: {most} go at once (--max-scale-down-parallelism)"),
            Self::EnoughDrains { most } => {
                write!(f, "waits: {most} with pods go at once (--max-drain-parallelism)")
            }
            Self::Unready { unready, all } => {
                write!(f, "waits: {unready} of {all} nodes are not ready (--max-total-unready-percentage)")
            }
            Self::Disabled => f.write_str("waits: --scale-down-enabled=false"),
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
    /// It would help, and a run takes hold of it, or moves its nodes into another group.
    InHand,
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
            Self::AtMaximum { max } => write!(f, "is at its maximum of {max}"),
            Self::AtLimit(limit) => limit.fmt(f),
            Self::BackedOff { scope, until, why } => write!(f, "left alone until {until}: {scope}: {why}"),
            Self::InHand => f.write_str("is in the hands of a run"),
            Self::NewerVersion { version } => {
                write!(f, "is left alone: a newer Replank has written on it (version {version})")
            }
            Self::Suspended => f.write_str("its launches are suspended"),
            Self::Empty => f.write_str("has no node, and --scale-up-from-zero=false"),
            Self::BetweenPods { words } => {
                write!(f, "a new node would take it alone; with all others placed: {}", words.join(", "))
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
                write!(f, "the cluster has {have} nodes, --max-nodes-total says {max}")
            }
            Self::Cores { have, max } => write!(f, "the cluster has {have} cores, --cores-total says {max}"),
            Self::MemoryGib { have, max } => {
                write!(f, "the cluster has {have} GiB, --memory-total says {max}")
            }
            Self::Gpus { resource, have, max } => {
                write!(f, "the cluster has {have} {resource}, --gpu-total says {max}")
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
    /// From EKS' word.
    #[must_use]
    pub fn of_label(word: &str) -> Self {
        match word {
            "SPOT" => Self::Spot,
            "CAPACITY_BLOCK" => Self::CapacityBlock,
            _ => Self::OnDemand,
        }
    }

    /// EKS' word.
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
