//! What the kubelets do next, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// One thing to do to a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Job {
    /// The pod.
    pub(super) uid: String,
    /// What is due.
    pub(super) step: Step,
}

/// What becomes of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// Its containers run.
    Start,
    /// It is Ready.
    Ready,
    /// Its containers have ended by themselves.
    Finish,
    /// Its containers have stopped, and it can go.
    Remove,
}

/// Jobs by the time at which they are due; several threads take them.
#[derive(Default)]
pub(super) struct Agenda {
    due: Mutex<Due>,
    changed: Condvar,
}

#[derive(Default)]
struct Due {
    jobs: BinaryHeap<Reverse<(Instant, Job)>>,
    closed: bool,
}

impl Agenda {
    /// Adds a job.
    pub(super) fn add(&self, after: Duration, job: Job) {
        self.due.lock().expect("no worker panicked").jobs.push(Reverse((Instant::now() + after, job)));
        self.changed.notify_one();
    }

    /// Waits for the next job; nothing once it is closed.
    pub(super) fn next(&self) -> Option<Job> {
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
    pub(super) fn close(&self) {
        self.due.lock().expect("no worker panicked").closed = true;
        self.changed.notify_all();
    }
}
