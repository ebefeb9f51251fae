//! Which versions are too old to go on from: a server forgets what is older than five minutes (`--etcd-compaction-interval`).

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long versions are kept at least.
const KEPT: Duration = Duration::from_secs(5 * 60);

/// Versions, with when they were the latest; one for each five minutes in which somebody lists.
#[derive(Debug, Default)]
pub(super) struct Marks(Mutex<VecDeque<(Instant, u64)>>);

impl Marks {
    /// Notes the version of now. The latest that is kept no more, with all before it.
    pub(super) fn outdated(&self, now: Instant, version: u64) -> Option<u64> {
        let mut marks = self.0.lock().expect("nobody panics while holding it");
        let is_old = |(at, _): &(Instant, u64)| now.saturating_duration_since(*at) >= KEPT;
        if marks.back().is_none_or(is_old) {
            marks.push_back((now, version));
        }
        while marks.get(1).is_some_and(is_old) {
            marks.pop_front();
        }
        marks.front().filter(|mark| is_old(mark)).map(|(_, version)| *version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_kept_for_five_minutes_at_least() {
        let marks = Marks::default();
        let start = Instant::now();
        let at = |seconds: u64, version: u64| marks.outdated(start + Duration::from_secs(seconds), version);
        assert_eq!(at(0, 7), None);
        assert_eq!(at(200, 8), None);
        assert_eq!(at(300, 9), Some(7));
        assert_eq!(at(500, 10), Some(7));
        assert_eq!(at(600, 11), Some(9));
    }
}
