//! One look at a CronJob.

use std::sync::Arc;

use replank_apiserver::{ApiError, DeleteOptions, Propagation};
use replank_model::object::batch::{CronJob, Job, ObjectReference};
use replank_model::object::meta::Key;
use replank_model::object::{Kind, condition};
use replank_model::text::Uid;

use crate::controllers::Ctx;

/// One look at a CronJob.
pub(super) struct Look<'a, 'c> {
    pub(super) ctx: &'a mut Ctx<'c>,
    /// The CronJob with the status as it is to be.
    pub(super) cron: CronJob,
}

impl Look<'_, '_> {
    /// Strikes Jobs that ended, or are not there any more, from the list of those that run.
    pub(super) fn note_ended(&mut self, jobs: &[Arc<Job>]) {
        for job in jobs.iter().filter(|job| job.is_finished()) {
            self.strike(&job.meta.uid);
            let status = &mut self.cron.status;
            if condition::is_true(&job.status.conditions, "Complete") {
                status.last_successful_time = status.last_successful_time.max(job.status.completion_time);
            }
        }
        let view = self.ctx.api.view();
        let exists = |reference: &ObjectReference| {
            let key = Key { namespace: reference.namespace.clone(), name: reference.name.clone() };
            jobs.iter().any(|job| job.meta.uid == reference.uid) || view.jobs.by_key(&key).is_some()
        };
        self.cron.status.active.retain(exists);
    }

    pub(super) fn strike(&mut self, uid: &Uid) {
        self.cron.status.active.retain(|job| job.uid != *uid);
    }

    pub(super) fn delete_active(&mut self) -> Result<(), ApiError> {
        for job in self.cron.status.active.clone() {
            self.delete(&Key { namespace: job.namespace, name: job.name })?;
            self.strike(&job.uid);
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, job: &Key) -> Result<(), ApiError> {
        let propagation = Some(Propagation::Background);
        let options = DeleteOptions { propagation, ..DeleteOptions::default() };
        self.ctx.api.delete(Kind::Job, job, &options).map(|_| ())
    }
}
