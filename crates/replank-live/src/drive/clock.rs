//! The cluster's clock, as the driver knows it.
//!
//! Each answer carries the server's time to the second (`Date`). From these and a clock of our own that only runs forward follows how far the two are apart, however wrong this machine's
//! time of day is. What is told never goes back, also where the server's clock is set back or another server answers.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use replank_model::time::{Span, Time};

/// Whole seconds of the server's clock.
#[derive(Debug)]
pub(super) struct Clock {
    base: Instant,
    state: Mutex<Reckoning>,
}

/// What is known of the distance between two clocks. Moments of our own clock count from its beginning.
#[derive(Debug, Default, PartialEq, Eq)]
struct Reckoning {
    /// What is added to our own clock to have the server's.
    ahead: Option<Span>,
    /// What was told last.
    told: Option<Time>,
}

/// How much a server's clock may seem to be slow within one answer before it counts as set back: `Date` is rounded down.
const ROUNDED: Span = Span::from_secs(1);

impl Reckoning {
    /// An answer to what was sent at one moment and heard at another says what time it is.
    ///
    /// The server read its clock in between and left away what a second had on top. So the distance is at least what the later moment gives, and at most a second more than
    /// what the earlier one gives. Within these bounds what is known stays, as answers come closer to the truth from below.
    fn heard(&mut self, date: Time, sent: Duration, heard: Duration) {
        let (least, most) = (from(date, heard), from(date, sent) + ROUNDED);
        self.ahead = Some(match self.ahead {
            Some(known) if known >= least && known <= most => known,
            Some(_) | None => least,
        });
    }

    fn now(&mut self, own: Duration) -> Option<Time> {
        let now = (at(own) + self.ahead?).floor_seconds();
        self.told = self.told.max(Some(now));
        self.told
    }
}

fn at(own: Duration) -> Time {
    Time::from_millis(i64::try_from(own.as_millis()).unwrap_or(i64::MAX))
}

fn from(date: Time, own: Duration) -> Span {
    date - at(own)
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { base: Instant::now(), state: Mutex::default() }
    }

    /// An answer came, with the server's time.
    pub(super) fn heard(&self, date: Time, sent: Instant) {
        let heard = self.base.elapsed();
        let sent = sent.saturating_duration_since(self.base);
        self.state().heard(date, sent, heard);
    }

    /// The server's time; where no answer has told it yet, this machine's.
    pub(super) fn now(&self) -> Time {
        let own = self.base.elapsed();
        let mut state = self.state();
        state.now(own).unwrap_or_else(|| of_this_machine().floor_seconds())
    }

    /// How long it is until a moment of the server's clock, as far as that can be said.
    pub(super) fn until(&self, moment: Time) -> Duration {
        let left = (moment - self.now()).as_millis().max(0);
        let own = self.base.elapsed();
        // What a second has on top already has passed.
        let ahead = self.state().ahead.unwrap_or_default();
        let exact = at(own) + ahead;
        let passed = (exact - exact.floor_seconds()).as_millis();
        Duration::from_millis(u64::try_from((left - passed).max(0)).unwrap_or_default())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, Reckoning> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn of_this_machine() -> Time {
    Time::from_millis(jiff::Timestamp::now().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn date(seconds: i64) -> Time {
        Time::from_millis(seconds * 1_000)
    }

    #[test]
    fn time_is_the_servers_and_comes_closer_to_it_from_below() {
        // The server is 1000.7 s ahead.
        let mut clock = Reckoning::default();
        clock.heard(date(1_001), secs(0.4), secs(0.5));
        assert_eq!(clock.now(secs(0.5)), Some(date(1_001)));
        // It would be 1002.2 there; so far no answer has shown more than 1000.5 s.
        assert_eq!(clock.now(secs(1.5)), Some(date(1_002)));
        clock.heard(date(1_003), secs(2.3), secs(2.31));
        assert_eq!(clock.ahead, Some(Span::from_millis(1_000_690)));
        // A slow answer tells less, and takes nothing back.
        clock.heard(date(1_003), secs(2.4), secs(9.0));
        assert_eq!(clock.ahead, Some(Span::from_millis(1_000_690)));
    }

    #[test]
    fn time_never_goes_back_and_follows_a_clock_that_was_set() {
        let mut clock = Reckoning::default();
        clock.heard(date(1_000), secs(0.0), secs(0.0));
        assert_eq!(clock.now(secs(10.0)), Some(date(1_010)));
        // Set back by five minutes: time stands still until it is that late there.
        clock.heard(date(710), secs(10.0), secs(10.1));
        assert_eq!(clock.now(secs(10.1)), Some(date(1_010)));
        assert_eq!(clock.now(secs(300.0)), Some(date(1_010)));
        assert_eq!(clock.now(secs(312.1)), Some(date(1_012)));
        // Set forward by five minutes.
        clock.heard(date(1_400), secs(400.0), secs(400.1));
        assert_eq!(clock.now(secs(400.1)), Some(date(1_400)));
    }

    #[test]
    fn before_the_first_answer_it_is_this_machines_and_then_the_servers() {
        let clock = Clock::new();
        let apart = clock.now() - of_this_machine();
        assert!(apart.as_millis().abs() < 5_000, "{apart}");
        // This machine is years ahead.
        clock.heard(date(1_000_000), Instant::now());
        let now = clock.now();
        assert!(now >= date(1_000_000) && now <= date(1_000_005), "{now}");
        let until = clock.until(now + Span::from_secs(60));
        assert!(until > Duration::from_secs(50) && until <= Duration::from_secs(60), "{until:?}");
    }
}
