//! What Deployments say of their availability: in the same words, which all of them share.

use replank_model::list::List;
use replank_model::object::condition::{self, Condition, ConditionStatus};
use replank_model::object::workload::Deployment;
use replank_model::text::Text;
use replank_model::time::Time;

use super::conditions::{AVAILABLE, FAILURE, PROGRESSING, deadline, has_nothing_to_say_of_progress, set};

/// The words.
#[derive(Debug)]
pub(super) struct Words {
    available: Condition,
    unavailable: Condition,
}

impl Default for Words {
    fn default() -> Self {
        let condition = |is: bool, reason: &str, message: &str| Condition {
            r#type: Text::from(AVAILABLE),
            status: is.into(),
            reason: Text::from(reason),
            message: Text::from(message),
            ..Condition::default()
        };
        let (yes, no) =
            ("Deployment has minimum availability.", "Deployment does not have minimum availability.");
        Self {
            available: condition(true, "MinimumReplicasAvailable", yes),
            unavailable: condition(false, "MinimumReplicasUnavailable", no),
        }
    }
}

impl Words {
    fn of(&self, is_available: bool) -> &Condition {
        if is_available { &self.available } else { &self.unavailable }
    }

    /// Says that enough pods are available, or that they are not; nothing where it was said.
    pub(super) fn say_available(&self, conditions: &mut List<Condition>, is_available: bool, now: Time) {
        let new = self.of(is_available);
        let known = condition::find(conditions, AVAILABLE);
        if known.is_some_and(|known| known.status == new.status && known.reason == new.reason) {
            return;
        }
        set(
            conditions,
            Condition { last_transition_time: Some(now), last_update_time: Some(now), ..new.clone() },
        );
    }

    /// Whether a Deployment says, in these words, that it is available; `None` if it does not say so, or says anything else that a look might have to change.
    pub(super) fn available_of(&self, deployment: &Deployment) -> Option<bool> {
        let conditions = &deployment.status.conditions;
        let is_said = |r#type: &str| condition::find(conditions, r#type).is_some();
        let is_over = has_nothing_to_say_of_progress(deployment)
            && (deadline(deployment).is_some() || !is_said(PROGRESSING));
        if !is_over || is_said(FAILURE) {
            return None;
        }
        let known = condition::find(conditions, AVAILABLE)?;
        let is_available = known.status == ConditionStatus::True;
        let same = self.of(is_available);
        (known.status == same.status && known.reason == same.reason).then_some(is_available)
    }
}
