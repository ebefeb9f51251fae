//! Virtual time: what is due when.

use std::collections::{BTreeMap, VecDeque};

use replank_apiserver::Clock;
use replank_model::time::{Span, Time};

/// Moments of one block. Controllers react within milliseconds, so nearly all that happens is due in the block that it is put down in; and a block has one
/// bit for each moment.
const BLOCK: u8 = 128;

/// Events in the order in which they are due; those due at one moment in the order of their rank, then in that in which
/// they were put down.
///
/// What would find nothing to do when its turn comes need not be put down: its turn is kept, and is taken up when something gives reason to before.
#[derive(Debug)]
pub(crate) struct Agenda<E> {
    clock: Clock,
    /// Turns given so far.
    turns: u64,
    /// The last turn that is over.
    over: Turn,
    /// The block that the last event was taken from.
    near: Near<E>,
    /// What is due in later blocks, by their numbers.
    far: BTreeMap<i64, Block<E>>,
    /// Room that later blocks take up again.
    spare: Vec<Vec<Entry<E>>>,
    /// Events taken out so far.
    pub(crate) taken: u64,
}

/// A block whose events are sorted by their moments.
#[derive(Debug)]
struct Near<E> {
    number: i64,
    /// One bit for each moment at which anything is due.
    busy: u128,
    moments: Vec<Moment<E>>,
}

/// What is due at one moment, by the numbers of turns. Nearly always the first was put down first, so nothing is compared.
#[derive(Debug)]
struct Moment<E> {
    looks: VecDeque<(u64, E)>,
    happenings: VecDeque<(u64, E)>,
}

/// A block to come, in the order in which its events were put down.
#[derive(Debug)]
struct Block<E> {
    /// When the first of them is due.
    first: Time,
    entries: Vec<Entry<E>>,
}

#[derive(Debug)]
struct Entry<E> {
    turn: Turn,
    event: E,
}

/// When something comes: the moment, and what of that moment comes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    at: Time,
    rank: Rank,
    number: u64,
}

/// Which events of one moment come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Looks of controllers: what happens at the same moment is not yet known to them.
    Look,
    /// What happens.
    ScriptEvent,
}

/// The number of the block that a moment is in.
fn block_of(at: Time) -> i64 {
    at.as_millis().div_euclid(i64::from(BLOCK))
}

impl<E> Near<E> {
    fn new(number: i64) -> Self {
        let moment = || Moment { looks: VecDeque::new(), happenings: VecDeque::new() };
        Self { number, busy: 0, moments: std::iter::repeat_with(moment).take(usize::from(BLOCK)).collect() }
    }

    /// The first moment at which anything is due.
    fn first(&self) -> Option<Time> {
        let start = self.number * i64::from(BLOCK);
        (self.busy != 0).then(|| Time::from_millis(start + i64::from(self.busy.trailing_zeros())))
    }

    fn put(&mut self, Entry { turn, event }: Entry<E>) {
        let place = turn.at.as_millis().rem_euclid(i64::from(BLOCK));
        self.busy |= 1 << place;
        let moment = &mut self.moments[usize::try_from(place).expect("a place in a block")];
        let events = match turn.rank {
            Rank::Look => &mut moment.looks,
            Rank::ScriptEvent => &mut moment.happenings,
        };
        if events.back().is_none_or(|(last, _)| *last < turn.number) {
            events.push_back((turn.number, event));
        } else {
            let place = events.partition_point(|(number, _)| *number < turn.number);
            events.insert(place, (turn.number, event));
        }
    }

    /// Takes the first event, and its rank and number.
    fn pop(&mut self) -> Option<(Rank, u64, E)> {
        let place = self.busy.trailing_zeros() as usize;
        let moment = self.moments.get_mut(place)?;
        let look = moment.looks.pop_front().map(|(number, event)| (Rank::Look, number, event));
        let happening =
            || moment.happenings.pop_front().map(|(number, event)| (Rank::ScriptEvent, number, event));
        let first = look.or_else(happening);
        if moment.looks.is_empty() && moment.happenings.is_empty() {
            self.busy &= self.busy - 1;
        }
        first
    }

    fn entries(&self) -> impl Iterator<Item = (Time, &E)> {
        let start = self.number * i64::from(BLOCK);
        (start..).zip(&self.moments).flat_map(|(at, moment)| {
            moment
                .looks
                .iter()
                .chain(&moment.happenings)
                .map(move |(_, event)| (Time::from_millis(at), event))
        })
    }
}

impl<E> Agenda<E> {
    /// Nothing is due yet. Taking events moves the clock.
    pub(crate) fn new(clock: Clock) -> Self {
        let near = Near::new(block_of(clock.now()));
        let over = Turn { at: clock.now(), rank: Rank::Look, number: 0 };
        Self { clock, turns: 0, over, near, far: BTreeMap::new(), spare: Vec::new(), taken: 0 }
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

    /// Keeps a turn at a moment for something that would find nothing to do then, as things are.
    pub(crate) fn keep(&mut self, at: Time) -> Turn {
        self.turn(at, Rank::ScriptEvent)
    }

    /// As [`Agenda::keep`], for a look of a controller.
    pub(crate) fn keep_look(&mut self, at: Time) -> Turn {
        self.turn(at, Rank::Look)
    }

    /// Whether a turn that was kept has not come yet.
    pub(crate) fn is_to_come(&self, turn: Turn) -> bool {
        turn > self.over
    }

    /// Puts an event down for a turn that was kept and has not come yet.
    pub(crate) fn take_up(&mut self, turn: Turn, event: E) {
        debug_assert!(self.is_to_come(turn), "a turn that is over is not taken up");
        self.put_in(turn, event);
    }

    fn turn(&mut self, at: Time, rank: Rank) -> Turn {
        self.turns += 1;
        Turn { at: at.max(self.now()), rank, number: self.turns }
    }

    fn put(&mut self, at: Time, rank: Rank, event: E) {
        let turn = self.turn(at, rank);
        self.put_in(turn, event);
    }

    fn put_in(&mut self, turn: Turn, event: E) {
        let (number, entry) = (block_of(turn.at), Entry { turn, event });
        if number == self.near.number {
            return self.near.put(entry);
        }
        let spare = &mut self.spare;
        let new = || Block { first: turn.at, entries: spare.pop().unwrap_or_default() };
        let block = self.far.entry(number).or_insert_with(new);
        block.first = block.first.min(turn.at);
        block.entries.push(entry);
    }

    /// Puts an event down for after a while.
    pub(crate) fn after(&mut self, span: Span, event: E) {
        self.at(self.now() + span, event);
    }

    /// What is due that `of` picks, with its time, in the order in which it is due.
    pub(crate) fn pending<T>(&self, of: impl Fn(&E) -> Option<T>) -> Vec<(Time, T)> {
        let mut pending: Vec<(Time, &E)> = self.near.entries().collect();
        for block in self.far.values() {
            let mut entries: Vec<&Entry<E>> = block.entries.iter().collect();
            entries.sort_by_key(|entry| entry.turn);
            pending.extend(entries.into_iter().map(|entry| (entry.turn.at, &entry.event)));
        }
        pending.into_iter().filter_map(|(at, event)| Some((at, of(event)?))).collect()
    }

    /// When the next event is due.
    pub(crate) fn next_due(&self) -> Option<Time> {
        // No later block comes before the near one: time is in it, or beyond it.
        self.near.first().or_else(|| self.far.first_key_value().map(|(_, block)| block.first))
    }

    /// Takes the next event that is due until `end`, and moves time to it.
    pub(crate) fn pop_until(&mut self, end: Time) -> Option<E> {
        let at = self.next_due().filter(|at| *at <= end)?;
        if self.near.busy == 0
            && let Some((number, mut block)) = self.far.pop_first()
        {
            self.near.number = number;
            block.entries.drain(..).for_each(|entry| self.near.put(entry));
            self.spare.push(block.entries);
        }
        self.clock.advance_to(at);
        self.taken += 1;
        let (rank, number, event) = self.near.pop()?;
        // A look without delay may be put down at a moment that is over: turns that are over stay so.
        self.over = self.over.max(Turn { at, rank, number });
        Some(event)
    }

    /// Moves time forward without an event: there is none until then.
    pub(crate) fn advance_to(&mut self, at: Time) {
        self.clock.advance_to(at);
        self.over = self.over.max(Turn { at, rank: Rank::ScriptEvent, number: self.turns });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_comes_in_order_within_a_block_and_beyond() {
        let at = Time::from_millis;
        let mut agenda = Agenda::new(Clock::new(at(0)));
        for (number, due) in [9_000, 5, 128, 127, 9_000, 0, 9_300].into_iter().enumerate() {
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

    #[test]
    fn a_turn_that_was_kept_is_taken_up_where_it_was() {
        let at = Time::from_millis;
        let mut agenda = Agenda::new(Clock::new(at(0)));
        let (near, far) = (agenda.keep(at(5)), agenda.keep_look(at(700)));
        agenda.at(at(5), 'b');
        agenda.look_at(at(700), 'd');
        agenda.at(at(3), 'x');
        assert_eq!(agenda.pop_until(at(3)), Some('x'));
        assert!(agenda.is_to_come(near) && agenda.is_to_come(far));
        agenda.take_up(near, 'a');
        agenda.take_up(far, 'c');
        assert_eq!(agenda.pop_until(at(9_000)), Some('a'));
        assert!(!agenda.is_to_come(near));
        let later = agenda.keep(at(5));
        assert_eq!(agenda.pop_until(at(9_000)), Some('b'));
        assert!(agenda.is_to_come(later));
        agenda.advance_to(at(6));
        assert!(!agenda.is_to_come(later));
        let taken: String = std::iter::from_fn(|| agenda.pop_until(at(9_000))).collect();
        assert_eq!(taken, "cd");
    }

    #[test]
    fn a_turn_that_is_over_stays_so_where_a_look_is_put_down_at_its_moment() {
        let at = Time::from_millis;
        let mut agenda = Agenda::new(Clock::new(at(0)));
        let kept = agenda.keep(at(5));
        agenda.at(at(5), 'a');
        assert_eq!(agenda.pop_until(at(9)), Some('a'));
        assert!(!agenda.is_to_come(kept));
        agenda.look_at(at(5), 'b');
        assert_eq!(agenda.pop_until(at(9)), Some('b'));
        assert!(!agenda.is_to_come(kept), "what came after it has come");
    }

    #[test]
    fn what_is_put_down_before_what_was_looked_for_comes_first() {
        let at = Time::from_millis;
        let mut agenda = Agenda::new(Clock::new(at(-200)));
        agenda.at(at(5_000), 'b');
        assert_eq!(agenda.pop_until(at(100)), None);
        agenda.advance_to(at(100));
        agenda.at(at(4_990), 'a');
        agenda.at(at(5_000), 'c');
        agenda.look_at(at(5_000), 'l');
        assert_eq!(
            agenda.pending(|event| Some(*event)).into_iter().map(|(_, event)| event).collect::<String>(),
            "albc"
        );
        let taken: String = std::iter::from_fn(|| agenda.pop_until(at(6_000))).collect();
        assert_eq!(taken, "albc");
    }
}
