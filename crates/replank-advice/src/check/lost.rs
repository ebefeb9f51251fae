//! Pods on dead nodes: the control plane deletes them, and asks no disruption budget.
//!
//! A node that is not Ready is tainted (`node.kubernetes.io/not-ready`, `unreachable`: `NoExecute`), and its pods go when their tolerations of that run out, after 300 s by
//! default. A roll evicts none of them: once only pods are left that do not end, the node's instance is terminated.

use replank_facts::plan::DeadNodes;
use replank_model::object::affinity::{TaintEffect, Toleration};
use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::time::Time;

/// What such a node is tainted with.
const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// Whether a node has not been Ready for as long as the plan waits for it. One that says nothing of itself was written by hand.
pub(super) fn is_dead(node: &Node, dead: &DeadNodes, now: Time) -> bool {
    let ready = condition::find(&node.status.conditions, "Ready");
    let unready = ready.filter(|ready| ready.status != ConditionStatus::True);
    let since = unready.and_then(|ready| ready.last_transition_time.or(node.meta.creation_timestamp));
    since.is_some_and(|since| since + dead.after <= now)
}

/// Whether a pod stays on a dead node for good: it tolerates both taints without an end.
pub(super) fn stays_for_good(pod: &Pod) -> bool {
    TAINTS.iter().all(|key| pod.spec.tolerations.iter().any(|one| bears(one, key)))
}

fn bears(toleration: &Toleration, key: &str) -> bool {
    let is_of_key = toleration.key.is_empty() || &*toleration.key == key;
    let is_of_effect = toleration.effect.is_none_or(|effect| effect == TaintEffect::NoExecute);
    is_of_key && is_of_effect && toleration.toleration_seconds.is_none()
}
