//! Selectors of services, which tell siblings of pods that set no spread constraints.

use std::collections::BTreeMap;

use replank_model::labels::{Labels, TextMap};
use replank_model::object::network::Service;
use replank_model::text::{Name, Namespace};
use rustc_hash::FxHashMap;

/// Services that have a selector, and how often each namespace's changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Services {
    selectors: FxHashMap<Namespace, BTreeMap<Name, TextMap>>,
    changes: FxHashMap<Namespace, u64>,
}

impl Services {
    /// Takes in a service as it is, or that it is gone.
    pub(super) fn observe(&mut self, old: Option<&Service>, new: Option<&Service>) {
        let selector = |service: Option<&Service>| service.map(|service| service.spec.selector.clone());
        let Some(meta) = new.or(old).map(|service| &service.meta) else { return };
        if selector(old) == selector(new) {
            return;
        }
        let known = self.selectors.entry(meta.namespace.clone()).or_default();
        match new.filter(|service| !service.spec.selector.is_empty()) {
            Some(service) => known.insert(meta.name.clone(), service.spec.selector.clone()),
            None => known.remove(&meta.name),
        };
        *self.changes.entry(meta.namespace.clone()).or_default() += 1;
    }

    /// How often the namespace's selectors changed, plus 1.
    pub(super) fn generation(&self, namespace: &Namespace) -> u64 {
        self.changes.get(namespace).copied().unwrap_or(0) + 1
    }

    /// The selectors of all services that select a pod with these labels, as one.
    pub(super) fn selector_of(&self, namespace: &Namespace, labels: &Labels) -> TextMap {
        let services = self.selectors.get(namespace).into_iter().flat_map(BTreeMap::values);
        let selecting = services
            .filter(|selector| selector.pairs().iter().all(|(key, value)| labels.get(key) == Some(value)));
        selecting.flat_map(TextMap::pairs).map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}
