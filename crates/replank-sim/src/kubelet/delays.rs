//! How a pod's containers behave: what each model of kubelets answers.

use replank_model::object::pod::Pod;
use replank_model::time::Span;

use super::pod_delays::ends_before;
use super::{KubeletModel, fake, learnt};
use crate::context::Ctx;

pub(super) use super::pod_delays::{Delays, Readiness, Stopping};

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

/// How long from now until a pod that does not run yet runs (`None`: it never does), and from then until it is ready.
pub(super) fn start(model: &KubeletModel, ctx: &Ctx<'_>, pod: &Pod) -> (Option<Span>, Readiness) {
    match model {
        KubeletModel::Fake | KubeletModel::Served { .. } => {
            (Delays::of(model, ctx, pod).start, Readiness::Open)
        }
        KubeletModel::Learnt(durations) => {
            let (start, ready) = learnt::start(durations, ctx, pod);
            (start, ready.map_or(Readiness::Never, Readiness::After))
        }
    }
}

/// How long a pod takes from running to ready (`None`: that is not waited for), and to the end (`None`: it runs for ever).
pub(super) fn started(
    model: &KubeletModel,
    ctx: &Ctx<'_>,
    pod: &Pod,
    readiness: Readiness,
) -> (Option<Span>, Option<Span>) {
    match (model, readiness) {
        (KubeletModel::Fake | KubeletModel::Served { .. }, _)
        | (KubeletModel::Learnt(_), Readiness::Open) => {
            let delays = Delays::of(model, ctx, pod);
            (delays.ready, delays.run)
        }
        (KubeletModel::Learnt(durations), Readiness::After(_) | Readiness::Never) => {
            let run = learnt::run(durations, ctx, pod);
            (readiness.span(), ends_before(run, ctx.api.now(), pod).map(|left| left.max(Span::ZERO)).or(run))
        }
    }
}

/// How a pod stops when it is told to.
pub(super) fn stopping(model: &KubeletModel, ctx: &Ctx<'_>, pod: &Pod) -> Stopping {
    match model {
        KubeletModel::Fake | KubeletModel::Served { .. } => Delays::of(model, ctx, pod).stopping(),
        KubeletModel::Learnt(_) => learnt::stopping(ctx, pod),
    }
}

/// How a pod's containers end when they are told to stop.
pub(super) fn term_exit_code(model: &KubeletModel, ctx: &Ctx<'_>, pod: &Pod) -> i32 {
    match model {
        KubeletModel::Fake | KubeletModel::Served { .. } => Delays::of(model, ctx, pod).term_exit_code,
        KubeletModel::Learnt(durations) => learnt::term_exit_code(learnt::run(durations, ctx, pod)),
    }
}
