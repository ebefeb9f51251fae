//! How long runs of a batch workload have taken, as the objects of finished runs tell.

use std::fmt;

use replank_model::object::batch::Job;
use replank_model::object::condition;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use serde_json::Value;

use super::super::workload::Workload;
use super::workflow;

/// Label of a Workflow that a CronWorkflow made.
const CRON_WORKFLOW: &str = "workflows.argoproj.io/cron-workflow";

/// Finished runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Past {
    pub(super) runs: usize,
    pub(super) shortest: Span,
    pub(super) longest: Span,
}

impl fmt::Display for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.runs {
            1 => write!(f, "an earlier run took {}", self.longest),
            runs => write!(f, "{runs} earlier runs took {} to {}", self.shortest, self.longest),
        }
    }
}

/// Finished runs of the same origin.
pub(super) fn of(view: &View, workload: &Workload) -> Option<Past> {
    let spans: Vec<Span> = match &*workload.kind {
        "CronJob" => jobs_of(view, workload).filter_map(job_span).collect(),
        "Workflow" => workflow_spans(view, workload),
        _ => Vec::new(),
    };
    Some(Past { runs: spans.len(), shortest: *spans.iter().min()?, longest: *spans.iter().max()? })
}

/// When the present run began.
pub(super) fn started(view: &View, workload: &Workload) -> Option<Time> {
    match &*workload.kind {
        "CronJob" => jobs_of(view, workload)
            .filter(|job| !job.is_finished())
            .filter_map(|job| job.status.start_time)
            .min(),
        "Job" => view.jobs.by_key(&workload.key)?.status.start_time,
        "Workflow" => time(&workflow::raw(view, &workload.key)?, "/status/startedAt"),
        _ => None,
    }
}

/// The next full hour.
pub(super) fn rounded_up(span: Span) -> Span {
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

fn workflow_spans(view: &View, workload: &Workload) -> Vec<Span> {
    let own = view.other("argoproj.io", "Workflow", &workload.key);
    let Some(cron) = own.and_then(|own| own.meta.labels.get(CRON_WORKFLOW)) else { return Vec::new() };
    let siblings = view.others().filter(|other| {
        &*other.kind == "Workflow"
            && other.group() == "argoproj.io"
            && other.meta.namespace == workload.key.namespace
            && other.meta.labels.get(CRON_WORKFLOW) == Some(cron)
    });
    let finished = siblings.filter_map(|other| {
        let raw = workflow::raw(view, &other.meta.key())?;
        let has_succeeded = raw.pointer("/status/phase").and_then(Value::as_str) == Some("Succeeded");
        let span = time(&raw, "/status/finishedAt")? - time(&raw, "/status/startedAt")?;
        has_succeeded.then_some(span)
    });
    finished.collect()
}

fn time(raw: &Value, pointer: &str) -> Option<Time> {
    raw.pointer(pointer)?.as_str()?.parse().ok()
}
