//! Conditions of pods, as kubelets set them.

use replank_model::object::condition::{Condition, ConditionStatus};
use replank_model::text::Text;
use replank_model::time::Time;

/// Sets a condition; its transition time moves only when its status does.
pub(crate) fn set_condition(
    conditions: &mut Vec<Condition>,
    r#type: &str,
    holds: bool,
    reason: &str,
    now: Time,
) {
    let status = ConditionStatus::from(holds);
    // Nothing is allocated for no reason at all.
    let word = || if reason.is_empty() { Text::default() } else { Text::from(reason) };
    match conditions.iter_mut().find(|condition| &*condition.r#type == r#type) {
        Some(known) => {
            if known.status != status {
                known.last_transition_time = Some(now);
            }
            known.status = status;
            if *known.reason != *reason {
                known.reason = word();
            }
        }
        None => conditions.push(Condition {
            r#type: Text::from(r#type),
            status,
            reason: word(),
            last_transition_time: Some(now),
            ..Condition::default()
        }),
    }
}
