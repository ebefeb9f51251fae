//! How the cluster's pods do.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::plan::{Health, NOT_READY_AFTER};
use replank_facts::restarts::restarting_until;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, RestartPolicy};
use replank_model::object::{Object, condition};
use replank_model::text::NodeName;
use replank_model::time::Span;
use replank_model::time::Time;
use replank_model::view::Change;
use replank_model::view::View;
use replank_protocol::mark::{Ailment, Illness, Whose};

/// Conditions of a node that are bad while they hold (k8s.io/api/core/v1 `NodeConditionType`): those that the control plane makes a taint of, as it does of `Ready`
/// (pkg/controller/nodelifecycle `nodeConditionToTaintKeyStatusMap`).
const BAD_CONDITIONS: [&str; 4] = ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];

/// The conditions of a node that say that it is in a bad way, once it is Ready: until their network is set up, new nodes of some network plugins say that it is
/// unavailable.
pub(super) fn bad_conditions(node: &Node) -> impl Iterator<Item = &'static str> + '_ {
    let conditions = if node.is_ready() { &BAD_CONDITIONS[..] } else { &[] };
    conditions.iter().copied().filter(|name| condition::is_true(&node.status.conditions, name))
}

/// Pods in a bad way, kept up to date change by change; a cache.
#[derive(Debug, Default)]
pub(super) struct Vitals {
    pub(super) crash_looping: BTreeSet<Key>,
    /// Until when they count, unless they restart once more.
    pub(super) restarting: BTreeMap<Key, Time>,
    /// When they were due to be gone.
    pub(super) leaving: BTreeMap<Key, Time>,
    /// Since when.
    pub(super) unready: BTreeMap<Key, Time>,
    /// Nodes of which a condition says that they are in a bad way.
    pub(super) bad_nodes: BTreeSet<NodeName>,
}

impl Vitals {
    pub(super) fn of(view: &View) -> Self {
        let mut vitals = Self::default();
        for (_, pod) in view.pods.unordered() {
            vitals.add(pod);
        }
        for (_, node) in view.nodes.unordered() {
            vitals.add_node(node);
        }
        vitals
    }
}

impl Vitals {
    pub(super) fn observe(&mut self, change: &Change) {
        let Change::Object { old, new, .. } = change else { return };
        if let Some(Object::Pod(old)) = old {
            let key = old.meta.key();
            self.crash_looping.remove(&key);
            self.restarting.remove(&key);
            self.leaving.remove(&key);
            self.unready.remove(&key);
        }
        if let Some(Object::Pod(new)) = new {
            self.add(new);
        }
        if let Some(Object::Node(old)) = old
            && !self.bad_nodes.is_empty()
        {
            self.bad_nodes.remove(&old.name());
        }
        if let Some(Object::Node(new)) = new {
            self.add_node(new);
        }
    }

    fn add_node(&mut self, node: &Node) {
        if bad_conditions(node).next().is_some() {
            self.bad_nodes.insert(node.name());
        }
    }

    pub(super) fn add(&mut self, pod: &Pod) {
        if pod.is_terminal() {
            return;
        }
        if let Some(due) = pod.meta.deletion_timestamp {
            self.leaving.insert(pod.meta.key(), due);
            return;
        }
        if is_crash_looping(pod) {
            self.crash_looping.insert(pod.meta.key());
        }
        self.restarting.extend(restarting_until(pod).map(|until| (pod.meta.key(), until)));
        let is_kept_up = pod.spec.restart_policy.is_none_or(|policy| policy == RestartPolicy::Always);
        if !pod.is_ready() && is_kept_up {
            let ready = condition::find(&pod.status.conditions, "Ready");
            let since = ready.and_then(|ready| ready.last_transition_time).or(pod.meta.creation_timestamp);
            self.unready.extend(since.map(|since| (pod.meta.key(), since)));
        }
    }

    /// Pods that restart again and again at this moment.
    pub(super) fn restarting(&self, now: Time) -> impl Iterator<Item = &Key> {
        self.restarting.iter().filter(move |(_, until)| now < **until).map(|(key, _)| key)
    }

    /// How many there are, and when there will be more without anybody's doing. Those that restart are counted apart, for they are told by their
    /// nodes.
    pub(super) fn count(
        &self,
        now: Time,
        stuck_after: Span,
        counts: impl Fn(&Key) -> bool,
    ) -> (Counts, Option<Time>) {
        let mut counted = Counts::default();
        let mut next: Option<Time> = None;
        counted.crash_looping = narrow(self.crash_looping.iter().filter(|key| counts(key)).count());
        let leaving = self.leaving.iter().map(|(key, due)| (key, *due + stuck_after));
        let unready = self.unready.iter().map(|(key, since)| (key, *since + NOT_READY_AFTER));
        for (_, from) in leaving.filter(|(key, _)| counts(key)) {
            tell(from, now, &mut counted.stuck_terminating, &mut next);
        }
        for (_, from) in unready.filter(|(key, _)| counts(key)) {
            tell(from, now, &mut counted.not_ready, &mut next);
        }
        (counted, next)
    }
}

/// Counts what is so from a moment on that has come, else notes the moment.
pub(super) fn tell(from: Time, now: Time, count: &mut u32, next: &mut Option<Time>) {
    if from <= now {
        *count += 1;
    } else {
        *next = Some(next.map_or(from, |next| next.min(from)));
    }
}

/// The kubelet's word for a container that it lets rest between two starts (pkg/kubelet `doBackOff`).
pub(super) fn is_crash_looping(pod: &Pod) -> bool {
    let containers = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
    let mut waiting = containers.filter_map(|container| container.state.waiting.as_ref());
    waiting.any(|waiting| &*waiting.reason == "CrashLoopBackOff")
}

/// Pods in a bad way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) crash_looping: u32,
    pub(super) restarting: u32,
    pub(super) stuck_terminating: u32,
    pub(super) not_ready: u32,
    /// New nodes in a bad way.
    pub(super) bad_nodes: u32,
}

impl Counts {
    /// The first of these that is more than may be.
    pub(super) fn beyond(&self, whose: Whose, health: &Health, before: &Counts) -> Option<Ailment> {
        let rows = [
            (
                Illness::CrashLooping,
                whose,
                self.crash_looping,
                health.crash_looping_max,
                before.crash_looping,
            ),
            // Whatever else is looked at, these are those on new nodes.
            (Illness::Restarting, Whose::New, self.restarting, health.restarting_max, before.restarting),
            (
                Illness::StuckTerminating,
                whose,
                self.stuck_terminating,
                health.stuck_terminating_max,
                before.stuck_terminating,
            ),
            (Illness::NodeCondition, Whose::New, self.bad_nodes, health.bad_nodes_max, before.bad_nodes),
            (Illness::NotReady, whose, self.not_ready, health.not_ready_max, before.not_ready),
        ];
        let worse = rows.into_iter().find(|(_, _, found, max, before)| *found > max.saturating_add(*before));
        worse.map(|(illness, whose, found, max, before)| Ailment { illness, whose, found, max: max + before })
    }
}

pub(super) fn narrow(count: usize) -> u32 {
    u32::try_from(count).expect("fewer than 2^32 pods fit in memory")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_node_that_is_not_ready_yet_is_in_no_bad_way() {
        let bad = |ready: &str| -> Vec<&str> {
            let conditions =
                json!([{"type": "Ready", "status": ready}, {"type": "NetworkUnavailable", "status": "True"}]);
            let value: Value = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"conditions": conditions}});
            let Ok(Object::Node(node)) = Object::from_json(value) else { panic!("a node") };
            bad_conditions(&node).collect()
        };
        assert_eq!(bad("True"), ["NetworkUnavailable"]);
        assert_eq!(bad("False"), [""; 0]);
        assert_eq!(bad("Unknown"), [""; 0]);
    }
}
