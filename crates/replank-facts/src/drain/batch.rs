//! Which pods are batch pods: ending one half way loses work.

use replank_model::object::pod::{Pod, RestartPolicy};
use replank_model::selector::Selector;
use replank_model::time::Span;
use replank_protocol::policy::BatchKind;

use crate::batch::wait::BATCH_WAIT;

/// Cluster Autoscaler's annotation: `"false"` keeps a pod's node.
pub const SAFE_TO_EVICT: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
/// Karpenter's annotation: `"true"`, or for how long.
pub const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";
/// Argo Workflows' label: `"true"` once the controller has stored a pod's result.
pub const WORKFLOW_COMPLETED: &str = "workflows.argoproj.io/completed";

/// How a pod is known to be a batch pod, if it is one.
#[must_use]
pub fn batch_kind(pod: &Pod, selector: Option<&Selector>) -> Option<BatchKind> {
    let owned_by = |group: &str, kind: &str| {
        pod.meta.controller().is_some_and(|owner| {
            &*owner.kind == kind && owner.api_version.split_once('/').is_some_and(|(of, _)| of == group)
        })
    };
    let annotation = |key| pod.meta.annotations.value(key);
    let is_selected = || selector.is_some_and(|selector| selector.matches(|key| pod.meta.labels.value(key)));
    if owned_by("batch", "Job") {
        Some(BatchKind::Job)
    } else if owned_by("argoproj.io", "Workflow") {
        Some(BatchKind::Workflow)
    } else if annotation(SAFE_TO_EVICT) == Some("false") && (!is_kept_up(pod) || asks_for_time(pod)) {
        Some(BatchKind::NotSafeToEvict)
    } else if annotation(DO_NOT_DISRUPT).is_some_and(forbids_disruption) {
        Some(BatchKind::DoNotDisrupt)
    } else if is_selected() {
        Some(BatchKind::Selected)
    } else if pod.spec.restart_policy.is_some_and(|policy| policy != RestartPolicy::Always) {
        Some(BatchKind::RunsOnce)
    } else {
        None
    }
}

/// Whether a pod belongs to a workload that always has as many: it never ends, so that there is nothing to wait for. Cluster Autoscaler's own pod is such a one: the
/// annotation keeps its node from being scaled down, and is no reason to wait for it.
fn is_kept_up(pod: &Pod) -> bool {
    let owner = pod.meta.controller().map(|owner| (&*owner.api_version, &*owner.kind));
    matches!(owner, Some(("apps/v1", "ReplicaSet" | "StatefulSet") | ("v1", "ReplicationController")))
}

/// Whether a pod's author says how long it is to be waited for.
fn asks_for_time(pod: &Pod) -> bool {
    pod.meta.annotations.contains_key(BATCH_WAIT)
}

/// Karpenter takes `true` and a duration; of a duration it is not looked at here how much of it is left.
fn forbids_disruption(value: &str) -> bool {
    value == "true" || value.parse::<Span>().is_ok_and(|span| span > Span::ZERO)
}

/// Whether a finished pod's result is still to be recorded by the workflow controller.
#[must_use]
pub fn is_unrecorded(pod: &Pod) -> bool {
    let is_workflow = batch_kind(pod, None) == Some(BatchKind::Workflow);
    is_workflow && pod.is_terminal() && pod.meta.labels.value(WORKFLOW_COMPLETED) == Some("false")
}
