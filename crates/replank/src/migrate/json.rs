//! The report, for a program.

use replank_core::migrate::Path;
use replank_facts::coverage::Coverage;
use replank_model::text::Name;
use replank_model::time::Time;
use replank_protocol::decision::End;
use replank_protocol::hindrance::Hindrance;
use replank_rehearse::{MigrationResult, Served, Step};
use serde::Serialize;

use super::report::Report;
use super::writers::Writer;
use crate::failure::Failure;

/// The version of the form.
const VERSION: &str = "replank.dev/migration/v1alpha1";

/// What `-o json` prints; docs/migrate.md describes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Form<'a> {
    version: &'static str,
    snapshot: &'a str,
    moment: Time,
    coverage: &'a Coverage,
    kind: &'static str,
    object: String,
    writers: &'a [Writer],
    selector: &'a str,
    new_selector: &'a str,
    hindrances: Hindrances,
    way: Option<&'static str>,
    rehearsal: Option<Rehearsal<'a>>,
}

#[derive(Serialize)]
struct Hindrances {
    both: Vec<String>,
    keep: Vec<String>,
    twin: Vec<String>,
    rollout: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rehearsal<'a> {
    ending: &'static str,
    took_ms: i64,
    waiting: Vec<String>,
    steps: &'a [Step],
    services: &'a [Served],
    autoscalers: &'a [Name],
    pods: usize,
    pods_kept: usize,
    pods_max: usize,
    absent_ms: i64,
    assumptions: Vec<String>,
}

fn words(hindrances: &[Hindrance]) -> Vec<String> {
    hindrances.iter().map(ToString::to_string).collect()
}

/// What it was still waiting on; nothing once it is done.
fn waiting(result: &MigrationResult) -> Vec<String> {
    let waiting = if result.end == Some(End::Done) { &[][..] } else { &result.waiting };
    waiting.iter().map(|waiting| waiting.on.to_string()).collect()
}

fn ending(end: Option<&End>) -> &'static str {
    match end {
        Some(End::Done) => "done",
        Some(End::RolledBack(_)) => "rolledBack",
        Some(End::Blocked(_)) => "blocked",
        Some(End::Cancelled(_)) => "cancelled",
        Some(End::Refused(_)) => "refused",
        None => "timeUp",
    }
}

pub(super) fn json(report: &Report) -> Result<String, Failure> {
    let rehearsal = report.result.as_ref().map(|result| Rehearsal {
        ending: ending(result.end.as_ref()),
        took_ms: result.took.as_millis(),
        waiting: waiting(result),
        steps: &result.steps,
        services: &result.services,
        autoscalers: &result.autoscalers,
        pods: result.pods,
        pods_kept: result.kept,
        pods_max: result.pods_max,
        absent_ms: result.absent.as_millis(),
        assumptions: result.assumptions.iter().map(|one| format!("{}: {}", one.about, one.value)).collect(),
    });
    let judgement = &report.judgement;
    let form = Form {
        version: VERSION,
        snapshot: &report.name,
        moment: report.now,
        coverage: &report.coverage,
        kind: report.kind.kind().as_str(),
        object: report.key.to_string(),
        writers: &report.writers,
        selector: &report.before,
        new_selector: &report.after,
        hindrances: Hindrances {
            both: words(&judgement.both),
            keep: words(judgement.against(Path::Keep)),
            twin: words(judgement.against(Path::Twin)),
            rollout: words(judgement.against(Path::Rollout)),
        },
        way: report.path.as_ref().ok().map(|path: &Path| path.as_str()),
        rehearsal,
    };
    let mut text = serde_json::to_string_pretty(&form).map_err(Failure::internal)?;
    text.push('\n');
    Ok(text)
}
