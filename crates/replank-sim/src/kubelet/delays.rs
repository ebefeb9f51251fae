//! How a pod's containers behave: what each model of kubelets answers.

use replank_model::object::pod::Pod;
use replank_model::time::Span;

use super::{KubeletModel, fake, learnt};
use crate::controllers::Ctx;

/// From the end of a container to its next start.
pub(super) const RESTART: Span = Span::from_millis(500);
/// From the last status to the removal.
pub(super) const REMOVE: Span = Span::from_millis(100);

/// How a pod's containers behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delays {
    /// From now, for a pod that does not run yet, to running; `None`: never.
    pub(super) start: Option<Span>,
    /// From running to ready; `None`: never.
    pub(super) ready: Option<Span>,
    /// From now, for a pod that runs, to the end; `None`: they run for ever.
    pub(super) run: Option<Span>,
    /// How they end by themselves.
    pub(super) exit_code: i32,
    /// From the wish to stop to the stop.
    pub(super) stop: Span,
    /// The same where they have not started.
    pub(super) unstarted_stop: Span,
    /// How they end when they are told to stop.
    pub(super) term_exit_code: i32,
    /// Whether a deletion is never finished.
    pub(super) is_stuck: bool,
}

impl Delays {
    pub(super) fn of(model: &KubeletModel, ctx: &Ctx<'_>, pod: &Pod) -> Self {
        match model {
            KubeletModel::Fake => fake::delays(pod),
            KubeletModel::Learnt(durations) => learnt::delays(durations, ctx, pod),
        }
    }
}
