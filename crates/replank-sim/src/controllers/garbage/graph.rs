//! The ownership graph (pkg/controller/garbagecollector `graph.go`).
//!
//! Most objects are pods, and most pods come and go without anybody asking what they own or who owns them. A pod that nobody names as an owner, and that has no
//! owner but one that manages it and is there, is left out until it is asked for: the View knows which pods an owner manages.

use std::sync::Arc;

use replank_model::object::meta::{Key, Meta, OwnerReference};
use replank_model::object::pod::Pod;
use replank_model::object::{Kind, Object};
use replank_model::text::{Text, Uid};
use replank_model::view::{Ix, View};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::controllers::slots::Slots;
use replank_apiserver::{FOREGROUND, ORPHAN};

/// An object in the graph.
pub(super) type Id = u32;

/// Every object but the pods that are left out, and which objects depend on it.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<Option<Node>>,
    free: Vec<Id>,
    by_uid: FxHashMap<Uid, Id>,
    /// Pods that are not left out, by slot.
    pods: Slots,
    /// Dependents of owners that are not there, by the owner's uid.
    bereft: FxHashMap<Uid, FxHashSet<Id>>,
}

#[derive(Debug)]
struct Node {
    item: Item,
    owners: SmallVec<[Named; 1]>,
    dependents: FxHashSet<Id>,
}

/// An owner that an object names.
#[derive(Clone, Debug)]
struct Named {
    uid: Uid,
    /// Its node, as long as it is there.
    node: Option<Id>,
}

/// What finds an object again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    kind: Kind,
    /// Group and kind of an untyped object.
    other: Option<(Text, Text)>,
    key: Key,
    uid: Uid,
}

impl Item {
    fn of(object: &Object) -> Self {
        let other = if let Object::Other(other) = object {
            Some((Text::from(other.group()), other.kind.clone()))
        } else {
            None
        };
        Self { kind: object.kind(), other, key: object.meta().key(), uid: object.meta().uid.clone() }
    }

    /// The object, if this incarnation is still there.
    pub(super) fn find(&self, view: &View) -> Option<Object> {
        let found = match &self.other {
            Some((group, kind)) => view.other(group, kind, &self.key).cloned().map(Object::Other),
            None => view.object(self.kind, &self.key),
        };
        found.filter(|object| object.meta().uid == self.uid)
    }

    /// Whether a reference means this object: same kind and name, in the dependent's namespace or in none.
    fn is_meant(&self, reference: &OwnerReference, dependent: &Meta) -> bool {
        fn group(version: &str) -> &str {
            version.split_once('/').map_or("", |(group, _)| group)
        }
        let (own_group, own_kind) = match &self.other {
            Some((own_group, own_kind)) => (&**own_group, &**own_kind),
            None => (group(self.kind.api_version()), self.kind.as_str()),
        };
        own_group == group(&reference.api_version)
            && own_kind == &*reference.kind
            && self.key.name == reference.name
            && (self.key.namespace.is_empty() || self.key.namespace == dependent.namespace)
    }
}

/// What a reference leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// An object that is there.
    Solid,
    /// Nothing.
    Absent,
    /// An object that waits for its dependents to go.
    Waiting,
}

impl Graph {
    /// The node of an object.
    pub(super) fn id(&self, uid: &Uid) -> Option<Id> {
        self.by_uid.get(uid).copied()
    }

    /// What finds the object of a node.
    pub(super) fn item(&self, id: Id) -> Option<&Item> {
        Some(&self.nodes.get(id as usize)?.as_ref()?.item)
    }

    /// The object of a node.
    pub(super) fn object(&self, view: &View, id: Id) -> Option<Object> {
        self.item(id)?.find(view)
    }

    /// Nodes of the dependents, in order of their objects' kinds and names.
    pub(super) fn dependents(&self, id: Id) -> Vec<Id> {
        let node = self.nodes.get(id as usize).and_then(Option::as_ref);
        node.map_or_else(Vec::new, |node| self.in_order(node.dependents.iter().copied()))
    }

    /// Whether anything depends on an object.
    pub(super) fn has_dependents(&self, id: Id) -> bool {
        self.nodes.get(id as usize).and_then(Option::as_ref).is_some_and(|node| !node.dependents.is_empty())
    }

    /// Whether a pod that is new can be left out.
    pub(super) fn leaves_out(&self, view: &View, pod: &Pod) -> bool {
        let meta = &pod.meta;
        let is_managed = match meta.owner_references.as_slice() {
            [] => true,
            [owner] => owner.controller == Some(true) && self.follow(view, owner, meta) == Owner::Solid,
            [_, _, ..] => false,
        };
        is_managed
            && !deletes_dependents(meta)
            && !orphans_dependents(meta)
            && (self.bereft.is_empty() || !self.bereft.contains_key(&meta.uid))
    }

    /// Whether the pod in a slot is left out.
    pub(super) fn is_left_out(&self, slot: u32) -> bool {
        !self.pods.contains(slot)
    }

    /// Takes in the pods that an owner manages and that were left out.
    pub(super) fn draw_in(&mut self, view: &View, owner: &Uid) {
        for ix in view.pods_of(owner) {
            if self.is_left_out(ix.raw())
                && let Some(pod) = view.pods.get(*ix)
            {
                self.put(view, ix.raw(), &Object::Pod(Arc::clone(pod)));
            }
        }
    }

    /// Takes in a pod that an object names as its owner, where it was left out.
    fn draw_in_owner(&mut self, view: &View, owner: &OwnerReference, dependent: &Meta) {
        if &*owner.kind != Kind::Pod.as_str() || self.by_uid.contains_key(&owner.uid) {
            return;
        }
        let key = Key { namespace: dependent.namespace.clone(), name: owner.name.clone() };
        let Some((slot, pod)) = view.pods.find(&key).map(|ix| (ix.raw(), &view.pods[ix])) else { return };
        if pod.meta.uid == owner.uid && self.is_left_out(slot) {
            self.put(view, slot, &Object::Pod(Arc::clone(pod)));
        }
    }

    /// Notes an object and its owners.
    pub(super) fn put(&mut self, view: &View, slot: u32, object: &Object) -> Id {
        let meta = object.meta();
        if object.kind() == Kind::Pod {
            // First of all: owners may name each other in a circle.
            self.pods.insert(slot);
        }
        for owner in &meta.owner_references {
            self.draw_in_owner(view, owner, meta);
        }
        let id = match self.by_uid.get(&meta.uid) {
            Some(id) => *id,
            None => self.insert(object),
        };
        let named = |owner: &OwnerReference| Named { uid: owner.uid.clone(), node: self.id(&owner.uid) };
        let owners: SmallVec<[Named; 1]> = meta.owner_references.iter().map(named).collect();
        let known = std::mem::take(&mut self.node(id).owners);
        let is_in = |one: &Named, all: &[Named]| all.iter().any(|other| other.uid == one.uid);
        for gone in known.iter().filter(|owner| !is_in(owner, &owners)) {
            self.set_of(gone).remove(&id);
        }
        for new in owners.iter().filter(|owner| !is_in(owner, &known)) {
            self.set_of(new).insert(id);
        }
        self.node(id).owners = owners;
        id
    }

    /// The pod in a slot is gone. The View is ahead: the next pod in its slot may have been drawn in already.
    pub(super) fn forget_pod(&mut self, view: &View, slot: u32) {
        let next = view.pods.get(Ix::new(slot));
        if !next.is_some_and(|next| self.by_uid.contains_key(&next.meta.uid)) {
            self.pods.remove(slot);
        }
    }

    /// Forgets an object. Returns its owners' nodes and its dependents'.
    pub(super) fn remove(&mut self, uid: &Uid) -> (Vec<Id>, Vec<Id>) {
        let Some(id) = self.by_uid.remove(uid) else { return (Vec::new(), Vec::new()) };
        let node = self.nodes[id as usize].take().expect("a uid leads to its node");
        self.free.push(id);
        // One that names itself is gone with itself.
        let others = || node.owners.iter().filter(|owner| owner.node != Some(id));
        for owner in others() {
            self.set_of(owner).remove(&id);
        }
        let owners = others().filter_map(|owner| owner.node).collect();
        self.lead(&node.dependents, uid, None);
        let dependents = self.in_order(node.dependents.iter().copied());
        if !node.dependents.is_empty() {
            self.bereft.insert(uid.clone(), node.dependents);
        }
        (owners, dependents)
    }

    /// What an owner reference of an object leads to.
    pub(super) fn follow(&self, view: &View, reference: &OwnerReference, dependent: &Meta) -> Owner {
        let item = self.id(&reference.uid).and_then(|id| self.item(id));
        match item.filter(|item| item.is_meant(reference, dependent)).and_then(|item| item.find(view)) {
            None => Owner::Absent,
            Some(owner) if deletes_dependents(owner.meta()) => Owner::Waiting,
            Some(_) => Owner::Solid,
        }
    }

    /// Uids of owners that are named and not there.
    pub(super) fn absent_owners(&self, view: &View) -> FxHashSet<Uid> {
        let named = |(uid, dependents): (&Uid, &FxHashSet<Id>)| (!dependents.is_empty()).then(|| uid.clone());
        let mut absent: FxHashSet<Uid> = self.bereft.iter().filter_map(named).collect();
        if !absent.is_empty() {
            // A pod that is named as what it is not is there nevertheless.
            for (_, pod) in view.pods.unordered() {
                absent.remove(&pod.meta.uid);
            }
        }
        absent
    }

    fn insert(&mut self, object: &Object) -> Id {
        let uid = object.meta().uid.clone();
        let dependents =
            if self.bereft.is_empty() { None } else { self.bereft.remove(&uid) }.unwrap_or_default();
        let id = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(None);
            Id::try_from(self.nodes.len() - 1).expect("fewer than 2^32 objects fit in memory")
        });
        self.lead(&dependents, &uid, Some(id));
        let node = Node { item: Item::of(object), owners: SmallVec::new(), dependents };
        self.nodes[id as usize] = Some(node);
        self.by_uid.insert(uid, id);
        id
    }

    /// The set of an owner's dependents, whether the owner is there or not.
    fn set_of(&mut self, owner: &Named) -> &mut FxHashSet<Id> {
        match owner.node {
            Some(id) => &mut self.node(id).dependents,
            None => self.bereft.entry(owner.uid.clone()).or_default(),
        }
    }

    /// An owner has come or gone: all that name it know its node.
    fn lead(&mut self, dependents: &FxHashSet<Id>, uid: &Uid, node: Option<Id>) {
        for dependent in dependents {
            let named = self.nodes[*dependent as usize].iter_mut().flat_map(|node| node.owners.iter_mut());
            named.filter(|owner| owner.uid == *uid).for_each(|owner| owner.node = node);
        }
    }

    fn node(&mut self, id: Id) -> &mut Node {
        self.nodes[id as usize].as_mut().expect("ids are those of objects that are there")
    }

    fn in_order(&self, ids: impl Iterator<Item = Id>) -> Vec<Id> {
        let mut ids: Vec<Id> = ids.collect();
        ids.sort_by(|a, b| {
            let of = |id: &Id| self.item(*id).map(|item| (item.kind, &item.other, &item.key));
            of(a).cmp(&of(b))
        });
        ids
    }
}

/// Whether an object is on its way out and waits for its dependents to go first.
pub(super) fn deletes_dependents(meta: &Meta) -> bool {
    meta.is_terminating() && has_finalizer(meta, FOREGROUND)
}

/// Whether an object is on its way out and leaves its dependents behind.
pub(super) fn orphans_dependents(meta: &Meta) -> bool {
    meta.is_terminating() && has_finalizer(meta, ORPHAN)
}

pub(super) fn has_finalizer(meta: &Meta, finalizer: &str) -> bool {
    meta.finalizers.iter().any(|name| &**name == finalizer)
}
