//! Shared reasons of pods: why one is still on its node, or stays there.

use std::fmt;

use replank_model::object::meta::Key;
use replank_model::text::Text;
use replank_model::time::{Span, Time};
use serde::{Deserialize, Serialize};

use super::finality::counted;
use crate::evidence::Evidence;
use crate::mark::Illness;
use crate::policy::{Refused, StuckAction};
use crate::subject::Hope;

/// What the move of a pod waits on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PodWait {
    /// A disruption budget allows no eviction.
    Budget {
        /// The budget.
        budget: Key,
        /// Healthy pods there are.
        healthy: i32,
        /// Healthy pods there must be.
        needed: i32,
    },
    /// The disruption controller has not counted the budget's pods, or cannot.
    BudgetUncounted {
        /// The budget.
        budget: Key,
        /// The controller's words.
        message: Text,
    },
    /// A batch pod runs.
    Batch {
        /// Since when it runs.
        since: Option<Time>,
        /// Until when it is waited for.
        deadline: Time,
    },
    /// A Workflow's pod has finished, and its result is not recorded yet.
    Unrecorded,
    /// No node that stays can take the pod yet.
    Room {
        /// The pod.
        pod: Key,
        /// The scheduler's words.
        message: Text,
    },
    /// Pods are terminating.
    Terminating {
        /// How many.
        pods: u32,
        /// The longest grace period among them.
        grace_max: Span,
    },
    /// A pod has not terminated though its grace period and the plan's patience are over.
    Stuck {
        /// What the plan has done about it.
        action: StuckAction,
        /// What is known.
        evidence: Box<Evidence>,
    },
    /// A rolling restart starts a pod's replacement before the pod is deleted.
    Restart {
        /// The Deployment.
        workload: Key,
        /// When it was restarted, where that is written.
        since: Option<Time>,
    },
}

impl PodWait {
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Budget { .. } => ("budget", "a disruption budget"),
            Self::BudgetUncounted { .. } => ("budgetUncounted", "a disruption budget to be counted"),
            Self::Batch { .. } => ("batch", "batch pods to finish"),
            Self::Unrecorded => ("unrecorded", "a Workflow to record its result"),
            Self::Room { .. } => ("room", "room on another node"),
            Self::Terminating { .. } => ("terminating", "pods to terminate"),
            Self::Stuck { .. } => ("stuck", "pods stuck in Terminating"),
            Self::Restart { .. } => ("restart", "a rolling restart"),
        }
    }

    pub(super) fn hope(&self) -> Hope {
        match self {
            Self::Batch { .. } | Self::Terminating { .. } => Hope::Moving,
            Self::Budget { .. }
            | Self::BudgetUncounted { .. }
            | Self::Unrecorded
            | Self::Room { .. }
            | Self::Stuck { .. }
            | Self::Restart { .. } => Hope::Possible,
        }
    }
}

impl fmt::Display for PodWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget { budget, healthy, needed } => {
                write!(f, "disruption budget {budget}: {healthy} healthy, {needed} needed")
            }
            Self::BudgetUncounted { budget, message } => {
                write!(f, "disruption budget {budget} to allow evictions: {message}")
            }
            Self::Batch { since: Some(since), deadline } => {
                write!(f, "the batch pod to finish (running since {since}, deadline {deadline})")
            }
            Self::Batch { since: None, deadline } => {
                write!(f, "the batch pod to finish (deadline {deadline})")
            }
            Self::Unrecorded => f.write_str("the workflow controller to record the pod's result"),
            Self::Room { pod, message } => write!(f, "room for pod {pod}: {message}"),
            Self::Terminating { pods, grace_max } => {
                write!(f, "{} to terminate (grace period up to {grace_max})", counted(*pods, "pod"))
            }
            Self::Stuck { action: StuckAction::Report, evidence } => {
                write!(f, "the stuck pod to terminate: {evidence}")
            }
            Self::Stuck { action: StuckAction::ReplaceNode | StuckAction::ForceDelete, evidence } => {
                write!(f, "its instance to be terminated, the pod is stuck: {evidence}")
            }
            Self::Restart { workload, since: Some(since) } => {
                write!(f, "Deployment {workload}, restarted at {since}, to replace the pod")
            }
            Self::Restart { workload, since: None } => {
                write!(f, "the rollout of Deployment {workload} to replace the pod")
            }
        }
    }
}

/// Why a pod stays on its node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PodEnd {
    /// Several disruption budgets cover the pod: the eviction API refuses such pods always.
    Budgets {
        /// The budgets, sorted.
        budgets: Vec<Key>,
    },
    /// A batch pod has outlived its deadline, and the plan says to pause then.
    BatchOver {
        /// Since when it runs.
        since: Option<Time>,
        /// Until when it was waited for.
        deadline: Time,
    },
    /// The plan, or its defaults, refuse to move such a pod.
    Refused {
        /// What it is about the pod.
        reason: Refused,
    },
    /// The pod was created on a node that is draining: no cordon keeps it off, and evicting it would never end.
    CameBack,
    /// A pod is unhealthy, which is why the run has halted.
    Ailing {
        /// In which way.
        illness: Illness,
    },
}

impl PodEnd {
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Budgets { .. } => ("budgets", "pods covered by several disruption budgets"),
            Self::BatchOver { .. } => ("batchOver", "batch pods past their deadline"),
            Self::Refused { .. } => ("refused", "pods that the plan refuses to move"),
            Self::CameBack => ("cameBack", "pods that tolerate the cordon taint"),
            Self::Ailing { .. } => ("ailing", "unhealthy pods"),
        }
    }
}

impl fmt::Display for PodEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budgets { budgets } => {
                let names: Vec<String> = budgets.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "disruption budgets {} cover it: the eviction API refuses pods under more than one budget",
                    names.join(" and ")
                )
            }
            Self::BatchOver { deadline, since: _ } => {
                write!(f, "batch pod still running after its deadline at {deadline}")
            }
            Self::Refused { reason } => write!(f, "the plan refuses to move it: {reason}"),
            Self::CameBack => {
                f.write_str("it was created on a draining node, because it tolerates the cordon taint")
            }
            Self::Ailing { illness } => illness.fmt(f),
        }
    }
}
