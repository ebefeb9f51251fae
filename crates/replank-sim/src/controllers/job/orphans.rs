//! Pods that carry the finalizer and have no Job that would count them (`syncOrphanPod`).

use std::sync::Arc;

use replank_model::object::Kind;
use replank_model::object::batch::Job;
use replank_model::object::pod::Pod;
use replank_model::view::Ix;

use super::{TRACKING, is_tracked, selector};
use crate::controllers::index::resolve;
use crate::controllers::{Controller, Ctx};
use replank_apiserver::ApiError;

/// Has all pods of a Job looked at that ended or went.
pub(super) fn all_of(ctx: &mut Ctx<'_>, job: &Job) {
    let Some(selector) = selector(job) else { return };
    let mut pods = ctx.view().select_pods(&job.meta.namespace, &selector).collect::<Vec<_>>();
    pods.sort_unstable();
    for pod in pods {
        if ctx.view().pods.get(pod).is_some_and(|pod| is_tracked(pod)) {
            ctx.enqueue(Controller::JobOrphan, pod.raw());
        }
    }
}

/// Takes the finalizer from a pod that nobody counts.
pub(crate) fn sync(ctx: &mut Ctx<'_>, slot: u32) -> Result<(), ApiError> {
    let Some(pod) = ctx.view().pods.get(Ix::new(slot)).cloned() else { return Ok(()) };
    if let Some(owner) = pod.meta.controller() {
        if &*owner.kind != "Job" || &*owner.api_version != "batch/v1" {
            return Ok(());
        }
        let job = resolve(ctx.view(), Kind::Job, &pod.meta.namespace, Some(owner));
        let job = job.and_then(|slot| ctx.view().jobs.get(Ix::<Job>::new(slot)));
        let is_counting = |job: &Arc<Job>| {
            let is_others = job.spec.managed_by.as_ref().is_some_and(|by| &**by != super::MANAGER);
            is_others || !job.is_finished()
        };
        if job.is_some_and(is_counting) {
            return Ok(());
        }
    }
    untrack(ctx, &pod)
}

/// Removes the finalizer from a pod. A pod that is gone is not a failure.
pub(super) fn untrack(ctx: &mut Ctx<'_>, pod: &Pod) -> Result<(), ApiError> {
    if !is_tracked(pod) {
        return Ok(());
    }
    let taken = ctx.api.modify::<Pod>(&pod.meta.key(), |pod| {
        pod.meta.finalizers.retain(|finalizer| &**finalizer != TRACKING);
    });
    match taken {
        Err(error) if error.code != 404 => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}
