//! The controllers of the simulated control plane.
//!
//! Each is level-triggered, as the real ones: a change that concerns it puts the slot of the object to be looked at on its
//! work queue, and a sync brings that object nearer to what it should be. A sync sees the API server's present state;
//! what a real controller would see late through its informers is modelled by [`REACTION`], the time between a change
//! and the sync it causes.

pub(crate) mod condition;
pub(crate) mod control;
pub(crate) mod disruption;
pub(crate) mod garbage;
pub(crate) mod namespaces;
pub(crate) mod nodes;
mod phase;
pub(crate) mod pod_gc;
pub(crate) mod replica_set;
pub(crate) mod taint_eviction;

use replank_model::time::Span;
use replank_model::view::{Change, View};
use rustc_hash::FxHashSet;

use crate::agenda::Agenda;
use crate::api::Api;
use crate::draw::Draws;
use crate::world::Event;

/// Time from a write to the sync it causes: watch delivery, work queue and informer. Recorded reactions of the real
/// controllers on a quiet machine lie between 3 and 15 ms.
pub(crate) const REACTION: Span = Span::from_millis(5);

/// The controllers, in the order in which they are told of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Controller {
    /// Keeps a ReplicaSet's pods.
    ReplicaSet,
}

/// What waits to be synced.
#[derive(Debug, Default)]
pub(crate) struct WorkQueue {
    pending: FxHashSet<(Controller, u32)>,
}

impl WorkQueue {
    /// Notes that an object is to be looked at; one that waits already is not put down twice.
    pub(crate) fn add(&mut self, agenda: &mut Agenda<Event>, controller: Controller, slot: u32) {
        if self.pending.insert((controller, slot)) {
            agenda.after(REACTION, Event::Sync(controller, slot));
        }
    }

    /// Notes that the object is being looked at.
    pub(crate) fn take(&mut self, controller: Controller, slot: u32) {
        self.pending.remove(&(controller, slot));
    }
}

/// What a controller may touch.
pub(crate) struct Ctx<'a> {
    /// The API server: the only way to change anything.
    pub(crate) api: &'a mut Api,
    /// What is due when.
    pub(crate) agenda: &'a mut Agenda<Event>,
    /// What waits to be synced.
    pub(crate) queue: &'a mut WorkQueue,
    /// Randomness.
    pub(crate) draws: &'a Draws,
}

impl Ctx<'_> {
    /// Everything there is.
    pub(crate) fn view(&self) -> &View {
        self.api.view()
    }

    /// Looks at an object soon.
    pub(crate) fn enqueue(&mut self, controller: Controller, slot: u32) {
        self.queue.add(self.agenda, controller, slot);
    }
}

/// Tells every controller of a change.
pub(crate) fn watch(ctx: &mut Ctx<'_>, change: &Change) {
    replica_set::watch(ctx, change);
}

/// Looks at one object.
pub(crate) fn sync(ctx: &mut Ctx<'_>, controller: Controller, slot: u32) {
    ctx.queue.take(controller, slot);
    match controller {
        Controller::ReplicaSet => replica_set::sync(ctx, slot),
    }
}
