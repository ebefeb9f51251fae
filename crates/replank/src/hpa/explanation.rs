//! What an explanation is made of.

use replank_hpa::Outcome;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::time::Time;

/// The question, and the answer.
#[derive(Debug)]
pub(super) struct Explained {
    pub(super) hpa: HorizontalPodAutoscaler,
    pub(super) now: Time,
    /// Where the metrics are from.
    pub(super) sources: Vec<String>,
    pub(super) outcome: Outcome,
}
