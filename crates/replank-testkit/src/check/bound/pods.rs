//! What a pod is, as far as it matters to whoever empties its node.

use replank_model::object::affinity::{Taint, TaintEffect, UnsatisfiableAction};
use replank_model::object::pod::{Pod, RestartPolicy};

use super::super::truth::manager;

/// Whether there is a rule that keeps a pod off places with more of its like than others.
pub(super) fn is_spread(pod: &Pod, label: &str) -> bool {
    let mut constraints = pod.spec.topology_spread_constraints.iter();
    constraints.any(|one| {
        &*one.topology_key == label && one.when_unsatisfiable == UnsatisfiableAction::DoNotSchedule
    })
}

pub(super) fn is_like(one: &Pod, other: &Pod) -> bool {
    manager(one).map(|(_, _, uid)| uid) == manager(other).map(|(_, _, uid)| uid)
}

/// A pod that the scheduler leaves to another one.
pub(super) fn is_foreign(pod: &Pod) -> bool {
    !matches!(&*pod.spec.scheduler_name, "" | "default-scheduler")
}

pub(super) fn runs_once(pod: &Pod) -> bool {
    pod.spec.restart_policy.is_some_and(|policy| policy != RestartPolicy::Always)
}

/// It ends by itself.
pub(super) fn ends(pod: &Pod) -> bool {
    runs_once(pod) || manager(pod).is_some_and(|(kind, _, _)| matches!(kind, "Job" | "Workflow"))
}

/// It stays on a node that does not answer, for ever.
pub(super) fn bears_absence(pod: &Pod) -> bool {
    let taint = Taint::new("node.kubernetes.io/unreachable", TaintEffect::NoExecute);
    bears(pod, &taint)
}

/// It bears a taint for ever.
pub(super) fn bears(pod: &Pod, taint: &Taint) -> bool {
    pod.spec.tolerations.iter().any(|one| one.toleration_seconds.is_none() && one.tolerates(taint, false))
}
