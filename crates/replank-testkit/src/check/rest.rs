//! L2 and L4: in a cluster that nothing befalls any more there are no effects, and nothing is left in a queue.

use replank_model::object::cloud::Lifecycle;
use replank_model::time::Span;
use replank_protocol::command::{Effect, GroupEffect, QueueEffect};
use replank_sim::{Sent, World};

use super::truth::{Truth, is_over};
use super::{Found, Promise};

/// Annotation: the node's role.
pub(crate) const ROLE: &str = "replank.dev/role";
/// How long a pod may be new before somebody must have looked at it.
const LOOKED_AT: Span = Span::from_minutes(2);

/// Whether a command leaves everything as it is: a case that waits holds its message and its hook.
pub(super) fn is_waiting(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Queue(QueueEffect::HoldMessage { .. }) | Effect::Group(GroupEffect::Heartbeat { .. })
    )
}

/// `last` is what was done lately that leaves no rest behind it. Every interruption has come to its end by then, be it that it was given up.
pub(super) fn check(truth: &Truth, world: &World, last: Option<&Sent>, found: &mut Found<'_>) {
    if let Some(sent) = last {
        let what = format!("it does not settle: {} at {}", sent.command.key, sent.at);
        found.broken(Promise::L2, what);
    }
    let left = world.messages_left();
    if left > 0 {
        found.broken(
            Promise::L4,
            format!("{left} messages about instances are neither deleted nor given up on"),
        );
    }
    for instance in truth.instances.values() {
        if instance.state.is_alive() && instance.lifecycle == Lifecycle::TerminatingWait {
            found.broken(Promise::L4, format!("{} is still held by its hook", instance.id));
        }
    }
    for node in truth.nodes.values() {
        let is_counted = truth.instance_of(node).is_some_and(|instance| instance.is_counted());
        if is_counted && node.meta.annotations.value(ROLE) == Some("interrupted") {
            found.broken(Promise::L4, format!("node {} keeps the mark of an interruption", node.name()));
        }
    }
    for pod in truth.pods.values() {
        let is_new = pod.meta.creation_timestamp.is_none_or(|made| made + LOOKED_AT > found.at);
        let is_judged = pod.status.conditions.iter().any(|one| &*one.r#type == "PodScheduled");
        let is_gated = !pod.spec.scheduling_gates.is_empty();
        if pod.node.is_none() && !is_over(pod) && !is_new && !is_judged && !is_gated {
            found.broken(
                Promise::L4,
                format!("pod {} is pending, and the scheduler has not tried it", pod.meta.key()),
            );
        }
    }
}
