//! Writing conditions (apimachinery `SetStatusCondition`, pkg/api/v1/pod `UpdatePodCondition`).

use replank_model::object::condition::{Condition, ConditionStatus};
use replank_model::text::Text;
use replank_model::time::Time;

/// A condition without times.
#[must_use]
pub fn condition(r#type: &str, status: ConditionStatus, reason: &str, message: &str) -> Condition {
    Condition {
        r#type: Text::from(r#type),
        status,
        reason: text(reason),
        message: text(message),
        ..Condition::default()
    }
}

/// Most conditions that hold have no words: nothing is allocated for those.
fn text(words: &str) -> Text {
    if words.is_empty() { Text::default() } else { Text::from(words) }
}

/// Puts a condition in the place of the one of its type. The transition time moves only when the status does.
pub fn set(conditions: &mut Vec<Condition>, new: Condition, now: Time) {
    match conditions.iter_mut().find(|known| known.r#type == new.r#type) {
        Some(known) => {
            if known.status != new.status {
                known.last_transition_time = Some(now);
            }
            known.status = new.status;
            known.reason = new.reason;
            known.message = new.message;
            known.observed_generation = new.observed_generation;
        }
        None => conditions.push(Condition { last_transition_time: Some(now), ..new }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_new_status_is_a_transition() {
        let at = Time::from_millis;
        let mut conditions = Vec::new();
        set(&mut conditions, condition("Ready", ConditionStatus::True, "A", ""), at(1000));
        set(&mut conditions, condition("Ready", ConditionStatus::True, "B", "b"), at(2000));
        assert_eq!(conditions[0].last_transition_time, Some(at(1000)));
        assert_eq!((&*conditions[0].reason, &*conditions[0].message), ("B", "b"));
        set(&mut conditions, condition("Ready", ConditionStatus::False, "C", ""), at(3000));
        assert_eq!(conditions[0].last_transition_time, Some(at(3000)));
        assert_eq!(conditions.len(), 1);
    }
}
