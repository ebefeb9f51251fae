//! What several threads finish in any order, handed on in order, with a bound on what has to wait for its turn.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// How often a thread that has to wait asks whether all is over: nothing wakes it up for Ctrl-C.
const ASK: Duration = Duration::from_millis(100);

/// Runs `work` for each number on some threads, and gives `take` the results in order, until `take` wants no more or `is_stopped` says so. Work that is under way by then
/// can ask the question that it is given, and end without a result.
pub(super) fn each<T: Send>(
    numbers: RangeInclusive<u64>,
    (threads, room): (usize, u64),
    is_stopped: &(dyn Fn() -> bool + Sync),
    work: &(impl Fn(u64, &dyn Fn() -> bool) -> Option<T> + Sync),
    take: impl FnMut(T) -> ControlFlow<()> + Send,
) {
    let (first, last) = numbers.into_inner();
    let next = AtomicU64::new(first);
    let ordered = Ordered::new(first, room, take);
    let run = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number > last || !ordered.begin(number, is_stopped) {
                return;
            }
            let Some(item) = work(number, &|| is_stopped() || ordered.is_over()) else { return };
            ordered.put(number, item);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(run);
        }
    });
    ordered.end();
}

/// Items by their numbers, and who takes them.
struct Ordered<T, F> {
    state: Mutex<State<T, F>>,
    /// Whether no more is wanted. Work that is under way asks for it again and again: without the lock.
    is_over: AtomicBool,
    moved: Condvar,
    /// How far ahead of the one whose turn it is another may be begun: so many wait at most.
    room: u64,
}

struct State<T, F> {
    turn: u64,
    waiting: BTreeMap<u64, T>,
    take: F,
}

impl<T, F: FnMut(T) -> ControlFlow<()>> Ordered<T, F> {
    /// The first number, how many may wait, and who takes them; whoever takes them may say that no more is wanted.
    fn new(first: u64, room: u64, take: F) -> Self {
        let state = Mutex::new(State { turn: first, waiting: BTreeMap::new(), take });
        Self { state, is_over: AtomicBool::new(false), moved: Condvar::new(), room: room.max(1) }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Waits until a number may be begun. `false`: it need not be, because no more is wanted or `is_stopped` says so. Numbers are to be begun in order:
    /// then the one whose turn it is has always been begun, and never waits.
    fn begin(&self, number: u64, is_stopped: &dyn Fn() -> bool) -> bool {
        let mut state = self.lock();
        while !self.is_over() && !is_stopped() {
            if number < state.turn.saturating_add(self.room) {
                return true;
            }
            let waited = self.moved.wait_timeout(state, ASK);
            state = waited.expect("a thread that panics ends the process").0;
        }
        false
    }

    /// One is there: it is handed on when all before it are.
    fn put(&self, number: u64, item: T) {
        let mut state = self.lock();
        state.waiting.insert(number, item);
        while let Some(item) = {
            let turn = state.turn;
            state.waiting.remove(&turn)
        } {
            state.turn += 1;
            state.hand_on(item, &self.is_over);
        }
        drop(state);
        self.moved.notify_all();
    }

    /// No more come: those that still wait for one that never came are handed on, in order.
    fn end(self) {
        let mut state = self.state.into_inner().expect("a thread that panics ends the process");
        while let Some((_, item)) = state.waiting.pop_first() {
            state.hand_on(item, &self.is_over);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T, F>> {
        self.state.lock().expect("a thread that panics ends the process")
    }
}

impl<T, F: FnMut(T) -> ControlFlow<()>> State<T, F> {
    fn hand_on(&mut self, item: T, is_over: &AtomicBool) {
        if !is_over.load(Ordering::Relaxed) {
            is_over.store((self.take)(item).is_break(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// Numbers as they were handed on, by some threads of which that with the first number is slow; and the most that waited.
    fn handed_on(room: u64, wanted: usize) -> (Vec<u64>, usize) {
        let taken = Mutex::new(Vec::new());
        let most = AtomicU64::new(0);
        let ordered = Ordered::new(1, room, |number| {
            let mut taken = taken.lock().expect("no thread panics");
            taken.push(number);
            if taken.len() < wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let next = AtomicU64::new(1);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number > 40 || !ordered.begin(number, &|| false) {
                            return;
                        }
                        if number == 1 {
                            std::thread::sleep(Duration::from_millis(60));
                        }
                        ordered.put(number, number);
                        most.fetch_max(ordered.lock().waiting.len() as u64, Ordering::Relaxed);
                    }
                });
            }
        });
        ordered.end();
        (taken.into_inner().expect("no thread panics"), usize::try_from(most.into_inner()).expect("small"))
    }

    #[test]
    fn all_come_in_order_and_few_wait() {
        let (taken, most) = handed_on(5, usize::MAX);
        assert_eq!(taken, (1..=40).collect::<Vec<u64>>());
        assert!((1..5).contains(&most), "{most}");
    }

    #[test]
    fn nothing_is_handed_on_once_no_more_is_wanted() {
        let (taken, _) = handed_on(5, 7);
        assert_eq!(taken, (1..=7).collect::<Vec<u64>>());
    }

    #[test]
    fn work_under_way_is_cut_short_once_no_more_is_wanted() {
        let is_second_begun = AtomicBool::new(false);
        let mut taken = Vec::new();
        // The second goes on until it is told to stop; the first is over once the second has begun.
        let work = |number: u64, is_over: &dyn Fn() -> bool| {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(60) {
                match number {
                    1 if is_second_begun.load(Ordering::SeqCst) => return Some(number),
                    2 if is_over() => return None,
                    _ => is_second_begun.fetch_or(number == 2, Ordering::SeqCst),
                };
                std::thread::yield_now();
            }
            panic!("{number} waits in vain")
        };
        each(1..=9, (2, 8), &|| false, &work, |number| {
            taken.push(number);
            ControlFlow::Break(())
        });
        assert_eq!(taken, [1]);
    }

    #[test]
    fn what_waits_for_one_that_never_comes_is_handed_on_at_the_end() {
        let mut taken = Vec::new();
        let ordered = Ordered::new(1, 4, |number| {
            taken.push(number);
            ControlFlow::Continue(())
        });
        assert!([1, 3, 4].into_iter().all(|number| ordered.begin(number, &|| false)));
        for number in [4, 1, 3] {
            ordered.put(number, number);
        }
        assert!(!ordered.begin(6, &|| true), "number 2 is not there, and all is over");
        ordered.end();
        assert_eq!(taken, [1, 3, 4]);
    }
}
