//! The moment a snapshot was taken at, found in the snapshot.
//!
//! A dump does not say when it was made. It is the newest time anywhere, of those that have passed: pods that were made since would be taken for pods
//! of the rehearsal. No clock is asked which have, so that a rehearsal of a file gives the same answer next year. Kubelets never write a time to come,
//! and they write one every ten seconds (the Lease of their node) or five minutes at least (heartbeats, `nodeStatusReportFrequency`): where there is
//! one of these, or a pod, a time more than a quarter of an hour later is not believed. Where there is none, any is. Times that by their nature lie
//! ahead are left aside:
//!
//! - everything in other Leases and LeaseCandidates;
//! - below a key that speaks of what is to come: expiry, not-after, renewal, next, deadline, until, due;
//! - the wishes in `spec` and the payload of ConfigMaps and Secrets (`data`), save for what is written there when
//!   it happens: `timeAdded` of taints, `creationTimestamp`, `restartedAt` of `kubectl rollout restart`;
//! - `metadata.deletionTimestamp` is the end of a grace period: it counts from the period's beginning.

use std::collections::BTreeMap;
use std::fmt;

use replank_model::time::{Span, Time};
use replank_model::tree;
use serde_json::{Map, Value};

/// The moment a snapshot is taken to have been made, and how that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Now {
    /// The moment.
    pub time: Time,
    /// How it is known.
    pub basis: Basis,
}

/// How the moment of a snapshot is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// It was given (`--now`).
    Given,
    /// The newest `lastHeartbeatTime` of a node's conditions.
    Heartbeat,
    /// The newest `renewTime` of a node's Lease.
    Lease,
    /// The newest time that had passed.
    NewestTime,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Basis::Given => "as given",
            Basis::Heartbeat => "the newest heartbeat of a node",
            Basis::Lease => "the newest lease of a node",
            Basis::NewestTime => "the newest past time in the snapshot",
        })
    }
}

/// Finds the moment of a snapshot, one document at a time. The order of documents does not matter.
#[derive(Clone, Debug, Default)]
pub struct NowFinder {
    not_after: Option<Time>,
    heartbeat: Option<Time>,
    lease: Option<Time>,
    /// When the newest pod was made.
    made: Option<Time>,
    /// The newest time of each minute, of those that may be the newest of all.
    times: BTreeMap<i64, Time>,
}

/// How much later than what kubelets wrote last a time may be: their status comes every five minutes, and a dump of a large cluster takes a while.
const BELIEVED: Span = Span::from_minutes(15);

impl NowFinder {
    /// A finder that leaves aside times after `not_after`, if there is such a bound.
    pub fn new(not_after: Option<Time>) -> Self {
        Self { not_after, ..Self::default() }
    }

    /// Takes in one object.
    pub fn see(&mut self, value: &Value) {
        let Value::Object(object) = value else { return };
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
        match (group, text("kind")) {
            ("coordination.k8s.io", "Lease" | "LeaseCandidate") => return self.lease(value),
            ("", "Node") => self.heartbeats(value),
            ("", "Pod") => self.made(value),
            _ => {}
        }
        // A pod's wishes are long, and tell no time.
        let is_pod = (group, text("kind")) == ("", "Pod");
        for (key, member) in object {
            match key.as_str() {
                "spec" if is_pod => {}
                "spec" => self.walk(Depth::Wishes, key, member),
                "data" | "stringData" | "binaryData" => {}
                _ => self.walk(Depth::Facts, key, member),
            }
        }
    }

    /// Takes in a pod, but for its spec; `false` where it tells a time that has to be worked out.
    pub(crate) fn see_pod(&mut self, pod: tree::Item<'_, '_>) -> bool {
        let metadata = pod.get("metadata");
        let made = metadata.and_then(|metadata| metadata.get("creationTimestamp")).and_then(tree::Item::text);
        let made = made.and_then(time).filter(|&time| self.has_passed(time));
        self.made = self.made.max(made);
        pod.members().all(|member| match member.key() {
            "data" | "stringData" | "binaryData" => true,
            key => self.walk_facts(&Way { key, above: None }, member),
        })
    }

    /// As [`Self::walk`], but keys are asked only where a time would change something: most are known from other pods.
    fn walk_facts(&mut self, way: &Way<'_>, item: tree::Item<'_, '_>) -> bool {
        if let Some(text) = item.text() {
            if let Some(time) = time(text).filter(|time| self.is_new(*time))
                && !way.lies_ahead()
            {
                self.found(time);
            }
            return true;
        }
        item.items().all(|item| self.walk_facts(way, item))
            && item.members().all(|member| {
                let key = member.key();
                key != "deletionTimestamp" && self.walk_facts(&Way { key, above: Some(way) }, member)
            })
    }

    /// Whether it would change anything that this time was found.
    fn is_new(&self, time: Time) -> bool {
        self.has_passed(time) && self.times.get(&minute(time)).is_none_or(|known| *known < time)
    }

    /// What two finders have found of the same snapshot.
    #[must_use]
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.heartbeat = self.heartbeat.max(other.heartbeat);
        self.lease = self.lease.max(other.lease);
        self.made = self.made.max(other.made);
        for (minute, time) in other.times {
            let newest = self.times.entry(minute).or_insert(time);
            *newest = time.max(*newest);
        }
        self
    }

    /// What was found, if anything.
    pub fn now(&self) -> Option<Now> {
        let written = self.heartbeat.map(|time| Now { time, basis: Basis::Heartbeat });
        let written = written.max(self.lease.map(|time| Now { time, basis: Basis::Lease }));
        let newest = match self.anchor() {
            Some(anchor) => self.times.values().rev().find(|time| **time <= anchor + BELIEVED),
            None => self.times.values().next_back(),
        };
        match (written, newest) {
            (Some(written), Some(newest)) if written.time >= *newest => Some(written),
            (_, Some(newest)) => Some(Now { time: *newest, basis: Basis::NewestTime }),
            (written, None) => written,
        }
    }

    /// The newest time that is certain to have passed, where a kubelet has written one.
    fn anchor(&self) -> Option<Time> {
        let written = self.heartbeat.max(self.lease)?;
        Some(written.max(self.made.unwrap_or(written)))
    }

    fn lease(&mut self, lease: &Value) {
        let text = |path| lease.pointer(path).and_then(Value::as_str);
        if text("/metadata/namespace") == Some("kube-node-lease") {
            let renewed = text("/spec/renewTime").and_then(time).map(Time::floor_seconds);
            self.lease = self.lease.max(renewed.filter(|&time| self.has_passed(time)));
        }
    }

    fn made(&mut self, pod: &Value) {
        let made = pod.pointer("/metadata/creationTimestamp").and_then(Value::as_str).and_then(time);
        self.made = self.made.max(made.filter(|&time| self.has_passed(time)));
    }

    fn heartbeats(&mut self, node: &Value) {
        let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
        for condition in conditions.into_iter().flatten() {
            let heartbeat = condition.get("lastHeartbeatTime").and_then(Value::as_str).and_then(time);
            self.heartbeat = self.heartbeat.max(heartbeat.filter(|&time| self.has_passed(time)));
        }
    }

    fn has_passed(&self, time: Time) -> bool {
        self.not_after.is_none_or(|bound| time <= bound)
    }

    fn walk(&mut self, depth: Depth, key: &str, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => {
                let counts = match depth {
                    Depth::Facts => true,
                    Depth::Wishes => WRITTEN_WHEN_IT_HAPPENS.iter().any(|name| key.ends_with(name)),
                };
                if counts
                    && let Some(time) = time(text)
                    && !lies_ahead(key)
                {
                    self.found(time);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.walk(depth, key, value)),
            Value::Object(members) => {
                for (key, value) in members {
                    if let Value::String(text) = value
                        && key == "deletionTimestamp"
                    {
                        self.deletion(members, text);
                    } else if !(matches!(value, Value::Array(_) | Value::Object(_)) && lies_ahead(key)) {
                        self.walk(depth, key, value);
                    }
                }
            }
        }
    }

    fn deletion(&mut self, metadata: &Map<String, Value>, due: &str) {
        let grace = metadata.get("deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
        if let Some(due) = time(due) {
            self.found(due - Span::from_secs(grace));
        }
    }

    fn found(&mut self, time: Time) {
        if self.has_passed(time) {
            let newest = self.times.entry(minute(time)).or_insert(time);
            *newest = time.max(*newest);
        }
    }
}

fn minute(time: Time) -> i64 {
    time.as_millis().div_euclid(60_000)
}

/// Keys from a member of an object down to a value.
struct Way<'w> {
    key: &'w str,
    above: Option<&'w Way<'w>>,
}

impl Way<'_> {
    /// Whether one of them speaks of what is to come. The outermost is asked only where a time stands right behind it.
    fn lies_ahead(&self) -> bool {
        let mut asked = Some(self);
        while let Some(way) = asked {
            if lies_ahead(way.key) {
                return true;
            }
            asked = way.above.filter(|above| above.above.is_some());
        }
        false
    }
}

/// What part of an object is looked at.
#[derive(Clone, Copy)]
enum Depth {
    /// What somebody wrote down when it happened.
    Facts,
    /// What somebody wants.
    Wishes,
}

/// Keys in `spec` under which a time is written when something happens. The last is an annotation's, with the
/// prefix `kubectl.kubernetes.io/`.
const WRITTEN_WHEN_IT_HAPPENS: [&str; 3] = ["timeAdded", "creationTimestamp", "restartedAt"];

/// Parts of keys, in lower case, that speak of what is to come, by their first letter. `next` is in `nextScheduleTime`, `renew` in
/// cert-manager's `renewalTime`.
fn ahead(first: u8) -> &'static [&'static [u8]] {
    match first.to_ascii_lowercase() {
        b'd' => &[b"deadline", b"due"],
        b'e' => &[b"expir"],
        b'n' => &[b"notafter", b"not-after", b"next"],
        b'r' => &[b"renew"],
        b'u' => &[b"until"],
        _ => &[],
    }
}

/// Asked of every member of every object: no copy is made, and most letters begin none of the parts.
fn lies_ahead(key: &str) -> bool {
    let key = key.as_bytes();
    let begins = |at: usize, part: &[u8]| {
        key.get(at..at + part.len()).is_some_and(|found| found.eq_ignore_ascii_case(part))
    };
    key.iter().enumerate().any(|(at, first)| ahead(*first).iter().any(|part| begins(at, part)))
}

/// Reads a time; quick to see that most texts are none.
fn time(text: &str) -> Option<Time> {
    let bytes = text.as_bytes();
    let looks_like_one =
        (20..=35).contains(&bytes.len()) && bytes[4] == b'-' && bytes[10] == b'T' && bytes[13] == b':';
    if looks_like_one { text.parse().ok() } else { None }
}
