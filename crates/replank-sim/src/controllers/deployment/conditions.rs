//! The conditions of a Deployment, and what it says by them (`progress.go`).

use replank_model::list::List;
use replank_model::object::condition::{self, Condition};
use replank_model::object::workload::Deployment;

pub(super) const AVAILABLE: &str = "Available";
pub(super) const PROGRESSING: &str = "Progressing";
pub(super) const FAILURE: &str = "ReplicaFailure";
/// Reason of a rollout that is done.
pub(super) const DONE: &str = "NewReplicaSetAvailable";

/// Seconds that a rollout may stand still; none where it may for ever.
pub(super) fn deadline(deployment: &Deployment) -> Option<i32> {
    deployment.spec.progress_deadline_seconds.filter(|seconds| *seconds != i32::MAX)
}

pub(super) fn progress(deployment: &Deployment) -> Option<&Condition> {
    condition::find(&deployment.status.conditions, PROGRESSING)
}

/// Whether a Deployment says that its rollout is done, or does not say how it goes.
pub(super) fn has_nothing_to_say_of_progress(deployment: &Deployment) -> bool {
    deadline(deployment).is_none() || progress(deployment).is_some_and(|progress| &*progress.reason == DONE)
}

/// Sets a condition; one with the same status and reason stays as it is (`SetDeploymentCondition`).
pub(super) fn set(conditions: &mut List<Condition>, mut new: Condition) {
    if let Some(known) = condition::find(conditions, &new.r#type) {
        if known.status == new.status && known.reason == new.reason {
            return;
        }
        if known.status == new.status {
            new.last_transition_time = known.last_transition_time;
        }
    }
    conditions.retain(|known| known.r#type != new.r#type);
    conditions.push(new);
}
