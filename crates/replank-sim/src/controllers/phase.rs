//! Loops that run every so often, without an event for the rounds in which nothing happens.

use replank_model::time::{Span, Time};

use replank_apiserver::draw::{Draws, Purpose};

/// The moments at which a loop runs: every `period`, beginning at a moment that the seed decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Phase {
    offset: i64,
    period: i64,
}

impl Phase {
    /// The moments of a loop.
    pub(crate) fn of(draws: &Draws, name: &str, period: Span) -> Self {
        let period = period.as_millis().max(1);
        let drawn = draws.draw(name, Purpose::Phase, 0).below(u64::try_from(period).expect("positive"));
        Self { offset: i64::try_from(drawn).expect("less than the period"), period }
    }

    /// The first moment at or after `from`.
    pub(crate) fn next(self, from: Time) -> Time {
        let since = (from.as_millis() - self.offset).rem_euclid(self.period);
        let wait = if since == 0 { 0 } else { self.period - since };
        from + Span::from_millis(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_a_period_apart_and_the_seed_shifts_them() {
        let phase = Phase::of(&Draws::new(7), "loop", Span::from_secs(5));
        let first = phase.next(Time::from_millis(1_000_000));
        assert!(first >= Time::from_millis(1_000_000) && first < Time::from_millis(1_005_000));
        assert_eq!(phase.next(first), first);
        assert_eq!(phase.next(first + Span::from_millis(1)), first + Span::from_secs(5));
        let other = Phase::of(&Draws::new(8), "loop", Span::from_secs(5));
        assert_ne!(other.next(first), first);
    }
}
