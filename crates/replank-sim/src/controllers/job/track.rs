//! Counting pods that ended, once each: their uids go into the status, then their finalizers go, then the counters go up
//! (`trackJobStatusAndRemoveFinalizers`).

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::batch::{Job, JobStatus, UncountedTerminatedPods};
use replank_model::object::pod::Pod;
use replank_model::object::{Kind, Object};
use replank_model::text::{Text, Uid};
use replank_model::view::Ix;

use super::indexes::{Indexes, index_of};
use super::{Look, is_succeeded, is_tracked, orphans, policy};
use crate::controllers::narrow;
use replank_apiserver::{ApiError, Cause};

/// Pods in the status that are not yet counted, at most (`MaxUncountedPods`).
const UNCOUNTED_MAX: usize = 500;

impl Look<'_, '_> {
    /// Counts pods that ended, and ends the Job if it is to end.
    pub(super) fn track(&mut self) -> Result<(), ApiError> {
        if self.is_indexed() {
            self.pods.sort_by_key(|pod| index_of(pod).unwrap_or(-1));
        }
        let mut tracked: BTreeSet<Uid> =
            self.pods.iter().filter(|pod| is_tracked(pod)).map(|pod| pod.meta.uid.clone()).collect();
        self.changed |= count_untracked(&mut self.job, &tracked);
        let (ended, is_all) = self.note_ended();
        self.announce_end();
        if self.changed {
            self.write()?;
            self.memory.records.insert(self.slot, (self.job.meta.uid.clone(), self.record));
        }
        let mut failure = None;
        for pod in ended {
            match orphans::untrack(self.ctx, &pod) {
                Ok(()) => {
                    tracked.remove(&pod.meta.uid);
                }
                Err(error) => failure = Some(error),
            }
        }
        self.changed = count_untracked(&mut self.job, &tracked);
        if let Some(error) = failure {
            if self.changed {
                self.write()?;
            }
            return Err(error);
        }
        self.changed |= is_all && self.end_if_counted();
        if self.changed {
            self.write()?;
        }
        Ok(())
    }

    /// Puts pods that ended into the status; returns those whose finalizers go, and whether these are all.
    fn note_ended(&mut self) -> (Vec<Arc<Pod>>, bool) {
        let mut uncounted = self.job.status.uncounted_terminated_pods.take().unwrap_or_default();
        let (mut ended, mut new_indexes) = (Vec::new(), Vec::new());
        let mut is_all = true;
        for pod in self.pods.iter().filter(|pod| is_tracked(pod)) {
            if !self.is_countable(pod) {
                continue;
            }
            ended.push(pod.clone());
            self.changed |= self.note(pod, &mut uncounted, &mut new_indexes);
            if new_indexes.len() + uncounted.succeeded.len() + uncounted.failed.len() >= UNCOUNTED_MAX {
                is_all = false;
                break;
            }
        }
        self.job.status.uncounted_terminated_pods = Some(uncounted);
        if self.is_indexed() {
            self.succeeded_indexes = self.succeeded_indexes.union(&Indexes::from_iter(new_indexes));
            let status = &mut self.job.status;
            let known = (status.completed_indexes.clone(), status.failed_indexes.clone());
            status.succeeded = self.succeeded_indexes.total();
            status.completed_indexes = Text::from(self.succeeded_indexes.to_string());
            status.failed_indexes = self.failed_indexes.as_ref().map(|failed| Text::from(failed.to_string()));
            self.changed |= known != (status.completed_indexes.clone(), status.failed_indexes.clone());
        }
        (ended, is_all)
    }

    /// Notes how a pod ended; whether that is new.
    fn note(&self, pod: &Pod, uncounted: &mut UncountedTerminatedPods, new_indexes: &mut Vec<i32>) -> bool {
        let uid = &pod.meta.uid;
        let is_known = self.uncounted.failed.contains(uid);
        if is_succeeded(pod) && !is_known {
            if self.is_indexed() {
                let index = self.valid_index(pod).filter(|index| !self.counted_indexes.has(*index));
                new_indexes.extend(index);
                return index.is_some();
            }
            let is_new = !self.uncounted.succeeded.contains(uid);
            if is_new {
                uncounted.succeeded.push(uid.clone());
            }
            return is_new;
        }
        let fails_with_job = self.end.as_ref().is_some_and(|end| &*end.r#type != "SuccessCriteriaMet");
        let counts = (self.is_failed(pod) || fails_with_job)
            && !is_known
            && (!self.is_indexed() || self.valid_index(pod).is_some())
            && policy::judge(&self.job, pod).counts;
        if counts {
            uncounted.failed.push(uid.clone());
        }
        counts
    }

    /// Whether a pod's finalizer may go (`canRemoveFinalizer`).
    fn is_countable(&self, pod: &Pod) -> bool {
        if self.job.meta.is_terminating() || self.end.is_some() || is_succeeded(pod) {
            return true;
        }
        let is_kept = index_of(pod)
            .and_then(|index| self.kept.get(&index))
            .is_some_and(|kept| kept.meta.uid == pod.meta.uid);
        self.is_failed(pod) && !is_kept
    }

    /// Says in the status how the Job is about to end; it ends when all pods are counted.
    fn announce_end(&mut self) {
        let Some(end) = self.end.clone() else { return };
        let last = match &*end.r#type {
            "FailureTarget" => "Failed",
            "SuccessCriteriaMet" => "Complete",
            _ => return,
        };
        let conditions = &mut self.job.status.conditions;
        if !conditions.iter().any(|known| known.r#type == end.r#type) {
            conditions.push(end.clone());
            self.changed = true;
        }
        self.end = Some(self.condition(last, &end.reason, &end.message));
    }

    /// Ends the Job unless pods are still going or uncounted (`enactJobFinished`).
    fn end_if_counted(&mut self) -> bool {
        let Some(end) = self.end.clone() else { return false };
        let status = &mut self.job.status;
        let uncounted = status.uncounted_terminated_pods.as_ref();
        let is_counted =
            uncounted.is_none_or(|uncounted| uncounted.succeeded.is_empty() && uncounted.failed.is_empty());
        if !is_counted || self.terminating > 0 {
            return false;
        }
        if &*end.r#type == "Complete" {
            status.completion_time = end.last_transition_time;
        }
        status.conditions.push(end);
        true
    }

    fn write(&mut self) -> Result<(), ApiError> {
        let status = self.job.status.clone();
        self.refused(&status)?;
        let was =
            self.ctx.view().jobs.get(Ix::new(self.slot)).is_some_and(|known| is_complete(&known.status));
        let done = self.ctx.api.modify::<Job>(&self.job.meta.key(), |job| job.status = status)?;
        if !was && is_complete(&done.status) {
            self.ctx.api.tell("job-controller", &Object::Job(done), "Completed", "Job completed");
        }
        Ok(())
    }

    /// While the Job waits after a failure, upstream counts no pod as active, and those that are Ready as ready. The API server refuses such a status
    /// (`validateJobStatus`, where one of both changes): nothing is counted, no finalizer goes, and the look is repeated with growing pauses until
    /// the wait is over.
    fn refused(&self, status: &JobStatus) -> Result<(), ApiError> {
        let Some(known) = self.ctx.view().jobs.get(Ix::new(self.slot)) else { return Ok(()) };
        let changes = (known.status.active, known.status.ready) != (status.active, status.ready);
        let ready = status.ready.unwrap_or_default();
        if !changes || ready <= status.active {
            return Ok(());
        }
        let cause = Cause {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {ready}: cannot set more ready pods than active"),
            field: Some("status.ready".to_owned()),
        };
        Err(ApiError::invalid(Kind::Job, self.job.meta.name.as_str(), vec![cause]))
    }
}

/// Counts pods in the status that have no finalizer any more; whether there were any
/// (`cleanUncountedPodsWithoutFinalizers`).
fn count_untracked(job: &mut Job, tracked: &BTreeSet<Uid>) -> bool {
    let status = &mut job.status;
    let Some(uncounted) = &mut status.uncounted_terminated_pods else { return false };
    let count = |uids: &mut Vec<Uid>| {
        let before = uids.len();
        uids.retain(|uid| tracked.contains(uid));
        narrow(before - uids.len())
    };
    let (succeeded, failed) = (count(&mut uncounted.succeeded), count(&mut uncounted.failed));
    status.succeeded += succeeded;
    status.failed += failed;
    succeeded + failed > 0
}

/// Whether the Job has ended with success.
fn is_complete(status: &JobStatus) -> bool {
    replank_model::object::condition::is_true(&status.conditions, "Complete")
}
