//! `/metrics`: what has been counted since the server began.

mod count;
mod exposition;
mod labels;

use std::time::SystemTime;

pub(crate) use count::Counter;
pub(crate) use labels::Labels;

use crate::answer::{self, Answer};
use crate::mirror::Snapshot;
use crate::release::Release;

/// The media type of Prometheus' text format, as client_golang writes it.
const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

/// Counts requests, and tells of them.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// What counts.
    pub(crate) counter: Counter,
    /// Since when.
    pub(crate) since: SystemTime,
}

impl Metrics {
    /// Nothing counted yet.
    pub(crate) fn new() -> Self {
        Self { counter: Counter::default(), since: SystemTime::now() }
    }

    /// `/metrics`.
    pub(crate) fn all(&self, snapshot: &Snapshot, release: Release) -> Answer {
        self.answer(exposition::metrics(&self.counter.counted(), snapshot, release, self.since))
    }

    /// `/metrics/slis`.
    pub(crate) fn slis(&self) -> Answer {
        self.answer(exposition::slis())
    }

    fn answer(&self, text: String) -> Answer {
        let mut answer = answer::whole(200, MEDIA, text);
        let since = exposition::seconds(self.since);
        answer.headers_mut().insert("process-start-time-unix", since.into());
        answer
    }
}
