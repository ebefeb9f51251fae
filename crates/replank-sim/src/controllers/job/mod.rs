//! Jobs: pods that run to their end (pkg/controller/job), and what becomes of the finalizer by which they are counted.

mod backoff;
mod indexes;
mod look;
mod manage;
mod orphans;
mod policy;
#[cfg(test)]
mod tests;
mod track;
mod ttl;

use replank_model::object::meta::OwnerReference;
use replank_model::object::pod::Pod;
use replank_model::object::{Kind, Object};
use replank_model::view::{Change, Ix};

use super::index::{Index, resolve};
use super::{Controller, Ctx, PodChange, pods};
use crate::ties::SharedTies;
use replank_apiserver::ApiError;

pub(super) use orphans::sync as sync_orphan;
pub(super) use ttl::sync as sync_ttl;

pub(super) use look::Jobs;
use look::{BATCH, Look, MANAGER, TRACKING, is_succeeded, is_tracked, selector};

/// Puts down what is to be looked at because of a change.
pub(super) fn watch(ctx: &mut Ctx<'_>, memory: &mut Jobs, change: &Change) {
    let Change::Object { slot, old, new } = change else { return };
    match (old, new) {
        (old, Some(Object::Job(job))) => {
            let old = match old {
                Some(Object::Job(old)) => Some(old),
                Some(_) | None => None,
            };
            ttl::watch(ctx, *slot, job);
            match old {
                Some(_) if job.is_finished() => orphans::all_of(ctx, job),
                Some(old) if old.meta.generation == job.meta.generation => {
                    ctx.enqueue_after(Controller::Job, *slot, BATCH);
                }
                Some(_) | None => ctx.enqueue(Controller::Job, *slot),
            }
        }
        (Some(Object::Job(gone)), None) => {
            ctx.queue.forget(Controller::Job, *slot);
            memory.records.remove(slot);
            orphans::all_of(ctx, gone);
        }
        (Some(_) | None, Some(_)) | (Some(_), None) | (None, None) => {}
    }
}

/// Puts down what is to be looked at because of a change of a pod.
pub(super) fn pod_changed(ctx: &mut Ctx<'_>, index: &Index, change: &PodChange<'_>) {
    match (change.old, change.new) {
        (_, Some(new)) if !new.is_terminating() => pod_stays(ctx, index, change, new),
        (_, Some(going)) | (Some(going), None) => pod_goes(ctx, change.slot, going),
        (None, None) => {}
    }
}

fn pod_stays(ctx: &mut Ctx<'_>, index: &Index, change: &PodChange<'_>, pod: &Pod) {
    let namespace = &pod.meta.namespace;
    let (before, after) = (change.old_owner, change.owner);
    let is_job = |owner: &OwnerReference| &*owner.kind == Kind::Job.as_str();
    if before.is_some_and(is_job)
        && before != after
        && let Some(job) = resolve(ctx.view(), Kind::Job, namespace, before)
    {
        ctx.enqueue_after(Controller::Job, job, BATCH);
    }
    if after.is_some() {
        if let Some(job) = resolve(ctx.view(), Kind::Job, namespace, after) {
            ctx.enqueue_after(Controller::Job, job, BATCH);
        }
        return;
    }
    if is_tracked(pod) {
        ctx.enqueue(Controller::JobOrphan, change.slot);
    }
    if change.old.is_some_and(|old| old.meta.labels == pod.meta.labels && before == after) {
        return;
    }
    for job in index.namespaced(Kind::Job, namespace) {
        if selects(ctx, job, pod) {
            ctx.enqueue_after(Controller::Job, job, BATCH);
        }
    }
}

fn pod_goes(ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
    let owner = pod.meta.controller();
    let job = resolve(ctx.view(), Kind::Job, &pod.meta.namespace, owner);
    let is_finished = |job: u32| ctx.view().jobs.get(Ix::new(job)).is_none_or(|job| job.is_finished());
    match job.filter(|job| !is_finished(*job)) {
        Some(job) => ctx.enqueue_after(Controller::Job, job, BATCH),
        None if is_tracked(pod) => ctx.enqueue(Controller::JobOrphan, slot),
        None => {}
    }
}

fn selects(ctx: &Ctx<'_>, job: u32, pod: &Pod) -> bool {
    let selector = ctx.view().jobs.get(Ix::new(job)).and_then(|job| selector(job));
    let labels = &pod.meta.labels;
    selector.is_some_and(|selector| selector.matches(|key| labels.value(key)))
}

/// Looks at a Job.
pub(super) fn sync(
    ctx: &mut Ctx<'_>,
    index: &Index,
    memory: &mut Jobs,
    ties: Option<&SharedTies>,
    slot: u32,
) -> Result<(), ApiError> {
    let Some(job) = ctx.view().jobs.get(Ix::new(slot)).cloned() else { return Ok(()) };
    if job.spec.managed_by.as_ref().is_some_and(|manager| &**manager != MANAGER) {
        return Ok(());
    }
    if job.is_finished() {
        memory.records.remove(&slot);
        return Ok(());
    }
    let Some(selector) = selector(&job) else { return Ok(()) };
    let found = pods::own_and_orphaned(ctx, index, &*job);
    let pods = pods::claim(ctx, &*job, &selector, found, Some(TRACKING), |_| true)?;
    let mut look = Look::new(ctx, memory, ties, slot, &job, pods);
    look.judge();
    let managed = look.act();
    look.track()?;
    managed
}
