//! Whether pods of nodes that go together find their places as they will in truth: evicted at once, made again, and placed in the order
//! of the scheduler's queue, beside those that wait already.
//!
//! Trying nodes out one after the other packs pods in an order of its own. What fits so need not fit in the order in which they come.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Text};

use super::up::Given;
use replank_facts::pod_factory::anew;
use replank_schedule::Scheduler;

/// A pod that would find no place.
pub(super) struct Unschedulable {
    pub(super) node: NodeName,
    pub(super) pod: Key,
    pub(super) message: Text,
}

/// The first pod of nodes that go that would find no place; of equal priority in the order of their names, then in the opposite one,
/// since nobody knows in which order controllers make them again.
pub(super) fn unschedulable(
    given: Given<'_>,
    scheduler: &mut Scheduler,
    going: &[NodeName],
    moving: &[(Key, NodeName)],
) -> Option<Unschedulable> {
    let from: BTreeMap<&Key, &NodeName> = moving.iter().map(|(pod, node)| (pod, node)).collect();
    let displaced = from.keys().filter_map(|key| given.view.pods.by_key(key)).map(anew);
    let waiting = given.view.pods.unordered().map(|(_, pod)| pod);
    let waiting =
        waiting.filter(|pod| pod.node.is_none() && pod.is_active() && pod.spec.scheduling_gates.is_empty());
    let mut queue: Vec<Arc<Pod>> = displaced.chain(waiting.cloned()).collect();
    queue.sort_by_cached_key(|pod| (Reverse(pod.spec.priority.unwrap_or(0)), pod.meta.key()));
    let mut backward = queue.clone();
    backward.sort_by_cached_key(|pod| (Reverse(pod.spec.priority.unwrap_or(0)), Reverse(pod.meta.key())));
    [queue, backward].into_iter().find_map(|queue| first(given, scheduler, going, &from, &queue))
}

fn first(
    given: Given<'_>,
    scheduler: &mut Scheduler,
    going: &[NodeName],
    from: &BTreeMap<&Key, &NodeName>,
    queue: &[Arc<Pod>],
) -> Option<Unschedulable> {
    let mut trial = scheduler.trial();
    for node in going {
        trial.exclude(node);
    }
    for pod in from.keys() {
        trial.take_away(given.view, pod);
    }
    for pod in queue {
        let key = pod.meta.key();
        match trial.place(given.view, pod, 0) {
            Ok(placed) => {
                trial.assume(given.view, pod, &placed.node, &placed.volumes);
            }
            Err(error) => {
                if let Some(node) = from.get(&key) {
                    let message = Text::from(error.to_string());
                    return Some(Unschedulable { node: (*node).clone(), pod: key, message });
                }
            }
        }
    }
    None
}
