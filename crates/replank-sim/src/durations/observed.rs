//! What an object's own times tell.

use replank_model::object::condition::{self, Condition, ConditionStatus};
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::time::{Span, Time};

use super::START_MAX;

/// A node that took longer than this from its creation to readiness was not joining all the while: it was Ready
/// before, and again.
const JOIN_MAX: Span = Span::from_minutes(10);

/// Since when a condition is true.
pub(super) fn since(conditions: &[Condition], r#type: &str) -> Option<Time> {
    let found = condition::find(conditions, r#type)?;
    (found.status == ConditionStatus::True).then_some(found.last_transition_time)?
}

/// How long a running pod took from being scheduled to being Ready.
pub(super) fn start_of(pod: &Pod) -> Option<Span> {
    let restarted = pod.status.container_statuses.iter().any(|container| container.restart_count > 0);
    let took = since(&pod.status.conditions, "Ready")? - since(&pod.status.conditions, "PodScheduled")?;
    (!restarted && pod.status.phase == PodPhase::Running && Span::default() <= took && took <= START_MAX)
        .then_some(took)
}

/// How long a node took from its creation to its readiness.
pub(super) fn join_of(node: &Node) -> Option<Span> {
    let took = since(&node.status.conditions, "Ready")? - node.meta.creation_timestamp?;
    // One that was Ready the moment it was made was written down so, not observed.
    (Span::default() < took && took <= JOIN_MAX).then_some(took)
}
