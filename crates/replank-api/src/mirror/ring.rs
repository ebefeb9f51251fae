//! The latest changes of a resource, and no more: who reads too slowly has to list again.

use std::collections::VecDeque;
use std::sync::{Arc, RwLock};

use tokio::sync::Notify;

use super::event::Event;

/// Changes that are kept. A watcher that is further behind is cut off; a list that is paged for longer begins anew. Upstream keeps five minutes of
/// history; ten thousand changes are more than a client falls behind by, and a few megabytes.
const KEPT: usize = 10_000;

/// The latest changes of a resource.
#[derive(Debug)]
pub struct Ring {
    kept: RwLock<Kept>,
    more: Notify,
}

#[derive(Debug)]
struct Kept {
    events: VecDeque<Arc<Event>>,
    /// Events that were dropped: the number of the first that is kept.
    first: u64,
    /// All later ones are kept.
    since: u64,
}

/// What is asked for is not kept any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind {
    /// All changes after this version are kept.
    pub since: u64,
}

impl Ring {
    /// A ring that knows of nothing before a version.
    #[must_use]
    pub fn new(since: u64) -> Self {
        let kept = Kept { events: VecDeque::new(), first: 0, since };
        Self { kept: RwLock::new(kept), more: Notify::new() }
    }

    pub(super) fn push(&self, event: Event) {
        let mut kept = self.kept.write().expect("nobody panics while holding it");
        if kept.events.len() == KEPT
            && let Some(gone) = kept.events.pop_front()
        {
            kept.first += 1;
            kept.since = gone.version;
        }
        kept.events.push_back(Arc::new(event));
    }

    /// Wakes those who wait for more.
    pub(super) fn tell(&self) {
        self.more.notify_waiters();
    }

    /// Is woken when there is more. To be asked for before the ring is read, lest a change fall between.
    pub fn more(&self) -> tokio::sync::futures::Notified<'_> {
        self.more.notified()
    }

    /// The number that the next event gets.
    #[must_use]
    pub fn next(&self) -> u64 {
        let kept = self.kept.read().expect("nobody panics while holding it");
        kept.first + kept.events.len() as u64
    }

    /// The number of the first event after a version.
    ///
    /// # Errors
    /// Some of these are not kept any more.
    pub fn after(&self, version: u64) -> Result<u64, Behind> {
        let kept = self.kept.read().expect("nobody panics while holding it");
        if version < kept.since {
            return Err(Behind { since: kept.since });
        }
        let skipped = kept.events.partition_point(|event| event.version <= version);
        Ok(kept.first + skipped as u64)
    }

    /// Events from a number on, so many at the most.
    ///
    /// # Errors
    /// The first of them is not kept any more.
    pub fn from(&self, number: u64, most: usize) -> Result<Vec<Arc<Event>>, Behind> {
        let kept = self.kept.read().expect("nobody panics while holding it");
        let Some(skipped) = number.checked_sub(kept.first) else { return Err(Behind { since: kept.since }) };
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        Ok(kept.events.iter().skip(skipped).take(most).cloned().collect())
    }
}
