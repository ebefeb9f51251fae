//! What components tell about objects, kept by object.

use std::collections::VecDeque;

use replank_model::object::meta::{Key, ResourceVersion};
use replank_model::text::{Text, Uid};
use replank_model::time::{Span, Time};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

/// Whether an event is a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// All is as it should be.
    Normal,
    /// Something is wrong.
    Warning,
}

impl EventType {
    /// The word as the API writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// One event, as often as it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRecord {
    /// Kind of the object it is about.
    pub kind: Text,
    /// API version of the object.
    pub api_version: Text,
    /// Namespace and name of the object.
    pub key: Key,
    /// Uid of the object.
    pub uid: Uid,
    /// Version of the object when it was first told.
    pub version: ResourceVersion,
    /// Whether it is a warning.
    pub r#type: EventType,
    /// Who tells it.
    pub component: &'static str,
    /// The node that tells it; empty for none.
    pub host: Text,
    /// The part of the object that it is about; empty for all of it.
    pub part: Text,
    /// One CamelCase word.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
    /// How often it was told.
    pub count: u32,
    /// When it was first told.
    pub first: Time,
    /// When it was last told.
    pub last: Time,
    /// The nanosecond that names it; no two events have the same, and a later one has a later.
    pub moment: i64,
}

/// All events that were kept.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    pub(super) records: Vec<EventRecord>,
    pub(super) known: FxHashMap<(Uid, &'static str, String), usize>,
    /// From how many on it is worth looking for those that nobody can ask for any more.
    pub(super) full: usize,
    /// Those that are stored as objects, by when they expire.
    pub(super) expiring: VecDeque<(Time, Key, ResourceVersion)>,
    /// What names the latest.
    moment: i64,
}

/// So many are kept, expired or not: reports tell of them.
const KEPT: usize = 100_000;

/// How long an event is served after it was told last (`--event-ttl`).
pub(super) const LIFE: Span = Span::from_minutes(60);

impl EventLog {
    /// A nanosecond to name an event by: a list, which is by name, has those of one object in the order in which they were told.
    pub(super) fn moment(&mut self, now: Time) -> i64 {
        self.moment = (self.moment + 1).max(now.as_millis().saturating_mul(1_000_000));
        self.moment
    }

    /// Forgets what has expired, from time to time.
    pub(super) fn forget(&mut self, now: Time) {
        if self.records.len() < self.full.max(KEPT) {
            return;
        }
        self.records.retain(|record| now - record.last < LIFE);
        let keys = self.records.iter().enumerate();
        let key = |one: &EventRecord| (one.uid.clone(), one.reason, known_by(&one.part, &one.message));
        self.known = keys.map(|(at, one)| (key(one), at)).collect();
        self.full = self.records.len() * 2;
    }
}

impl EventRecord {
    /// Whether the server still has it.
    #[must_use]
    pub fn is_served(&self, now: Time) -> bool {
        now - self.last < LIFE
    }

    /// The event as the API server lists it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let namespace = if self.key.namespace.is_empty() { "default" } else { self.key.namespace.as_str() };
        let told = format!("{}/{}/{}", self.uid, self.reason, known_by(&self.part, &self.message));
        let number = xxhash_rust::xxh3::xxh3_64(told.as_bytes());
        let mut value = json!({
            "metadata": {
                "name": format!("{}.{:016x}", self.key.name, self.moment), "namespace": namespace,
                "uid": format!("{}-{number:016x}", self.uid.as_str().get(..19).unwrap_or_default()),
                "creationTimestamp": self.first, "resourceVersion": self.version,
            },
            "involvedObject": {
                "kind": &*self.kind, "namespace": self.key.namespace, "name": self.key.name, "uid": self.uid,
                "apiVersion": &*self.api_version, "resourceVersion": self.version,
            },
            "reason": self.reason, "message": self.message, "source": {"component": self.component},
            "firstTimestamp": self.first, "lastTimestamp": self.last, "count": self.count,
            "type": self.r#type.as_str(), "eventTime": null,
            "reportingComponent": self.component, "reportingInstance": &*self.host,
        });
        if !self.host.is_empty() {
            value["source"]["host"] = (&*self.host).into();
        }
        if !self.part.is_empty() {
            value["involvedObject"]["fieldPath"] = (&*self.part).into();
        }
        value
    }
}

/// What events of one object and reason are told apart by.
pub(super) fn known_by(part: &str, message: &str) -> String {
    if part.is_empty() { message.to_owned() } else { format!("{part}\n{message}") }
}
