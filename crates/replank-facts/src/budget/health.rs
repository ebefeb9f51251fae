//! How many pods under a budget are seen healthy.

use replank_model::object::Object;
use replank_model::object::pod::Pod;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::text::Namespace;
use replank_model::view::{Change, Ix, View};
use rustc_hash::FxHashMap;

/// Counts of healthy pods, kept until the health of a pod under the budget, or the budget itself, changes.
#[derive(Clone, Debug, Default)]
pub struct Healths {
    /// Counts up with every change of healthy pods whose budgets are not known any more, by namespace.
    epochs: FxHashMap<Namespace, u64>,
    counts: FxHashMap<Ix<PodDisruptionBudget>, Count>,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    epoch: u64,
    healthy: i32,
}

impl Healths {
    /// Takes in a change that `view` has taken in.
    pub fn observe(&mut self, view: &View, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (Some(Object::PodDisruptionBudget(_)), _) | (_, Some(Object::PodDisruptionBudget(_))) => {
                self.counts.remove(&Ix::new(*slot));
            }
            (Some(Object::Pod(old)), Some(Object::Pod(new))) if old.meta.labels == new.meta.labels => {
                if counts(old) != counts(new) {
                    self.forget_budgets_of(view, Ix::new(*slot));
                }
            }
            (None, Some(Object::Pod(new))) => {
                if counts(new) {
                    self.forget_budgets_of(view, Ix::new(*slot));
                }
            }
            // Which budgets covered it is not known any more.
            (Some(Object::Pod(old)), new) => {
                let is_counted = matches!(new, Some(Object::Pod(new)) if counts(new));
                if counts(old) || is_counted {
                    *self.epochs.entry(old.meta.namespace.clone()).or_default() += 1;
                }
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    fn forget_budgets_of(&mut self, view: &View, pod: Ix<Pod>) {
        for budget in view.budgets_of(pod) {
            self.counts.remove(budget);
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
        let healthy = pods.filter(|pod| counts(pod) && !disrupted.contains_key(pod.meta.name.as_str()));
        let healthy = i32::try_from(healthy.count()).unwrap_or(i32::MAX);
        self.counts.insert(ix, Count { epoch, healthy });
        healthy
    }
}

/// Whether a pod counts as healthy, unless a budget's status says that it is evicted.
fn counts(pod: &Pod) -> bool {
    pod.is_ready() && !pod.is_terminating()
}
