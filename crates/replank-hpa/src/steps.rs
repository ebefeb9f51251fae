//! Every step of a sync, with its numbers: what `explain` tells.

use replank_model::object::autoscaling::MetricSpec;
use replank_model::time::Span;

use super::behavior::ChangePolicy;
use super::given::Scale;
use super::memory::Recommendation;
use super::metric::{Fault, Proposal};

/// How a sync went on from the scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// There are none, and the controller did not take them away: it leaves that alone.
    Disabled,
    /// More than the maximum: down to it at once, whatever is measured.
    AboveMaximum,
    /// Fewer than the minimum: up to it at once, whatever is measured.
    BelowMinimum,
    /// Metrics decide.
    Measured,
}

/// A metric and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricStep {
    /// As the spec has it, or as the API server would put it where there is none.
    pub spec: MetricSpec,
    /// What it asks for, or why it cannot.
    pub result: Result<Proposal, Fault>,
}

/// What all metrics together ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// How many.
    pub replicas: i32,
    /// Which metric asks for the most.
    pub index: Option<usize>,
}

/// A number that the recommendations of a window set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// How long the window is.
    pub window: Span,
    /// The number.
    pub replicas: i32,
    /// Which recommendation it is, unless it is that of this sync.
    pub from: Option<Recommendation>,
}

/// What the recommendations of the last minutes make of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stabilized {
    /// What the metrics ask for.
    pub wanted: i32,
    /// Not fewer than this.
    pub floor: Bound,
    /// Not more than this; without behavior there is no window upwards.
    pub ceiling: Option<Bound>,
    /// What it comes to.
    pub replicas: i32,
}

/// A policy and how far it lets the replicas go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyStep {
    /// The policy.
    pub policy: ChangePolicy,
    /// Replicas at the beginning of its period.
    pub at_start: i32,
    /// As far as this.
    pub allows: i32,
}

/// What bounds and policies make of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limited {
    /// What it comes to.
    pub replicas: i32,
    /// Reason of the condition ScalingLimited.
    pub reason: &'static str,
    /// Message of the condition.
    pub message: &'static str,
    /// How far the policies, or the doubling without behavior, let the replicas go; none if they stay.
    pub rate: Option<i32>,
    /// Each policy of the direction.
    pub policies: Vec<PolicyStep>,
}

/// Every step of a sync. What it did not get to is not there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// The scale that was read.
    pub scale: Option<Scale>,
    /// Least and most replicas of the spec.
    pub bounds: (i32, i32),
    /// How it went on from there.
    pub start: Option<Start>,
    /// One for each metric.
    pub metrics: Vec<MetricStep>,
    /// What they ask for together.
    pub chosen: Option<Chosen>,
    /// What the windows make of it.
    pub stabilized: Option<Stabilized>,
    /// What bounds and policies make of it.
    pub limited: Option<Limited>,
}
