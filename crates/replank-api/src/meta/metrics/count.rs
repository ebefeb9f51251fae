//! Counting: requests by their labels and codes, their times and sizes, and what is under way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::labels::Labels;
use crate::route::Target;

/// Bounds of the buckets of durations, in seconds (apiserver, endpoints/metrics/metrics.go).
pub(super) const SECONDS: [f64; 24] = [
    0.005,
    0.025,
    0.05,
    0.1,
    0.2,
    0.4,
    0.6,
    0.8,
    1.0,
    1.25,
    1.5,
    2.0,
    3.0,
    4.0,
    5.0,
    6.0,
    8.0,
    10.0,
    15.0,
    20.0,
    30.0,
    45.0,
    60.0,
    f64::INFINITY,
];
/// Bounds of the buckets of sizes, in bytes.
pub(super) const BYTES: [f64; 8] = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, f64::INFINITY];

/// How often something was seen, by size.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    pub(super) bounds: &'static [f64],
    pub(super) counts: Vec<u64>,
    pub(super) sum: f64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len()], sum: 0.0 }
    }

    fn see(&mut self, value: f64) {
        self.sum += value;
        if let Some(at) = self.bounds.iter().position(|bound| value <= *bound) {
            self.counts[at] += 1;
        }
    }
}

/// A deprecated version that has been asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Requested {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) resource: String,
    pub(super) subresource: String,
    pub(super) removed: String,
}

/// What has been counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    pub(super) requests: BTreeMap<(Labels, u16), u64>,
    pub(super) durations: BTreeMap<Labels, Histogram>,
    pub(super) sizes: BTreeMap<Labels, Histogram>,
    /// Deprecated versions that have been asked for, and the release that goes without each.
    pub(super) deprecated: BTreeSet<Requested>,
    pub(super) long: BTreeMap<Labels, u64>,
    pub(super) reading: u64,
    pub(super) writing: u64,
}

/// Counts the requests of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter(Arc<Mutex<Counted>>);

impl Counter {
    /// Counts a request that begins. It is under way until what is returned is ended, or dropped.
    pub(crate) fn begin(&self, labels: Labels) -> UnderWay {
        self.change(|counted| match (labels.is_long(), labels.is_mutating()) {
            (true, _) => *counted.long.entry(labels.clone()).or_default() += 1,
            (false, true) => counted.writing += 1,
            (false, false) => counted.reading += 1,
        });
        UnderWay { counter: self.clone(), labels, since: Instant::now() }
    }

    /// Notes that a version was asked for that is to go with a release.
    pub(crate) fn deprecated(&self, target: &Target, removed: &str) {
        let api_version = target.api_version();
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let requested = Requested {
            group: group.to_owned(),
            version: version.to_owned(),
            resource: target.resource.name.plural.to_string(),
            subresource: target.part.clone().unwrap_or_default().to_string(),
            removed: removed.to_owned(),
        };
        self.change(|counted| {
            counted.deprecated.insert(requested);
        });
    }

    pub(super) fn counted(&self) -> Counted {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut Counted)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct UnderWay {
    counter: Counter,
    labels: Labels,
    since: Instant,
}

impl UnderWay {
    /// Counts what it was answered with: the code, and the size of the body where it is known.
    pub(crate) fn answered(&self, code: u16, bytes: Option<u64>) {
        let Self { counter, labels, since } = self;
        let took: Duration = since.elapsed();
        counter.change(|counted| {
            *counted.requests.entry((labels.clone(), code)).or_default() += 1;
            // How long a watch lasts says nothing about the server.
            if !labels.is_long() {
                let durations = counted.durations.entry(labels.clone());
                durations.or_insert_with(|| Histogram::new(&SECONDS)).see(took.as_secs_f64());
            }
            if let Some(bytes) = bytes {
                let sizes = counted.sizes.entry(labels.clone()).or_insert_with(|| Histogram::new(&BYTES));
                sizes.see(f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)));
            }
        });
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let labels = &self.labels;
        self.counter.change(|counted| match (labels.is_long(), labels.is_mutating()) {
            (true, _) => {
                if let Some(count) = counted.long.get_mut(labels) {
                    *count = count.saturating_sub(1);
                }
            }
            (false, true) => counted.writing = counted.writing.saturating_sub(1),
            (false, false) => counted.reading = counted.reading.saturating_sub(1),
        });
    }
}

#[cfg(test)]
mod tests {
    use hyper::Method;

    use super::*;
    use crate::query::Query;

    #[test]
    fn a_watch_is_under_way_until_it_is_dropped() {
        let counter = Counter::default();
        let labels = Labels::of(&Method::GET, "/api/v1/pods", &Query::read("watch=true"), "");
        let watch = counter.begin(labels.clone());
        watch.answered(200, None);
        assert_eq!(counter.counted().long.get(&labels), Some(&1));
        drop(watch);
        let counted = counter.counted();
        assert_eq!((counted.long.get(&labels), counted.requests.get(&(labels, 200))), (Some(&0), Some(&1)));
        assert!(counted.durations.is_empty());
    }
}
