//! L2 and L4: in a cluster that nothing befalls any more there are no effects, and nothing is left in a queue.

use replank_core::command::Effect;
use replank_core::waiting::Subject;
use replank_model::object::cloud::Lifecycle;
use replank_model::text::NodeName;
use replank_model::time::Span;
use replank_sim::{Sent, World};

use super::sights::{Met, Sights};
use super::truth::{Truth, is_over};
use super::{Found, Promise};

const ROLE: &str = "replank.dev/role";
/// How long a pod may be new before somebody must have looked at it.
const LOOKED_AT: Span = Span::from_minutes(2);

/// Whether a command leaves everything as it is: a case that waits holds its message and its hook.
pub(super) fn is_waiting(effect: &Effect) -> bool {
    matches!(effect, Effect::HoldMessage { .. } | Effect::Heartbeat { .. })
}

/// `last` is what was done lately that leaves no rest behind it. What still waits for a budget or for room on a node that may be taken away,
/// and says so, is left as it is: it has a mark, and its message is held.
pub(super) fn check(
    truth: &Truth,
    world: &World,
    last: Option<&Sent>,
    sights: &mut Sights,
    found: &mut Found<'_>,
) {
    if let Some(sent) = last {
        let what = format!("it does not come to rest: {} at {}", sent.command.key, sent.at);
        found.broken(Promise::L2, what);
    }
    let waits: Vec<NodeName> =
        truth.nodes.values().map(|node| node.name()).filter(|name| is_said(truth, world, name)).collect();
    if !waits.is_empty() {
        sights.met.insert(Met::WaitsInVain);
    }
    let left = world.messages_left();
    if left > 0 && waits.is_empty() {
        found
            .broken(Promise::L4, format!("{left} messages about instances are neither deleted nor given up"));
    }
    for instance in truth.instances.values() {
        let is_said = instance.node.as_ref().is_some_and(|node| waits.contains(node));
        if instance.state.is_alive() && instance.lifecycle == Lifecycle::TerminatingWait && !is_said {
            found.broken(Promise::L4, format!("{} is held by its hook, and nobody lets it go", instance.id));
        }
    }
    for node in truth.nodes.values() {
        let is_counted = truth.instance_of(node).is_some_and(|instance| instance.is_counted());
        if is_counted
            && !waits.contains(&node.name())
            && node.meta.annotations.value(ROLE) == Some("interrupted")
        {
            found.broken(Promise::L4, format!("node {} keeps the mark of an interruption", node.name()));
        }
    }
    for pod in truth.pods.values() {
        let is_new = pod.meta.creation_timestamp.is_none_or(|made| made + LOOKED_AT > found.at);
        let is_judged = pod.status.conditions.iter().any(|one| &*one.r#type == "PodScheduled");
        let is_gated = !pod.spec.scheduling_gates.is_empty();
        if pod.node.is_none() && !is_over(pod) && !is_new && !is_judged && !is_gated {
            found.broken(Promise::L4, format!("pod {} waits, and nobody has looked at it", pod.meta.key()));
        }
    }
}

/// Whether it is said what a node that others may take away, or a pod of it, waits for.
fn is_said(truth: &Truth, world: &World, name: &NodeName) -> bool {
    let is_marked =
        truth.nodes.get(name).is_some_and(|node| node.meta.annotations.value(ROLE) == Some("interrupted"));
    let waiting = world.decision().map_or(&[][..], |decision| &decision.waiting);
    is_marked
        && waiting.iter().any(|waiting| match &waiting.what {
            Subject::Node(of) => of == name,
            Subject::Pod(key) => truth.pods.get(key).is_some_and(|pod| pod.node.as_ref() == Some(name)),
            _ => false,
        })
}
