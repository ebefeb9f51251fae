//! How a disruption budget stands: all that an eviction goes by, put together once for as long as neither the budget nor the health of its pods changes.

use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::meta::Key;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::text::Text;

/// Evictions under way at which a budget refuses more (`MaxDisruptedPodSize`).
const DISRUPTED_MAX: usize = 2000;

/// See the module's page.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) budget: Key,
    /// Why its status says nothing of its pods, if it does not.
    pub(super) uncounted: Option<Text>,
    /// How many evictions both its status and what is seen of its pods allow.
    pub(super) allowed: i32,
    /// Healthy pods, by what says that there are fewer: its status, or what is seen.
    pub(super) healthy: i32,
    /// Healthy pods that must stay.
    pub(super) needed: i32,
}

impl Standing {
    /// That of a budget of which so many pods are seen healthy.
    pub(super) fn of(budget: &PodDisruptionBudget, seen: i32) -> Self {
        let status = &budget.status;
        let granted = status.disrupted_pods.len();
        let allowed = status.disruptions_allowed.min(seen - status.desired_healthy);
        Self {
            budget: budget.meta.key(),
            uncounted: uncounted(budget),
            allowed: if granted > DISRUPTED_MAX { 0 } else { allowed },
            healthy: seen.min(status.current_healthy),
            needed: status.desired_healthy,
        }
    }
}

/// Why the disruption controller could not count the budget's pods.
#[must_use]
pub fn failed_sync(budget: &PodDisruptionBudget) -> Option<Text> {
    let allowed = condition::find(&budget.status.conditions, "DisruptionAllowed")?;
    let has_failed = allowed.status == ConditionStatus::False && &*allowed.reason == "SyncFailed";
    has_failed.then(|| allowed.message.clone())
}

/// Why the budget's status says nothing of its pods, if it does not.
#[must_use]
pub fn uncounted(budget: &PodDisruptionBudget) -> Option<Text> {
    if let Some(message) = failed_sync(budget) {
        return Some(message);
    }
    let (seen, written) = (budget.status.observed_generation, budget.meta.generation);
    (seen < written).then(|| Text::from(format!("its controller has seen generation {seen} of {written}")))
}
