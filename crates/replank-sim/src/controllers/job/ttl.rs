//! Deleting Jobs some time after their end (pkg/controller/ttlafterfinished).

use replank_model::object::Kind;
use replank_model::object::batch::Job;
use replank_model::object::condition::ConditionStatus;
use replank_model::time::{Span, Time};
use replank_model::view::Ix;

use crate::controllers::{Controller, Ctx};
use replank_apiserver::{ApiError, DeleteOptions, Propagation};

/// Has a Job looked at that ended and is to be deleted some time.
pub(super) fn watch(ctx: &mut Ctx<'_>, slot: u32, job: &Job) {
    if expiry(job).is_some() {
        ctx.enqueue(Controller::JobTtl, slot);
    }
}

/// Deletes a Job whose time is over.
pub(crate) fn sync(ctx: &mut Ctx<'_>, slot: u32) -> Result<(), ApiError> {
    let Some(job) = ctx.view().jobs.get(Ix::new(slot)).cloned() else { return Ok(()) };
    let Some(expiry) = expiry(&job) else { return Ok(()) };
    let left = expiry - ctx.api.now();
    if left > Span::ZERO {
        ctx.enqueue_after(Controller::JobTtl, slot, left);
        return Ok(());
    }
    let options = DeleteOptions {
        propagation: Some(Propagation::Foreground),
        uid: Some(job.meta.uid.clone()),
        ..DeleteOptions::default()
    };
    ctx.api.delete(Kind::Job, &job.meta.key(), &options).map(|_| ())
}

/// When the Job is to be deleted.
fn expiry(job: &Job) -> Option<Time> {
    let seconds = job.spec.ttl_seconds_after_finished.filter(|_| !job.meta.is_terminating())?;
    let mut ends = job.status.conditions.iter();
    let end = ends.find(|condition| {
        matches!(&*condition.r#type, "Complete" | "Failed") && condition.status == ConditionStatus::True
    })?;
    Some(end.last_transition_time? + Span::from_secs(i64::from(seconds)))
}
