//! How long to wait before something is tried again.

use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64;

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(30);

/// Pauses that double from one second to thirty, each drawn between half of it and the whole: who lost a server at the same time does not come back at the same time. A draw
/// depends on who waits and how often, and on nothing else.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    who: String,
    times: u32,
}

impl Backoff {
    pub(crate) fn new(who: impl Into<String>) -> Self {
        Self { who: who.into(), times: 0 }
    }

    /// The next pause.
    pub(crate) fn next(&mut self) -> Duration {
        let whole = Duration::from_secs(1 << self.times.min(5)).min(LONGEST);
        let draw = xxh3_64(format!("{}/{}", self.who, self.times).as_bytes());
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
        let mut backoff = Backoff::new("pods");
        let pauses: Vec<f64> = (0..8).map(|_| backoff.next().as_secs_f64()).collect();
        for (pause, whole) in pauses.iter().zip([1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]) {
            assert!((whole / 2.0..=whole).contains(pause), "{pauses:?}");
        }
        backoff.reset();
        assert_eq!(backoff.next().as_secs_f64().to_bits(), pauses[0].to_bits(), "draws can be repeated");
        assert_ne!(Backoff::new("nodes").next(), Backoff::new("pods").next());
    }
}
