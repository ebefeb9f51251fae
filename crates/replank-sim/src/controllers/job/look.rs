//! One look at a Job.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::batch::{CompletionMode, Job, PodReplacementPolicy};
use replank_model::object::condition;
use replank_model::object::condition::{Condition, ConditionStatus};
use replank_model::object::pod::{Pod, PodPhase, RestartPolicy};
use replank_model::selector::Selector;
use replank_model::text::{Text, Uid};
use replank_model::time::Span;
use rustc_hash::FxHashMap;

use super::backoff::Record;
use super::indexes::{Indexes, failures_before, index_of, indexes_of};
use super::{backoff, policy};
use crate::controllers::{Controller, Ctx, narrow};
use crate::ties::SharedTies;

/// Finalizer of pods that are not yet counted.
pub(super) const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// Who manages Jobs, unless they say otherwise.
pub(super) const MANAGER: &str = "kubernetes.io/job-controller";

/// Changes of pods and of the status are looked at together after this time (`SyncJobBatchPeriod`).
pub(super) const BATCH: Span = Span::from_secs(1);

/// What is remembered of all Jobs, by slot.
#[derive(Debug, Default)]
pub(in crate::controllers) struct Jobs {
    pub(super) records: FxHashMap<u32, (Uid, Record)>,
}

impl Jobs {
    pub(super) fn record(&self, slot: u32, uid: &Uid) -> Record {
        self.records
            .get(&slot)
            .filter(|(known, _)| known == uid)
            .map(|(_, record)| *record)
            .unwrap_or_default()
    }
}

pub(super) fn selector(job: &Job) -> Option<Selector> {
    job.spec.selector.as_ref()?.compile().ok()
}

pub(super) fn is_tracked(pod: &Pod) -> bool {
    pod.meta.finalizers.iter().any(|finalizer| &**finalizer == TRACKING)
}

/// One look at a Job (`syncJobCtx`).
pub(super) struct Look<'a, 'c> {
    pub(super) ctx: &'a mut Ctx<'c>,
    pub(super) memory: &'a mut Jobs,
    pub(super) ties: Option<&'a SharedTies>,
    pub(super) slot: u32,
    /// The Job with the status as it is to be.
    pub(super) job: Job,
    pub(super) pods: Vec<Arc<Pod>>,
    pub(super) active: Vec<Arc<Pod>>,
    /// How the Job ends, if it does.
    pub(super) end: Option<Condition>,
    pub(super) succeeded: i32,
    pub(super) failed: i32,
    /// Those counted in the status, and all.
    pub(super) counted_indexes: Indexes,
    pub(super) succeeded_indexes: Indexes,
    /// Only with a limit per index.
    pub(super) failed_indexes: Option<Indexes>,
    pub(super) record: Record,
    /// Pods in the status that are not yet counted, as they were before this look.
    pub(super) uncounted: Uncounted,
    /// Failed pods that are kept until their index has a new one.
    pub(super) kept: BTreeMap<i32, Arc<Pod>>,
    pub(super) terminating: i32,
    pub(super) ready: i32,
    /// Whether the status changed.
    pub(super) changed: bool,
}

/// Pods that have ended and whose finalizer may still be there.
pub(super) struct Uncounted {
    pub(super) succeeded: BTreeSet<Uid>,
    pub(super) failed: BTreeSet<Uid>,
}

impl<'a, 'c> Look<'a, 'c> {
    pub(super) fn new(
        ctx: &'a mut Ctx<'c>,
        memory: &'a mut Jobs,
        ties: Option<&'a SharedTies>,
        slot: u32,
        job: &Arc<Job>,
        pods: Vec<Arc<Pod>>,
    ) -> Self {
        let mut job = Job::clone(job);
        let uncounted = job.status.uncounted_terminated_pods.get_or_insert_default();
        let uncounted = Uncounted {
            succeeded: uncounted.succeeded.iter().cloned().collect(),
            failed: uncounted.failed.iter().cloned().collect(),
        };
        let active: Vec<_> = pods.iter().filter(|pod| pod.is_active()).cloned().collect();
        let record = memory.record(slot, &job.meta.uid);
        let mut look = Self {
            ready: narrow(active.iter().filter(|pod| pod.is_ready()).count()),
            terminating: narrow(pods.iter().filter(|pod| pod.is_terminating() && !pod.is_terminal()).count()),
            ctx,
            memory,
            ties,
            slot,
            job,
            pods,
            active,
            end: None,
            succeeded: 0,
            failed: 0,
            counted_indexes: Indexes::default(),
            succeeded_indexes: Indexes::default(),
            failed_indexes: None,
            record,
            uncounted,
            kept: BTreeMap::new(),
            changed: false,
        };
        look.count();
        look
    }

    pub(super) fn count(&mut self) {
        let succeeded = self.newly_ended(&self.uncounted.succeeded, is_succeeded);
        let failed = self.newly_ended(&self.uncounted.failed, |pod| self.is_failed(pod));
        let counted = failed.iter().filter(|pod| policy::judge(&self.job, pod).counts).count();
        self.succeeded =
            self.job.status.succeeded + narrow(succeeded.len()) + narrow(self.uncounted.succeeded.len());
        self.failed = self.job.status.failed + narrow(counted) + narrow(self.uncounted.failed.len());
        if self.job.status.start_time.is_none() && !self.is_suspended() {
            self.job.status.start_time = Some(self.ctx.api.timestamp());
        }
        self.record = self.record.with(&succeeded, &failed);
    }

    /// Pods that ended in a way and are neither counted nor about to be (`getValidPodsWithFilter`).
    pub(super) fn newly_ended(
        &self,
        uncounted: &BTreeSet<Uid>,
        ended: impl Fn(&Pod) -> bool,
    ) -> Vec<Arc<Pod>> {
        let is_new = |pod: &&Arc<Pod>| {
            is_tracked(pod)
                && !uncounted.contains(&pod.meta.uid)
                && (!self.is_indexed() || self.valid_index(pod).is_some())
                && ended(pod)
        };
        self.pods.iter().filter(is_new).cloned().collect()
    }

    /// Whether the Job fails or has succeeded by what has happened so far.
    pub(super) fn judge(&mut self) {
        let now = self.ctx.api.now();
        let conditions = &self.job.status.conditions;
        let is_true = |r#type: &str| {
            condition::find(conditions, r#type).filter(|found| found.status == ConditionStatus::True)
        };
        self.end = is_true("SuccessCriteriaMet").cloned().or_else(|| {
            is_true("FailureTarget").map(|target| self.condition("Failed", &target.reason, &target.message))
        });
        if self.end.is_none() {
            let mut failed = self.pods.iter().filter(|pod| self.is_failed(pod));
            let message = failed.find_map(|pod| policy::judge(&self.job, pod).message);
            self.end = message.map(|message| self.condition("FailureTarget", "PodFailurePolicy", &message));
        }
        if self.end.is_none() {
            let deadline = self.job.spec.active_deadline_seconds.filter(|_| !self.is_suspended());
            let deadline = deadline.zip(self.job.status.start_time);
            let left = deadline.map(|(seconds, start)| start + Span::from_secs(seconds) - now);
            if self.failed > self.backoff_limit() || self.restarted_too_often() {
                let why = "Job has reached the specified backoff limit";
                self.end = Some(self.condition("FailureTarget", "BackoffLimitExceeded", why));
            } else if let Some(left) = left {
                if left <= Span::ZERO {
                    let why = "Job was active longer than specified deadline";
                    self.end = Some(self.condition("FailureTarget", "DeadlineExceeded", why));
                } else {
                    self.ctx.enqueue_after(Controller::Job, self.slot, left);
                }
            }
        }
        if self.is_indexed() {
            self.judge_indexes();
        }
    }

    pub(super) fn judge_indexes(&mut self) {
        let completions = self.completions();
        let status = &self.job.status;
        self.counted_indexes = Indexes::parse(&status.completed_indexes, completions);
        let tracked = || self.pods.iter().filter(|pod| is_tracked(pod));
        let new = tracked().filter(|pod| is_succeeded(pod)).filter_map(|pod| self.valid_index(pod));
        self.succeeded_indexes = self.counted_indexes.union(&new.collect());
        self.succeeded = self.succeeded_indexes.total();
        if let Some(limit) = self.job.spec.backoff_limit_per_index {
            let known = Indexes::parse(status.failed_indexes.as_deref().unwrap_or(""), completions);
            let new = tracked().filter(|pod| self.is_index_failed(pod, limit));
            let failed = known.union(&new.filter_map(|pod| self.valid_index(pod)).collect());
            let total = failed.total();
            if self.end.is_none() {
                if self.job.spec.max_failed_indexes.is_some_and(|max| total > max) {
                    let why = "Job has exceeded the specified maximal number of failed indexes";
                    self.end = Some(self.condition("FailureTarget", "MaxFailedIndexesExceeded", why));
                } else if total > 0 && total + self.succeeded_indexes.total() >= completions {
                    let why = "Job has failed indexes";
                    self.end = Some(self.condition("FailureTarget", "FailedIndexes", why));
                }
            }
            self.failed_indexes = Some(failed);
            self.kept = self.kept_pods();
        }
        if self.end.is_none() {
            let policy = self.job.spec.success_policy.as_ref();
            let met = policy::success(policy, completions, &self.succeeded_indexes);
            self.end = met.map(|why| self.condition("SuccessCriteriaMet", "SuccessPolicy", &why));
        }
    }

    /// Whether a pod's failure makes its index fail (`isIndexFailed`).
    pub(super) fn is_index_failed(&self, pod: &Pod, limit: i32) -> bool {
        use replank_model::object::batch::PodFailureAction;
        if !self.is_failed(pod) {
            return false;
        }
        let verdict = policy::judge(&self.job, pod);
        verdict.action == Some(PodFailureAction::FailIndex)
            || verdict.counts && failures_before(pod).0 >= limit
    }

    /// The last failed pod of each index that neither has an active pod nor has ended: it carries the number of failures
    /// (`getPodsWithDelayedDeletionPerIndex`).
    pub(super) fn kept_pods(&self) -> BTreeMap<i32, Arc<Pod>> {
        let active = indexes_of(self.active.iter().map(|pod| &**pod));
        let failed = self.failed_indexes.clone().unwrap_or_default();
        let mut kept: BTreeMap<i32, Arc<Pod>> = BTreeMap::new();
        for pod in self.newly_ended(&BTreeSet::new(), |pod| self.is_failed(pod)) {
            let Some(index) = self.valid_index(&pod) else { continue };
            if self.succeeded_indexes.has(index) || failed.has(index) || active.has(index) {
                continue;
            }
            let failures = |pod: &Pod| failures_before(pod).0 + failures_before(pod).1;
            let is_later = kept.get(&index).is_none_or(|known| {
                failures(known) <= failures(&pod) && backoff::finished(&pod) >= backoff::finished(known)
            });
            if is_later {
                kept.insert(index, pod);
            }
        }
        kept
    }

    /// Whether containers that are started again in place have failed too often (`pastBackoffLimitOnFailure`).
    pub(super) fn restarted_too_often(&self) -> bool {
        if self.job.spec.template.spec.restart_policy != Some(RestartPolicy::OnFailure) {
            return false;
        }
        let alive = self.pods.iter().map(|pod| &pod.status);
        let alive = alive.filter(|status| matches!(status.phase, PodPhase::Running | PodPhase::Pending));
        let restarts: i32 = alive
            .flat_map(|status| status.init_container_statuses.iter().chain(&status.container_statuses))
            .map(|status| status.restart_count)
            .sum();
        match self.backoff_limit() {
            0 => restarts > 0,
            limit => restarts >= limit,
        }
    }

    pub(super) fn condition(&self, r#type: &str, reason: &str, message: &str) -> Condition {
        let now = Some(self.ctx.api.timestamp());
        Condition {
            r#type: Text::from(r#type),
            status: ConditionStatus::True,
            reason: Text::from(reason),
            message: Text::from(message),
            last_transition_time: now,
            last_probe_time: now,
            ..Condition::default()
        }
    }

    /// Whether a pod has failed, or counts as such because it goes (`isPodFailed`).
    pub(super) fn is_failed(&self, pod: &Pod) -> bool {
        pod.status.phase == PodPhase::Failed
            || !self.replaces_failed_only() && pod.is_terminating() && !is_succeeded(pod)
    }

    pub(super) fn replaces_failed_only(&self) -> bool {
        self.job.spec.pod_replacement_policy == Some(PodReplacementPolicy::Failed)
            || self.job.spec.pod_failure_policy.is_some()
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.job.spec.suspend == Some(true)
    }

    pub(super) fn is_indexed(&self) -> bool {
        self.job.spec.completion_mode == Some(CompletionMode::Indexed)
    }

    pub(super) fn completions(&self) -> i32 {
        self.job.spec.completions.unwrap_or(0)
    }

    pub(super) fn backoff_limit(&self) -> i32 {
        self.job.spec.backoff_limit.unwrap_or(6)
    }

    pub(super) fn valid_index(&self, pod: &Pod) -> Option<i32> {
        index_of(pod).filter(|index| *index < self.completions())
    }
}

pub(super) fn is_succeeded(pod: &Pod) -> bool {
    pod.status.phase == PodPhase::Succeeded
}
