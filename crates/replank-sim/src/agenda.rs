//! Virtual time: what is due when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use replank_apiserver::Clock;
use replank_model::time::{Span, Time};

/// How far the horizon is from the first event that is due at it.
const NEAR: Span = Span::from_millis(200);

/// Events in the order in which they are due; those due at one moment in the order of their rank, then in that in which
/// they were put down.
#[derive(Debug)]
pub(crate) struct Agenda<E> {
    clock: Clock,
    next: u64,
    /// What is due before the horizon: little, and nearly all that happens passes through it.
    near: BinaryHeap<Reverse<Entry<E>>>,
    /// What is due at the horizon or after it.
    far: BinaryHeap<Reverse<Entry<E>>>,
    horizon: Time,
    /// Events taken out so far.
    pub(crate) taken: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Time,
    rank: Rank,
    number: u64,
    event: E,
}

/// Which events of one moment come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Looks of controllers: what happens at the same moment is not yet known to them.
    Look,
    /// What happens.
    ScriptEvent,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.rank, self.number) == (other.at, other.rank, other.number)
    }
}
impl<E> Eq for Entry<E> {}
impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.rank, self.number).cmp(&(other.at, other.rank, other.number))
    }
}

impl<E> Agenda<E> {
    /// Nothing is due yet. Taking events moves the clock.
    pub(crate) fn new(clock: Clock) -> Self {
        let horizon = clock.now() + NEAR;
        Self { clock, next: 0, near: BinaryHeap::new(), far: BinaryHeap::new(), horizon, taken: 0 }
    }

    /// The present moment.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Puts an event down for a moment; one that has passed is due at once.
    pub(crate) fn at(&mut self, at: Time, event: E) {
        self.put(at, Rank::ScriptEvent, event);
    }

    /// Puts down a look of a controller for a moment: it comes before all that happens then.
    pub(crate) fn look_at(&mut self, at: Time, event: E) {
        self.put(at, Rank::Look, event);
    }

    fn put(&mut self, at: Time, rank: Rank, event: E) {
        let at = at.max(self.now());
        let heap = if at < self.horizon { &mut self.near } else { &mut self.far };
        heap.push(Reverse(Entry { at, rank, number: self.next, event }));
        self.next += 1;
    }

    /// Puts an event down for after a while.
    pub(crate) fn after(&mut self, span: Span, event: E) {
        self.at(self.now() + span, event);
    }

    /// What is due that `of` picks, with its time, in the order in which it is due.
    pub(crate) fn pending<T>(&self, of: impl Fn(&E) -> Option<T>) -> Vec<(Time, T)> {
        let mut entries: Vec<&Entry<E>> =
            self.near.iter().chain(&self.far).map(|Reverse(entry)| entry).collect();
        entries.sort_unstable();
        entries.into_iter().filter_map(|entry| Some((entry.at, of(&entry.event)?))).collect()
    }

    /// When the next event is due.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.near.peek().or_else(|| self.far.peek()).map(|Reverse(entry)| entry.at)
    }

    /// Moves the horizon on when nothing is left before it.
    fn look_ahead(&mut self) {
        let Some(Reverse(first)) = self.far.peek().filter(|_| self.near.is_empty()) else { return };
        self.horizon = first.at + NEAR;
        while let Some(Reverse(entry)) = self.far.peek()
            && entry.at < self.horizon
        {
            self.near.extend(self.far.pop());
        }
    }

    /// Takes the next event that is due until `end`, and moves time to it.
    pub(crate) fn pop_until(&mut self, end: Time) -> Option<E> {
        if self.next_due()? > end {
            return None;
        }
        self.look_ahead();
        let Reverse(entry) = self.near.pop()?;
        self.clock.advance_to(entry.at);
        self.taken += 1;
        Some(entry.event)
    }

    /// Moves time forward without an event.
    pub(crate) fn advance_to(&mut self, at: Time) {
        self.clock.advance_to(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_comes_in_order_on_both_sides_of_the_horizon() {
        let at = Time::from_millis;
        let mut agenda = Agenda::new(Clock::new(at(0)));
        for (number, due) in [9_000, 5, 200, 199, 9_000, 0, 9_300].into_iter().enumerate() {
            agenda.at(at(due), number);
        }
        agenda.look_at(at(9_000), 7);
        assert_eq!(agenda.pending(|number| Some(*number)).len(), 8);
        let mut taken = Vec::new();
        while let Some(number) = agenda.pop_until(at(9_000)) {
            taken.push(number);
            if number == 0 {
                // Put down in the midst of its own moment.
                agenda.at(at(1), 8);
            }
        }
        assert_eq!(taken, [5, 1, 3, 2, 7, 0, 4, 8]);
        assert_eq!(agenda.next_due(), Some(at(9_300)));
    }
}
