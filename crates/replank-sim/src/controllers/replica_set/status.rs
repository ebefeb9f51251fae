//! What a ReplicaSet says of its pods (`replica_set_utils.go`).

use std::sync::Arc;

use replank_model::object::condition::{self, Condition, ConditionStatus};
use replank_model::object::pod::Pod;
use replank_model::text::Text;
use replank_model::time::{Span, Time};

use super::Replicated;
use crate::controllers::pods::PerLabels;
use crate::controllers::{Ctx, narrow};
use replank_apiserver::ApiError;

const FAILURE: &str = "ReplicaFailure";

/// Whether a pod has been ready for long enough (pkg/api/v1/pod `IsPodAvailable`).
pub(crate) fn is_available(pod: &Pod, min_ready_seconds: i32, now: Time) -> bool {
    let Some(since) = pod.ready_since() else { return pod.is_ready() && min_ready_seconds == 0 };
    min_ready_seconds == 0 || since + Span::from_secs(i64::from(min_ready_seconds)) <= now
}

/// Writes the status where it changed, and has the set looked at when a pod becomes available by the mere passing of time.
pub(super) fn write<R: Replicated>(
    ctx: &mut Ctx<'_>,
    slot: u32,
    set: &Arc<R>,
    active: &[Arc<Pod>],
    terminating: i32,
    managed: Result<(), ApiError>,
) -> Result<(), ApiError> {
    let now = ctx.api.now();
    let min_ready = set.min_ready_seconds();
    let template = set.template().map(|template| template.meta.labels.clone()).unwrap_or_default();
    let mut status = set.status().clone();
    status.replicas = narrow(active.len());
    let mut is_labeled =
        PerLabels::new(|labels| template.iter().all(|(key, value)| labels.value(key) == Some(value)));
    status.fully_labeled_replicas =
        narrow(active.iter().filter(|pod| is_labeled.answer(&pod.meta.labels)).count());
    status.ready_replicas = narrow(active.iter().filter(|pod| pod.is_ready()).count());
    status.available_replicas = match min_ready {
        // What is ready is available.
        0 => status.ready_replicas,
        _ => narrow(active.iter().filter(|pod| is_available(pod, min_ready, now)).count()),
    };
    status.terminating_replicas = R::COUNTS_TERMINATING.then_some(terminating);
    set_failure(ctx, set, &mut status.conditions, active.len(), &managed);
    status.observed_generation = set.meta().generation;
    if status != *set.status() {
        ctx.api.modify::<R>(&set.meta().key(), |set| *set.status_mut() = status.clone())?;
    }
    managed?;
    if min_ready > 0 && status.ready_replicas != status.available_replicas {
        let wait = next_available(active, min_ready, now);
        let whole = Span::from_secs(i64::from(min_ready));
        ctx.enqueue_after(R::CONTROLLER, slot, wait.unwrap_or(whole));
    }
    Ok(())
}

fn set_failure<R: Replicated>(
    ctx: &Ctx<'_>,
    set: &Arc<R>,
    conditions: &mut Vec<Condition>,
    active: usize,
    managed: &Result<(), ApiError>,
) {
    let known = condition::find(conditions, FAILURE).is_some();
    match managed {
        Err(error) if !known => {
            let missing = narrow(active) < set.replicas();
            conditions.push(Condition {
                r#type: Text::from(FAILURE),
                status: ConditionStatus::True,
                reason: Text::from(if missing { "FailedCreate" } else { "FailedDelete" }),
                message: Text::from(error.message.as_str()),
                last_transition_time: Some(ctx.api.timestamp()),
                ..Condition::default()
            });
        }
        Ok(()) if known => conditions.retain(|condition| &*condition.r#type != FAILURE),
        Err(_) | Ok(()) => {}
    }
}

/// Time until the next ready pod becomes available (`FindMinNextPodAvailabilityCheck`).
fn next_available(active: &[Arc<Pod>], min_ready_seconds: i32, now: Time) -> Option<Span> {
    active
        .iter()
        .filter(|pod| !is_available(pod, min_ready_seconds, now))
        .filter_map(|pod| pod.ready_since())
        .map(|since| since + Span::from_secs(i64::from(min_ready_seconds)) - now)
        .min()
}
