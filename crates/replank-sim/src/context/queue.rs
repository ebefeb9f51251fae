//! Work queues: what is to be looked at, once and after a while (client-go `util/workqueue`).

use replank_model::time::{Span, Time};
use rustc_hash::{FxHashMap, FxHashSet};

use super::REACTION;
use crate::agenda::Agenda;
use crate::event::{Controller, Event};

/// First and longest pause after a failure; it doubles with every further one.
fn pauses(controller: Controller) -> (Span, Span) {
    match controller {
        Controller::Deployment
        | Controller::ReplicaSet
        | Controller::ReplicationController
        | Controller::StatefulSet
        | Controller::DaemonSet
        | Controller::JobTtl
        | Controller::CronJob => (Span::from_millis(5), Span::from_secs(1000)),
        // `defaultSyncBackOff`, `maxSyncBackOff`.
        Controller::EndpointSlice => (Span::from_secs(1), Span::from_secs(1000)),
        // `DefaultJobApiBackOff`, `MaxJobApiBackOff`.
        Controller::Job | Controller::JobOrphan => (Span::from_secs(1), Span::from_secs(60)),
    }
}

/// Time of one write. Recorded looks with two writes, one after the other, take 10 to 20 ms.
const WRITE: Span = Span::from_millis(5);
/// Writes of one look that count: more of them are made side by side.
const WRITES_MAX: u64 = 4;

type Key = (Controller, u32);

/// What waits to be looked at.
#[derive(Debug, Default)]
pub(crate) struct WorkQueue {
    pending: FxHashSet<Key>,
    /// When a pause is over: of several pauses the shortest counts, and only that (client-go `delaying_queue.go`).
    later: FxHashMap<Key, Time>,
    failures: FxHashMap<Key, u32>,
    /// Objects whose looking at goes on.
    busy: FxHashSet<Key>,
    /// Until when the writes of the last look at an object take.
    writing: FxHashMap<Key, Time>,
}

impl WorkQueue {
    /// Notes that an object is to be looked at; one that waits already is not put down twice.
    pub(crate) fn add(&mut self, agenda: &mut Agenda<Event>, controller: Controller, slot: u32) {
        self.add_within(agenda, (controller, slot), REACTION);
    }

    /// Looks at an object after the time that a controller takes to react to what happened.
    pub(crate) fn add_within(&mut self, agenda: &mut Agenda<Event>, key: Key, reaction: Span) {
        if self.pending.insert(key) && !self.busy.contains(&key) {
            self.put_down(agenda, key, reaction);
        }
    }

    fn put_down(&mut self, agenda: &mut Agenda<Event>, key: Key, reaction: Span) {
        let mut at = agenda.now() + reaction;
        if let Some(until) = self.writing.get(&key).copied() {
            at = at.max(until);
            if until <= agenda.now() {
                self.writing.remove(&key);
            }
        }
        agenda.look_at(at, Event::Sync(key.0, key.1));
    }

    /// Notes how many writes a look at an object made: the next look waits until they are done.
    pub(crate) fn wrote(&mut self, agenda: &Agenda<Event>, controller: Controller, slot: u32, writes: u64) {
        if writes > 0 {
            let times = i64::try_from(writes.min(WRITES_MAX)).unwrap_or(1);
            self.writing.insert((controller, slot), agenda.now() + WRITE * times);
        }
    }

    /// Notes that looking at an object goes on for a while; what is added meanwhile waits for its end.
    pub(crate) fn go_on(
        &mut self,
        agenda: &mut Agenda<Event>,
        controller: Controller,
        slot: u32,
        span: Span,
    ) {
        self.busy.insert((controller, slot));
        agenda.after(span, Event::Resume(controller, slot));
    }

    /// Notes that looking at an object is done.
    pub(crate) fn done(&mut self, agenda: &mut Agenda<Event>, controller: Controller, slot: u32) {
        let key = (controller, slot);
        if self.busy.remove(&key) && self.pending.contains(&key) {
            self.put_down(agenda, key, REACTION);
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
            agenda.look_at(at, Event::SyncLater(controller, slot));
        }
    }

    /// Notes that an object is to be looked at again after a failure.
    pub(crate) fn retry(&mut self, agenda: &mut Agenda<Event>, controller: Controller, slot: u32) {
        let failures = self.failures.entry((controller, slot)).or_default();
        let (first, longest) = pauses(controller);
        let pause = first.as_millis().saturating_mul(1 << (*failures).min(40));
        *failures += 1;
        self.add_after(agenda, controller, slot, Span::from_millis(pause).min(longest));
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
        if self.busy.contains(&key) {
            self.pending.insert(key);
            return false;
        }
        !self.pending.contains(&key)
    }
}
