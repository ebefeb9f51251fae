//! Making and deleting a Job's pods (`manageJob`), and what follows for its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::Kind;
use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::meta::Meta;
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::text::Text;
use replank_model::time::Span;

use super::indexes::{FAILURES, IGNORED_FAILURES, INDEX, Indexes, failures_before, index_of, indexes_of};
use super::{BATCH, Look, TRACKING, backoff, policy};
use crate::controllers::replica_set::{choose_plainly, compare_plainly};
use crate::controllers::{Controller, narrow, pods};
use replank_apiserver::{ApiError, DeleteOptions};

/// Pods made, or deleted, in one look at most (`MaxPodCreateDeletePerSync`).
const CHANGES_MAX: usize = 500;
/// Longest prefix of a generated name.
const PREFIX_MAX: usize = 58;

impl Look<'_, '_> {
    /// Brings the pods nearer to what they should be. An error does not keep the status from being written.
    pub(super) fn act(&mut self) -> Result<(), ApiError> {
        let known = (self.job.status.active, self.job.status.ready, self.job.status.terminating);
        let (active, done) = if self.end.is_some() { self.remove_active() } else { self.go_on() };
        let status = &mut self.job.status;
        status.active = active;
        status.ready = Some(self.ready);
        status.terminating = Some(self.terminating);
        self.changed |= known != (status.active, status.ready, status.terminating);
        done
    }

    /// The Job is about to end: its active pods go, with their finalizers (`deleteActivePods`).
    fn remove_active(&mut self) -> (i32, Result<(), ApiError>) {
        let mut done = Ok(());
        let mut left = 0;
        for pod in self.active.clone() {
            let deleted = pods::delete(self.ctx, &pod);
            self.ready -= i32::from(pod.is_ready());
            match deleted {
                Ok(()) => self.terminating += 1,
                Err(error) => {
                    left += 1;
                    done = Err(error);
                }
            }
        }
        if left > 0 {
            // Pods that remain would not be counted.
            self.end = None;
        }
        (left, done)
    }

    fn go_on(&mut self) -> (i32, Result<(), ApiError>) {
        let is_managed = !self.job.meta.is_terminating();
        let (active, done) = match is_managed {
            true => self.manage(),
            false => (narrow(self.active.len()), Ok(())),
        };
        let is_complete = match self.job.spec.completions {
            None => self.succeeded > 0 && active == 0,
            Some(completions) => self.succeeded >= completions && active == 0,
        };
        if is_complete {
            let why = "Reached expected number of succeeded pods";
            self.end = Some(self.condition("SuccessCriteriaMet", "CompletionsReached", why));
        } else if is_managed {
            self.tell_suspension();
        }
        (active, done)
    }

    /// Says whether the Job is held. One that goes on begins anew.
    fn tell_suspension(&mut self) {
        let suspended = condition::find(&self.job.status.conditions, "Suspended");
        let was = suspended.map(|condition| condition.status);
        let (is, reason, message) = match self.is_suspended() {
            true => (ConditionStatus::True, "JobSuspended", "Job suspended"),
            false => (ConditionStatus::False, "JobResumed", "Job resumed"),
        };
        if was == Some(is) || was.is_none() && is == ConditionStatus::False {
            return;
        }
        let mut new = self.condition("Suspended", reason, message);
        new.status = is;
        self.job.status.start_time = (!self.is_suspended()).then(|| self.ctx.api.timestamp());
        let conditions = &mut self.job.status.conditions;
        match conditions.iter_mut().find(|known| &*known.r#type == "Suspended") {
            Some(known) => *known = new,
            None => conditions.push(new),
        }
        self.changed = true;
    }

    /// Makes or deletes pods; returns how many are active then.
    fn manage(&mut self) -> (i32, Result<(), ApiError>) {
        let active = narrow(self.active.len());
        if self.is_suspended() {
            let all = self.for_removal(self.active.len());
            return self.delete(&all);
        }
        let parallelism = self.job.spec.parallelism.unwrap_or(1);
        let wanted = match self.job.spec.completions {
            // After the first success the others are left to end.
            None if self.succeeded > 0 => active,
            None => parallelism,
            Some(completions) => (completions - self.succeeded).min(parallelism).max(0),
        };
        let mut doomed = self.for_removal(usize::try_from(active - wanted).unwrap_or(0));
        doomed.truncate(CHANGES_MAX);
        if !doomed.is_empty() {
            return self.delete(&doomed);
        }
        let waits_for = if self.replaces_failed_only() { self.terminating } else { 0 };
        match usize::try_from(wanted - waits_for - active) {
            Ok(missing) if missing > 0 => self.create(missing.min(CHANGES_MAX)),
            Ok(_) | Err(_) => (active, Ok(())),
        }
    }

    /// Pods that are too many: those without a valid index of their own, and others until there are enough
    /// (`activePodsForRemoval`).
    fn for_removal(&self, at_least: usize) -> Vec<Arc<Pod>> {
        let (mut doomed, left) = match self.is_indexed() {
            true => self.split_doubles(),
            false => (Vec::new(), self.active.clone()),
        };
        let more = at_least.saturating_sub(doomed.len());
        doomed.extend(choose_plainly(self.ties, left, more, self.ctx.api.now()));
        doomed
    }

    fn split_doubles(&self) -> (Vec<Arc<Pod>>, Vec<Arc<Pod>>) {
        let (mut doomed, mut left) = (Vec::new(), Vec::new());
        let mut by_index: BTreeMap<i32, Vec<Arc<Pod>>> = BTreeMap::new();
        for pod in &self.active {
            match index_of(pod) {
                Some(index) if index < self.completions() => {
                    by_index.entry(index).or_default().push(pod.clone());
                }
                Some(_) | None => doomed.push(pod.clone()),
            }
        }
        for mut doubles in by_index.into_values() {
            doubles.sort_by(|a, b| compare_plainly(a, b).then_with(|| a.meta.uid.cmp(&b.meta.uid)));
            left.extend(doubles.pop());
            doomed.append(&mut doubles);
        }
        (doomed, left)
    }

    /// Deletes pods that are not to be counted (`deleteJobPods`).
    fn delete(&mut self, doomed: &[Arc<Pod>]) -> (i32, Result<(), ApiError>) {
        let mut done = Ok(());
        let mut active = narrow(self.active.len());
        for pod in doomed {
            let options = DeleteOptions { uid: Some(pod.meta.uid.clone()), ..DeleteOptions::default() };
            let deleted = super::orphans::untrack(self.ctx, pod)
                .and_then(|()| self.ctx.api.delete(Kind::Pod, &pod.meta.key(), &options));
            self.ready -= i32::from(pod.is_ready());
            match deleted {
                Err(error) if error.code != 404 => done = Err(error),
                Ok(_) | Err(_) => {
                    active -= 1;
                    self.terminating += 1;
                }
            }
        }
        (active, done)
    }

    /// Makes pods, in batches that double as long as nothing fails; after failures only when the pause is over.
    fn create(&mut self, missing: usize) -> (i32, Result<(), ApiError>) {
        let now = self.ctx.api.now();
        let per_index = self.job.spec.backoff_limit_per_index.is_some();
        let mut pause = if per_index { Span::ZERO } else { self.record.remaining(now) };
        let mut indexes: Vec<Option<i32>> = vec![None; missing];
        if self.is_indexed() && pause <= Span::ZERO {
            let pending = self.pending_indexes(missing);
            let pauses: Vec<Span> =
                pending
                    .iter()
                    .map(|index| {
                        if per_index { backoff::remaining_of_index(self.kept.get(index), now) } else { pause }
                    })
                    .collect();
            let ready = pending.iter().zip(&pauses).filter(|(_, pause)| **pause <= Span::ZERO);
            indexes = ready.map(|(index, _)| Some(*index)).collect();
            if indexes.is_empty() {
                pause = pauses.into_iter().min().unwrap_or(Span::ZERO);
            }
        }
        if pause > Span::ZERO {
            self.ctx.enqueue_after(Controller::Job, self.slot, pause.max(BATCH));
            // As upstream, even if others are active.
            return (0, Ok(()));
        }
        let mut active = narrow(self.active.len());
        let mut done = Ok(());
        let (mut next, mut batch) = (0, 1);
        while next < indexes.len() && done.is_ok() {
            for index in indexes.iter().skip(next).take(batch) {
                match self.ctx.api.create(self.pod(*index)) {
                    Ok(pod) => {
                        active += 1;
                        let what = ("SuccessfulCreate", "job-controller");
                        pods::tell(self.ctx, &self.job, what, pod.meta.name.as_str());
                    }
                    Err(error) if pods::is_namespace_terminating(&error) => active += 1,
                    Err(error) => {
                        pods::tell_failure(self.ctx, &self.job, "job-controller", &error);
                        done = Err(error);
                    }
                }
            }
            next += batch;
            batch *= 2;
        }
        (active, done)
    }

    /// The first indexes that need a pod (`firstPendingIndexes`).
    fn pending_indexes(&self, count: usize) -> Vec<i32> {
        let mut taken = self.succeeded_indexes.union(&indexes_of(self.active.iter().map(|pod| &**pod)));
        if self.replaces_failed_only() {
            let going = self.pods.iter().filter(|pod| pod.is_terminating() && !pod.is_terminal());
            taken = taken.union(&indexes_of(going.map(|pod| &**pod)));
        }
        let failed = self.failed_indexes.clone().unwrap_or_default();
        let taken: Indexes = taken.union(&failed);
        taken.missing(count, self.completions())
    }

    /// A pod, not yet stored.
    fn pod(&self, index: Option<i32>) -> Pod {
        let mut pod = pods::from_template(&self.job, &self.job.spec.template);
        if !pod.meta.finalizers.iter().any(|known| &**known == TRACKING) {
            pod.meta.finalizers.push(Text::from(TRACKING));
        }
        let Some(index) = index else { return pod };
        let name = &self.job.meta.name;
        let spec: &mut PodSpec = Arc::make_mut(&mut pod.spec);
        spec.hostname = Text::from(format!("{name}-{index}"));
        let suffix = format!("-{index}-");
        let prefix: String = name.as_str().chars().take(PREFIX_MAX - suffix.len()).collect();
        pod.meta.generate_name = Some(Text::from(format!("{prefix}{suffix}")));
        let text = index.to_string();
        pod.meta.labels = pod.meta.labels.with(INDEX, text.as_str());
        pod.meta.annotations = pod.meta.annotations.with(INDEX, text.as_str());
        if self.job.spec.backoff_limit_per_index.is_some() {
            self.hand_on_failures(&mut pod.meta, self.kept.get(&index));
        }
        pod
    }

    /// A pod carries the failures of its index (`addIndexFailureCountAnnotation`).
    fn hand_on_failures(&self, meta: &mut Meta, replaced: Option<&Arc<Pod>>) {
        let (mut counted, mut ignored) = (0, 0);
        if let Some(pod) = replaced {
            (counted, ignored) = failures_before(pod);
            match policy::judge(&self.job, pod).counts {
                true => counted += 1,
                false => ignored += 1,
            }
        }
        meta.annotations = meta.annotations.with(FAILURES, counted.to_string());
        if ignored > 0 {
            meta.annotations = meta.annotations.with(IGNORED_FAILURES, ignored.to_string());
        }
    }
}
