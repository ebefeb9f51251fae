//! The moment a snapshot was taken at, found in the snapshot.
//!
//! A dump does not say when it was made. The newest node heartbeat says it best: kubelets write one every five
//! minutes at least (`nodeStatusReportFrequency`), and never a time to come. Where no node has one, it is the
//! newest time anywhere, of those that have passed. No clock is asked for that, so that a rehearsal of a file gives
//! the same answer next year; instead, times that by their nature lie ahead are left aside:
//!
//! - everything in Leases and LeaseCandidates, which are renewed after the dump's other objects were read;
//! - below a key that speaks of what is to come: expiry, not-after, renewal, next, deadline, until, due;
//! - the wishes in `spec` and the payload of ConfigMaps and Secrets (`data`), save for what is written there when
//!   it happens: `timeAdded` of taints, `creationTimestamp`, `restartedAt` of `kubectl rollout restart`;
//! - `metadata.deletionTimestamp` is the end of a grace period: it counts from the period's beginning.

use std::fmt;

use replank_model::time::{Span, Time};
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
    /// No node has a heartbeat: the newest time that had passed.
    NewestTime,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Basis::Given => "as given",
            Basis::Heartbeat => "the newest heartbeat of a node",
            Basis::NewestTime => "the newest past time in the snapshot, because no node has a heartbeat",
        })
    }
}

/// Finds the moment of a snapshot, one document at a time. The order of documents does not matter.
#[derive(Clone, Debug, Default)]
pub struct NowFinder {
    not_after: Option<Time>,
    heartbeat: Option<Time>,
    newest: Option<Time>,
}

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
            ("coordination.k8s.io", "Lease" | "LeaseCandidate") => return,
            ("", "Node") => self.heartbeats(value),
            _ => {}
        }
        if self.heartbeat.is_some() {
            // Nothing else can matter any more.
            return;
        }
        for (key, member) in object {
            match key.as_str() {
                "spec" => self.walk(Depth::Wishes, key, member),
                "data" | "stringData" | "binaryData" => {}
                _ => self.walk(Depth::Facts, key, member),
            }
        }
    }

    /// What was found, if anything.
    pub fn now(&self) -> Option<Now> {
        let heartbeat = self.heartbeat.map(|time| Now { time, basis: Basis::Heartbeat });
        heartbeat.or_else(|| self.newest.map(|time| Now { time, basis: Basis::NewestTime }))
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
            self.newest = self.newest.max(Some(time));
        }
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

/// Parts of keys, in lower case, that speak of what is to come. `next` is in `nextScheduleTime`, `renew` in
/// cert-manager's `renewalTime`.
const AHEAD: [&str; 8] = ["expir", "notafter", "not-after", "renew", "next", "deadline", "until", "due"];

fn lies_ahead(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    AHEAD.iter().any(|part| key.contains(part))
}

/// Reads a time; quick to see that most texts are none.
fn time(text: &str) -> Option<Time> {
    let bytes = text.as_bytes();
    let looks_like_one =
        (20..=35).contains(&bytes.len()) && bytes[4] == b'-' && bytes[10] == b'T' && bytes[13] == b':';
    if looks_like_one { text.parse().ok() } else { None }
}
