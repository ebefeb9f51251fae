//! Conditions of pods, as kubelets write them.

use replank_model::object::condition::{self, Condition, ConditionStatus};
use replank_model::text::Text;
use replank_model::time::Time;

/// Sets the condition `Ready`, and the one of the containers where it is kept.
pub(super) fn readiness(conditions: &mut Vec<Condition>, holds: bool, reason: &str, now: Time) {
    set_condition(conditions, "Ready", holds, reason, now);
    if condition::find(conditions, "ContainersReady").is_some() {
        set_condition(conditions, "ContainersReady", holds, reason, now);
    }
}

/// Sets a condition; its transition time moves only when its status does.
pub(super) fn set_condition(
    conditions: &mut Vec<Condition>,
    r#type: &str,
    holds: bool,
    reason: &str,
    now: Time,
) {
    let status = ConditionStatus::from(holds);
    match conditions.iter_mut().find(|condition| &*condition.r#type == r#type) {
        Some(known) => {
            if known.status != status {
                known.last_transition_time = Some(now);
            }
            known.status = status;
            known.reason = Text::from(reason);
        }
        None => conditions.push(Condition {
            r#type: Text::from(r#type),
            status,
            reason: Text::from(reason),
            last_transition_time: Some(now),
            ..Condition::default()
        }),
    }
}
