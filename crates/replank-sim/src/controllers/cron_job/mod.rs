//! CronJobs: a Job at every time of a schedule (pkg/controller/cronjob).

mod clock;
mod history;
mod look;

use std::sync::Arc;

use jiff::tz::TimeZone;
use replank_model::cron::{self, Schedule};
use replank_model::object::batch::{ConcurrencyPolicy, CronJob, Job, ObjectReference};
use replank_model::object::meta::Meta;
use replank_model::object::{Kind, Object};
use replank_model::text::{Name, Text};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, Ix};
use rustc_hash::FxHashMap;

use super::index::{Index, resolve};
use super::{Controller, Ctx, pods};
use clock::{due, until_next};
use replank_apiserver::ApiError;

use look::Look;

/// Annotation with the time for which a Job was made.
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// Schedules read so far, by their text and zone; `None` where one cannot be read.
#[derive(Debug, Default)]
pub(super) struct Schedules(FxHashMap<(Text, Option<Text>), Option<Arc<Schedule>>>);

impl Schedules {
    /// The schedule of a CronJob; `None` if it cannot be read.
    fn of(&mut self, cron: &CronJob) -> Option<Arc<Schedule>> {
        let key = (cron.spec.schedule.clone(), cron.spec.time_zone.clone());
        self.0.entry(key).or_insert_with(|| cron.schedule().ok().map(Arc::new)).clone()
    }
}

/// The zone of a CronJob, that of the controller manager (UTC) if it names none; `None` if nobody knows it.
fn zone(cron: &CronJob) -> Option<TimeZone> {
    cron::zone(cron.spec.time_zone.as_deref().unwrap_or_default()).ok()
}

/// Puts down what is to be looked at because of a change.
pub(super) fn watch(ctx: &mut Ctx<'_>, schedules: &mut Schedules, change: &Change) {
    let Change::Object { slot, old, new } = change else { return };
    match (old, new) {
        (Some(Object::CronJob(old)), Some(Object::CronJob(new)))
            if old.spec.schedule != new.spec.schedule || old.spec.time_zone != new.spec.time_zone =>
        {
            // An unreadable schedule waits for the next one.
            let schedule = schedules.of(new);
            if let Some(span) = schedule.and_then(|schedule| until_next(new, &schedule, ctx.api.now())) {
                ctx.enqueue_after(Controller::CronJob, *slot, span);
            }
        }
        (_, Some(Object::CronJob(_))) => ctx.enqueue(Controller::CronJob, *slot),
        (Some(Object::CronJob(_)), None) => ctx.queue.forget(Controller::CronJob, *slot),
        (old, new) => {
            let owner = |object: &Option<Object>| match object {
                Some(Object::Job(job)) => {
                    resolve(ctx.view(), Kind::CronJob, &job.meta.namespace, job.meta.controller())
                }
                Some(_) | None => None,
            };
            let (before, after) = (owner(old), owner(new));
            for cron in before.filter(|before| Some(*before) != after).into_iter().chain(after) {
                ctx.enqueue(Controller::CronJob, cron);
            }
        }
    }
}

/// Looks at a CronJob.
pub(super) fn sync(
    ctx: &mut Ctx<'_>,
    index: &Index,
    schedules: &mut Schedules,
    slot: u32,
) -> Result<(), ApiError> {
    let Some(cron) = ctx.view().cron_jobs.get(Ix::new(slot)).cloned() else { return Ok(()) };
    let table = &ctx.view().jobs;
    let owned = index.owned_by(Kind::Job, &cron.meta.uid);
    let jobs: Vec<Arc<Job>> =
        owned.into_iter().filter_map(|slot| table.get(Ix::new(slot)).cloned()).collect();
    let mut look = Look { ctx, cron: CronJob::clone(&cron) };
    look.forget_oldest(&jobs);
    let next = look.start_if_due(schedules, &jobs);
    let status = look.cron.status;
    if status != cron.status {
        ctx.api.modify::<CronJob>(&cron.meta.key(), |cron| cron.status = status)?;
    }
    if let Some(span) = next? {
        ctx.enqueue_after(Controller::CronJob, slot, span);
    }
    Ok(())
}

impl Look<'_, '_> {
    /// Makes a Job if it is time; returns when to look again (`syncCronJob`).
    fn start_if_due(
        &mut self,
        schedules: &mut Schedules,
        jobs: &[Arc<Job>],
    ) -> Result<Option<Span>, ApiError> {
        self.note_ended(jobs);
        if self.cron.meta.is_terminating() || self.cron.spec.suspend == Some(true) {
            return Ok(None);
        }
        let (Some(zone), Some(schedule)) = (zone(&self.cron), schedules.of(&self.cron)) else {
            return Ok(None);
        };
        let now = self.ctx.api.now();
        let at = match due(&self.cron, &schedule, now) {
            Ok(Some(at)) => at,
            Ok(None) => return Ok(until_next(&self.cron, &schedule, now)),
            // A schedule that never comes.
            Err(_) => return Ok(None),
        };
        if self.is_to_start(at, now) {
            if self.cron.spec.concurrency_policy == Some(ConcurrencyPolicy::Replace) {
                self.delete_active()?;
            }
            if !self.start(at, &zone)? {
                return Ok(None);
            }
        }
        Ok(until_next(&self.cron, &schedule, now))
    }

    /// Whether a Job is made for a time that has come.
    fn is_to_start(&self, at: Time, now: Time) -> bool {
        let deadline = self.cron.spec.starting_deadline_seconds;
        let is_too_late = deadline.is_some_and(|seconds| at + Span::from_secs(seconds) < now);
        let status = &self.cron.status;
        let name = job_name(&self.cron, at);
        let is_done =
            status.active.iter().any(|job| job.name == name) || status.last_schedule_time == Some(at);
        let is_forbidden =
            self.cron.spec.concurrency_policy == Some(ConcurrencyPolicy::Forbid) && !status.active.is_empty();
        !is_too_late && !is_done && !is_forbidden
    }

    /// Makes the Job of a time; whether the time is dealt with.
    fn start(&mut self, at: Time, zone: &TimeZone) -> Result<bool, ApiError> {
        let job = job_of(&self.cron, at, zone);
        let key = job.meta.key();
        let made = match self.ctx.api.create(job) {
            Ok(made) => made,
            Err(error) if error.reason == "AlreadyExists" => {
                let Some(known) = self.ctx.view().jobs.by_key(&key).cloned() else { return Err(error) };
                let is_own = known.meta.controller().is_some_and(|owner| owner.uid == self.cron.meta.uid);
                if !is_own || self.cron.status.active.iter().any(|job| job.uid == known.meta.uid) {
                    return Ok(false);
                }
                known
            }
            Err(error) => return Err(error),
        };
        let status = &mut self.cron.status;
        status.active.push(ObjectReference {
            api_version: Text::from("batch/v1"),
            kind: Text::from("Job"),
            namespace: made.meta.namespace.clone(),
            name: made.meta.name.clone(),
            uid: made.meta.uid.clone(),
        });
        status.last_schedule_time = Some(at);
        Ok(true)
    }
}

/// The name of the Job of a time: the minutes since 1970 tell one from the other.
fn job_name(cron: &CronJob, at: Time) -> Name {
    Name::from(format!("{}-{}", cron.meta.name, at.as_millis().div_euclid(60_000)))
}

/// The Job of a time, not yet stored (`getJobFromTemplate2`).
fn job_of(cron: &CronJob, at: Time, zone: &TimeZone) -> Job {
    let template = &cron.spec.job_template;
    Job {
        meta: Meta {
            namespace: cron.meta.namespace.clone(),
            name: job_name(cron, at),
            labels: template.meta.labels.clone(),
            annotations: template.meta.annotations.with(SCHEDULED, clock::rfc3339(at, zone)),
            owner_references: vec![pods::controller_reference(cron)].into(),
            ..Meta::default()
        },
        spec: template.spec.clone(),
        ..Job::default()
    }
}
