//! How time passes in a served world.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use replank_model::time::Time;

/// How time passes in a served world.
#[derive(Clone, Debug)]
pub enum Pace {
    /// As outside: what is scaled are durations, so that no client sees times of the future.
    Real,
    /// So many times as fast as outside, from a moment on.
    Fast {
        /// How many times.
        factor: f64,
        /// When it began, outside.
        began: Instant,
        /// When it began, in the world.
        from: Time,
    },
    /// Only when somebody says so.
    Step(Time),
}

impl Pace {
    /// The present moment outside.
    #[must_use]
    pub fn outside() -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    /// Time that passes so many times as fast as outside, from a moment on.
    #[must_use]
    pub fn fast(factor: f64, from: Time) -> Self {
        Self::Fast { factor, began: Instant::now(), from }
    }

    /// The present moment in the world.
    #[must_use]
    pub fn now(&self) -> Time {
        match self {
            Self::Real => Self::outside(),
            Self::Fast { factor, began, from } => {
                let passed = began.elapsed().as_secs_f64() * factor * 1000.0;
                Time::from_millis(from.as_millis() + passed as i64)
            }
            Self::Step(now) => *now,
        }
    }

    /// How long it takes, outside, until it is a moment in the world.
    #[must_use]
    pub fn until(&self, moment: Time) -> Duration {
        let left = u64::try_from(moment.as_millis() - self.now().as_millis()).unwrap_or(0);
        match self {
            Self::Real => Duration::from_millis(left),
            Self::Fast { factor, .. } => Duration::from_millis(left).div_f64(factor.max(0.001)),
            Self::Step(_) if left == 0 => Duration::ZERO,
            Self::Step(_) => Duration::MAX,
        }
    }

    /// Lets so many milliseconds pass at once, where time does not pass by itself; whether that is so here.
    pub fn advance(&mut self, millis: i64) -> bool {
        match self {
            Self::Step(now) => {
                *now = Time::from_millis(now.as_millis().saturating_add(millis.max(0)));
                true
            }
            Self::Real | Self::Fast { .. } => false,
        }
    }

    /// The word that it is asked for by.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Fast { .. } => "fast",
            Self::Step(_) => "step",
        }
    }
}
