//! The truth, in tables of the checkers' own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::cloud::{Instance, NodeGroup};
use replank_model::object::condition::ConditionStatus;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::object::workload::{
    DaemonSet, Deployment, ReplicaSet, ReplicationController, StatefulSet,
};
use replank_model::text::{GroupName, InstanceId, Namespace, NodeName, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};

use super::SEEN_WITHIN;

/// Everything that the checkers look at.
#[derive(Clone, Debug, Default)]
pub(super) struct Truth {
    pub(super) pods: BTreeMap<Key, Arc<Pod>>,
    /// Pods by their node.
    bound: BTreeMap<NodeName, BTreeSet<Key>>,
    /// When something last happened to a pod of a node.
    touched: BTreeMap<NodeName, Time>,
    /// Nodes on which DaemonSets have healthy pods.
    agents: BTreeMap<Uid, BTreeMap<NodeName, BTreeSet<Key>>>,
    pub(super) nodes: BTreeMap<NodeName, Arc<Node>>,
    pub(super) budgets: BTreeMap<Key, Arc<PodDisruptionBudget>>,
    pub(super) deployments: BTreeMap<Key, Arc<Deployment>>,
    pub(super) replica_sets: BTreeMap<Key, Arc<ReplicaSet>>,
    pub(super) replication_controllers: BTreeMap<Key, Arc<ReplicationController>>,
    pub(super) stateful_sets: BTreeMap<Key, Arc<StatefulSet>>,
    pub(super) daemon_sets: BTreeMap<Key, Arc<DaemonSet>>,
    pub(super) groups: BTreeMap<GroupName, Arc<NodeGroup>>,
    pub(super) instances: BTreeMap<InstanceId, Arc<Instance>>,
    /// When instances of groups came to their end.
    fallen: BTreeMap<InstanceId, (GroupName, Time)>,
    /// What happened within this time nobody can know of yet who acts now.
    pub(super) seen_within: Span,
}

impl Truth {
    pub(super) fn of(view: &View) -> Self {
        let mut truth = Self { seen_within: SEEN_WITHIN, ..Self::default() };
        for change in view.as_changes() {
            truth.apply(Time::from_millis(0), &change);
        }
        truth
    }

    pub(super) fn apply(&mut self, at: Time, change: &Change) {
        match change {
            Change::Object { old, new, .. } => {
                for object in old.iter().chain(new) {
                    if let Object::Pod(pod) = object
                        && let Some(node) = &pod.node
                    {
                        self.touched.insert(node.clone(), at);
                    }
                }
                self.object(old.as_ref(), new.as_ref());
            }
            Change::Group { old, new } => {
                if let Some(group) = new {
                    self.groups.insert(group.name.clone(), group.clone());
                } else if let Some(group) = old {
                    self.groups.remove(&group.name);
                }
            }
            Change::Instance { old, new } => {
                if let Some(old) = old.as_ref().filter(|old| old.state.is_alive())
                    && !new.as_ref().is_some_and(|new| new.state.is_alive())
                {
                    self.fallen.insert(old.id.clone(), (old.group.clone(), at));
                }
                if let Some(instance) = new {
                    self.instances.insert(instance.id.clone(), instance.clone());
                } else if let Some(instance) = old {
                    self.instances.remove(&instance.id);
                }
            }
            Change::Message { .. } | Change::Unread(_) | Change::Stale => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the checkers read no other kind")]
    fn object(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let Some(object) = new.or(old) else { return };
        let (key, is_there) = (object.meta().key(), new.is_some());
        match object {
            Object::Pod(pod) => {
                if let Some(Object::Pod(old)) = old {
                    self.sort(&key, old, false);
                }
                if new.is_some() {
                    self.sort(&key, pod, true);
                }
                put(&mut self.pods, key, pod, is_there);
            }
            Object::Node(node) => put(&mut self.nodes, node.name(), node, is_there),
            Object::PodDisruptionBudget(budget) => put(&mut self.budgets, key, budget, is_there),
            Object::Deployment(deployment) => put(&mut self.deployments, key, deployment, is_there),
            Object::ReplicaSet(set) => put(&mut self.replica_sets, key, set, is_there),
            Object::ReplicationController(of) => put(&mut self.replication_controllers, key, of, is_there),
            Object::StatefulSet(set) => put(&mut self.stateful_sets, key, set, is_there),
            Object::DaemonSet(set) => put(&mut self.daemon_sets, key, set, is_there),
            _ => {}
        }
    }

    /// Puts a pod where it is found by its node, or takes it off.
    fn sort(&mut self, key: &Key, pod: &Pod, is_there: bool) {
        let Some(node) = &pod.node else { return };
        keep(&mut self.bound, node, key, is_there);
        if let Some(set) = daemon_set(pod).filter(|_| is_healthy(pod)) {
            let nodes = self.agents.entry(set.clone()).or_default();
            keep(nodes, node, key, is_there);
            if nodes.is_empty() {
                self.agents.remove(set);
            }
        }
    }

    /// Whether a DaemonSet has a Ready pod on a node, or has none anywhere.
    pub(super) fn has_agent(&self, set: &DaemonSet, node: &NodeName) -> bool {
        self.agents.get(&set.meta.uid).is_none_or(|nodes| nodes.contains_key(node))
    }

    /// Whether nothing has happened to the pods of a node that somebody may not have seen yet.
    pub(super) fn is_quiet(&self, node: &NodeName, at: Time) -> bool {
        self.touched.get(node).is_none_or(|touched| *touched + self.seen_within < at)
    }

    /// Whether an instance was alive until a moment that nobody can know of yet.
    pub(super) fn fell_lately(&self, id: &InstanceId, at: Time) -> bool {
        self.fallen.get(id).is_some_and(|(_, fell)| *fell + self.seen_within >= at)
    }

    /// Instances of a group that are alive, or were until a moment that nobody can know of yet.
    pub(super) fn seen_alive(&self, group: &GroupName, at: Time) -> usize {
        let alive = self.instances.values().filter(|one| one.group == *group && one.state.is_alive());
        let lately = self.fallen.values().filter(|(of, fell)| of == group && *fell + self.seen_within >= at);
        alive.count() + lately.count()
    }

    pub(super) fn pod(&self, key: &Key, uid: &Uid) -> Option<&Arc<Pod>> {
        self.pods.get(key).filter(|pod| pod.meta.uid == *uid)
    }

    pub(super) fn pods_in<'a>(&'a self, namespace: &'a Namespace) -> impl Iterator<Item = &'a Arc<Pod>> {
        let first = Key { namespace: namespace.clone(), name: "".into() };
        self.pods.range(first..).take_while(|(key, _)| key.namespace == *namespace).map(|(_, pod)| pod)
    }

    pub(super) fn pods_on<'a>(&'a self, node: &'a NodeName) -> impl Iterator<Item = &'a Arc<Pod>> {
        self.bound.get(node).into_iter().flatten().filter_map(|key| self.pods.get(key))
    }

    /// What has made the ReplicaSet of a pod.
    pub(super) fn workload_of(&self, pod: &Pod) -> Option<Uid> {
        let (_, name, uid) = manager(pod).filter(|(kind, _, _)| *kind == "ReplicaSet")?;
        let key = Key { namespace: pod.meta.namespace.clone(), name: name.into() };
        let set = self.replica_sets.get(&key).filter(|set| set.meta.uid == *uid)?;
        let provisioner = set.meta.owner_references.iter().find(|owner| owner.controller == Some(true))?;
        Some(provisioner.uid.clone())
    }

    /// Pods of ReplicaSets that a workload has made.
    pub(super) fn pods_of(&self, workload: &Uid) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.values().filter(move |pod| self.workload_of(pod).is_some_and(|of| of == *workload))
    }

    /// The node whose provider id ends in an instance's id.
    pub(super) fn node_of(&self, instance: &InstanceId) -> Option<&Arc<Node>> {
        let ends = |node: &&Arc<Node>| node.spec.provider_id.rsplit('/').next() == Some(instance.as_str());
        self.nodes.values().find(ends)
    }

    pub(super) fn pods_of_instance<'a>(
        &'a self,
        instance: &InstanceId,
    ) -> impl Iterator<Item = &'a Arc<Pod>> + use<'a> {
        let name = self.node_of(instance).map(|node| node.name());
        let bound = name.and_then(|name| self.bound.get(&name));
        bound.into_iter().flatten().filter_map(|key| self.pods.get(key))
    }

    /// The instance behind a node.
    pub(super) fn instance_of(&self, node: &Node) -> Option<&Arc<Instance>> {
        let id = node.spec.provider_id.rsplit('/').next()?;
        self.instances.get(&InstanceId::from(id))
    }
}

fn put<K: Ord, T>(table: &mut BTreeMap<K, Arc<T>>, key: K, object: &Arc<T>, is_there: bool) {
    if is_there {
        table.insert(key, object.clone());
    } else {
        table.remove(&key);
    }
}

/// Notes a pod under a node, or strikes it out.
fn keep(table: &mut BTreeMap<NodeName, BTreeSet<Key>>, node: &NodeName, key: &Key, is_there: bool) {
    if is_there {
        table.entry(node.clone()).or_default().insert(key.clone());
    } else if let Some(keys) = table.get_mut(node) {
        keys.remove(key);
        if keys.is_empty() {
            table.remove(node);
        }
    }
}

/// Whether a condition of this type is true.
fn holds(conditions: &[replank_model::object::condition::Condition], r#type: &str) -> bool {
    conditions.iter().any(|one| &*one.r#type == r#type && one.status == ConditionStatus::True)
}

/// Ready, and nobody has asked for its end.
pub(super) fn is_healthy(pod: &Pod) -> bool {
    holds(&pod.status.conditions, "Ready") && pod.meta.deletion_timestamp.is_none()
}

pub(super) fn is_node_ready(node: &Node) -> bool {
    holds(&node.status.conditions, "Ready")
}

/// Succeeded or Failed.
pub(super) fn is_over(pod: &Pod) -> bool {
    match pod.status.phase {
        PodPhase::Succeeded | PodPhase::Failed => true,
        PodPhase::Pending | PodPhase::Running | PodPhase::Unknown => false,
    }
}

/// The kind, name and uid of what manages a pod.
pub(super) fn manager(pod: &Pod) -> Option<(&str, &str, &Uid)> {
    let owner = pod.meta.owner_references.iter().find(|owner| owner.controller == Some(true))?;
    Some((&owner.kind, owner.name.as_str(), &owner.uid))
}

/// The DaemonSet that a pod is of.
pub(super) fn daemon_set(pod: &Pod) -> Option<&Uid> {
    manager(pod).filter(|(kind, _, _)| *kind == "DaemonSet").map(|(_, _, uid)| uid)
}

/// A DaemonSet's, a mirror of a static one, or over.
pub(super) fn goes_with_its_node(truth: &Truth, pod: &Pod) -> bool {
    let is_daemon = manager(pod).is_some_and(|(kind, _, uid)| {
        kind == "DaemonSet" && truth.daemon_sets.values().any(|set| set.meta.uid == *uid)
    });
    is_over(pod) || is_daemon || pod.meta.annotations.contains_key("kubernetes.io/config.mirror")
}
