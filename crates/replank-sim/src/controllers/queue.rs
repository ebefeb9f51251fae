//! Work queues: what is to be looked at, once and after a while (client-go `util/workqueue`).

use replank_model::time::{Span, Time};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Controller, REACTION};
use crate::agenda::Agenda;
use crate::world::Event;

/// First pause after a failure, doubled with every further one.
const RETRY_FIRST: Span = Span::from_millis(5);
/// Longest pause after a failure.
const RETRY_MAX: Span = Span::from_secs(1000);

type Key = (Controller, u32);

/// What waits to be looked at.
#[derive(Debug, Default)]
pub(crate) struct WorkQueue {
    pending: FxHashSet<Key>,
    /// When a pause is over: of several pauses the shortest counts, and only that (client-go `delaying_queue.go`).
    later: FxHashMap<Key, Time>,
    failures: FxHashMap<Key, u32>,
}

impl WorkQueue {
    /// Notes that an object is to be looked at; one that waits already is not put down twice.
    pub(crate) fn add(&mut self, agenda: &mut Agenda<Event>, controller: Controller, slot: u32) {
        if self.pending.insert((controller, slot)) {
            agenda.after(REACTION, Event::Sync(controller, slot));
        }
    }

    /// Notes that an object is to be looked at after a while, whatever happens before. One that is to be looked at sooner
    /// is not put down again.
    pub(crate) fn add_after(
        &mut self,
        agenda: &mut Agenda<Event>,
        controller: Controller,
        slot: u32,
        span: Span,
    ) {
        let at = agenda.now() + span.max(Span::ZERO);
        let key = (controller, slot);
        if self.later.get(&key).is_none_or(|known| at < *known) {
            self.later.insert(key, at);
            agenda.at(at, Event::SyncLater(controller, slot));
        }
    }

    /// Notes that an object is to be looked at again after a failure.
    pub(crate) fn retry(&mut self, agenda: &mut Agenda<Event>, controller: Controller, slot: u32) {
        let failures = self.failures.entry((controller, slot)).or_default();
        let pause = RETRY_FIRST.as_millis().saturating_mul(1 << (*failures).min(40));
        *failures += 1;
        self.add_after(agenda, controller, slot, Span::from_millis(pause).min(RETRY_MAX));
    }

    /// Failures in a row.
    pub(crate) fn failures(&self, controller: Controller, slot: u32) -> u32 {
        self.failures.get(&(controller, slot)).copied().unwrap_or(0)
    }

    /// Notes that looking at an object went well, or that it is to be given up.
    pub(crate) fn forget(&mut self, controller: Controller, slot: u32) {
        self.failures.remove(&(controller, slot));
    }

    /// Notes that the object is being looked at.
    pub(crate) fn take(&mut self, controller: Controller, slot: u32) {
        self.pending.remove(&(controller, slot));
    }

    /// A pause is over: whether the object is to be looked at now, for it does not wait already.
    pub(crate) fn pause_is_over(&mut self, controller: Controller, slot: u32, now: Time) -> bool {
        let key = (controller, slot);
        if self.later.get(&key) != Some(&now) {
            return false;
        }
        self.later.remove(&key);
        !self.pending.contains(&key)
    }
}
