//! Kubelets as the snapshot shows them: pods take as long to start and to run as their siblings took.
//!
//! What was under way when the snapshot was taken goes on from there: a pod that has been starting for a while needs the rest,
//! a batch that has run for two hours ends when its earlier runs ended.

use replank_model::object::condition;
use replank_model::object::pod::Pod;
use replank_model::time::{Span, Time};

use super::delays::{Delays, Stopping};
use super::fake;
use crate::context::Ctx;
use crate::durations::{Durations, Trouble};
use replank_apiserver::draw::Purpose;

/// A deletion that is this much overdue is stuck: the kubelet had its grace and did not end it.
const OVERDUE: Span = Span::from_secs(60);

/// How a pod's containers behave from now on.
pub(super) fn delays(durations: &Durations, ctx: &Ctx<'_>, pod: &Pod) -> Delays {
    let ((start, ready), run) = (start(durations, ctx, pod), run(durations, ctx, pod));
    let Stopping { stop, unstarted_stop, is_stuck } = stopping(ctx, pod);
    Delays {
        start,
        ready,
        run,
        exit_code: 0,
        stop,
        unstarted_stop,
        term_exit_code: term_exit_code(run),
        is_stuck,
    }
}

/// From now until the pod runs, and from then until it is ready.
pub(super) fn start(durations: &Durations, ctx: &Ctx<'_>, pod: &Pod) -> (Option<Span>, Option<Span>) {
    let now = ctx.api.now();
    let total = durations.start(ctx.view(), pod, ctx.draws);
    let starting = total - probing(ctx, pod, total);
    let trouble = durations.trouble(pod);
    let since_bound = bound_at(pod).map_or(Span::ZERO, |bound| (now - bound).max(Span::ZERO));
    let start = match trouble {
        Some(Trouble::NeverRuns) => None,
        // One that has taken longer than it should takes as long once more.
        Some(Trouble::NeverReady) | None if since_bound > starting => Some(starting),
        Some(Trouble::NeverReady) | None => Some(starting - since_bound),
    };
    (start, trouble.is_none().then(|| total - starting))
}

/// From now until the containers end by themselves; `None`: they run for ever.
pub(super) fn run(durations: &Durations, ctx: &Ctx<'_>, pod: &Pod) -> Option<Span> {
    let elapsed = running_since(pod).map_or(Span::ZERO, |since| (ctx.api.now() - since).max(Span::ZERO));
    durations.run(ctx.view(), pod, elapsed, ctx.draws)
}

/// How the pod stops when it is told to.
pub(super) fn stopping(ctx: &Ctx<'_>, pod: &Pod) -> Stopping {
    let now = ctx.api.now();
    Stopping {
        stop: Durations::stop(ctx.view(), pod, ctx.draws),
        unstarted_stop: Span::from_secs(1),
        is_stuck: fake::is_stuck(pod) || pod.meta.deletion_timestamp.is_some_and(|due| now - due > OVERDUE),
    }
}

/// What ends by itself was not done (128 + SIGTERM); a service ends in peace.
pub(super) fn term_exit_code(run: Option<Span>) -> i32 {
    if run.is_some() { 143 } else { 0 }
}

/// The part of the start in which the containers run and their probes do not yet say yes; none without such probes.
fn probing(ctx: &Ctx<'_>, pod: &Pod, total: Span) -> Span {
    let has_probe = pod
        .spec
        .containers
        .iter()
        .any(|container| container.readiness_probe.is_some() || container.startup_probe.is_some());
    if !has_probe {
        return Span::ZERO;
    }
    let draw = ctx.draws.draw(pod.meta.uid.as_str(), Purpose::ImagePull, 0);
    draw.between(Span::from_millis(total.as_millis() / 4), Span::from_millis(total.as_millis() * 3 / 4))
}

fn bound_at(pod: &Pod) -> Option<Time> {
    condition::find(&pod.status.conditions, "PodScheduled")?.last_transition_time
}

fn running_since(pod: &Pod) -> Option<Time> {
    let started = pod
        .status
        .container_statuses
        .iter()
        .filter_map(|container| container.state.running.as_ref()?.started_at);
    started.min().or(pod.status.start_time)
}
