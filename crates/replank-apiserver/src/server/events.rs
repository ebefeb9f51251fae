//! Events: what components tell about objects (core/v1 Event, client-go `tools/record`).
//!
//! They are no part of the truth: nothing decides by them. Those that somebody may ask for are kept, equal ones as one with
//! a count.

use replank_model::object::Object;
use replank_model::text::Namespace;

use super::store::Api;

pub(crate) use super::event_log::EventLog;
pub use super::event_log::{EventRecord, EventType};
use super::event_log::{LIFE, known_by};

/// Who tells, and of which part of an object.
#[derive(Clone, Copy, Debug)]
pub struct Teller<'t> {
    /// The component.
    pub component: &'static str,
    /// The node that it is on; empty for those that are on none.
    pub host: &'t str,
    /// The part of the object that is told of, such as `spec.containers{main}`; empty for the object itself.
    pub part: &'t str,
}

impl Teller<'_> {
    /// One that tells of whole objects, and is nowhere in particular.
    fn plain(component: &'static str) -> Self {
        Self { component, host: "", part: "" }
    }
}

impl Api {
    /// Tells about an object, as the controller manager does.
    pub fn record(&mut self, about: &Object, r#type: EventType, reason: &'static str, message: &str) {
        self.record_of("controllermanager", about, r#type, (reason, message));
    }

    /// The same of another component; `told` is one CamelCase word, and a sentence.
    pub fn record_of(
        &mut self,
        component: &'static str,
        about: &Object,
        r#type: EventType,
        told: (&'static str, &str),
    ) {
        self.record_by(Teller::plain(component), about, r#type, told);
    }

    fn record_by(&mut self, who: Teller<'_>, about: &Object, r#type: EventType, told: (&'static str, &str)) {
        let at = self.log(who, about, r#type, told);
        if self.serving().is_any() {
            let record = self.events.records[at].clone();
            self.keep_event(&record);
        }
    }

    /// Tells that all is as it should be, where clients look; nothing in a rehearsal, whose reports tell of troubles.
    pub fn tell(&mut self, component: &'static str, about: &Object, reason: &'static str, message: &str) {
        if self.serving().traces {
            self.record_of(component, about, EventType::Normal, (reason, message));
        }
    }

    /// Tells what somebody on a node does, or what has become of a part of an object, where clients look.
    pub fn tell_by(
        &mut self,
        who: Teller<'_>,
        about: &Object,
        r#type: EventType,
        told: (&'static str, &str),
    ) {
        if self.serving().traces {
            self.record_by(who, about, r#type, told);
        }
    }

    /// Notes an event; where it is in the log.
    fn log(
        &mut self,
        who: Teller<'_>,
        about: &Object,
        r#type: EventType,
        (reason, message): (&'static str, &str),
    ) -> usize {
        let (now, meta) = (self.timestamp(), about.meta());
        self.events.forget(now);
        let known = (meta.uid.clone(), reason, known_by(who.part, message));
        if let Some(at) = self.events.known.get(&known) {
            let at = *at;
            let record = &mut self.events.records[at];
            let is_kept = now - record.last < LIFE;
            (record.count, record.first) = if is_kept { (record.count + 1, record.first) } else { (1, now) };
            record.last = now;
            return at;
        }
        self.events.known.insert(known, self.events.records.len());
        let moment = self.now();
        let moment = self.events.moment(moment);
        self.events.records.push(EventRecord {
            kind: about.kind_name().into(),
            api_version: about.api_version().into(),
            key: meta.key(),
            uid: meta.uid.clone(),
            version: meta.resource_version,
            r#type,
            component: who.component,
            host: who.host.into(),
            part: who.part.into(),
            reason,
            message: message.to_owned(),
            count: 1,
            first: now,
            last: now,
            moment,
        });
        self.events.records.len() - 1
    }

    /// The events about objects of a namespace, or of all, in the order in which they were first told; what the server serves no more is among them.
    pub fn events<'a>(&'a self, namespace: Option<&'a Namespace>) -> impl Iterator<Item = &'a EventRecord> {
        let is_meant =
            move |record: &&EventRecord| namespace.is_none_or(|namespace| record.key.namespace == *namespace);
        self.events.records.iter().filter(is_meant)
    }
}
