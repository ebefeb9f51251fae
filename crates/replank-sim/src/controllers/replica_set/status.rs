//! What a ReplicaSet says of its pods (`replica_set_utils.go`).

use std::sync::Arc;

use replank_model::list::List;
use replank_model::object::condition::{self, Condition, ConditionStatus};
use replank_model::object::pod::Pod;
use replank_model::object::workload::ReplicaSetStatus;
use replank_model::text::Text;
use replank_model::time::{Span, Time};
use replank_model::view::Ix;

use super::Replicated;
use super::tally::Counts;
use crate::controllers::pods::PerLabels;
use crate::controllers::{Ctx, narrow};
use replank_apiserver::ApiError;

const FAILURE: &str = "ReplicaFailure";

/// Whether a pod has been ready for long enough (pkg/api/v1/pod `IsPodAvailable`).
pub(crate) fn is_available(pod: &Pod, min_ready_seconds: i32, now: Time) -> bool {
    let Some(since) = pod.ready_since() else { return pod.is_ready() && min_ready_seconds == 0 };
    min_ready_seconds == 0 || since + Span::from_secs(i64::from(min_ready_seconds)) <= now
}

/// What a look at a set has seen of its pods.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    active: i32,
    labeled: i32,
    ready: i32,
    available: i32,
    terminating: i32,
    /// Time until the next ready pod becomes available.
    next: Option<Span>,
}

impl Seen {
    /// Counted from the active pods themselves.
    pub(super) fn of<R: Replicated>(ctx: &Ctx<'_>, set: &R, active: &[Arc<Pod>], terminating: i32) -> Self {
        let (now, min_ready) = (ctx.api.now(), set.min_ready_seconds());
        let template = set.template().map(|template| template.meta.labels.clone()).unwrap_or_default();
        let mut is_labeled =
            PerLabels::new(|labels| template.iter().all(|(key, value)| labels.value(key) == Some(value)));
        let labeled = narrow(active.iter().filter(|pod| is_labeled.answer(&pod.meta.labels)).count());
        let ready = narrow(active.iter().filter(|pod| pod.is_ready()).count());
        let available = match min_ready {
            // What is ready is available.
            0 => ready,
            _ => narrow(active.iter().filter(|pod| is_available(pod, min_ready, now)).count()),
        };
        let next = if min_ready > 0 { next_available(active, min_ready, now) } else { None };
        Self { active: narrow(active.len()), labeled, ready, available, terminating, next }
    }

    /// Of a set whose ready pods are all available.
    pub(super) fn counted(counts: Counts) -> Self {
        let of = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
        let Counts { active, labeled, ready, terminating, strangers: _ } = counts;
        Self {
            active: of(active),
            labeled: of(labeled),
            ready: of(ready),
            available: of(ready),
            terminating: of(terminating),
            next: None,
        }
    }

    fn is_in(&self, status: &ReplicaSetStatus) -> bool {
        status.replicas == self.active
            && status.fully_labeled_replicas == self.labeled
            && status.ready_replicas == self.ready
            && status.available_replicas == self.available
    }
}

/// Writes the status where it changed, and has the set looked at when a pod becomes available by the mere passing of time.
pub(super) fn write<R: Replicated>(
    ctx: &mut Ctx<'_>,
    slot: u32,
    set: &R,
    seen: Seen,
    managed: Result<(), ApiError>,
) -> Result<(), ApiError> {
    let min_ready = set.min_ready_seconds();
    let terminating = R::COUNTS_TERMINATING.then_some(seen.terminating);
    let (known, generation) = (set.status(), set.meta().generation);
    let is_told = seen.is_in(known)
        && known.terminating_replicas == terminating
        && known.observed_generation == generation
        && condition::find(&known.conditions, FAILURE).is_some() == managed.is_err();
    if !is_told {
        let mut conditions = known.conditions.clone();
        set_failure(ctx, set, &mut conditions, seen.active, &managed);
        let status = ReplicaSetStatus {
            replicas: seen.active,
            fully_labeled_replicas: seen.labeled,
            ready_replicas: seen.ready,
            available_replicas: seen.available,
            terminating_replicas: terminating,
            observed_generation: generation,
            conditions,
        };
        ctx.api.modify_status_at::<R>(Ix::new(slot), |set| *set.status_mut() = status);
    }
    managed?;
    if min_ready > 0 && seen.ready != seen.available {
        let whole = Span::from_secs(i64::from(min_ready));
        ctx.enqueue_after(R::CONTROLLER, slot, seen.next.unwrap_or(whole));
    }
    Ok(())
}

fn set_failure<R: Replicated>(
    ctx: &Ctx<'_>,
    set: &R,
    conditions: &mut List<Condition>,
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

/// Time until the next ready pod becomes available (`FindMinNextPodAvailabilityCheck`).
fn next_available(active: &[Arc<Pod>], min_ready_seconds: i32, now: Time) -> Option<Span> {
    active
        .iter()
        .filter(|pod| !is_available(pod, min_ready_seconds, now))
        .filter_map(|pod| pod.ready_since())
        .map(|since| since + Span::from_secs(i64::from(min_ready_seconds)) - now)
        .min()
}
