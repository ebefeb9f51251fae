//! StatefulSets: pods with names and claims of their own, in order (pkg/controller/statefulset).

mod claims;
mod identity;
mod replicas;
mod revisions;
mod rules;

use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::object::workload::{
    ControllerRevision, StatefulSet, StatefulSetStatus, UpdateStrategyType,
};
use replank_model::selector::Selector;
use replank_model::time::{Span, Time};
use replank_model::view::{Ix, View};

use super::history::History;
use super::index::Index;
use super::replica_set::is_available;
use super::{Controller, Ctx, history, pods};
use identity::{ordinal, parent};
use replank_apiserver::ApiError;
use replicas::Look;

use rules::{is_ordered, is_running_and_ready, revision_label, strategy};

/// Looks at a StatefulSet.
pub(super) fn sync(
    ctx: &mut Ctx<'_>,
    index: &Index,
    memory: &mut History,
    slot: u32,
) -> Result<(), ApiError> {
    let Some(set) = ctx.view().stateful_sets.get(Ix::new(slot)).cloned() else { return Ok(()) };
    let Some(selector) = selector(&set) else { return Ok(()) };
    let before = ctx.api.version();
    let found = history::list(ctx, index, &*set, &selector);
    pods::claim(ctx, &*set, &selector, found.clone(), None, |_: &ControllerRevision| true)?;
    let owned = pods::own_and_orphaned(ctx, index, &*set);
    let is_member = |pod: &Pod| parent(pod) == Some(set.meta.name.as_str());
    let owned = pods::claim(ctx, &*set, &selector, owned, None, is_member)?;
    // As long as nothing is written, they are those that were found.
    let is_same = ctx.api.version() == before;
    let all = if is_same { found } else { history::list(ctx, index, &*set, &selector) };
    let plan = revisions::plan(ctx, memory, &set, &all)?;
    let now = ctx.api.now();
    let mut look = Look::new(ctx, set.clone(), plan, now);
    let done = look.update(&owned);
    let (plan, status) = look.finish();
    if let Some(mut status) = status {
        complete(&set, &mut status);
        write(ctx, &set, &status)?;
        look_again(ctx, slot, &set, &status, &owned, now);
    }
    let truncated = revisions::truncate(ctx, &set, &owned, &all, &plan);
    done?;
    truncated
}

fn selector(set: &StatefulSet) -> Option<Selector> {
    set.spec.selector.as_ref()?.compile().ok()
}

/// Whether the set in a slot would adopt a pod.
pub(super) fn selects(view: &View, slot: u32, pod: &Pod) -> bool {
    let set = view.stateful_sets.get(Ix::<StatefulSet>::new(slot));
    let selector = set.and_then(|set| selector(set));
    let labels = &pod.meta.labels;
    selector.is_some_and(|selector| !selector.is_empty() && selector.matches(|key| labels.value(key)))
}

/// How long a pod must be ready to be available for the set in a slot.
pub(super) fn min_ready(view: &View, slot: u32) -> Span {
    let set = view.stateful_sets.get(Ix::<StatefulSet>::new(slot));
    Span::from_secs(set.map_or(0, |set| i64::from(set.spec.min_ready_seconds)))
}

/// The update is over when all pods have the update revision and are ready (`completeRollingUpdate`).
fn complete(set: &StatefulSet, status: &mut StatefulSetStatus) {
    let wanted = set.spec.replicas.unwrap_or(1);
    let is_rolling = strategy(set) == UpdateStrategyType::RollingUpdate;
    if is_rolling
        && status.updated_replicas == wanted
        && status.ready_replicas == wanted
        && status.replicas == wanted
    {
        status.current_replicas = status.updated_replicas;
        status.current_revision = status.update_revision.clone();
    }
}

fn write(ctx: &mut Ctx<'_>, set: &StatefulSet, status: &StatefulSetStatus) -> Result<(), ApiError> {
    let known = &set.status;
    let same = status.observed_generation <= known.observed_generation
        && status.replicas == known.replicas
        && status.current_replicas == known.current_replicas
        && status.ready_replicas == known.ready_replicas
        && status.updated_replicas == known.updated_replicas
        && status.current_revision == known.current_revision
        && status.available_replicas == known.available_replicas
        && status.update_revision == known.update_revision;
    if same {
        return Ok(());
    }
    ctx.api.modify_status::<StatefulSet>(&set.meta.key(), |set| set.status = status.clone())?;
    Ok(())
}

/// Has the set looked at when a pod becomes available by the mere passing of time.
fn look_again(
    ctx: &mut Ctx<'_>,
    slot: u32,
    set: &StatefulSet,
    status: &StatefulSetStatus,
    owned: &[Arc<Pod>],
    now: Time,
) {
    let seconds = set.spec.min_ready_seconds;
    if seconds == 0 || status.ready_replicas == status.available_replicas {
        return;
    }
    let whole = Span::from_secs(i64::from(seconds));
    let next = owned
        .iter()
        .filter(|pod| !is_available(pod, seconds, now))
        .filter_map(|pod| pod.ready_since())
        .map(|since| since + whole - now)
        .min();
    ctx.enqueue_after(Controller::StatefulSet, slot, next.unwrap_or(whole));
}
