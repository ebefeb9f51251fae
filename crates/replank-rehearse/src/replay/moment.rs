//! Moments of a replay.

use replank_model::time::Time;

/// How things are at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// When.
    pub at: Time,
    /// Nodes that take pods.
    pub nodes: usize,
    /// Each autoscaler's target, in the order of their names.
    pub targets: Vec<TargetMoment>,
}

/// How the target of an autoscaler is at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetMoment {
    /// What it is asked to do, one number for each load of the autoscaler.
    pub loads: Vec<f64>,
    /// Replicas asked for.
    pub replicas: i32,
    /// Pods that do the work.
    pub ready: usize,
    /// Pods without a node.
    pub pending: usize,
    /// Load over target, of the metric that is the most over; absent if none can be worked out, infinite where nobody does
    /// the work.
    pub pressure: Option<f64>,
    /// Pods that it would take to be at the target, at the share that each has.
    pub needed: Option<f64>,
    /// Whether that is more than the autoscaler tolerates.
    pub is_over: bool,
}
