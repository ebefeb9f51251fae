//! The one clock of a simulated cluster.

use std::cell::Cell;
use std::rc::Rc;

use replank_model::time::Time;

/// The present moment, shared: every clone of a clock reads the time that its owner sets.
#[derive(Clone, Debug)]
pub struct Clock(Rc<Cell<Time>>);

impl Clock {
    /// A clock that shows a moment.
    #[must_use]
    pub fn new(now: Time) -> Self {
        Self(Rc::new(Cell::new(now)))
    }

    /// The present moment.
    #[must_use]
    pub fn now(&self) -> Time {
        self.0.get()
    }

    /// Moves time forward to a moment; a moment that has passed moves nothing.
    pub fn advance_to(&self, at: Time) {
        self.0.set(self.now().max(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_show_one_time_and_it_never_goes_back() {
        let clock = Clock::new(Time::from_millis(5));
        let other = clock.clone();
        clock.advance_to(Time::from_millis(9));
        clock.advance_to(Time::from_millis(7));
        assert_eq!(other.now(), Time::from_millis(9));
    }
}
