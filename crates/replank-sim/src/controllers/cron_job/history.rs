//! Which Jobs of the past are kept (`cleanupFinishedJobs`).

use std::sync::Arc;

use replank_model::object::batch::Job;
use replank_model::object::condition;

use super::Look;

impl Look<'_, '_> {
    /// Deletes the oldest Jobs that ended, beyond the limits for good and bad ends.
    pub(super) fn forget_oldest(&mut self, jobs: &[Arc<Job>]) {
        let limits = [
            ("Complete", self.cron.spec.successful_jobs_history_limit),
            ("Failed", self.cron.spec.failed_jobs_history_limit),
        ];
        for (end, limit) in limits {
            let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else { continue };
            let ended = jobs.iter().filter(|job| condition::is_true(&job.status.conditions, end));
            let mut ended: Vec<&Arc<Job>> = ended.collect();
            let surplus = ended.len().saturating_sub(limit);
            ended.sort_by_key(|job| {
                let start = job.status.start_time;
                (start.is_none(), start, job.meta.name.clone())
            });
            for job in ended.into_iter().take(surplus) {
                // One that cannot be deleted is tried again at the next look.
                if self.delete(&job.meta.key()).is_ok() {
                    self.strike(&job.meta.uid);
                }
            }
        }
    }
}
