//! How many pods under a budget are seen healthy.

use replank_model::object::Object;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::text::Namespace;
use replank_model::view::{Change, Ix, View};
use rustc_hash::FxHashMap;

/// Counts of healthy pods, kept until a pod of the budget's namespace or the budget itself changes.
#[derive(Clone, Debug, Default)]
pub struct Healths {
    /// Counts up with every change of a pod's health, by namespace.
    epochs: FxHashMap<Namespace, u64>,
    counts: FxHashMap<Ix<PodDisruptionBudget>, Count>,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    epoch: u64,
    healthy: i32,
}

impl Healths {
    /// Takes in a change.
    pub fn observe(&mut self, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (Some(Object::Pod(old)), Some(Object::Pod(new)))
                if old.is_ready() == new.is_ready()
                    && old.is_terminating() == new.is_terminating()
                    && old.meta.labels == new.meta.labels => {}
            (Some(Object::Pod(pod)), _) | (_, Some(Object::Pod(pod))) => {
                *self.epochs.entry(pod.meta.namespace.clone()).or_default() += 1;
            }
            (Some(Object::PodDisruptionBudget(_)), _) | (_, Some(Object::PodDisruptionBudget(_))) => {
                self.counts.remove(&Ix::new(*slot));
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    /// Pods under the budget that are ready, not on their way out, and not said by its status to be evicted
    /// (pkg/controller/disruption `countHealthyPods`).
    pub fn healthy(&mut self, view: &View, ix: Ix<PodDisruptionBudget>) -> i32 {
        let budget = &view.pod_disruption_budgets[ix];
        let epoch = self.epochs.get(&budget.meta.namespace).copied().unwrap_or(0);
        if let Some(known) = self.counts.get(&ix).filter(|known| known.epoch == epoch) {
            return known.healthy;
        }
        let disrupted = &budget.status.disrupted_pods;
        let pods = view.pods_of_budget(ix).map(|ix| &view.pods[ix]);
        let healthy = pods.filter(|pod| {
            pod.is_ready() && !pod.is_terminating() && !disrupted.contains_key(pod.meta.name.as_str())
        });
        let healthy = i32::try_from(healthy.count()).unwrap_or(i32::MAX);
        self.counts.insert(ix, Count { epoch, healthy });
        healthy
    }
}
