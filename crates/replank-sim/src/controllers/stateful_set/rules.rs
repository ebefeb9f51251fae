//! What a StatefulSet asks of its pods.

use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::workload::{PodManagementPolicy, StatefulSet, UpdateStrategyType};

use super::identity::REVISION_LABEL;

pub(super) fn strategy(set: &StatefulSet) -> UpdateStrategyType {
    set.spec.update_strategy.r#type.unwrap_or(UpdateStrategyType::RollingUpdate)
}

/// Whether one pod waits for the other.
pub(super) fn is_ordered(set: &StatefulSet) -> bool {
    set.spec.pod_management_policy != Some(PodManagementPolicy::Parallel)
}

pub(super) fn is_running_and_ready(pod: &Pod) -> bool {
    pod.status.phase == PodPhase::Running && pod.is_ready()
}

pub(super) fn revision_label(pod: &Pod) -> &str {
    pod.meta.labels.value(REVISION_LABEL).unwrap_or("")
}
