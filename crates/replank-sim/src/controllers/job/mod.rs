//! Jobs: pods that run to their end (pkg/controller/job), and what becomes of the finalizer by which they are counted.

mod backoff;
mod indexes;
mod manage;
mod orphans;
mod policy;
mod track;
mod ttl;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::batch::{CompletionMode, Job, PodReplacementPolicy};
use replank_model::object::condition::{self, Condition, ConditionStatus};
use replank_model::object::pod::{Pod, PodPhase, RestartPolicy};
use replank_model::object::{Kind, Object};
use replank_model::selector::Selector;
use replank_model::text::{Text, Uid};
use replank_model::time::Span;
use replank_model::view::{Change, Ix};
use rustc_hash::FxHashMap;

use super::index::{Index, resolve};
use super::{Controller, Ctx, narrow, pods};
use crate::ties::SharedTies;
use backoff::Record;
use indexes::{Indexes, failures_before, index_of, indexes_of};
use replank_apiserver::ApiError;

pub(super) use orphans::sync as sync_orphan;
pub(super) use ttl::sync as sync_ttl;

/// Finalizer of pods that are not yet counted.
const TRACKING: &str = "batch.kubernetes.io/job-tracking";
/// Who manages Jobs, unless they say otherwise.
const MANAGER: &str = "kubernetes.io/job-controller";
/// Changes of pods and of the status are looked at together after this time (`SyncJobBatchPeriod`).
const BATCH: Span = Span::from_secs(1);

/// What is remembered of all Jobs, by slot.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    records: FxHashMap<u32, (Uid, Record)>,
}

impl Jobs {
    fn record(&self, slot: u32, uid: &Uid) -> Record {
        self.records
            .get(&slot)
            .filter(|(known, _)| known == uid)
            .map(|(_, record)| *record)
            .unwrap_or_default()
    }
}

/// Puts down what is to be looked at because of a change.
pub(super) fn watch(ctx: &mut Ctx<'_>, index: &Index, memory: &mut Jobs, change: &Change) {
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
        (old, Some(Object::Pod(pod))) => {
            let old = match old {
                Some(Object::Pod(old)) => Some(&**old),
                Some(_) | None => None,
            };
            if pod.is_terminating() {
                pod_goes(ctx, *slot, pod);
            } else {
                pod_changed(ctx, index, *slot, old, pod);
            }
        }
        (Some(Object::Pod(gone)), None) => pod_goes(ctx, *slot, gone),
        (Some(_) | None, Some(_)) | (Some(_), None) | (None, None) => {}
    }
}

fn pod_changed(ctx: &mut Ctx<'_>, index: &Index, slot: u32, old: Option<&Pod>, pod: &Pod) {
    let namespace = &pod.meta.namespace;
    let (before, after) = (old.and_then(|old| old.meta.controller()), pod.meta.controller());
    if before != after
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
        ctx.enqueue(Controller::JobOrphan, slot);
    }
    if old.is_some_and(|old| old.meta.labels == pod.meta.labels && before == after) {
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

fn selector(job: &Job) -> Option<Selector> {
    job.spec.selector.as_ref()?.compile().ok()
}

fn is_tracked(pod: &Pod) -> bool {
    pod.meta.finalizers.iter().any(|finalizer| &**finalizer == TRACKING)
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

/// One look at a Job (`syncJobCtx`).
struct Look<'a, 'c> {
    ctx: &'a mut Ctx<'c>,
    memory: &'a mut Jobs,
    ties: Option<&'a SharedTies>,
    slot: u32,
    /// The Job with the status as it is to be.
    job: Job,
    pods: Vec<Arc<Pod>>,
    active: Vec<Arc<Pod>>,
    /// How the Job ends, if it does.
    end: Option<Condition>,
    succeeded: i32,
    failed: i32,
    /// Those counted in the status, and all.
    counted_indexes: Indexes,
    succeeded_indexes: Indexes,
    /// Only with a limit per index.
    failed_indexes: Option<Indexes>,
    record: Record,
    /// Pods in the status that are not yet counted, as they were before this look.
    uncounted: Uncounted,
    /// Failed pods that are kept until their index has a new one.
    kept: BTreeMap<i32, Arc<Pod>>,
    terminating: i32,
    ready: i32,
    /// Whether the status changed.
    changed: bool,
}

/// Pods that have ended and whose finalizer may still be there.
struct Uncounted {
    succeeded: BTreeSet<Uid>,
    failed: BTreeSet<Uid>,
}

impl<'a, 'c> Look<'a, 'c> {
    fn new(
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

    fn count(&mut self) {
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
    fn newly_ended(&self, uncounted: &BTreeSet<Uid>, ended: impl Fn(&Pod) -> bool) -> Vec<Arc<Pod>> {
        let is_new = |pod: &&Arc<Pod>| {
            is_tracked(pod)
                && !uncounted.contains(&pod.meta.uid)
                && (!self.is_indexed() || self.valid_index(pod).is_some())
                && ended(pod)
        };
        self.pods.iter().filter(is_new).cloned().collect()
    }

    /// Whether the Job fails or has succeeded by what has happened so far.
    fn judge(&mut self) {
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

    fn judge_indexes(&mut self) {
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
    fn is_index_failed(&self, pod: &Pod, limit: i32) -> bool {
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
    fn kept_pods(&self) -> BTreeMap<i32, Arc<Pod>> {
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
    fn restarted_too_often(&self) -> bool {
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

    fn condition(&self, r#type: &str, reason: &str, message: &str) -> Condition {
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
    fn is_failed(&self, pod: &Pod) -> bool {
        pod.status.phase == PodPhase::Failed
            || !self.replaces_failed_only() && pod.is_terminating() && !is_succeeded(pod)
    }

    fn replaces_failed_only(&self) -> bool {
        self.job.spec.pod_replacement_policy == Some(PodReplacementPolicy::Failed)
            || self.job.spec.pod_failure_policy.is_some()
    }

    fn is_suspended(&self) -> bool {
        self.job.spec.suspend == Some(true)
    }

    fn is_indexed(&self) -> bool {
        self.job.spec.completion_mode == Some(CompletionMode::Indexed)
    }

    fn completions(&self) -> i32 {
        self.job.spec.completions.unwrap_or(0)
    }

    fn backoff_limit(&self) -> i32 {
        self.job.spec.backoff_limit.unwrap_or(6)
    }

    fn valid_index(&self, pod: &Pod) -> Option<i32> {
        index_of(pod).filter(|index| *index < self.completions())
    }
}

fn is_succeeded(pod: &Pod) -> bool {
    pod.status.phase == PodPhase::Succeeded
}
