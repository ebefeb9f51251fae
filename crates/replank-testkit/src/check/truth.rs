//! The truth, in tables of the checkers' own.

use std::collections::BTreeMap;
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
use replank_model::view::{Change, View};

/// Everything that the checkers look at.
#[derive(Clone, Debug, Default)]
pub(super) struct Truth {
    pub(super) pods: BTreeMap<Key, Arc<Pod>>,
    pub(super) nodes: BTreeMap<NodeName, Arc<Node>>,
    pub(super) budgets: BTreeMap<Key, Arc<PodDisruptionBudget>>,
    pub(super) deployments: BTreeMap<Key, Arc<Deployment>>,
    pub(super) replica_sets: BTreeMap<Key, Arc<ReplicaSet>>,
    pub(super) replication_controllers: BTreeMap<Key, Arc<ReplicationController>>,
    pub(super) stateful_sets: BTreeMap<Key, Arc<StatefulSet>>,
    pub(super) daemon_sets: BTreeMap<Key, Arc<DaemonSet>>,
    pub(super) groups: BTreeMap<GroupName, Arc<NodeGroup>>,
    pub(super) instances: BTreeMap<InstanceId, Arc<Instance>>,
}

impl Truth {
    pub(super) fn of(view: &View) -> Self {
        let mut truth = Self::default();
        for change in view.as_changes() {
            truth.apply(&change);
        }
        truth
    }

    pub(super) fn apply(&mut self, change: &Change) {
        match change {
            Change::Object { old, new, .. } => self.object(old.as_ref(), new.as_ref()),
            Change::Group { old, new } => {
                if let Some(group) = new {
                    self.groups.insert(group.name.clone(), group.clone());
                } else if let Some(group) = old {
                    self.groups.remove(&group.name);
                }
            }
            Change::Instance { old, new } => {
                if let Some(instance) = new {
                    self.instances.insert(instance.id.clone(), instance.clone());
                } else if let Some(instance) = old {
                    self.instances.remove(&instance.id);
                }
            }
            Change::Message { .. } | Change::Stale => {}
        }
    }

    fn object(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let Some(object) = new.or(old) else { return };
        let (key, is_there) = (object.meta().key(), new.is_some());
        match object {
            Object::Pod(pod) => put(&mut self.pods, key, pod, is_there),
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

    pub(super) fn pod(&self, key: &Key, uid: &Uid) -> Option<&Arc<Pod>> {
        self.pods.get(key).filter(|pod| pod.meta.uid == *uid)
    }

    pub(super) fn pods_in<'a>(&'a self, namespace: &'a Namespace) -> impl Iterator<Item = &'a Arc<Pod>> {
        let first = Key { namespace: namespace.clone(), name: "".into() };
        self.pods.range(first..).take_while(|(key, _)| key.namespace == *namespace).map(|(_, pod)| pod)
    }

    pub(super) fn pods_on<'a>(&'a self, node: &'a NodeName) -> impl Iterator<Item = &'a Arc<Pod>> {
        self.pods.values().filter(move |pod| pod.node.as_ref() == Some(node))
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
        self.pods.values().filter(move |pod| name.is_some() && pod.node == name)
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
