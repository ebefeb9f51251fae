//! What a ReplicaSet says of its pods (`replica_set_utils.go`).

use std::sync::Arc;

use replank_model::object::condition::{self, Condition, ConditionStatus};
use replank_model::object::pod::Pod;
use replank_model::text::Text;
use replank_model::time::{Span, Time};

use super::Replicated;
use crate::controllers::Ctx;
use crate::controllers::pods::PerLabels;
use replank_apiserver::ApiError;

const FAILURE: &str = "ReplicaFailure";

/// Whether a pod has been ready for long enough (pkg/api/v1/pod `IsPodAvailable`).
pub(crate) fn is_available(pod: &Pod, min_ready_seconds: i32, now: Time) -> bool {
    let Some(since) = pod.ready_since() else { return pod.is_ready() && min_ready_seconds == 0 };
    min_ready_seconds == 0 || since + Span::from_secs(i64::from(min_ready_seconds)) <= now
}

/// What is seen of a set's pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Observed {
    pub(super) replicas: i32,
    fully_labeled: i32,
    ready: i32,
    available: i32,
    terminating: i32,
    /// Time until the next ready pod becomes available (`FindMinNextPodAvailabilityCheck`).
    next_available: Option<Span>,
}

impl Observed {
    /// Of pods that are not on their way out, in any order, and of how many are.
    pub(super) fn of<'p, R: Replicated>(
        set: &R,
        active: impl Iterator<Item = &'p Pod>,
        terminating: i32,
        now: Time,
    ) -> Self {
        let min_ready = set.min_ready_seconds();
        let template = set.template().map(|template| template.meta.labels.clone()).unwrap_or_default();
        let mut is_labeled =
            PerLabels::new(|labels| template.iter().all(|(key, value)| labels.value(key) == Some(value)));
        let mut seen =
            Self { replicas: 0, fully_labeled: 0, ready: 0, available: 0, terminating, next_available: None };
        for pod in active {
            let is_ready = pod.is_ready();
            // Without a minimum, what is ready is available.
            let is_available = if min_ready == 0 { is_ready } else { is_available(pod, min_ready, now) };
            seen.replicas += 1;
            seen.fully_labeled += i32::from(is_labeled.answer(&pod.meta.labels));
            seen.ready += i32::from(is_ready);
            seen.available += i32::from(is_available);
            if min_ready > 0
                && !is_available
                && let Some(since) = pod.ready_since()
            {
                let wait = since + Span::from_secs(i64::from(min_ready)) - now;
                seen.next_available = Some(seen.next_available.map_or(wait, |known| known.min(wait)));
            }
        }
        seen
    }
}

/// Writes the status where it changed, and has the set looked at when a pod becomes available by the mere passing of time.
pub(super) fn write<R: Replicated>(
    ctx: &mut Ctx<'_>,
    slot: u32,
    set: &Arc<R>,
    observed: &Observed,
    managed: Result<(), ApiError>,
) -> Result<(), ApiError> {
    let mut status = set.status().clone();
    status.replicas = observed.replicas;
    status.fully_labeled_replicas = observed.fully_labeled;
    status.ready_replicas = observed.ready;
    status.available_replicas = observed.available;
    status.terminating_replicas = R::COUNTS_TERMINATING.then_some(observed.terminating);
    set_failure(ctx, set, &mut status.conditions, observed.replicas, &managed);
    status.observed_generation = set.meta().generation;
    if status != *set.status() {
        ctx.api.modify::<R>(&set.meta().key(), |set| *set.status_mut() = status)?;
    }
    managed?;
    let min_ready = set.min_ready_seconds();
    if min_ready > 0 && observed.ready != observed.available {
        let whole = Span::from_secs(i64::from(min_ready));
        ctx.enqueue_after(R::CONTROLLER, slot, observed.next_available.unwrap_or(whole));
    }
    Ok(())
}

fn set_failure<R: Replicated>(
    ctx: &Ctx<'_>,
    set: &Arc<R>,
    conditions: &mut Vec<Condition>,
    active: i32,
    managed: &Result<(), ApiError>,
) {
    let known = condition::find(conditions, FAILURE).is_some();
    match managed {
        Err(error) if !known => {
            let missing = active < set.replicas();
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
