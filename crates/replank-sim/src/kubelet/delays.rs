//! How a pod's containers behave: what each model of kubelets answers.

use replank_model::object::pod::Pod;
use replank_model::time::Span;

use super::{KubeletModel, fake, learnt};
use crate::context::Ctx;

pub(super) use super::pod_delays::Delays;

/// From the end of a container to its next start.
pub(super) const RESTART: Span = Span::from_millis(500);
/// From a change of a pod to what its kubelet reports of it: a sync, and its status manager.
pub(super) const OBSERVE: Span = Span::from_millis(200);
/// From the last status to the removal.
pub(super) const REMOVE: Span = Span::from_millis(100);

impl Delays {
    pub(super) fn of(model: &KubeletModel, ctx: &Ctx<'_>, pod: &Pod) -> Self {
        let delays = match model {
            KubeletModel::Fake => fake::delays(pod),
            KubeletModel::Served { speed } => return fake::served(ctx, pod).faster(*speed),
            KubeletModel::Learnt(durations) => learnt::delays(durations, ctx, pod),
        };
        delays.until_deadline(ctx.api.now(), pod)
    }
}
