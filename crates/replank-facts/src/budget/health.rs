//! How many pods under a budget are seen healthy.

use std::collections::BTreeMap;

use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::text::{Name, Namespace, Text};
use replank_model::time::Time;
use replank_model::view::{Change, Ix, View};
use rustc_hash::FxHashMap;

use super::standing::Standing;

/// Counts of healthy pods, kept up to date change by change; a budget that selects others is counted anew.
#[derive(Clone, Debug, Default)]
pub struct Healths {
    /// By the budgets' slots.
    counts: Vec<Option<Count>>,
    /// Which were counted, by namespace.
    by_namespace: FxHashMap<Namespace, Vec<Ix<PodDisruptionBudget>>>,
}

#[derive(Clone, Debug)]
struct Count {
    healthy: i32,
    /// Whether the budget's status names pods whose evictions were granted: hardly any does, so that it need not be looked at.
    names_granted: bool,
    /// `None` until it is first asked for.
    standing: Option<Standing>,
}

impl Count {
    fn add(&mut self, more: i32) {
        self.healthy += more;
        self.standing = None;
    }
}

impl Healths {
    /// Takes in a change that `view` has taken in.
    pub fn observe(&mut self, view: &View, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        if self.counts.is_empty() {
            return;
        }
        match (old, new) {
            (Some(Object::PodDisruptionBudget(old)), Some(Object::PodDisruptionBudget(new)))
                if old.spec.selector == new.spec.selector =>
            {
                self.disrupt(view, Ix::new(*slot), old, new);
            }
            (Some(Object::PodDisruptionBudget(_)), _) | (_, Some(Object::PodDisruptionBudget(_))) => {
                self.forget(Ix::new(*slot));
            }
            (Some(Object::Pod(old)), Some(Object::Pod(new))) if old.meta.labels == new.meta.labels => {
                self.count(view, Ix::new(*slot), new, i32::from(counts(new)) - i32::from(counts(old)));
            }
            (None, Some(Object::Pod(new))) => {
                self.count(view, Ix::new(*slot), new, i32::from(counts(new)));
            }
            // Which budgets covered it is not known any more.
            (Some(Object::Pod(old)), new) => {
                let is_counted = matches!(new, Some(Object::Pod(new)) if counts(new));
                if counts(old) || is_counted {
                    let budgets = self.by_namespace.remove(&old.meta.namespace).unwrap_or_default();
                    budgets.iter().for_each(|budget| self.forget(*budget));
                }
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    fn forget(&mut self, budget: Ix<PodDisruptionBudget>) {
        if let Some(count) = self.counts.get_mut(budget.slot()) {
            *count = None;
        }
    }

    /// Counts a pod under its budgets, or no more.
    fn count(&mut self, view: &View, ix: Ix<Pod>, pod: &Pod, more: i32) {
        let budgets = if more == 0 { &[][..] } else { view.budgets_of(ix) };
        let is_granted = |budget: Ix<PodDisruptionBudget>| {
            let status = &view.pod_disruption_budgets[budget].status;
            status.disrupted_pods.contains_key(pod.meta.name.as_str())
        };
        for budget in budgets {
            let Some(count) = self.counts.get_mut(budget.slot()).and_then(Option::as_mut) else { continue };
            if !(count.names_granted && is_granted(*budget)) {
                count.add(more);
            }
        }
    }

    /// A budget is another than it was, and may say of other pods that they are evicted.
    fn disrupt(
        &mut self,
        view: &View,
        ix: Ix<PodDisruptionBudget>,
        old: &PodDisruptionBudget,
        new: &PodDisruptionBudget,
    ) {
        let Some(count) = self.counts.get_mut(ix.slot()).and_then(Option::as_mut) else { return };
        let (was, is) = (&old.status.disrupted_pods, &new.status.disrupted_pods);
        let is_counted = |name: &Text| {
            let key = Key { namespace: new.meta.namespace.clone(), name: Name::new(name.clone()) };
            let pod = view.pods.find(&key);
            pod.is_some_and(|pod| counts(&view.pods[pod]) && view.budgets_of(pod).contains(&ix))
        };
        let named = |of: &BTreeMap<Text, Time>, but_in: &BTreeMap<Text, Time>| {
            let named = of.keys().filter(|name| !but_in.contains_key(*name) && is_counted(name));
            i32::try_from(named.count()).unwrap_or(i32::MAX)
        };
        count.names_granted = !is.is_empty();
        count.add(named(was, is) - named(is, was));
    }

    /// Pods under the budget that are ready, not on their way out, and not said by its status to be evicted
    /// (pkg/controller/disruption `countHealthyPods`).
    pub fn healthy(&mut self, view: &View, ix: Ix<PodDisruptionBudget>) -> i32 {
        self.counted(view, ix).healthy
    }

    /// How a budget stands.
    pub(super) fn standing(&mut self, view: &View, ix: Ix<PodDisruptionBudget>) -> &Standing {
        let Count { healthy, names_granted: _, standing } = self.counted(view, ix);
        standing.get_or_insert_with(|| Standing::of(&view.pod_disruption_budgets[ix], *healthy))
    }

    /// Whether a budget's status names pods whose evictions were granted.
    pub(super) fn names_granted(&self, view: &View, ix: Ix<PodDisruptionBudget>) -> bool {
        match self.counts.get(ix.slot()) {
            Some(Some(count)) => count.names_granted,
            Some(None) | None => !view.pod_disruption_budgets[ix].status.disrupted_pods.is_empty(),
        }
    }

    fn counted(&mut self, view: &View, ix: Ix<PodDisruptionBudget>) -> &mut Count {
        if self.counts.len() <= ix.slot() {
            self.counts.resize(ix.slot() + 1, None);
        }
        self.counts[ix.slot()].get_or_insert_with(|| {
            let budget = &view.pod_disruption_budgets[ix];
            self.by_namespace.entry(budget.meta.namespace.clone()).or_default().push(ix);
            let disrupted = &budget.status.disrupted_pods;
            let pods = view.pods_of_budget(ix).map(|ix| &view.pods[ix]);
            let healthy = pods.filter(|pod| counts(pod) && !disrupted.contains_key(pod.meta.name.as_str()));
            Count {
                healthy: i32::try_from(healthy.count()).unwrap_or(i32::MAX),
                names_granted: !disrupted.is_empty(),
                standing: None,
            }
        })
    }
}

/// Whether a pod counts as healthy, unless a budget's status says that it is evicted.
fn counts(pod: &Pod) -> bool {
    pod.is_ready() && !pod.is_terminating()
}
