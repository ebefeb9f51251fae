//! One budget of requests for everything that a driver sends.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A bucket of tokens: one for each request, filled as fast as requests are allowed.
#[derive(Debug)]
pub(crate) struct Bucket {
    base: Instant,
    state: Mutex<Tokens>,
}

/// Moments count from the beginning of the bucket.
#[derive(Debug)]
struct Tokens {
    per_second: f64,
    left: f64,
    at: Duration,
    /// Until when the server has asked to be left alone.
    closed_until: Duration,
}

impl Tokens {
    /// Takes a token, or says how long there is none.
    fn take(&mut self, now: Duration) -> Result<(), Duration> {
        let passed = now.saturating_sub(self.at).as_secs_f64();
        self.at = self.at.max(now);
        self.left = (self.left + passed * self.per_second).min(self.per_second);
        if now < self.closed_until {
            return Err(self.closed_until - now);
        }
        if self.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - self.left) / self.per_second));
        }
        self.left -= 1.0;
        Ok(())
    }
}

impl Bucket {
    /// A full one. A rate of 0 counts as one request in a second.
    pub(crate) fn new(per_second: u32) -> Self {
        let per_second = f64::from(per_second.max(1));
        let tokens =
            Tokens { per_second, left: per_second, at: Duration::ZERO, closed_until: Duration::ZERO };
        Self { base: Instant::now(), state: Mutex::new(tokens) }
    }

    /// Takes a token, or says how long there is none.
    pub(crate) fn take(&self) -> Result<(), Duration> {
        let now = self.base.elapsed();
        self.state().take(now)
    }

    /// Gives none for a while: the server asks for it.
    pub(crate) fn close(&self, pause: Duration) {
        let until = self.base.elapsed() + pause;
        let mut state = self.state();
        state.closed_until = state.closed_until.max(until);
    }

    fn state(&self) -> std::sync::MutexGuard<'_, Tokens> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens() -> Tokens {
        Tokens { per_second: 5.0, left: 5.0, at: Duration::ZERO, closed_until: Duration::ZERO }
    }

    /// Requests that can be sent from one moment to another, each as soon as possible.
    fn sent(tokens: &mut Tokens, from: Duration, to: Duration) -> usize {
        let (mut now, mut sent) = (from, 0);
        while now < to {
            match tokens.take(now) {
                Ok(()) => sent += 1,
                Err(wait) => now += wait + Duration::from_nanos(1),
            }
        }
        sent
    }

    #[test]
    fn no_second_has_more_than_its_share_after_the_first() {
        let mut tokens = tokens();
        let second = Duration::from_secs(1);
        assert_eq!(sent(&mut tokens, Duration::ZERO, second / 100), 5, "a full bucket at once");
        let after = sent(&mut tokens, second / 100, second * 10);
        assert!((48..=50).contains(&after), "{after}");
        // What was not used is not saved for later.
        assert_eq!(sent(&mut tokens, second * 100, second * 100 + second / 100), 5);
    }

    #[test]
    fn nothing_is_sent_while_the_server_is_to_be_left_alone() {
        let mut tokens = tokens();
        tokens.closed_until = Duration::from_secs(3);
        assert_eq!(tokens.take(Duration::from_secs(1)), Err(Duration::from_secs(2)));
        assert_eq!(tokens.take(Duration::from_secs(3)), Ok(()));
    }
}
