//! Pods that may be active for so long only (pkg/kubelet `active_deadline.go`): a served cluster's kubelets end them as a whole, whatever restarts their containers.

use replank_model::object::pod::{Pod, PodPhase};
use replank_model::text::Text;
use replank_model::time::Span;

use super::conditions::set_condition;
use super::{containers, init, report};
use crate::context::Ctx;

/// What containers end with that are killed.
pub(super) const KILLED: i32 = 137;

/// How long a pod may still be active; `None` where it may be for ever, or nobody looks.
pub(super) fn left(ctx: &Ctx<'_>, pod: &Pod) -> Option<Span> {
    let seconds = pod.spec.active_deadline_seconds.filter(|_| ctx.api.serving().traces)?;
    let since = pod.status.start_time.unwrap_or(ctx.api.now());
    Some(since + Span::from_secs(seconds) - ctx.api.now())
}

/// Ends a pod whose time is over.
pub(super) fn pass(ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
    let is_over = left(ctx, pod).is_some_and(|left| left <= Span::ZERO);
    let is_active = matches!(pod.status.phase, PodPhase::Pending | PodPhase::Running);
    if !is_over || !is_active || pod.is_terminating() {
        return;
    }
    let now = ctx.api.timestamp();
    let ended = report::write(ctx, slot, |pod| {
        pod.status.phase = PodPhase::Failed;
        pod.status.reason = Text::from("DeadlineExceeded");
        pod.status.message = Text::from("Pod was active on the node longer than the specified deadline");
        containers::terminate(pod, KILLED, now);
        init::stop(pod, KILLED, now);
        set_condition(&mut pod.status.conditions, "Ready", false, "PodFailed", now);
    });
    debug_assert!(ended.is_some(), "the pod was just read");
}
