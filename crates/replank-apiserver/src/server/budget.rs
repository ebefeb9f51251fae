//! What a disruption budget and a pod say in words about evictions; the eviction API writes it, and so does the disruption
//! controller.

use replank_model::object::condition::{Condition, ConditionStatus, find};
use replank_model::object::policy::PodDisruptionBudgetStatus;
use replank_model::time::Time;

use crate::condition;

/// Condition of a pod that somebody is about to end.
pub const DISRUPTION_TARGET: &str = "DisruptionTarget";
/// The one condition of a budget.
const DISRUPTION_ALLOWED: &str = "DisruptionAllowed";

/// Sets the condition that says in words what `disruptionsAllowed` says in numbers
/// (component-helpers `UpdateDisruptionAllowedCondition`).
pub fn set_allowed_condition(status: &mut PodDisruptionBudgetStatus, now: Time) {
    let (holds, reason) = match status.disruptions_allowed {
        ..=0 => (ConditionStatus::False, "InsufficientPods"),
        1.. => (ConditionStatus::True, "SufficientPods"),
    };
    set_disruption_condition(status, (holds, reason, ""), now);
}

/// Sets the budget's one condition: its status, the reason and the message.
pub fn set_disruption_condition(
    status: &mut PodDisruptionBudgetStatus,
    (holds, reason, message): (ConditionStatus, &str, &str),
    now: Time,
) {
    let says =
        |known: &Condition| known.status == holds && &*known.reason == reason && &*known.message == message;
    let generation = status.observed_generation;
    if let Some(known) = find(&status.conditions, DISRUPTION_ALLOWED).filter(|known| says(known)) {
        if known.observed_generation != generation {
            let known = status.conditions.iter_mut().find(|known| &*known.r#type == DISRUPTION_ALLOWED);
            known.into_iter().for_each(|known| known.observed_generation = generation);
        }
        return;
    }
    let mut allowed = condition::condition(DISRUPTION_ALLOWED, holds, reason, message);
    allowed.observed_generation = status.observed_generation;
    condition::set(&mut status.conditions, allowed, now);
}
