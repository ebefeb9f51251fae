//! The machine's clock, for what is told of today.

use std::time::SystemTime;

use replank_model::time::Time;

/// The present moment.
pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The day, such as 2026-11-22.
pub(crate) fn today() -> String {
    now().to_string().chars().take(10).collect()
}
