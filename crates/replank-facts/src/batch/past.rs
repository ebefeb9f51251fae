//! How long runs of a batch workload have taken, as the objects of finished runs tell.

use std::fmt;

use replank_model::object::batch::Job;
use replank_model::object::condition;
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::text::{Namespace, Text};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use serde_json::Value;

use super::retry;
use crate::workload::{CRON_WORKFLOW, Workload};

/// Where a Workflow says when it began.
const STARTED: &str = "/status/startedAt";

/// Finished runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Past {
    /// How many.
    pub runs: usize,
    /// The shortest.
    pub shortest: Span,
    /// Half of them took no longer.
    pub typical: Span,
    /// The longest.
    pub longest: Span,
}

impl Past {
    fn of(mut spans: Vec<Span>) -> Option<Self> {
        spans.sort_unstable();
        Some(Self {
            runs: spans.len(),
            shortest: *spans.first()?,
            typical: spans[(spans.len() - 1) / 2],
            longest: *spans.last()?,
        })
    }
}

impl fmt::Display for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.runs {
            1 => write!(f, "an earlier run took {}", self.longest),
            runs if self.shortest == self.longest => {
                write!(f, "{runs} earlier runs took {} each", self.longest)
            }
            runs => write!(f, "{runs} earlier runs took {} to {}", self.shortest, self.longest),
        }
    }
}

/// Finished runs of the same origin.
#[must_use]
pub fn of(view: &View, workload: &Workload) -> Option<Past> {
    let spans: Vec<Span> = match &*workload.kind {
        "CronJob" => jobs_of(view, workload).filter_map(job_span).collect(),
        "CronWorkflow" => workflow_spans(view, &workload.key.namespace, workload.key.name.as_str()),
        "Workflow" => {
            let own = view.other("argoproj.io", "Workflow", &workload.key);
            let cron: Option<Text> = own.and_then(|own| own.meta.labels.get(CRON_WORKFLOW).cloned());
            cron.map_or(Vec::new(), |cron| workflow_spans(view, &workload.key.namespace, &cron))
        }
        _ => Vec::new(),
    };
    Past::of(spans)
}

/// Pods of a running Job that have succeeded: each of its indexes takes about as long as the others. Steps of a Workflow do not.
#[must_use]
pub fn of_siblings(view: &View, pod: &Pod) -> Option<Past> {
    let owner = pod.meta.controller().filter(|owner| &*owner.kind == "Job")?;
    // Files written by hand may lack uids.
    let uid = Some(&owner.uid).filter(|uid| !uid.as_str().is_empty())?;
    Past::of(view.pods_of(uid).iter().filter_map(|ix| ran(&view.pods[*ix])).collect())
}

/// How long the main containers of a pod that succeeded ran.
#[must_use]
pub fn ran(pod: &Pod) -> Option<Span> {
    if pod.status.phase != PodPhase::Succeeded {
        return None;
    }
    let ends =
        pod.status.container_statuses.iter().filter_map(|container| container.state.terminated.as_ref());
    let spans = ends.filter_map(|end| Some(end.finished_at? - end.started_at?));
    spans.max().filter(|span| *span > Span::default())
}

/// The Job of a pod.
#[must_use]
pub fn job_of<'v>(view: &'v View, pod: &Pod) -> Option<&'v Job> {
    let owner = pod.meta.controller().filter(|owner| &*owner.kind == "Job")?;
    let key = Key { namespace: pod.meta.namespace.clone(), name: owner.name.clone() };
    view.jobs.by_key(&key).map(|job| &**job)
}

/// When the present run began.
#[must_use]
pub fn started(view: &View, workload: &Workload) -> Option<Time> {
    match &*workload.kind {
        "CronJob" => jobs_of(view, workload)
            .filter(|job| !job.is_finished())
            .filter_map(|job| job.status.start_time)
            .min(),
        "Job" => view.jobs.by_key(&workload.key)?.status.start_time,
        "Workflow" => time(&retry::raw(view, &workload.key)?, STARTED),
        _ => None,
    }
}

/// Until when a run can go on at most: its start and its `activeDeadlineSeconds`, where it has one.
#[must_use]
pub fn bound(view: &View, workload: &Workload) -> Option<Time> {
    let seconds = match &*workload.kind {
        "Job" => view.jobs.by_key(&workload.key)?.spec.active_deadline_seconds,
        "CronJob" => view.cron_jobs.by_key(&workload.key)?.spec.job_template.spec.active_deadline_seconds,
        "Workflow" => return bound_of(&retry::Workflow::read(view, &workload.key)?),
        _ => None,
    };
    Some(started(view, workload)? + Span::from_secs(seconds?))
}

/// The same of a Workflow that has been read.
#[must_use]
pub fn bound_of(workflow: &retry::Workflow) -> Option<Time> {
    let seconds = workflow.spec().get("activeDeadlineSeconds").and_then(retry::number)?;
    Some(time(workflow.raw(), STARTED)? + Span::from_secs(seconds))
}

/// The next full hour.
#[must_use]
pub fn rounded_up(span: Span) -> Span {
    const HOUR: i64 = 3_600_000;
    Span::from_millis((span.as_millis().max(0) / HOUR + 1) * HOUR)
}

fn jobs_of<'a>(view: &'a View, workload: &'a Workload) -> impl Iterator<Item = &'a Job> {
    let jobs = view.jobs.unordered().map(|(_, job)| &**job);
    jobs.filter(|job| {
        job.meta.namespace == workload.key.namespace
            && job
                .meta
                .controller()
                .is_some_and(|owner| owner.kind == workload.kind && owner.name == workload.key.name)
    })
}

fn job_span(job: &Job) -> Option<Span> {
    let is_complete = condition::is_true(&job.status.conditions, "Complete");
    let span = job.status.completion_time? - job.status.start_time?;
    is_complete.then_some(span)
}

fn workflow_spans(view: &View, namespace: &Namespace, cron: &str) -> Vec<Span> {
    let siblings = view.others().filter(|other| {
        &*other.kind == "Workflow"
            && other.group() == "argoproj.io"
            && other.meta.namespace == *namespace
            && other.meta.labels.value(CRON_WORKFLOW) == Some(cron)
    });
    let finished = siblings.filter_map(|other| {
        let raw = retry::raw(view, &other.meta.key())?;
        let has_succeeded = raw.pointer("/status/phase").and_then(Value::as_str) == Some("Succeeded");
        let span = time(&raw, "/status/finishedAt")? - time(&raw, STARTED)?;
        has_succeeded.then_some(span)
    });
    finished.collect()
}

fn time(raw: &Value, pointer: &str) -> Option<Time> {
    raw.pointer(pointer)?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_took_equally_long_have_one_length() {
        let past = |shortest, longest| {
            let (shortest, longest) = (Span::from_minutes(shortest), Span::from_minutes(longest));
            Past { runs: 4, shortest, typical: shortest, longest }.to_string()
        };
        assert_eq!(past(89, 89), "4 earlier runs took 1h29m each");
        assert_eq!(past(89, 120), "4 earlier runs took 1h29m to 2h");
    }
}
