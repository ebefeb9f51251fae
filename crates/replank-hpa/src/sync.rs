//! One sync of the controller (`reconcileAutoscaler`).

use std::sync::Arc;

use replank_model::object::autoscaling::{HorizontalPodAutoscalerStatus, MetricStatus};
use replank_model::object::pod::Pod;

use super::behavior::{Direction, Rules};
use super::combine;
use super::given::{Given, Scale, ScaleError};
use super::memory::{Memory, store};
use super::metric::Context;
use super::status::{ABLE, ACTIVE, Draft, Event, LIMITED, ZERO};
use super::steps::{Chosen, Start, Steps};
use super::{limit, selector, stabilize};

/// The outcome of a sync.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Replicas that were written, if any.
    pub scaled_to: Option<i32>,
    /// The new status.
    pub status: HorizontalPodAutoscalerStatus,
    /// Whether it differs from the old one, so that it is written.
    pub is_changed: bool,
    /// Events, in their order.
    pub events: Vec<Event>,
    /// What the sync ends with, if it was in vain or in part.
    pub error: Option<String>,
    /// What is remembered.
    pub memory: Memory,
    /// How it came to that.
    pub steps: Steps,
}

/// A sync that knows what it wants, before the scale is written.
#[derive(Clone, Debug)]
#[must_use = "a sync that is not closed did not happen"]
pub struct Judged<'a> {
    given: &'a Given<'a>,
    draft: Draft,
    memory: Memory,
    steps: Steps,
    next: Next,
    error: Option<String>,
    reference: String,
}

#[derive(Clone, Debug)]
enum Next {
    /// The sync has ended.
    End,
    /// Nothing is written: the replicas stay.
    Stay { scale: Scale, metrics: Vec<MetricStatus> },
    /// The scale is to be written.
    Write { from: i32, to: i32, why: String, metrics: Vec<MetricStatus> },
}

/// Works out what one sync wants.
pub fn judge<'a>(given: &'a Given<'a>, memory: Memory) -> Judged<'a> {
    let hpa = given.hpa;
    let target = &hpa.spec.scale_target_ref;
    let mut judged = Judged {
        given,
        draft: Draft::new(&hpa.status, given.now),
        memory,
        steps: Steps::default(),
        next: Next::End,
        error: None,
        reference: format!("{}/{}/{}", target.kind, hpa.meta.namespace, target.name),
    };
    match given.scale.clone() {
        Ok(scale) => judged.with_scale(scale),
        Err(error) => judged.without_scale(&error),
    }
    judged
}

impl Judged<'_> {
    /// The replicas that are to be written.
    #[must_use]
    pub fn wants(&self) -> Option<i32> {
        match &self.next {
            Next::End | Next::Stay { .. } => None,
            Next::Write { to, .. } => Some(*to),
        }
    }

    /// Ends the sync: `write` is called if, and only if, replicas are to be written, and answers as the API server did.
    pub fn close(mut self, write: impl FnOnce(i32) -> Result<(), String>) -> Outcome {
        let mut scaled_to = None;
        match std::mem::replace(&mut self.next, Next::End) {
            Next::End => {}
            Next::Stay { scale, metrics } => {
                self.draft.count(scale.spec_replicas, scale.spec_replicas, metrics);
            }
            Next::Write { from, to, why, metrics } => match write(to) {
                Ok(()) => {
                    self.written(from, to, &why, metrics);
                    scaled_to = Some(to);
                }
                Err(error) => self.refused(from, to, &why, metrics, &error),
            },
        }
        Outcome {
            scaled_to,
            is_changed: self.draft.status != self.given.hpa.status,
            status: self.draft.status,
            events: self.draft.events,
            error: self.error,
            memory: self.memory,
            steps: self.steps,
        }
    }

    fn without_scale(&mut self, error: &ScaleError) {
        let message = format!("the HPA controller was unable to get the target's current scale: {error}");
        self.draft.warn("FailedGetScale", &error.to_string());
        self.draft.set_false(ABLE, "FailedGetScale", &message);
        self.error = Some(match error {
            ScaleError::ApiVersion(error) => {
                format!("invalid API version in scale target reference: {error}")
            }
            ScaleError::Kind(error) => {
                format!("unable to determine resource for scale target reference: {error}")
            }
            ScaleError::Read(error) => {
                format!("failed to query scale subresource for {}: {error}", self.reference)
            }
        });
    }

    fn with_scale(&mut self, scale: Scale) {
        let message = "the HPA controller was able to get the target's current scale";
        self.draft.set_true(ABLE, "SucceededGetScale", message);
        let spec = &self.given.hpa.spec;
        let (min, max) = (spec.min_replicas.unwrap_or(1), spec.max_replicas);
        let replicas = scale.spec_replicas;
        self.memory.begin(replicas, self.given.now);
        self.steps.scale = Some(scale.clone());
        self.steps.bounds = (min, max);
        let start = self.start(replicas, (min, max));
        self.steps.start = Some(start);
        let at_once = |to: i32, side: &str, bound: &str| Next::Write {
            from: replicas,
            to,
            why: format!("Current number of replicas {side} Spec.{bound}"),
            metrics: Vec::new(),
        };
        self.next = match start {
            Start::Disabled => {
                let message = "scaling is disabled since the replica count of the target is zero";
                self.draft.set_false(ACTIVE, "ScalingDisabled", message);
                if !self.given.config.scale_to_zero {
                    self.draft.remove(ZERO);
                }
                Next::Stay { scale, metrics: Vec::new() }
            }
            Start::AboveMaximum => at_once(max, "above", "MaxReplicas"),
            Start::BelowMinimum => at_once(min, "below", "MinReplicas"),
            Start::Measured => self.measured(scale, (min, max)),
        };
    }

    fn start(&self, replicas: i32, (min, max): (i32, i32)) -> Start {
        if replicas == 0 {
            // Only what the controller itself took to zero does it bring back.
            let is_own = self.given.config.scale_to_zero && self.draft.is_true(ZERO);
            if is_own && (min != 0 || self.has_metrics_of_its_own()) {
                Start::Measured
            } else {
                Start::Disabled
            }
        } else if replicas > max {
            Start::AboveMaximum
        } else if replicas < min {
            Start::BelowMinimum
        } else {
            Start::Measured
        }
    }

    /// Whether there is something to be measured without a pod.
    fn has_metrics_of_its_own(&self) -> bool {
        self.given.hpa.spec.metrics.iter().any(|metric| matches!(&*metric.r#type, "Object" | "External"))
    }

    fn measured(&mut self, scale: Scale, bounds: (i32, i32)) -> Next {
        let selected = selector::select(self.given, &scale.selector, &mut self.draft);
        let (selector, pods): (_, Vec<&Arc<Pod>>) = match selected {
            Ok(selected) => selected,
            Err(error) => return self.unable(&scale, Vec::new(), &error),
        };
        let context = Context { given: self.given, scale: &scale, selector: &selector, pods: &pods };
        let combined = combine::combine(&context, &mut self.draft);
        self.steps.metrics = combined.steps;
        let wanted = match combined.wanted {
            Ok(wanted) => wanted,
            Err(error) => return self.unable(&scale, combined.statuses, &error),
        };
        self.error.clone_from(&wanted.error);
        self.steps.chosen = Some(Chosen { replicas: wanted.replicas, index: wanted.index });
        let from = scale.spec_replicas;
        // A proposal below zero, which only an overflow gives, counts as none.
        let (proposed, metric) =
            if wanted.replicas > 0 { (wanted.replicas, &*wanted.metric) } else { (0, "") };
        let mut why = reason(from, proposed, metric);
        let mut to = self.normalize(proposed, from, bounds);
        if from == 0 && to < bounds.0 {
            to = bounds.0;
            if why.is_empty() {
                "Current number of replicas below Spec.MinReplicas".clone_into(&mut why);
            }
        }
        if to == from {
            return Next::Stay { scale, metrics: combined.statuses };
        }
        Next::Write { from, to, why, metrics: combined.statuses }
    }

    /// No number of replicas: they stay, and so does the number that was wanted.
    fn unable(&mut self, scale: &Scale, metrics: Vec<MetricStatus>, error: &str) -> Next {
        let desired = self.draft.status.desired_replicas;
        self.draft.count(scale.spec_replicas, desired, metrics);
        self.draft.warn("FailedComputeMetricsReplicas", error);
        self.error = Some(format!(
            "failed to compute desired number of replicas based on listed metrics for {}: {error}",
            self.reference
        ));
        Next::End
    }

    /// Windows, then bounds and policies (`normalizeDesiredReplicas`, `normalizeDesiredReplicasWithBehaviors`).
    fn normalize(&mut self, wanted: i32, from: i32, bounds: (i32, i32)) -> i32 {
        let (config, now) = (&self.given.config, self.given.now);
        let (stabilized, limited) = match &self.given.hpa.spec.behavior {
            None => {
                let window = config.downscale_stabilization;
                let stabilized = stabilize::without_behavior(&mut self.memory, wanted, window, now);
                (stabilized, limit::without_behavior(from, stabilized.replicas, bounds))
            }
            Some(behavior) => {
                let up = Rules::of(behavior, Direction::Up, config);
                let down = Rules::of(behavior, Direction::Down, config);
                let windows = (up.window, down.window);
                let stabilized = stabilize::with_behavior(&mut self.memory, wanted, from, windows, now);
                let wanted = stabilized.replicas;
                (stabilized, limit::with_behavior(&self.memory, from, wanted, bounds, (&up, &down), now))
            }
        };
        let is_up = self.given.hpa.spec.behavior.is_some() && wanted >= from;
        let (reason, message) = if stabilized.replicas == wanted {
            ("ReadyForNewScale", "recommended size matches current size")
        } else if is_up {
            (
                "ScaleUpStabilized",
                "recent recommendations were lower than current one, applying the lowest recent recommendation",
            )
        } else {
            (
                "ScaleDownStabilized",
                "recent recommendations were higher than current one, applying the highest recent recommendation",
            )
        };
        self.draft.set_true(ABLE, reason, message);
        let is_limited = limited.replicas != stabilized.replicas;
        self.draft.set(LIMITED, is_limited.into(), limited.reason, limited.message);
        let replicas = limited.replicas;
        self.steps.stabilized = Some(stabilized);
        self.steps.limited = Some(limited);
        replicas
    }

    fn written(&mut self, from: i32, to: i32, why: &str, metrics: Vec<MetricStatus>) {
        let message = format!("the HPA controller was able to update the target scale to {to}");
        self.draft.set_true(ABLE, "SucceededRescale", &message);
        self.draft.tell("SuccessfulRescale", format!("New size: {to}; reason: {why}"));
        let now = self.given.now;
        if let Some(behavior) = &self.given.hpa.spec.behavior {
            let (direction, change, events) = if to > from {
                (Direction::Up, to.wrapping_sub(from), &mut self.memory.ups)
            } else {
                (Direction::Down, from.wrapping_sub(to), &mut self.memory.downs)
            };
            let longest = Rules::of(behavior, direction, &self.given.config).longest_period();
            store(events, change, now, longest);
        }
        let min = self.given.hpa.spec.min_replicas.unwrap_or(1);
        if !self.given.config.scale_to_zero {
            self.draft.remove(ZERO);
        } else if from > 0 && to == 0 && min == 0 && self.has_metrics_of_its_own() {
            self.draft.set_true(ZERO, "ScaledToZero", "the HPA controller scaled the workload to zero");
        } else {
            let message = "the HPA controller did not scale the workload to zero";
            self.draft.set_false(ZERO, "NotScaledToZero", message);
        }
        self.draft.count(from, to, metrics);
        self.draft.status.last_scale_time = Some(now.floor_seconds());
    }

    fn refused(&mut self, from: i32, to: i32, why: &str, metrics: Vec<MetricStatus>, error: &str) {
        self.draft.warn("FailedRescale", &format!("New size: {to}; reason: {why}; error: {error}"));
        let message = format!("the HPA controller was unable to update the target scale: {error}");
        self.draft.set_false(ABLE, "FailedUpdateScale", &message);
        let desired = self.draft.status.desired_replicas;
        self.draft.count(from, desired, metrics);
        self.error = Some(format!("failed to rescale {}: {error}", self.reference));
    }
}

/// What the event says of the change.
fn reason(from: i32, to: i32, metric: &str) -> String {
    if to > from {
        format!("{metric} above target")
    } else if to < from {
        "All metrics below target".to_owned()
    } else {
        String::new()
    }
}
