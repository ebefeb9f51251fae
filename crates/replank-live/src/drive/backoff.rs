//! How long to wait before something is tried again.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The first pause.
const FIRST: Duration = Duration::from_secs(1);
/// The longest pause, in first ones.
const LONGEST: u32 = 30;

/// Pauses that double from one second to thirty, each drawn between half of it and the whole: who lost a server at the same time does not come back at the same time. A draw
/// depends on a salt, on who waits, and how often.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    salt: u64,
    who: String,
    first: Duration,
    times: u32,
}

impl Backoff {
    /// With a salt that no other process has: two that wait for the same thing come back at different times.
    pub(crate) fn new(who: impl Into<String>) -> Self {
        Self::from(FIRST, who)
    }

    /// The same that double from another pause.
    pub(crate) fn from(first: Duration, who: impl Into<String>) -> Self {
        // The standard library draws its keys from the system's randomness.
        let salt = RandomState::new().hash_one(std::process::id());
        Self { first, ..Self::salted(salt, who) }
    }

    /// With a given salt: its pauses can be repeated.
    fn salted(salt: u64, who: impl Into<String>) -> Self {
        Self { salt, who: who.into(), first: FIRST, times: 0 }
    }

    /// The next pause.
    pub(crate) fn next(&mut self) -> Duration {
        let whole = self.first * (1 << self.times.min(5)).min(LONGEST);
        let draw = xxh3_64_with_seed(format!("{}/{}", self.who, self.times).as_bytes(), self.salt);
        self.times += 1;
        let half = whole / 2;
        half + half.mul_f64((draw % 1_000) as f64 / 1_000.0)
    }

    /// It worked: the next pause is a short one.
    pub(crate) fn reset(&mut self) {
        self.times = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_to_half_a_minute_and_begin_anew() {
        let mut backoff = Backoff::salted(7, "pods");
        let pauses: Vec<f64> = (0..8).map(|_| backoff.next().as_secs_f64()).collect();
        for (pause, whole) in pauses.iter().zip([1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]) {
            assert!((whole / 2.0..=whole).contains(pause), "{pauses:?}");
        }
        backoff.reset();
        assert_eq!(backoff.next().as_secs_f64().to_bits(), pauses[0].to_bits(), "draws can be repeated");
        assert_ne!(Backoff::salted(7, "nodes").next(), Backoff::salted(7, "pods").next());
    }

    #[test]
    fn processes_that_wait_for_the_same_come_back_at_different_times() {
        let draws = |backoff: &mut Backoff| [(); 4].map(|()| backoff.next());
        let of = |salt| draws(&mut Backoff::salted(salt, "ec2/DescribeInstances"));
        assert_ne!(of(1), of(2));
        assert_eq!(of(1), of(1), "the same salt, the same pauses");
        // Each process has its own: two of 2^64 are equal once in a blue moon.
        assert_ne!(Backoff::new("pods").salt, Backoff::new("pods").salt);
    }
}
