//! How many pods of each label class do their work: which of them a budget covers is asked with every eviction, and pods are many.

use replank_model::object::pod::Pod;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::view::{Ix, View};
use rustc_hash::FxHashMap;

/// Pods that do their work, by the number of their label class.
#[derive(Debug, Default)]
pub(super) struct Serving(FxHashMap<u64, usize>);

impl Serving {
    /// A pod begins to do its work. The class in which it is counted until it ceases.
    pub(super) fn begins(&mut self, view: &View, pod: Ix<Pod>) -> Option<u64> {
        let class = view.label_class(pod)?.number();
        *self.0.entry(class).or_default() += 1;
        Some(class)
    }

    /// A pod that was counted in a class ceases to do its work.
    pub(super) fn ceases(&mut self, class: u64) {
        if let Some(count) = self.0.get_mut(&class) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&class);
            }
        }
    }

    /// How many of the pods that a budget covers do their work.
    pub(super) fn under(&self, view: &View, budget: Ix<PodDisruptionBudget>) -> usize {
        let classes = view.label_classes_of_budget(budget);
        classes.filter_map(|class| self.0.get(&class.number())).sum()
    }
}
