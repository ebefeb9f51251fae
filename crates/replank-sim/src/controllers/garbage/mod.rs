//! Garbage collection: what becomes of the objects that an object owns (pkg/controller/garbagecollector).
//!
//! Objects whose owners are gone are deleted; an owner that is deleted in the foreground waits for the dependents that
//! block it; one that orphans takes its name off them first. An owner that was not there from the beginning, as in a
//! snapshot of a part of a cluster, counts as being there: the real collector has had its chance.

mod graph;

use replank_model::object::meta::{Meta, OwnerReference};
use replank_model::object::{Kind, Object};
use replank_model::text::Uid;
use replank_model::view::{Change, View};
use rustc_hash::FxHashSet;

use super::{Ctx, REACTION};
use crate::event::ControlDue;
use crate::event::Event;
use graph::{Graph, Id, Owner, deletes_dependents, has_finalizer, orphans_dependents};
use replank_apiserver::{DeleteOptions, FOREGROUND, ORPHAN, Propagation};

/// The collector.
#[derive(Debug, Default)]
pub(crate) struct GarbageCollector {
    graph: Graph,
    /// Owners that were never there.
    outside: FxHashSet<Uid>,
    /// Owners that wait for their dependents to go.
    waiting: FxHashSet<Uid>,
    /// What is to be looked at, in turn, by uid: a node's number may be another object's by then.
    queue: Vec<(Uid, Work)>,
    queued: FxHashSet<(Uid, Work)>,
}

/// What is to be done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Work {
    /// Delete it if nobody needs it.
    Delete,
    /// Take its name off its dependents.
    Orphan,
    /// Let it go, now that its dependents are free.
    Release,
}

impl GarbageCollector {
    /// Everything that is there at the beginning has been seen.
    pub(crate) fn start(&mut self, view: &View) {
        self.outside = self.graph.absent_owners(view);
    }

    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (None, Some(Object::Pod(pod)))
                if self.graph.is_left_out(*slot) && self.graph.leaves_out(ctx.view(), pod) => {}
            (old, Some(new)) => self.see(ctx, *slot, old.as_ref().map(Object::meta), new),
            (Some(Object::Pod(pod)), None) if self.graph.is_left_out(*slot) => {
                for owner in &pod.meta.owner_references {
                    self.wake_waiting(ctx, &owner.uid);
                }
            }
            (Some(old), None) => self.lose(ctx, *slot, old),
            (None, None) => {}
        }
    }

    /// Works through the queue as it is.
    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>) {
        self.queued.clear();
        for (uid, work) in std::mem::take(&mut self.queue) {
            let Some(id) = self.graph.id(&uid) else { continue };
            let Some(object) = self.graph.object(ctx.view(), id) else { continue };
            self.graph.draw_in(ctx.view(), &uid);
            match work {
                Work::Delete => self.attempt(ctx, id, &object),
                Work::Orphan => self.orphan(ctx, id, &object),
                Work::Release => remove_finalizer(ctx, object, ORPHAN),
            }
        }
    }

    fn see(&mut self, ctx: &mut Ctx<'_>, slot: u32, old: Option<&Meta>, new: &Object) {
        let meta = new.meta();
        // Owners that have not changed are mostly one list.
        if old.is_some_and(|old| old.owner_references == meta.owner_references) && is_settled(old, meta) {
            return;
        }
        let known: &[OwnerReference] = old.map_or(&[], |old| &old.owner_references);
        let id = self.graph.put(ctx.view(), slot, new);
        for added in meta.owner_references.iter().filter(|owner| !known.iter().any(|k| k.uid == owner.uid)) {
            // An owner that is not there, or that is going, or that is another kind of thing.
            let is_solid = self.graph.follow(ctx.view(), added, meta) == Owner::Solid;
            if !is_solid {
                self.add(ctx, meta.uid.clone(), Work::Delete);
            }
        }
        for changed in known.iter().filter(|owner| !meta.owner_references.contains(owner)) {
            self.wake_waiting(ctx, &changed.uid);
        }
        let was = |state: fn(&Meta) -> bool| old.is_some_and(state);
        if !deletes_dependents(meta) {
            self.waiting.remove(&meta.uid);
        } else if !was(deletes_dependents) {
            self.waiting.insert(meta.uid.clone());
            self.graph.draw_in(ctx.view(), &meta.uid);
            for dependent in self.graph.dependents(id) {
                self.add_id(ctx, dependent);
            }
            self.add(ctx, meta.uid.clone(), Work::Delete);
        }
        if orphans_dependents(meta) && !was(orphans_dependents) {
            self.add(ctx, meta.uid.clone(), Work::Orphan);
        }
    }

    fn lose(&mut self, ctx: &mut Ctx<'_>, slot: u32, object: &Object) {
        let meta = object.meta();
        if object.kind() == Kind::Pod {
            if self.graph.id(&meta.uid).is_none() {
                // It was left out, and the bit of its slot is that of the next pod there, which was drawn in before this one's end was told.
                for owner in &meta.owner_references {
                    self.wake_waiting(ctx, &owner.uid);
                }
                return;
            }
            self.graph.forget_pod(ctx.view(), slot);
        }
        self.waiting.remove(&meta.uid);
        self.graph.draw_in(ctx.view(), &meta.uid);
        let (owners, dependents) = self.graph.remove(&meta.uid);
        for dependent in dependents {
            self.add_id(ctx, dependent);
        }
        for owner in owners {
            let object = self.graph.object(ctx.view(), owner);
            if let Some(waiting) = object.filter(|object| deletes_dependents(object.meta())) {
                self.add(ctx, waiting.meta().uid.clone(), Work::Delete);
            }
        }
    }

    /// An owner that waits for its dependents is to look whether any is left.
    fn wake_waiting(&mut self, ctx: &mut Ctx<'_>, owner: &Uid) {
        if self.waiting.is_empty() {
            return;
        }
        let object = self.graph.id(owner).and_then(|id| self.graph.object(ctx.view(), id));
        if object.is_some_and(|object| deletes_dependents(object.meta())) {
            self.add(ctx, owner.clone(), Work::Delete);
        }
    }

    fn add_id(&mut self, ctx: &mut Ctx<'_>, id: Id) {
        if let Some(object) = self.graph.object(ctx.view(), id) {
            self.add(ctx, object.meta().uid.clone(), Work::Delete);
        }
    }

    fn add(&mut self, ctx: &mut Ctx<'_>, uid: Uid, work: Work) {
        if self.queue.is_empty() {
            ctx.agenda.after(REACTION, Event::Control(ControlDue::Garbage));
        }
        if self.queued.insert((uid.clone(), work)) {
            self.queue.push((uid, work));
        }
    }

    /// Deletes an object if all its owners are gone or going (`attemptToDeleteItem`).
    fn attempt(&mut self, ctx: &mut Ctx<'_>, id: Id, object: &Object) {
        let meta = object.meta();
        if meta.is_terminating() && !deletes_dependents(meta) {
            return;
        }
        if deletes_dependents(meta) {
            return self.release_if_free(ctx, id, object);
        }
        if meta.owner_references.is_empty() {
            return;
        }
        // Of a kind that is not served nobody can say whether it is there: the object stays, and upstream tries again.
        let is_served =
            |owner: &OwnerReference| ctx.api.resource_type(&owner.api_version, &owner.kind).is_ok();
        if ctx.api.serving().traces && !meta.owner_references.iter().all(is_served) {
            return;
        }
        let follow = |owner: &OwnerReference| match self.graph.follow(ctx.view(), owner, meta) {
            Owner::Absent if self.outside.contains(&owner.uid) => Owner::Solid,
            found @ (Owner::Solid | Owner::Absent | Owner::Waiting) => found,
        };
        let owners: Vec<Owner> = meta.owner_references.iter().map(follow).collect();
        if owners.contains(&Owner::Solid) {
            let is_solid: Vec<bool> = owners.iter().map(|owner| *owner == Owner::Solid).collect();
            if is_solid.contains(&false) {
                let mut kept = is_solid.iter();
                let object = object.clone().map_meta(|meta| {
                    meta.owner_references.retain(|_| *kept.next().expect("one for each reference"));
                });
                update(ctx, object);
            }
            return;
        }
        let mut object = object.clone();
        let propagation = if owners.contains(&Owner::Waiting) && self.graph.has_dependents(id) {
            // Objects that own each other in a circle would wait for each other for ever.
            let is_circle = self.graph.dependents(id).into_iter().any(|dependent| {
                let dependent = self.graph.object(ctx.view(), dependent);
                dependent.is_some_and(|dependent| deletes_dependents(dependent.meta()))
            });
            if is_circle {
                object = object.map_meta(|meta| {
                    for owner in &mut meta.owner_references {
                        owner.block_owner_deletion = owner.block_owner_deletion.map(|_| false);
                    }
                });
                object = ctx.api.update_object(object).expect("the object was just read");
            }
            Propagation::Foreground
        } else if has_finalizer(meta, ORPHAN) {
            Propagation::Orphan
        } else if has_finalizer(meta, FOREGROUND) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        let options = DeleteOptions {
            propagation: Some(propagation),
            uid: Some(meta.uid.clone()),
            ..DeleteOptions::default()
        };
        let deleted = ctx.api.delete_known(&object, &options);
        debug_assert!(deleted.is_ok(), "the object was just read");
    }

    /// An object that is deleted in the foreground goes when no dependent blocks it (`processDeletingDependentsItem`).
    fn release_if_free(&mut self, ctx: &mut Ctx<'_>, id: Id, object: &Object) {
        let uid = &object.meta().uid;
        let mut is_blocked = false;
        for dependent in self.graph.dependents(id) {
            let Some(dependent) = self.graph.object(ctx.view(), dependent) else { continue };
            let blocks =
                |owner: &OwnerReference| owner.uid == *uid && owner.block_owner_deletion == Some(true);
            if dependent.meta().owner_references.iter().any(blocks) {
                is_blocked = true;
                if !deletes_dependents(dependent.meta()) {
                    self.add(ctx, dependent.meta().uid.clone(), Work::Delete);
                }
            }
        }
        if !is_blocked {
            remove_finalizer(ctx, object.clone(), FOREGROUND);
        }
    }

    /// Takes an object's name off its dependents (`orphanDependents`); the object goes a moment later.
    fn orphan(&mut self, ctx: &mut Ctx<'_>, id: Id, object: &Object) {
        let uid = &object.meta().uid;
        for dependent in self.graph.dependents(id) {
            let Some(dependent) = self.graph.object(ctx.view(), dependent) else { continue };
            let freed = dependent.map_meta(|meta| meta.owner_references.retain(|owner| owner.uid != *uid));
            update(ctx, freed);
        }
        self.add(ctx, uid.clone(), Work::Release);
    }
}

/// Whether nothing about an object's own deletion has changed.
fn is_settled(old: Option<&Meta>, new: &Meta) -> bool {
    old.is_some_and(|old| {
        deletes_dependents(old) == deletes_dependents(new)
            && orphans_dependents(old) == orphans_dependents(new)
    })
}

fn remove_finalizer(ctx: &mut Ctx<'_>, object: Object, finalizer: &str) {
    let object = object.map_meta(|meta| meta.finalizers.retain(|name| &**name != finalizer));
    update(ctx, object);
}

fn update(ctx: &mut Ctx<'_>, object: Object) {
    let written = ctx.api.update_object(object);
    debug_assert!(written.is_ok(), "the object was just read");
}

#[cfg(test)]
mod tests;
