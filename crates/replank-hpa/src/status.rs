//! The status as it takes shape: conditions, events, numbers.

use replank_model::object::autoscaling::{HorizontalPodAutoscalerStatus, MetricStatus};
use replank_model::object::condition::{self, Condition, ConditionStatus};
use replank_model::time::Time;

/// Whether the scale can be read and written, and is not held by a window.
pub(super) const ABLE: &str = "AbleToScale";
/// Whether a number of replicas could be worked out.
pub(super) const ACTIVE: &str = "ScalingActive";
/// Whether bounds or policies changed that number.
pub(super) const LIMITED: &str = "ScalingLimited";
/// Whether the controller itself took the last replica away.
pub(super) const ZERO: &str = "ScaledToZero";

/// An event that the sync records on the HPA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// `Warning`, not `Normal`.
    pub is_warning: bool,
    /// One CamelCase word.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
}

/// What a sync has to say so far.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) now: Time,
    pub(super) status: HorizontalPodAutoscalerStatus,
    pub(super) events: Vec<Event>,
}

impl Draft {
    pub(super) fn new(status: &HorizontalPodAutoscalerStatus, now: Time) -> Self {
        Self { now, status: status.clone(), events: Vec::new() }
    }

    pub(super) fn warn(&mut self, reason: &'static str, message: &str) {
        self.events.push(Event { is_warning: true, reason, message: message.to_owned() });
    }

    pub(super) fn tell(&mut self, reason: &'static str, message: String) {
        self.events.push(Event { is_warning: false, reason, message });
    }

    pub(super) fn set_true(&mut self, r#type: &str, reason: &str, message: &str) {
        self.set(r#type, ConditionStatus::True, reason, message);
    }

    pub(super) fn set_false(&mut self, r#type: &str, reason: &str, message: &str) {
        self.set(r#type, ConditionStatus::False, reason, message);
    }

    /// A condition that is not there yet comes last; the time moves with the status alone (`setConditionInList`).
    pub(super) fn set(&mut self, r#type: &str, status: ConditionStatus, reason: &str, message: &str) {
        let conditions = &mut self.status.conditions;
        let now = Some(self.now.floor_seconds());
        match conditions.iter_mut().find(|condition| &*condition.r#type == r#type) {
            Some(condition) => {
                if condition.status != status {
                    condition.last_transition_time = now;
                }
                condition.status = status;
                if &*condition.reason != reason {
                    condition.reason = reason.into();
                }
                if &*condition.message != message {
                    condition.message = message.into();
                }
            }
            None => conditions.push(Condition {
                r#type: r#type.into(),
                status,
                reason: reason.into(),
                message: message.into(),
                last_transition_time: now,
                ..Condition::default()
            }),
        }
    }

    pub(super) fn remove(&mut self, r#type: &str) {
        self.status.conditions.retain(|condition| &*condition.r#type != r#type);
    }

    pub(super) fn is_true(&self, r#type: &str) -> bool {
        condition::is_true(&self.status.conditions, r#type)
    }

    /// `setStatus`.
    pub(super) fn count(&mut self, current: i32, desired: i32, metrics: Vec<MetricStatus>) {
        self.status.observed_generation = None;
        self.status.current_replicas = current;
        self.status.desired_replicas = desired;
        self.status.current_metrics = metrics;
    }
}
