//! ReplicaSets and ReplicationControllers: as many pods as wanted (pkg/controller/replicaset, of which
//! pkg/controller/replication is a wrapper).

mod parts;
mod replicated;
mod status;
mod tally;
mod victims;

use std::sync::Arc;

use super::{Controller, Ctx, Done, pods};
use replank_apiserver::ApiError;
use replank_model::object::Kind;
use replank_model::object::pod::{Pod, PodTemplate};
use replank_model::object::workload::{ReplicaSet, ReplicaSetStatus, ReplicationController};
use replank_model::selector::{LabelSelector, Selector};
use replank_model::time::Span;
use replank_model::view::{Ix, View};

use status::Seen;
pub(crate) use status::is_available;
pub(crate) use victims::{choose_plainly, compare_plainly};

pub(super) use parts::{Burst, Bursts, Parts};
pub(crate) use replicated::Replicated;
pub(super) use tally::Tallies;

/// Pods made or deleted in one look at most (`BurstReplicas`).
const BURST: usize = 500;

impl Replicated for ReplicaSet {
    const CONTROLLER: Controller = Controller::ReplicaSet;
    const COUNTS_TERMINATING: bool = true;
    fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }
    fn selector(&self) -> Option<Selector> {
        self.spec.selector.as_ref()?.compile().ok()
    }
    fn label_selector(&self) -> Option<&LabelSelector> {
        self.spec.selector.as_ref()
    }
    fn template(&self) -> Option<&PodTemplate> {
        Some(&self.spec.template)
    }
    fn min_ready_seconds(&self) -> i32 {
        self.spec.min_ready_seconds
    }
    fn status(&self) -> &ReplicaSetStatus {
        &self.status
    }
    fn status_mut(&mut self) -> &mut ReplicaSetStatus {
        &mut self.status
    }
}

impl Replicated for ReplicationController {
    const CONTROLLER: Controller = Controller::ReplicationController;
    const COUNTS_TERMINATING: bool = false;
    fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }
    fn selector(&self) -> Option<Selector> {
        Some(Selector::from_set(self.spec.selector.pairs().iter().cloned()))
    }
    fn label_selector(&self) -> Option<&LabelSelector> {
        None
    }
    fn template(&self) -> Option<&PodTemplate> {
        self.spec.template.as_ref()
    }
    fn min_ready_seconds(&self) -> i32 {
        self.spec.min_ready_seconds
    }
    fn status(&self) -> &ReplicaSetStatus {
        &self.status
    }
    fn status_mut(&mut self) -> &mut ReplicaSetStatus {
        &mut self.status
    }
}

/// Time of one batch of creations. Recorded: 8 to 12 ms.
const BATCH: Span = Span::from_millis(10);

/// Looks at a set.
pub(super) fn sync<R: Replicated>(
    ctx: &mut Ctx<'_>,
    parts: &mut Parts<'_>,
    slot: u32,
) -> Result<Done, ApiError> {
    let burst = parts.bursts.remove(&(R::CONTROLLER, slot));
    let Some(set) = ctx.view().table::<R>().get(Ix::new(slot)).cloned() else { return Ok(Done::Yes) };
    let burst = burst.filter(|burst| burst.uid == set.meta().uid);
    if burst.is_none() && look_at_counts(ctx, parts, slot, &set)? {
        return Ok(Done::Yes);
    }
    parts.tallies.unsettle(&set.meta().uid);
    let Some(selector) = set.selector() else { return Ok(Done::Yes) };
    let burst = match burst {
        Some(burst) => burst,
        None => {
            let all = pods::own_and_orphaned(ctx, parts.index, &*set);
            let terminating = count_terminating(&*set, &selector, &all);
            let active = all.into_iter().filter(|pod| pod.is_active()).collect();
            let active = pods::claim(ctx, &*set, &selector, active, None, |_| true)?;
            let wanted = usize::try_from(set.replicas()).unwrap_or(0);
            let excess = active.len().saturating_sub(wanted).min(BURST);
            if set.meta().is_terminating() || active.len() == wanted {
                let seen = Seen::of(ctx, &*set, &active, terminating);
                status::write(ctx, slot, &*set, seen, Ok(()))?;
                return Ok(Done::Yes);
            }
            if excess > 0 {
                let done = delete(ctx, parts, &*set, active.clone(), excess);
                let seen = Seen::of(ctx, &*set, &active, terminating);
                status::write(ctx, slot, &*set, seen, done)?;
                return Ok(Done::Yes);
            }
            let remaining = (wanted - active.len()).min(BURST);
            Burst { uid: set.meta().uid.clone(), remaining, batch: 1, active, terminating }
        }
    };
    let Burst { uid, remaining, batch, active, terminating } = burst;
    let made = create(ctx, parts, &*set, batch);
    let remaining = remaining - batch;
    if made.is_ok() && remaining > 0 {
        let batch = (2 * batch).min(remaining);
        let burst = Burst { uid, remaining, batch, active, terminating };
        parts.bursts.insert((R::CONTROLLER, slot), burst);
        return Ok(Done::GoesOn(BATCH));
    }
    // Meanwhile the set may have changed.
    let Some(set) = ctx.view().table::<R>().get(Ix::new(slot)).cloned() else { return Ok(Done::Yes) };
    let seen = Seen::of(ctx, &*set, &active, terminating);
    status::write(ctx, slot, &*set, seen, made)?;
    Ok(Done::Yes)
}

/// Looks at a set as far as its counters go: they will do where nothing is to be adopted, released or deleted, and one pod at most is missing.
/// Whether they did.
fn look_at_counts<R: Replicated>(
    ctx: &mut Ctx<'_>,
    parts: &mut Parts<'_>,
    slot: u32,
    set: &Arc<R>,
) -> Result<bool, ApiError> {
    // When pods become available by the mere passing of time, only they themselves tell.
    if set.min_ready_seconds() > 0 || parts.index.has_orphans(Kind::Pod, &set.meta().namespace) {
        return Ok(false);
    }
    let Some(counts) = parts.tallies.counts(ctx.view(), &**set).filter(|counts| counts.strangers == 0) else {
        return Ok(false);
    };
    let (active, wanted) = (counts.active as usize, usize::try_from(set.replicas()).unwrap_or(0));
    if set.meta().is_terminating() || active == wanted {
        status::write(ctx, slot, &**set, Seen::counted(counts), Ok(()))?;
        parts.tallies.settle::<R>(ctx.view(), slot, &set.meta().uid, counts);
        return Ok(true);
    }
    if active + 1 != wanted {
        return Ok(false);
    }
    let made = create(ctx, parts, &**set, 1);
    status::write(ctx, slot, &**set, Seen::counted(counts), made)?;
    Ok(true)
}

/// Pods on their way out that the set still manages.
fn count_terminating<R: Replicated>(set: &R, selector: &Selector, all: &[Arc<Pod>]) -> i32 {
    let is_counted = |pod: &&Arc<Pod>| {
        let meta = &pod.meta;
        pod.is_terminating()
            && !pod.is_terminal()
            && meta.controller().is_some_and(|owner| owner.uid == set.meta().uid)
            && selector.matches(|key| meta.labels.value(key))
    };
    super::narrow(all.iter().filter(is_counted).count())
}

fn delete<R: Replicated>(
    ctx: &mut Ctx<'_>,
    parts: &Parts<'_>,
    set: &R,
    active: Vec<Arc<Pod>>,
    excess: usize,
) -> Result<(), ApiError> {
    let mut failure = Ok(());
    for pod in victims::choose(ctx, parts, set, active, excess) {
        match pods::delete(ctx, &pod) {
            Ok(()) => pods::tell(ctx, set, ("SuccessfulDelete", teller::<R>()), pod.meta.name.as_str()),
            Err(error) => failure = Err(error),
        }
    }
    failure
}

/// Makes one batch of pods.
fn create<R: Replicated>(
    ctx: &mut Ctx<'_>,
    parts: &mut Parts<'_>,
    set: &R,
    batch: usize,
) -> Result<(), ApiError> {
    let Some(pod) = parts.tallies.new_pod(set) else { return Ok(()) };
    let mut failure = Ok(());
    for _ in 0..batch {
        match ctx.api.create(pod.clone()) {
            Ok(pod) => pods::tell(ctx, set, ("SuccessfulCreate", teller::<R>()), pod.meta.name.as_str()),
            Err(error) if pods::is_namespace_terminating(&error) => {}
            Err(error) => {
                pods::tell_failure(ctx, set, teller::<R>(), &error);
                failure = Err(error);
            }
        }
    }
    failure
}

/// What the controller calls itself in events.
fn teller<R: Replicated>() -> &'static str {
    if R::KIND == Kind::ReplicaSet { "replicaset-controller" } else { "replication-controller" }
}

/// How long a pod must be ready to be available for the owner in a slot.
pub(super) fn min_ready<R: Replicated>(view: &View, slot: u32) -> Span {
    let set = view.table::<R>().get(Ix::new(slot));
    Span::from_secs(set.map_or(0, |set| i64::from(set.min_ready_seconds())))
}

/// Whether the owner in a slot would adopt a pod with these labels.
pub(super) fn selects<R: Replicated>(view: &View, slot: u32, pod: &Pod) -> bool {
    let selector = view.table::<R>().get(Ix::new(slot)).and_then(|set| set.selector());
    let labels = &pod.meta.labels;
    selector.is_some_and(|selector| !selector.is_empty() && selector.matches(|key| labels.value(key)))
}
