//! How long a batch pod is waited for: as its annotation says, else as the plan does.

use replank_model::object::pod::Pod;
use replank_model::time::Span;

/// Annotation of a pod: how long it is waited for, from the cordon of its node on, such as `2h`. It counts more than the plan's
/// `batch.wait`, be it shorter or longer.
pub const BATCH_WAIT: &str = "replank.dev/batch-wait";

/// How long a pod is waited for under a plan that waits so long. An annotation that cannot be read, or is negative, does not
/// count: the finding `batch-wait-unread` names it.
#[must_use]
pub fn wait_of(pod: &Pod, plans: Span) -> Span {
    annotated(pod).and_then(Result::ok).unwrap_or(plans)
}

/// What a pod's annotation says, if it has one; as it stands there, where it cannot be read.
#[must_use]
pub fn annotated(pod: &Pod) -> Option<Result<Span, &str>> {
    let text = pod.meta.annotations.value(BATCH_WAIT)?;
    let span = text.parse::<Span>().ok().filter(|span| *span >= Span::ZERO);
    Some(span.ok_or(text))
}
