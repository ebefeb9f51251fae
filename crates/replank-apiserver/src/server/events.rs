//! Events: what components tell about objects (core/v1 Event, client-go `tools/record`).
//!
//! Nothing decides by them. In a rehearsal they are no part of the truth. Those that somebody may ask for are kept, equal ones as one with
//! a count.

use replank_model::object::{Object, render};
use replank_model::text::Namespace;
use replank_model::time::Time;
use serde_json::{Value, json};

use super::store::Api;

pub(crate) use super::event_log::EventLog;
use super::event_log::LIFE;
pub use super::event_log::{EventRecord, EventType};

/// Who tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Teller {
    /// A controller, by its name; in the form of core/v1.
    Controller(&'static str),
    /// The scheduler, and what it did; in the form of events.k8s.io/v1.
    Scheduler(&'static str),
}

/// What is told.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// Whether it is a warning.
    pub r#type: EventType,
    /// One CamelCase word.
    pub reason: &'static str,
    /// Who tells.
    pub teller: Teller,
}

/// The event as an object.
fn shown(about: &Object, told: &Told, message: &str, (now, number): (Time, u64)) -> Value {
    let meta = about.meta();
    let namespace = if meta.namespace.is_empty() { "default" } else { meta.namespace.as_str() };
    let time = now.floor_seconds().to_string();
    let mut involved = json!({"kind": about.kind_name(), "name": meta.name.as_str(), "uid": meta.uid.as_str(),
        "apiVersion": about.api_version(), "resourceVersion": meta.resource_version.0.to_string()});
    if !meta.namespace.is_empty() {
        involved["namespace"] = meta.namespace.as_str().into();
    }
    let mut value = json!({"apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{}.{number:016x}", meta.name), "namespace": namespace},
        "involvedObject": involved, "reason": told.reason, "message": message, "type": told.r#type.as_str()});
    match told.teller {
        Teller::Controller(name) => {
            value["source"] = json!({"component": name});
            value["firstTimestamp"] = time.clone().into();
            value["lastTimestamp"] = time.into();
            value["count"] = 1.into();
            value["eventTime"] = Value::Null;
            value["reportingComponent"] = name.into();
            value["reportingInstance"] = "".into();
        }
        Teller::Scheduler(action) => {
            let micros = format!("{}.{:03}000Z", time.trim_end_matches('Z'), now.as_millis().rem_euclid(1_000));
            value["source"] = json!({});
            value["firstTimestamp"] = Value::Null;
            value["lastTimestamp"] = Value::Null;
            value["eventTime"] = micros.into();
            value["action"] = action.into();
            value["reportingComponent"] = "default-scheduler".into();
            value["reportingInstance"] = "default-scheduler-0".into();
        }
    }
    value
}

impl Api {
    /// Tells about an object.
    pub fn record(&mut self, about: &Object, r#type: EventType, reason: &'static str, message: &str) {
        if self.serving().traces {
            return self.tell(about, Told { r#type, reason, teller: Teller::Controller("controllermanager") }, message);
        }
        let (now, meta) = (self.timestamp(), about.meta());
        self.events.forget(now);
        let known = (meta.uid.clone(), reason, message.to_owned());
        if let Some(at) = self.events.known.get(&known) {
            let record = &mut self.events.records[*at];
            let is_kept = now - record.last < LIFE;
            (record.count, record.first) = if is_kept { (record.count + 1, record.first) } else { (1, now) };
            record.last = now;
            return;
        }
        self.events.known.insert(known, self.events.records.len());
        self.events.records.push(EventRecord {
            kind: about.kind_name().into(),
            api_version: about.api_version().into(),
            key: meta.key(),
            uid: meta.uid.clone(),
            version: meta.resource_version,
            r#type,
            reason,
            message: message.to_owned(),
            count: 1,
            first: now,
            last: now,
        });
    }

    /// Tells about an object where clients look: an Event among the objects, equal ones as one with a count. Nothing in a rehearsal.
    pub fn tell(&mut self, about: &Object, told: Told, message: &str) {
        if !self.serving().traces {
            return;
        }
        let now = self.timestamp();
        while let Some(key) = self.events.expired(now) {
            if let Some(event) = self.view().other("", "Event", &key).cloned() {
                self.remove(Object::Other(event));
            }
        }
        let known = (about.meta().uid.clone(), told.reason, message.to_owned());
        let key = self.events.shown.get(&known).map(|(key, _)| key.clone());
        let stored = key.and_then(|key| Some((key.clone(), self.view().other("", "Event", &key)?.clone())));
        let key = match stored {
            Some((key, event)) => {
                let mut value = render(&Object::Other(event));
                value["count"] = (value["count"].as_i64().unwrap_or(1) + 1).into();
                value["lastTimestamp"] = now.to_string().into();
                if let (Ok(object), Teller::Controller(_)) = (Object::from_json(value), told.teller) {
                    drop(self.update_object(object));
                }
                key
            }
            None => {
                let number = self.new_event_number();
                let value = shown(about, &told, message, (self.now(), number));
                let Ok(object) = Object::from_json(value) else { return };
                let key = object.meta().key();
                drop(self.create_object(object));
                key
            }
        };
        self.events.note_shown(known, key, now);
    }

    /// The events about objects of a namespace, or of all, in the order in which they were first told; what the server serves no more is among them.
    pub fn events<'a>(&'a self, namespace: Option<&'a Namespace>) -> impl Iterator<Item = &'a EventRecord> {
        let is_meant =
            move |record: &&EventRecord| namespace.is_none_or(|namespace| record.key.namespace == *namespace);
        self.events.records.iter().filter(is_meant)
    }
}
