//! `spec.behavior`, with what the API server puts where it says nothing (`pkg/apis/autoscaling/v2/defaults.go`).

use replank_model::object::autoscaling::{
    HorizontalPodAutoscalerBehavior, HpaScalingPolicy, HpaScalingRules,
};
use replank_model::time::Span;

use super::given::Config;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// More replicas.
    Up,
    /// Fewer.
    Down,
}

/// Which of several policies counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// The one that allows the greatest change.
    Max,
    /// The one that allows the least.
    Min,
    /// None: nothing changes in this direction.
    Disabled,
}

/// What a policy counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// Pods.
    Pods,
    /// Per cent of the pods at the beginning of the period.
    Percent,
}

/// How much may change within how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangePolicy {
    /// What it counts in.
    pub kind: PolicyKind,
    /// How many.
    pub value: i32,
    /// Within how long.
    pub period: Span,
}

/// Rules of one direction, complete.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Over how long the least change is taken.
    pub window: Span,
    /// Which policy counts.
    pub select: Select,
    /// The policies.
    pub policies: Vec<ChangePolicy>,
    /// How far the metric may be off.
    pub tolerance: f64,
}

impl Rules {
    /// The rules of one direction.
    #[must_use]
    pub fn of(behavior: &HorizontalPodAutoscalerBehavior, direction: Direction, config: &Config) -> Self {
        let said = match direction {
            Direction::Up => behavior.scale_up.as_ref(),
            Direction::Down => behavior.scale_down.as_ref(),
        };
        let window = match direction {
            Direction::Up => Span::ZERO,
            Direction::Down => Span::from_secs(config.downscale_stabilization.as_secs()),
        };
        let seconds = said.and_then(|said| said.stabilization_window_seconds);
        let policies = said.and_then(|said| said.policies.as_ref());
        Self {
            window: seconds.map_or(window, |seconds| Span::from_secs(i64::from(seconds))),
            select: said.map_or(Select::Max, select),
            policies: policies
                .map_or_else(|| usual(direction), |all| all.iter().filter_map(policy).collect()),
            tolerance: tolerance(said, config),
        }
    }

    /// The longest period of the policies.
    #[must_use]
    pub fn longest_period(&self) -> Span {
        self.policies.iter().map(|policy| policy.period).max().unwrap_or_default()
    }
}

/// How far a metric may be off: downwards and upwards.
pub(super) fn tolerances(behavior: Option<&HorizontalPodAutoscalerBehavior>, config: &Config) -> (f64, f64) {
    let of = |rules: fn(&HorizontalPodAutoscalerBehavior) -> Option<&HpaScalingRules>| {
        tolerance(behavior.and_then(rules), config)
    };
    (of(|behavior| behavior.scale_down.as_ref()), of(|behavior| behavior.scale_up.as_ref()))
}

fn tolerance(said: Option<&HpaScalingRules>, config: &Config) -> f64 {
    let own = said.and_then(|said| said.tolerance.as_ref());
    own.map_or(config.tolerance, replank_model::quantity::Quantity::approximate_f64)
}

/// What validation does not let in besides counts as `Max`, as it does upstream.
fn select(said: &HpaScalingRules) -> Select {
    match said.select_policy.as_deref() {
        Some("Disabled") => Select::Disabled,
        Some("Min") => Select::Min,
        Some(_) | None => Select::Max,
    }
}

/// A policy of another type than there are is refused by validation; none of it is left here.
fn policy(said: &HpaScalingPolicy) -> Option<ChangePolicy> {
    let kind = match &*said.r#type {
        "Pods" => PolicyKind::Pods,
        "Percent" => PolicyKind::Percent,
        _ => return None,
    };
    Some(ChangePolicy { kind, value: said.value, period: Span::from_secs(i64::from(said.period_seconds)) })
}

fn usual(direction: Direction) -> Vec<ChangePolicy> {
    let period = Span::from_secs(15);
    let double = ChangePolicy { kind: PolicyKind::Percent, value: 100, period };
    match direction {
        Direction::Up => vec![ChangePolicy { kind: PolicyKind::Pods, value: 4, period }, double],
        Direction::Down => vec![double],
    }
}
