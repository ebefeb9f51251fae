//! Work queues: what is to be looked at, once and after a while (client-go `util/workqueue`).

use replank_model::time::{Span, Time};

use super::REACTION;
use crate::agenda::{Agenda, Turn};
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
    /// What is known of each object, by controller and slot.
    entries: [Vec<Entry>; CONTROLLERS],
}

/// What is known of an object that a controller looks at.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Whether it waits to be looked at.
    is_pending: bool,
    /// Whether looking at it goes on.
    is_busy: bool,
    /// Failures in a row.
    failures: u32,
    /// When a pause is over: of several pauses the shortest counts, and only that (client-go `delaying_queue.go`).
    later: Option<Time>,
    /// Until when the writes of the last look take.
    writing: Option<Time>,
    /// The turn of a look that would find nothing to do: it is taken up if there is reason to before.
    turn: Option<Turn>,
}

const CONTROLLERS: usize = 10;

/// The place of a controller's objects.
fn row(controller: Controller) -> usize {
    match controller {
        Controller::Deployment => 0,
        Controller::ReplicaSet => 1,
        Controller::ReplicationController => 2,
        Controller::StatefulSet => 3,
        Controller::DaemonSet => 4,
        Controller::Job => 5,
        Controller::JobOrphan => 6,
        Controller::JobTtl => 7,
        Controller::CronJob => 8,
        Controller::EndpointSlice => CONTROLLERS - 1,
    }
}

impl WorkQueue {
    fn entry(&mut self, (controller, slot): Key) -> &mut Entry {
        let (entries, at) = (&mut self.entries[row(controller)], slot as usize);
        if entries.len() <= at {
            entries.resize(at + 1, Entry::default());
        }
        &mut entries[at]
    }

    /// Notes that an object is to be looked at; one that waits already is not put down twice.
    pub(crate) fn add(&mut self, agenda: &mut Agenda<Event>, controller: Controller, slot: u32) {
        self.add_within(agenda, (controller, slot), REACTION);
    }

    /// Looks at an object after the time that a controller takes to react to what happened.
    pub(crate) fn add_within(&mut self, agenda: &mut Agenda<Event>, key: Key, reaction: Span) {
        let entry = self.entry(key);
        if !std::mem::replace(&mut entry.is_pending, true) && !entry.is_busy {
            entry.put_down(agenda, key, reaction);
        }
    }

    /// Notes that an object is to be looked at, and that the look will find nothing to do if nothing else is added before: only its turn is kept.
    pub(crate) fn add_idle(&mut self, agenda: &mut Agenda<Event>, controller: Controller, slot: u32) {
        let entry = self.entry((controller, slot));
        // A look that goes well ends a row of failures.
        if entry.is_pending || entry.is_busy || entry.failures > 0 {
            self.add(agenda, controller, slot);
        } else if entry.turn_to_come(agenda).is_none() {
            let at = entry.reacts_at(agenda, REACTION);
            entry.turn = Some(agenda.keep_look(at));
        }
    }

    /// Notes that there is something to do for a look that would have found nothing, where the turn of one is kept.
    pub(crate) fn take_up(&mut self, agenda: &mut Agenda<Event>, controller: Controller, slot: u32) {
        if self.entry((controller, slot)).turn_to_come(agenda).is_some() {
            self.add(agenda, controller, slot);
        }
    }

    /// Notes how many writes a look at an object made: the next look waits until they are done.
    pub(crate) fn wrote(&mut self, agenda: &Agenda<Event>, controller: Controller, slot: u32, writes: u64) {
        if writes > 0 {
            let times = i64::try_from(writes.min(WRITES_MAX)).unwrap_or(1);
            self.entry((controller, slot)).writing = Some(agenda.now() + WRITE * times);
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
        self.entry((controller, slot)).is_busy = true;
        agenda.after(span, Event::Resume(controller, slot));
    }

    /// Notes that looking at an object is done.
    pub(crate) fn done(&mut self, agenda: &mut Agenda<Event>, controller: Controller, slot: u32) {
        let key = (controller, slot);
        let entry = self.entry(key);
        if std::mem::replace(&mut entry.is_busy, false) && entry.is_pending {
            entry.put_down(agenda, key, REACTION);
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
        let entry = self.entry((controller, slot));
        if entry.later.is_none_or(|known| at < known) {
            entry.later = Some(at);
            agenda.look_at(at, Event::SyncLater(controller, slot));
        }
    }

    /// Notes that an object is to be looked at again after a failure.
    pub(crate) fn retry(&mut self, agenda: &mut Agenda<Event>, controller: Controller, slot: u32) {
        let failures = &mut self.entry((controller, slot)).failures;
        let (first, longest) = pauses(controller);
        let pause = first.as_millis().saturating_mul(1 << (*failures).min(40));
        *failures += 1;
        self.add_after(agenda, controller, slot, Span::from_millis(pause).min(longest));
    }

    /// Failures in a row.
    pub(crate) fn failures(&self, controller: Controller, slot: u32) -> u32 {
        self.entries[row(controller)].get(slot as usize).map_or(0, |entry| entry.failures)
    }

    /// Notes that looking at an object went well, or that it is to be given up.
    pub(crate) fn forget(&mut self, controller: Controller, slot: u32) {
        self.entry((controller, slot)).failures = 0;
    }

    /// Notes that the object is being looked at.
    pub(crate) fn take(&mut self, controller: Controller, slot: u32) {
        self.entry((controller, slot)).is_pending = false;
    }

    /// A pause is over: whether the object is to be looked at now, for it does not wait already.
    pub(crate) fn pause_is_over(
        &mut self,
        agenda: &mut Agenda<Event>,
        controller: Controller,
        slot: u32,
    ) -> bool {
        let entry = self.entry((controller, slot));
        if entry.later != Some(agenda.now()) {
            return false;
        }
        entry.later = None;
        if entry.is_busy {
            entry.is_pending = true;
            return false;
        }
        if entry.turn_to_come(agenda).is_some() {
            // Time has passed: the look that is to come may find something to do.
            self.add(agenda, controller, slot);
            return false;
        }
        !entry.is_pending
    }
}

impl Entry {
    fn put_down(&mut self, agenda: &mut Agenda<Event>, key: Key, reaction: Span) {
        let look = Event::Sync(key.0, key.1);
        if let Some(turn) = self.turn_to_come(agenda) {
            self.turn = None;
            return agenda.take_up(turn, look);
        }
        let at = self.reacts_at(agenda, reaction);
        agenda.look_at(at, look);
    }

    /// When a look is due that there is reason to now.
    fn reacts_at(&mut self, agenda: &Agenda<Event>, reaction: Span) -> Time {
        let mut at = agenda.now() + reaction;
        if let Some(until) = self.writing {
            at = at.max(until);
            if until <= agenda.now() {
                self.writing = None;
            }
        }
        at
    }

    fn turn_to_come(&self, agenda: &Agenda<Event>) -> Option<Turn> {
        self.turn.filter(|turn| agenda.is_to_come(*turn))
    }
}

#[cfg(test)]
mod tests {
    use replank_apiserver::Clock;

    use super::*;

    #[test]
    fn a_look_that_would_find_nothing_has_its_turn_if_there_is_reason_to_look_before() {
        let at = Time::from_millis;
        let (mut agenda, mut queue) = (Agenda::new(Clock::new(at(0))), WorkQueue::default());
        let (controller, slot) = (Controller::ReplicaSet, 3);
        queue.add_idle(&mut agenda, controller, slot);
        assert_eq!(agenda.next_due(), None);
        agenda.advance_to(at(2));
        queue.add(&mut agenda, controller, slot);
        queue.add_idle(&mut agenda, controller, slot);
        assert_eq!(agenda.next_due(), Some(at(5)), "it comes as soon as the first would have");
        assert_eq!(agenda.pop_until(at(9)), Some(Event::Sync(controller, slot)));
        queue.take(controller, slot);
        queue.add_idle(&mut agenda, controller, slot);
        assert_eq!(agenda.pop_until(at(19)), None);
        agenda.advance_to(at(20));
        queue.add(&mut agenda, controller, slot);
        assert_eq!(agenda.next_due(), Some(at(25)), "the turn before is over");
    }
}
