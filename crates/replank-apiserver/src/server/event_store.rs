//! Events as objects of their own: where clients are served they list and watch them, and they expire (`--event-ttl`).

use replank_model::object::Object;
use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;

use super::event_log::{EventRecord, LIFE};
use super::store::Api;

impl Api {
    /// Stores an event as it is told now.
    pub(super) fn keep_event(&mut self, record: &EventRecord) {
        let namespace = Key::cluster(record.key.namespace.text().clone());
        if self.view().namespaces.by_key(&namespace).is_some_and(|one| one.meta.is_terminating()) {
            // It is refused there, as everything new, and nobody minds.
            return;
        }
        let mut value = record.to_value();
        value["apiVersion"] = "v1".into();
        value["kind"] = "Event".into();
        if let Some(metadata) = value["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
        }
        let Ok(object) = self.projector.object(value) else {
            debug_assert!(false, "an event that is written can be read");
            return;
        };
        match self.known(&object) {
            Some(known) => self.replace(known, object, false),
            None => self.store(object),
        };
    }

    /// An event was written: it lives for a while from now on, and those go whose time is over.
    pub(super) fn note_event(&mut self, stored: &Object) {
        if !self.serving().is_any() || !matches!(stored, Object::Other(other) if is_event(other)) {
            return;
        }
        let now = self.now();
        let meta = stored.meta();
        self.events.expiring.push_back((now + LIFE, meta.key(), meta.resource_version));
        while let Some((due, ..)) = self.events.expiring.front()
            && *due <= now
        {
            let Some((_, key, version)) = self.events.expiring.pop_front() else { return };
            let known = self.view().other("", "Event", &key).cloned();
            if let Some(known) = known.filter(|known| known.meta.resource_version == version) {
                self.remove(Object::Other(known));
            }
        }
    }
}

fn is_event(other: &Other) -> bool {
    &*other.kind == "Event" && other.group().is_empty()
}

#[cfg(test)]
mod tests {
    use replank_model::time::{Span, Time};
    use replank_model::view::View;
    use serde_json::json;

    use super::super::events::EventType;
    use super::super::serving::Serving;
    use super::*;
    use crate::Clock;
    use crate::draw::Draws;

    fn served(api: &Api) -> Vec<(String, i64)> {
        let events = api.view().others().filter(|other| is_event(other));
        let values = events.map(|other| replank_model::object::render(&Object::Other(other.clone())));
        let told = values.map(|one| {
            (one["reason"].as_str().unwrap_or_default().to_owned(), one["count"].as_i64().unwrap_or_default())
        });
        told.collect()
    }

    #[test]
    fn events_are_objects_where_clients_are_served_and_expire_after_an_hour() {
        let clock = Clock::new(Time::from_millis(1_764_000_000_000));
        let mut api = Api::new(clock.clone(), View::default(), Draws::new(1));
        let about = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "a", "uid": "u"}});
        let about = Object::from_json(about).expect("it is an object");
        api.record(&about, EventType::Normal, "Silent", "nobody is served");
        assert_eq!(served(&api), []);
        api.serve(Serving { accounts: false, addresses: true, traces: false });
        api.record(&about, EventType::Normal, "First", "one");
        api.record(&about, EventType::Normal, "First", "one");
        assert_eq!(served(&api), [("First".to_owned(), 2)]);
        clock.advance_to(api.now() + Span::from_minutes(61));
        api.record(&about, EventType::Normal, "Second", "two");
        assert_eq!(served(&api), [("Second".to_owned(), 1)]);
    }
}
