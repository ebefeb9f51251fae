//! The View: everything that has been observed, indexed the way decisions ask for it.
//!
//! A View is fed by [`Delta`]s and by nothing else. The simulated cluster keeps its truth in one; core is given another that
//! lags behind. Applying a Delta returns the [`Change`], from which engines that keep state of their own (the
//! scheduler's) update it.

mod label_class;
mod table;
#[cfg(test)]
mod tests;
mod topology;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

pub use label_class::LabelClass;
pub use table::{Ix, Table};

use crate::delta::{Delta, Unread};
use crate::object::autoscaling::HorizontalPodAutoscaler;
use crate::object::cloud::{GroupId, Instance, Message, NodeGroup};
use crate::object::cluster::{CustomResourceDefinition, NamespaceObject, Other};
use crate::object::karpenter::NodeClaim;
use crate::object::meta::{Key, Meta, ResourceVersion};
use crate::object::node::Node;
use crate::object::pod::Pod;
use crate::object::policy::{PodDisruptionBudget, PriorityClass, ResourceQuota};
use crate::object::volume::{
    CsiDriver, CsiNode, CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass,
    VolumeAttachment,
};
use crate::object::workload::{
    ControllerRevision, DaemonSet, Deployment, ReplicaSet, ReplicationController, StatefulSet,
};
use crate::object::{Kind, Object, ObjectRef, Resource, batch, network};
use crate::selector::Selector;
use crate::text::{GroupName, InstanceId, MessageId, Name, Namespace, NodeName, Text, Uid};
use label_class::LabelClasses;
use topology::Topology;

/// What applying a Delta did.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A Kubernetes object appeared, changed or went.
    Object {
        /// Its slot in its kind's table (0 for untyped kinds).
        slot: u32,
        /// What it was.
        old: Option<Object>,
        /// What it is.
        new: Option<Object>,
    },
    /// A node group appeared, changed or went.
    Group {
        /// What it was.
        old: Option<Arc<NodeGroup>>,
        /// What it is.
        new: Option<Arc<NodeGroup>>,
    },
    /// An instance appeared, changed or went.
    Instance {
        /// What it was.
        old: Option<Arc<Instance>>,
        /// What it is.
        new: Option<Arc<Instance>>,
    },
    /// A message was received, was received once more, or went.
    Message {
        /// What it was.
        old: Option<Arc<Message>>,
        /// What it is.
        new: Option<Arc<Message>>,
    },
    /// An object that cannot be read appeared or went.
    Unread(Unread),
    /// Nothing: the Delta was older than what is known, or spoke of something that is not there.
    Stale,
}

/// A typed kind that the View keeps a table of.
pub trait Tabled: Resource {
    /// The table.
    fn table(view: &View) -> &Table<Self>;

    /// The object inside, if it is of this kind.
    fn of(object: &Object) -> Option<&Arc<Self>>;
}

/// Identity of an untyped object: group and kind, then namespace and name.
type OtherKey = (Text, Text, Key);

macro_rules! view {
    ($( $field:ident: $ty:ty, $variant:ident; )*) => {
        /// Everything that has been observed.
        #[derive(Clone, Debug, Default)]
        pub struct View {
            $( #[doc = concat!("All `", stringify!($variant), "` objects.")] pub $field: Table<$ty>, )*
            others: BTreeMap<OtherKey, Arc<Other>>,
            groups: BTreeMap<GroupName, Arc<NodeGroup>>,
            instances: BTreeMap<InstanceId, Arc<Instance>>,
            messages: BTreeMap<MessageId, Arc<Message>>,
            unread: BTreeMap<(Kind, Key), Unread>,
            classes: LabelClasses,
            topology: Topology,
            pods_on: FxHashMap<NodeName, Vec<Ix<Pod>>>,
            pods_of: FxHashMap<Uid, Vec<Ix<Pod>>>,
            claims: FxHashMap<Text, Vec<Ix<NodeClaim>>>,
        }

        $(
            impl Tabled for $ty {
                fn table(view: &View) -> &Table<Self> {
                    &view.$field
                }

                fn of(object: &Object) -> Option<&Arc<Self>> {
                    match object {
                        Object::$variant(object) => Some(object),
                        _ => None,
                    }
                }
            }
        )*

        impl View {
            fn put(&mut self, object: Object) -> Change {
                let unread = (!self.unread.is_empty()).then(|| (object.kind(), object.meta().key()));
                let change = self.put_readable(object);
                if let Some(unread) = unread.filter(|_| !matches!(change, Change::Stale)) {
                    self.unread.remove(&unread);
                }
                change
            }

            fn put_readable(&mut self, object: Object) -> Change {
                match object {
                    $( Object::$variant(object) => {
                        let place = self.$field.place_like(&object.meta);
                        if self.$field.at(place).is_some_and(|known| is_older(&object.meta, &known.meta)) {
                            return Change::Stale;
                        }
                        let (ix, old) = self.$field.put(place, object);
                        let (old, new) = (old.map(Object::from), self.$field.get(ix).cloned().map(Object::from));
                        self.reindex(ix.raw(), old.as_ref(), new.as_ref());
                        Change::Object { slot: ix.raw(), old, new }
                    } )*
                    Object::Other(object) => self.put_other(object),
                }
            }

            fn gone(&mut self, gone: &ObjectRef) -> Change {
                let unread = match self.unread.is_empty() {
                    true => None,
                    false => self.unread.remove(&(gone.kind, gone.key.clone())),
                };
                match (self.object_gone(gone), unread) {
                    (Change::Stale, Some(unread)) => Change::Unread(unread),
                    (change, _) => change,
                }
            }

            fn object_gone(&mut self, gone: &ObjectRef) -> Change {
                match gone.kind {
                    $( Kind::$variant => {
                        let place = self.$field.place_of(&gone.key);
                        if self.$field.at(place).is_some_and(|known| known.meta.uid != gone.uid) {
                            return Change::Stale;
                        }
                        let Some((ix, old)) = self.$field.take(place) else { return Change::Stale };
                        let old = Object::from(old);
                        self.reindex(ix.raw(), Some(&old), None);
                        Change::Object { slot: ix.raw(), old: Some(old), new: None }
                    } )*
                    Kind::Other => self.other_gone(gone),
                }
            }

            /// All Kubernetes objects, sorted by kind, namespace and name.
            #[must_use]
            pub fn objects(&self) -> Vec<Object> {
                let mut all: Vec<Object> = Vec::new();
                $( all.extend(self.$field.sorted().into_iter().map(|(_, object)| Object::from(object.clone()))); )*
                all.extend(self.others.values().cloned().map(Object::Other));
                all
            }

            /// Metadata of all Kubernetes objects, in no order.
            pub fn metas(&self) -> impl Iterator<Item = &Meta> {
                let others = self.others.values().map(|object| &object.meta);
                others$( .chain(self.$field.unordered().map(|(_, object)| &object.meta)) )*
            }

            /// Number of Kubernetes objects.
            #[must_use]
            pub fn number_of_objects(&self) -> usize {
                self.others.len() $( + self.$field.len() )*
            }

            /// All objects of a kind, sorted by namespace and name (untyped ones by group and kind first).
            #[must_use]
            pub fn objects_of(&self, kind: Kind) -> Vec<Object> {
                match kind {
                    $( Kind::$variant => {
                        self.$field.sorted().into_iter().map(|(_, object)| Object::from(object.clone())).collect()
                    } )*
                    Kind::Other => self.others.values().cloned().map(Object::Other).collect(),
                }
            }

            /// Everything in the view as if it had just appeared, objects sorted by kind, namespace and name: what an engine
            /// that watches changes is shown first.
            #[must_use]
            pub fn as_changes(&self) -> Vec<Change> {
                let mut all: Vec<Change> = Vec::new();
                $( all.extend(self.$field.sorted().into_iter().map(|(ix, object)| {
                    Change::Object { slot: ix.raw(), old: None, new: Some(Object::from(object.clone())) }
                })); )*
                let others = self.others.values().cloned().map(Object::Other);
                all.extend(others.map(|other| Change::Object { slot: 0, old: None, new: Some(other) }));
                all.extend(self.groups.values().map(|group| Change::Group { old: None, new: Some(group.clone()) }));
                let instances = self.instances.values().cloned();
                all.extend(instances.map(|instance| Change::Instance { old: None, new: Some(instance) }));
                let messages = self.messages.values().cloned();
                all.extend(messages.map(|message| Change::Message { old: None, new: Some(message) }));
                all
            }

            /// The slot and metadata of a typed object.
            #[must_use]
            pub fn slot_of(&self, kind: Kind, key: &Key) -> Option<(u32, &Meta)> {
                match kind {
                    $( Kind::$variant => {
                        let ix = self.$field.find(key)?;
                        Some((ix.raw(), &self.$field.get(ix)?.meta))
                    } )*
                    Kind::Other => None,
                }
            }

            /// One object, as it is known.
            #[must_use]
            pub fn object(&self, kind: Kind, key: &Key) -> Option<Object> {
                match kind {
                    $( Kind::$variant => self.$field.by_key(key).cloned().map(Object::from), )*
                    Kind::Other => self.others.values().find(|other| other.meta.key() == *key).cloned().map(Object::Other),
                }
            }
        }
    };
}

view! {
    namespaces: NamespaceObject, Namespace;
    nodes: Node, Node;
    priority_classes: PriorityClass, PriorityClass;
    storage_classes: StorageClass, StorageClass;
    csi_drivers: CsiDriver, CsiDriver;
    csi_nodes: CsiNode, CsiNode;
    csi_storage_capacities: CsiStorageCapacity, CsiStorageCapacity;
    volume_attachments: VolumeAttachment, VolumeAttachment;
    persistent_volumes: PersistentVolume, PersistentVolume;
    node_claims: NodeClaim, NodeClaim;
    custom_resource_definitions: CustomResourceDefinition, CustomResourceDefinition;
    persistent_volume_claims: PersistentVolumeClaim, PersistentVolumeClaim;
    resource_quotas: ResourceQuota, ResourceQuota;
    deployments: Deployment, Deployment;
    replica_sets: ReplicaSet, ReplicaSet;
    replication_controllers: ReplicationController, ReplicationController;
    stateful_sets: StatefulSet, StatefulSet;
    daemon_sets: DaemonSet, DaemonSet;
    controller_revisions: ControllerRevision, ControllerRevision;
    cron_jobs: batch::CronJob, CronJob;
    jobs: batch::Job, Job;
    horizontal_pod_autoscalers: HorizontalPodAutoscaler, HorizontalPodAutoscaler;
    pod_disruption_budgets: PodDisruptionBudget, PodDisruptionBudget;
    services: network::Service, Service;
    endpoint_slices: network::EndpointSlice, EndpointSlice;
    pods: Pod, Pod;
}

impl View {
    /// Takes in one observation.
    pub fn apply(&mut self, delta: Delta) -> Change {
        match delta {
            Delta::Put(object) => self.put(object),
            Delta::Gone(gone) => self.gone(&gone),
            // What was read of it before stays: it may be out of date, and is more than nothing.
            Delta::Unread(unread) => {
                self.unread.insert((unread.object.kind, unread.object.key.clone()), unread.clone());
                Change::Unread(unread)
            }
            Delta::Group(group) => {
                let old = self.groups.insert(group.name.clone(), group.clone());
                Change::Group { old, new: Some(group) }
            }
            Delta::GroupGone(name) => match self.groups.remove(&name) {
                Some(old) => Change::Group { old: Some(old), new: None },
                None => Change::Stale,
            },
            Delta::Instance(instance) => {
                let old = self.instances.insert(instance.id.clone(), instance.clone());
                Change::Instance { old, new: Some(instance) }
            }
            Delta::InstanceGone(id) => match self.instances.remove(&id) {
                Some(old) => Change::Instance { old: Some(old), new: None },
                None => Change::Stale,
            },
            Delta::Message(message) => {
                let old = self.messages.insert(message.id.clone(), message.clone());
                Change::Message { old, new: Some(message) }
            }
            Delta::MessageGone(id) => match self.messages.remove(&id) {
                Some(old) => Change::Message { old: Some(old), new: None },
                None => Change::Stale,
            },
        }
    }

    /// The node of a name.
    #[must_use]
    pub fn node(&self, name: &NodeName) -> Option<&Arc<Node>> {
        self.nodes.named(name.text())
    }

    /// Objects that are there and cannot be read, by kind, namespace and name.
    pub fn unread(&self) -> impl Iterator<Item = &Unread> {
        self.unread.values()
    }

    /// The NodeClaim of a node, by their machine (Karpenter `NodeClaimForNode`); of several none, as Karpenter has it.
    #[must_use]
    pub fn claim_of(&self, node: &Node) -> Option<&Arc<NodeClaim>> {
        match self.claims.get(&node.spec.provider_id)?.as_slice() {
            [only] => self.node_claims.get(*only),
            [] | [_, _, ..] => None,
        }
    }

    /// Pods that cannot be read and are on a node, or on nobody knows which: any node may have those.
    pub fn unread_on<'v>(&'v self, node: &'v NodeName) -> impl Iterator<Item = &'v Unread> {
        let may_be_there = move |unread: &&Unread| unread.node.as_ref().is_none_or(|of| of == node);
        self.unread.values().filter(|unread| unread.object.kind == Kind::Pod).filter(may_be_there)
    }

    /// Pods bound to a node, in no order.
    #[must_use]
    pub fn pods_on(&self, node: &NodeName) -> &[Ix<Pod>] {
        self.pods_on.get(node).map_or(&[], Vec::as_slice)
    }

    /// Pods bound to a node, sorted by namespace and name.
    #[must_use]
    pub fn sorted_pods_on(&self, node: &NodeName) -> Vec<&Arc<Pod>> {
        let mut pods: Vec<_> = self.pods_on(node).iter().filter_map(|ix| self.pods.get(*ix)).collect();
        pods.sort_by(|a, b| (&a.meta.namespace, &a.meta.name).cmp(&(&b.meta.namespace, &b.meta.name)));
        pods
    }

    /// Pods whose managing owner has this uid, in no order.
    #[must_use]
    pub fn pods_of(&self, controller: &Uid) -> &[Ix<Pod>] {
        self.pods_of.get(controller).map_or(&[], Vec::as_slice)
    }

    /// The label class of a pod.
    #[must_use]
    pub fn label_class(&self, pod: Ix<Pod>) -> Option<&LabelClass> {
        self.classes.of_pod(pod)
    }

    /// All label classes of a namespace, in no order.
    pub fn label_classes(&self, namespace: &Namespace) -> impl Iterator<Item = &LabelClass> {
        self.classes.in_namespace(namespace)
    }

    /// Pods of a namespace that a selector matches, in no order.
    pub fn select_pods<'a>(
        &'a self,
        namespace: &'a Namespace,
        selector: &'a Selector,
    ) -> impl Iterator<Item = Ix<Pod>> + 'a {
        self.classes
            .near(namespace, selector)
            .filter(|class| selector.matches(|key| class.labels.value(key)))
            .flat_map(|class| class.pods().iter().copied())
    }

    /// The disruption budgets that cover a pod.
    #[must_use]
    pub fn budgets_of(&self, pod: Ix<Pod>) -> &[Ix<PodDisruptionBudget>] {
        self.classes.of_pod(pod).map_or(&[], LabelClass::budgets)
    }

    /// The pods that a disruption budget covers, in no order.
    pub fn pods_of_budget(&self, budget: Ix<PodDisruptionBudget>) -> impl Iterator<Item = Ix<Pod>> {
        self.classes.of_budget(budget).flat_map(|class| class.pods().iter().copied())
    }

    /// The label classes that a disruption budget covers, in no order.
    pub fn label_classes_of_budget(
        &self,
        budget: Ix<PodDisruptionBudget>,
    ) -> impl Iterator<Item = &LabelClass> {
        self.classes.of_budget(budget)
    }

    /// Nodes with a label's value, in no order.
    #[must_use]
    pub fn nodes_with(&self, key: &str, value: &str) -> &[Ix<Node>] {
        self.topology.nodes_with(key, value)
    }

    /// The values of a node label, sorted, with the nodes that have them.
    pub fn domains(&self, key: &str) -> impl Iterator<Item = (&str, &[Ix<Node>])> {
        self.topology.domains(key)
    }

    /// The table of a kind.
    #[must_use]
    pub fn table<R: Tabled>(&self) -> &Table<R> {
        R::table(self)
    }

    /// The object of a kind and name.
    #[must_use]
    pub fn find<R: Tabled>(&self, key: &Key) -> Option<&Arc<R>> {
        R::table(self).by_key(key)
    }

    /// Node groups, sorted by name.
    #[must_use]
    pub fn groups(&self) -> &BTreeMap<GroupName, Arc<NodeGroup>> {
        &self.groups
    }

    /// A group under all of its names, as far as they are known.
    #[must_use]
    pub fn group_id(&self, name: &GroupName) -> GroupId {
        self.groups.get(name).map_or_else(|| GroupId::self_managed(name), |group| group.id())
    }

    /// Instances, sorted by id.
    #[must_use]
    pub fn instances(&self) -> &BTreeMap<InstanceId, Arc<Instance>> {
        &self.instances
    }

    /// Messages that were received and not deleted, sorted by id.
    #[must_use]
    pub fn messages(&self) -> &BTreeMap<MessageId, Arc<Message>> {
        &self.messages
    }

    /// Objects of kinds that no decision reads, sorted by group, kind, namespace and name.
    pub fn others(&self) -> impl Iterator<Item = &Arc<Other>> {
        self.others.values()
    }

    /// Those of one kind in a namespace, sorted by name.
    pub fn others_in(
        &self,
        group: &str,
        kind: &str,
        namespace: &Namespace,
    ) -> impl Iterator<Item = &Arc<Other>> {
        let (group, kind) = (Text::from(group), Text::from(kind));
        let first = Key { namespace: namespace.clone(), name: Name::default() };
        let from = (group.clone(), kind.clone(), first);
        let of_kind = self
            .others
            .range(from..)
            .take_while(move |(key, _)| key.0 == group && key.1 == kind && key.2.namespace == *namespace);
        of_kind.map(|(_, other)| other)
    }

    /// One untyped object.
    #[must_use]
    pub fn other(&self, group: &str, kind: &str, key: &Key) -> Option<&Arc<Other>> {
        self.others.get(&(Text::from(group), Text::from(kind), key.clone()))
    }

    fn put_other(&mut self, object: Arc<Other>) -> Change {
        let key = other_key(&object);
        if self.others.get(&key).is_some_and(|known| is_older(&object.meta, &known.meta)) {
            return Change::Stale;
        }
        let old = self.others.insert(key, object.clone());
        Change::Object { slot: 0, old: old.map(Object::Other), new: Some(Object::Other(object)) }
    }

    fn other_gone(&mut self, gone: &ObjectRef) -> Change {
        let found = self
            .others
            .iter()
            .find(|(key, other)| key.2 == gone.key && other.meta.uid == gone.uid)
            .map(|(key, _)| key.clone());
        match found.and_then(|key| self.others.remove(&key)) {
            Some(old) => Change::Object { slot: 0, old: Some(Object::Other(old)), new: None },
            None => Change::Stale,
        }
    }

    fn reindex(&mut self, slot: u32, old: Option<&Object>, new: Option<&Object>) {
        match (old, new) {
            (_, Some(Object::Pod(pod))) => {
                let old = match old {
                    Some(Object::Pod(old)) => Some(&**old),
                    _ => None,
                };
                self.reindex_pod(Ix::new(slot), old, Some(pod));
            }
            (Some(Object::Pod(pod)), _) => self.reindex_pod(Ix::new(slot), Some(pod), None),
            (_, Some(Object::NodeClaim(claim))) => {
                let old = match old {
                    Some(Object::NodeClaim(old)) => machine(old),
                    _ => None,
                };
                move_in(&mut self.claims, Ix::new(slot), old, machine(claim));
            }
            (Some(Object::NodeClaim(claim)), None) => {
                move_in(&mut self.claims, Ix::new(slot), machine(claim), None);
            }
            (_, Some(Object::Node(node))) => self.topology.put(Ix::new(slot), &node.meta.labels),
            (Some(Object::Node(_)), None) => self.topology.remove(Ix::new(slot)),
            // The status changes with every pod; the pods that the budget covers do not.
            (Some(Object::PodDisruptionBudget(old)), Some(Object::PodDisruptionBudget(new)))
                if old.spec.selector == new.spec.selector && old.meta.namespace == new.meta.namespace => {}
            (_, Some(Object::PodDisruptionBudget(budget))) => {
                let selector = budget.spec.selector.as_ref().and_then(|selector| selector.compile().ok());
                self.classes.put_budget(Ix::new(slot), &budget.meta.namespace, selector);
            }
            (Some(Object::PodDisruptionBudget(_)), None) => self.classes.remove_budget(Ix::new(slot)),
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    fn reindex_pod(&mut self, ix: Ix<Pod>, old: Option<&Pod>, new: Option<&Pod>) {
        fn owner(pod: Option<&Pod>) -> Option<&Uid> {
            pod?.meta.controller().map(|owner| &owner.uid)
        }
        if old.map(|pod| &pod.meta.labels) != new.map(|pod| &pod.meta.labels) {
            if old.is_some() {
                self.classes.remove_pod(ix);
            }
            if let Some(new) = new {
                self.classes.add_pod(ix, &new.meta.namespace, &new.meta.labels);
            }
        }
        move_in(
            &mut self.pods_on,
            ix,
            old.and_then(|pod| pod.node.as_ref()),
            new.and_then(|pod| pod.node.as_ref()),
        );
        // Nearly all states of a pod share the list of its owners.
        let has_same_owners =
            |old: &Pod| new.is_some_and(|new| new.meta.owner_references.is_same(&old.meta.owner_references));
        if !old.is_some_and(has_same_owners) {
            move_in(&mut self.pods_of, ix, owner(old), owner(new));
        }
    }
}

/// Whether `new` is earlier news than `known`: an earlier state of the same incarnation, or of one that was there before it. Versions are counted over
/// all objects of a store, so a lower one of another uid is old, too; objects of files may have none.
fn is_older(new: &Meta, known: &Meta) -> bool {
    let has_version = new.resource_version != ResourceVersion::default();
    new.resource_version < known.resource_version && (has_version || new.uid == known.uid)
}

fn other_key(object: &Other) -> OtherKey {
    (Text::from(object.group()), object.kind.clone(), object.meta.key())
}

/// The machine of a claim, once it is launched.
fn machine(claim: &NodeClaim) -> Option<&Text> {
    Some(&claim.status.provider_id).filter(|id| !id.is_empty())
}

/// Moves an object from one list of an index to another.
fn move_in<K: std::hash::Hash + Eq + Clone, T>(
    index: &mut FxHashMap<K, Vec<Ix<T>>>,
    object: Ix<T>,
    from: Option<&K>,
    to: Option<&K>,
) {
    if from == to {
        return;
    }
    if let Some(from) = from
        && let Some(list) = index.get_mut(from)
    {
        if let Some(at) = list.iter().position(|entry| *entry == object) {
            list.swap_remove(at);
        }
        if list.is_empty() {
            index.remove(from);
        }
    }
    if let Some(to) = to {
        match index.get_mut(to) {
            Some(list) => list.push(object),
            None => {
                index.insert(to.clone(), vec![object]);
            }
        }
    }
}

/// Views are equal when they hold equal objects, whatever the order in which these came.
impl PartialEq for View {
    fn eq(&self, other: &Self) -> bool {
        self.objects() == other.objects()
            && self.groups == other.groups
            && self.instances == other.instances
            && self.messages == other.messages
    }
}

/// A typed object is found by its slot.
impl<T: Resource> std::ops::Index<Ix<T>> for Table<T> {
    type Output = Arc<T>;

    fn index(&self, ix: Ix<T>) -> &Arc<T> {
        self.get(ix).expect("an index is used only while its object is there")
    }
}

impl FromIterator<Delta> for View {
    /// A view of everything in the Deltas.
    fn from_iter<I: IntoIterator<Item = Delta>>(deltas: I) -> Self {
        let mut view = Self::default();
        for delta in deltas {
            view.apply(delta);
        }
        view
    }
}
