//! Ownership: dependents by owner, orphans, and all objects by namespace.
//!
//! What informers' indices are to the real controllers. Slots are in ascending order, so that a walk has one order
//! whatever was looked up before.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

use replank_model::object::Kind;
use replank_model::object::meta::{Key, Meta, OwnerReference};
use replank_model::text::{Namespace, Uid};
use replank_model::view::{Change, View};
use rustc_hash::FxHashMap;

type Slots = BTreeSet<u32>;

/// The index.
#[derive(Debug, Default)]
pub(crate) struct Index {
    owned: FxHashMap<(Kind, Uid), Slots>,
    orphans: FxHashMap<(Kind, Namespace), Slots>,
    namespaced: FxHashMap<(Kind, Namespace), Slots>,
    /// Counts the ReplicaSets that came, went, or were given to others.
    sets_changed: u64,
}

/// How a kind is indexed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indexed {
    /// By owner and, without one, by namespace.
    Dependent,
    /// By namespace.
    Owner,
    /// Both.
    Both,
    /// Only those without an owner, by namespace: the View knows those with one.
    Orphans,
    /// Not at all.
    Not,
}

fn indexed(kind: Kind) -> Indexed {
    match kind {
        Kind::Pod => Indexed::Orphans,
        Kind::ReplicaSet | Kind::Job => Indexed::Both,
        Kind::ControllerRevision | Kind::EndpointSlice => Indexed::Dependent,
        Kind::Deployment
        | Kind::ReplicationController
        | Kind::StatefulSet
        | Kind::DaemonSet
        | Kind::Service => Indexed::Owner,
        Kind::Namespace
        | Kind::Node
        | Kind::PriorityClass
        | Kind::StorageClass
        | Kind::CsiDriver
        | Kind::CsiNode
        | Kind::NodeClaim
        | Kind::CsiStorageCapacity
        | Kind::VolumeAttachment
        | Kind::PersistentVolume
        | Kind::CustomResourceDefinition
        | Kind::PersistentVolumeClaim
        | Kind::ResourceQuota
        | Kind::CronJob
        | Kind::HorizontalPodAutoscaler
        | Kind::PodDisruptionBudget
        | Kind::Other => Indexed::Not,
    }
}

impl Index {
    /// Takes in a change.
    pub(crate) fn watch(&mut self, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        let Some(object) = new.as_ref().or(old.as_ref()) else { return };
        let (kind, how) = (object.kind(), indexed(object.kind()));
        if how == Indexed::Not {
            return;
        }
        if let (Some(old), Some(new)) = (old, new)
            && old.meta().owner_references == new.meta().owner_references
        {
            return;
        }
        self.sets_changed += u64::from(kind == Kind::ReplicaSet);
        if let Some(old) = old {
            self.edit(kind, how, old.meta(), |slots| {
                slots.remove(slot);
            });
        }
        if let Some(new) = new {
            self.edit(kind, how, new.meta(), |slots| {
                slots.insert(*slot);
            });
        }
    }

    /// Dependents of a kind whose managing owner has this uid.
    pub(crate) fn owned_by(&self, kind: Kind, owner: &Uid) -> Vec<u32> {
        copied(self.owned.get(&(kind, owner.clone())))
    }

    /// Whether these, which are sorted, are all dependents of a kind whose managing owner has this uid.
    pub(crate) fn owns(&self, kind: Kind, owner: &Uid, slots: &[u32]) -> bool {
        self.owned.get(&(kind, owner.clone())).map_or(slots.is_empty(), |owned| owned.iter().eq(slots))
    }

    /// A number that is another one when ReplicaSets have come, gone, or been given to others: as long as it is the same, so is what is said of them here.
    pub(crate) fn sets_changed(&self) -> u64 {
        self.sets_changed
    }

    /// Objects of a kind in a namespace that nobody manages.
    pub(crate) fn orphans(&self, kind: Kind, namespace: &Namespace) -> Vec<u32> {
        copied(self.orphans.get(&(kind, namespace.clone())))
    }

    /// Whether there are any of these.
    pub(crate) fn has_orphans(&self, kind: Kind, namespace: &Namespace) -> bool {
        self.orphans.contains_key(&(kind, namespace.clone()))
    }

    /// All objects of a kind in a namespace.
    pub(crate) fn namespaced(&self, kind: Kind, namespace: &Namespace) -> Vec<u32> {
        copied(self.namespaced.get(&(kind, namespace.clone())))
    }

    fn edit(&mut self, kind: Kind, how: Indexed, meta: &Meta, edit: impl Fn(&mut Slots)) {
        if matches!(how, Indexed::Dependent | Indexed::Both | Indexed::Orphans) {
            match meta.controller() {
                Some(owner) if how != Indexed::Orphans => {
                    edit_entry(&mut self.owned, (kind, owner.uid.clone()), &edit);
                }
                Some(_) => {}
                None => edit_entry(&mut self.orphans, (kind, meta.namespace.clone()), &edit),
            }
        }
        if matches!(how, Indexed::Owner | Indexed::Both) {
            edit_entry(&mut self.namespaced, (kind, meta.namespace.clone()), &edit);
        }
    }
}

fn edit_entry<K: std::hash::Hash + Eq>(map: &mut FxHashMap<K, Slots>, key: K, edit: &impl Fn(&mut Slots)) {
    match map.entry(key) {
        Entry::Occupied(mut entry) => {
            edit(entry.get_mut());
            if entry.get().is_empty() {
                entry.remove();
            }
        }
        Entry::Vacant(entry) => {
            let mut slots = Slots::new();
            edit(&mut slots);
            if !slots.is_empty() {
                entry.insert(slots);
            }
        }
    }
}

fn copied(slots: Option<&Slots>) -> Vec<u32> {
    slots.into_iter().flatten().copied().collect()
}

/// The slot of the object that a reference to a managing owner means: same namespace, kind and uid.
pub(crate) fn resolve(
    view: &View,
    kind: Kind,
    namespace: &Namespace,
    owner: Option<&OwnerReference>,
) -> Option<u32> {
    let owner = owner.filter(|owner| &*owner.kind == kind.as_str())?;
    let key = Key { namespace: namespace.clone(), name: owner.name.clone() };
    let (slot, meta) = view.slot_of(kind, &key)?;
    (meta.uid == owner.uid).then_some(slot)
}
