//! What the kubelets do next, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Jobs by the time at which they are due; several threads take them.
pub(crate) struct Agenda<J> {
    due: Mutex<Due<J>>,
    changed: Condvar,
}

struct Due<J> {
    jobs: BinaryHeap<Reverse<(Instant, J)>>,
    closed: bool,
}

impl<J: Ord> Default for Agenda<J> {
    fn default() -> Self {
        Self { due: Mutex::new(Due { jobs: BinaryHeap::new(), closed: false }), changed: Condvar::new() }
    }
}

impl<J: Ord> Agenda<J> {
    /// Adds a job.
    pub(crate) fn add(&self, after: Duration, job: J) {
        self.due.lock().expect("no worker panicked").jobs.push(Reverse((Instant::now() + after, job)));
        self.changed.notify_one();
    }

    /// Waits for the next job; nothing once it is closed.
    pub(crate) fn next(&self) -> Option<J> {
        let mut due = self.due.lock().expect("no worker panicked");
        loop {
            if due.closed {
                return None;
            }
            let wait = match due.jobs.peek() {
                None => Duration::from_secs(3600),
                Some(Reverse((at, _))) => at.saturating_duration_since(Instant::now()),
            };
            if wait.is_zero() {
                return due.jobs.pop().map(|Reverse((_, job))| job);
            }
            due = self.changed.wait_timeout(due, wait).expect("no worker panicked").0;
        }
    }

    /// Lets all who wait go.
    pub(crate) fn close(&self) {
        self.due.lock().expect("no worker panicked").closed = true;
        self.changed.notify_all();
    }
}
