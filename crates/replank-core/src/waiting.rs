//! Why something is not done: one type for the terminal, the report, metrics and Kubernetes events.

use std::fmt;

use replank_model::object::meta::Key;
use replank_model::text::{GroupName, NodeName, Text};
use replank_model::time::{Span, Time};

/// One thing that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// What waits.
    pub what: Subject,
    /// What it waits on.
    pub on: WaitingOn,
}

/// What waits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The run as a whole.
    Run,
    /// A group.
    Group(GroupName),
    /// A node's replacement.
    Node(NodeName),
    /// A pod's eviction.
    Pod(Key),
}

/// What is waited on, with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum WaitingOn {
    /// A disruption budget allows no eviction.
    Budget {
        /// The budget.
        budget: Key,
        /// Healthy pods there are.
        healthy: i32,
        /// Healthy pods there must be.
        needed: i32,
    },
    /// A batch pod runs.
    Batch {
        /// Since when it runs.
        since: Option<Time>,
        /// Until when it is waited for.
        deadline: Time,
    },
    /// No node that stays can take the pod yet.
    Room {
        /// The scheduler's words.
        message: Text,
    },
    /// Instances were asked for and are not ready.
    Capacity {
        /// Ready nodes of the new template.
        ready: u32,
        /// How many there are to be.
        wanted: u32,
    },
    /// A new node is not ready, or its DaemonSet pods are not.
    NodeReady {
        /// DaemonSet pods that are missing or not ready.
        daemon_pods_missing: u32,
    },
    /// Pods are on their way out.
    Terminating {
        /// How many.
        pods: u32,
        /// The longest grace among them.
        grace_max: Span,
    },
    /// A pause that the plan asks for.
    Pace {
        /// Its end.
        until: Time,
    },
    /// The canary is being watched.
    Soak {
        /// Its end.
        until: Time,
    },
    /// A command was sent and its effect is not observed yet.
    Effect {
        /// What was sent.
        what: Text,
    },
    /// Other nodes come first: one entry for all nodes of a group whose turn has not come.
    Turn {
        /// How many nodes wait for their turn.
        nodes: u32,
        /// How many are being replaced.
        active: u32,
        /// How many may be at once.
        limit: u32,
    },
}

impl WaitingOn {
    /// One word for the kind of reason: what figures and metrics are grouped by.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Budget { .. } => "budget",
            Self::Batch { .. } => "batch",
            Self::Room { .. } => "room",
            Self::Capacity { .. } => "capacity",
            Self::NodeReady { .. } => "nodeReady",
            Self::Terminating { .. } => "terminating",
            Self::Pace { .. } => "pace",
            Self::Soak { .. } => "soak",
            Self::Effect { .. } => "effect",
            Self::Turn { .. } => "turn",
        }
    }
}

impl fmt::Display for WaitingOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget { budget, healthy, needed } => {
                write!(f, "disruption budget {budget}: {healthy} healthy, {needed} needed")
            }
            Self::Batch { since: Some(since), deadline } => {
                write!(f, "batch pod running since {since}, waited for until {deadline}")
            }
            Self::Batch { since: None, deadline } => write!(f, "batch pod, waited for until {deadline}"),
            Self::Room { message } => write!(f, "room: {message}"),
            Self::Capacity { ready, wanted } => write!(f, "new capacity: {ready} of {wanted} nodes ready"),
            Self::NodeReady { daemon_pods_missing: 0 } => write!(f, "the new node to become Ready"),
            Self::NodeReady { daemon_pods_missing } => {
                write!(f, "{daemon_pods_missing} DaemonSet pods of the new node to become Ready")
            }
            Self::Terminating { pods, grace_max } => {
                write!(f, "{pods} pods to terminate (grace up to {grace_max})")
            }
            Self::Pace { until } => write!(f, "the pace of the plan, until {until}"),
            Self::Soak { until } => write!(f, "the canary's soak, until {until}"),
            Self::Effect { what } => write!(f, "{what} to be seen"),
            Self::Turn { nodes, active, limit } => {
                write!(f, "their turn: {nodes} nodes, {active} of at most {limit} being replaced")
            }
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run => write!(f, "run"),
            Self::Group(group) => write!(f, "group {group}"),
            Self::Node(node) => write!(f, "node {node}"),
            Self::Pod(pod) => write!(f, "pod {pod}"),
        }
    }
}
