//! How fast a zone's nodes may be tainted (pkg/controller/nodelifecycle/scheduler `RateLimitedTimedQueue`, client-go
//! `flowcontrol` token bucket with one token).

use replank_model::time::{Span, Time};

/// A bucket that holds one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limiter {
    /// Time in which a token comes back; `None`: never.
    interval: Option<Span>,
    /// When the next token is there.
    token_at: Time,
}

impl Limiter {
    /// A full bucket.
    pub(super) fn new(interval: Option<Span>, now: Time) -> Self {
        Self { interval, token_at: now }
    }

    /// When a token can be taken; `None`: never.
    pub(super) fn available_at(self) -> Option<Time> {
        self.interval.map(|_| self.token_at)
    }

    /// Takes a token if there is one.
    pub(super) fn try_accept(&mut self, now: Time) -> bool {
        match self.interval {
            Some(interval) if self.token_at <= now => {
                self.token_at = now + interval;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Changes the rate. An empty bucket stays empty: its next token is a whole interval away.
    pub(super) fn swap(&mut self, interval: Option<Span>, now: Time) {
        if self.interval == interval {
            return;
        }
        let had_token = self.try_accept(now);
        *self = Self::new(interval, now);
        if !had_token {
            self.try_accept(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Option<Span> = Some(Span::from_secs(10));

    #[test]
    fn one_token_every_interval() {
        let at = |seconds: i64| Time::from_millis(seconds * 1000);
        let mut limiter = Limiter::new(SLOW, at(0));
        assert!(limiter.try_accept(at(3)));
        assert!(!limiter.try_accept(at(12)));
        assert!(limiter.try_accept(at(13)));
        assert_eq!(limiter.available_at(), Some(at(23)));
    }

    #[test]
    fn a_stopped_zone_starts_with_an_empty_bucket() {
        let at = |seconds: i64| Time::from_millis(seconds * 1000);
        let mut limiter = Limiter::new(SLOW, at(0));
        limiter.swap(None, at(1));
        assert!(!limiter.try_accept(at(100)));
        assert_eq!(limiter.available_at(), None);
        limiter.swap(SLOW, at(100));
        assert!(!limiter.try_accept(at(100)));
        assert!(limiter.try_accept(at(110)));
    }

    #[test]
    fn the_same_rate_changes_nothing() {
        let mut limiter = Limiter::new(SLOW, Time::from_millis(0));
        assert!(limiter.try_accept(Time::from_millis(1)));
        let before = limiter;
        limiter.swap(SLOW, Time::from_millis(2));
        assert_eq!(limiter, before);
    }
}
