//! What ended a batch pod, as far as anybody can know it: the run and EKS ask for evictions, and the control plane writes down why it disrupts a pod
//! (condition `DisruptionTarget`, pkg/apis/core `PodReasonTerminationByKubelet` and its like).

use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::pod::{Pod, PodPhase};
use serde::Serialize;

use super::super::evictions::By;

/// What ended a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum EndedBy {
    /// Something else, by an eviction.
    Eviction,
    /// The kubelet, because its node is short of something.
    Kubelet,
    /// The scheduler, for a pod of higher priority.
    Scheduler,
    /// The taint manager: the pod does not tolerate a taint of its node.
    Taint,
    /// Its node is gone.
    NodeGone,
    /// A deletion.
    Deletion,
    /// Somebody known, by an eviction; the run also by a deletion just before its instance is lost.
    #[serde(untagged)]
    Asked(By),
}

impl EndedBy {
    /// What the pod's own condition says.
    pub(super) fn of(pod: &Pod) -> Self {
        let target = condition::find(&pod.status.conditions, "DisruptionTarget");
        let reason = target.filter(|target| target.status == ConditionStatus::True);
        match reason.map_or("", |target| &*target.reason) {
            "EvictionByEvictionAPI" => Self::Eviction,
            "TerminationByKubelet" => Self::Kubelet,
            "PreemptionByScheduler" => Self::Scheduler,
            "DeletionByTaintManager" => Self::Taint,
            "DeletionByPodGC" => Self::NodeGone,
            _ => Self::Deletion,
        }
    }

    /// Whether somebody who asked for the pod's end may be who ended it.
    pub(super) fn is_asked_for(self) -> bool {
        match self {
            Self::Asked(_) | Self::Eviction | Self::Deletion => true,
            Self::Kubelet | Self::Scheduler | Self::Taint | Self::NodeGone => false,
        }
    }

    /// As in `ml/train-1, evicted by EKS`, or after a number of pods.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asked(By::Replank) => "ended by the run",
            Self::Asked(By::Hand) => "evicted by hand",
            Self::Asked(By::Eks) => "evicted by EKS",
            Self::Eviction => "evicted by something else",
            Self::Kubelet => "evicted by the kubelet",
            Self::Scheduler => "preempted",
            Self::Taint => "evicted for a taint of the node",
            Self::NodeGone => "lost with the node",
            Self::Deletion => "deleted by something else",
        }
    }

    /// As in `EKS drained node ip-10-0-1-7 and evicted pod ml/train-1`.
    pub(super) fn sentence(self, node: &str, pod: &str) -> String {
        match self {
            Self::Asked(By::Replank) => format!("the run ended pod {pod}"),
            Self::Asked(By::Hand) => format!("somebody evicted pod {pod} by hand"),
            Self::Asked(By::Eks) => format!("EKS drained node {node} and evicted pod {pod}"),
            Self::Eviction => format!("something other than the run evicted pod {pod}"),
            Self::Kubelet => format!("the kubelet of node {node} evicted pod {pod}"),
            Self::Scheduler => format!("the scheduler preempted pod {pod}"),
            Self::Taint => format!("node {node} got a taint that evicted pod {pod}"),
            Self::NodeGone => format!("node {node} was lost with pod {pod}"),
            Self::Deletion => format!("something other than the run deleted pod {pod}"),
        }
    }

    /// What would have kept the pod where it was. `why` holds the words of its kubelet.
    pub(super) fn remedy(self, why: &str) -> Option<&'static str> {
        match self {
            Self::Asked(By::Replank | By::Hand) | Self::Eviction => {
                Some("keep every drain from it: a disruption budget over its pods with minAvailable: 9999")
            }
            Self::Asked(By::Eks) => Some(
                "keep every drain from it: a disruption budget over its pods with minAvailable: 9999. EKS's own update of the group then fails after 15 \
                 minutes, and a forced one deletes the pod",
            ),
            Self::Kubelet => Some(Short::of(why).remedy()),
            Self::Scheduler => Some(
                "give it a priority at least as high as that of the pods that preempt it (priorityClassName)",
            ),
            Self::Taint => Some(
                "tolerate the taint, without tolerationSeconds; if the node was lost (node.kubernetes.io/unreachable or not-ready), no setting keeps the pod",
            ),
            Self::NodeGone | Self::Deletion => None,
        }
    }
}

/// What a node was short of when its kubelet evicted a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Short {
    /// Process ids, of which a pod can request none.
    Pids,
    /// Inodes, of which a pod can request none, either.
    Inodes,
    /// Memory or disk space; or the kubelet does not say what.
    Requested,
}

impl Short {
    /// As the message says: `The node was low on resource: pids. ` (pkg/kubelet/eviction `helpers.go`).
    fn of(message: &str) -> Self {
        let resource = message.split_once("low on resource: ").map(|(_, after)| after);
        match resource.and_then(|after| after.split(['.', ',', ' ']).next()) {
            Some("pids") => Self::Pids,
            Some("inodes") => Self::Inodes,
            Some(_) | None => Self::Requested,
        }
    }

    /// Where nothing can be requested, the kubelet goes by priority alone (Kubernetes documentation, "Node-pressure Eviction"; "Process ID Limits And Reservations").
    fn remedy(self) -> &'static str {
        match self {
            Self::Pids => {
                "limit the process ids of each pod in the kubelet's configuration (podPidsLimit), and start fewer processes: process ids cannot be requested, \
                 so the kubelet first evicts pods of low priority (priorityClassName)"
            }
            Self::Inodes => {
                "write fewer files, or give the node a file system with more inodes: inodes cannot be requested, so the kubelet first evicts pods of low \
                 priority (priorityClassName)"
            }
            Self::Requested => {
                "request as much as it uses (resources.requests): the kubelet first evicts pods that use more than they request"
            }
        }
    }
}

/// Whether a pod's kubelet has just evicted it, and its object stays: it is `Failed` at once, without a deletion.
pub(super) fn is_evicted_by_kubelet(old: &Pod, new: &Pod) -> bool {
    new.status.phase == PodPhase::Failed && !old.is_terminal() && EndedBy::of(new) == EndedBy::Kubelet
}
