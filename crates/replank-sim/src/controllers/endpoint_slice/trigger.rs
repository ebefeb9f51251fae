//! The annotation with the moment of the change that led to the present endpoints (k8s.io/endpointslice `trigger_time_tracker.go`).

use std::collections::BTreeMap;

use replank_model::object::condition;
use replank_model::object::network::{EndpointSlice, Service};
use replank_model::selector::Selector;
use replank_model::text::{Name, Uid};
use replank_model::time::Time;
use replank_model::view::View;
use rustc_hash::FxHashMap;

const TRIGGER: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// When pods of each Service changed last, and when it was made.
#[derive(Debug, Default)]
pub(super) struct Triggers {
    known: FxHashMap<Uid, BTreeMap<Name, Time>>,
}

impl Triggers {
    /// The earliest change since the last look (`ComputeEndpointLastChangeTriggerTime`).
    pub(super) fn trigger(&mut self, view: &View, service: &Service) -> Option<Time> {
        let selector = Selector::from_set(service.spec.selector.pairs().iter().cloned());
        let pods = view.select_pods(&service.meta.namespace, &selector).filter_map(|ix| view.pods.get(ix));
        let ready =
            |conditions| condition::find(conditions, "Ready").and_then(|ready| ready.last_transition_time);
        let present: BTreeMap<Name, Time> =
            pods.filter_map(|pod| Some((pod.meta.name.clone(), ready(&pod.status.conditions)?))).collect();
        let before = self.known.insert(service.meta.uid.clone(), present.clone());
        let is_new = before.is_none();
        let before = before.unwrap_or_default();
        let changed =
            present.into_iter().filter(|(name, time)| before.get(name).is_none_or(|was| was < time));
        let made = service.meta.creation_timestamp.filter(|_| is_new);
        changed.map(|(_, time)| time).chain(made).min()
    }
}

/// Writes the annotation, or takes it away where nothing is known to have changed.
pub(super) fn note(slice: &mut EndpointSlice, trigger: Option<Time>) {
    let annotations = &slice.meta.annotations;
    slice.meta.annotations = match trigger {
        Some(time) => annotations.with(TRIGGER, time.to_string()),
        None => annotations.without(TRIGGER),
    };
}
