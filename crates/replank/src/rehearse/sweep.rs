//! `replank rehearse --start-sweep`: when to begin, reckoned from schedules and from how long runs took.

use replank_advice::sweep::{STEP, Stretch, Sweep, sweep};
use replank_model::time::{Span, Time};
use replank_sim::Durations;
use serde::Serialize;

use super::{Scene, run};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::RehearseFormat;
use crate::printer::Printer;
use crate::report;

/// The version of the form of a sweep.
const VERSION: &str = "replank.dev/sweep/v1alpha1";
/// Stretches that are named.
const NAMED: usize = 3;

/// A sweep as `-o json` prints it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Printed<'a> {
    version: &'static str,
    from: Time,
    step_ms: i64,
    until_cordon_ms: i64,
    batch_wait_ms: i64,
    series: Vec<Series<'a>>,
    endless: Vec<String>,
    best: Vec<PrintedStretch>,
    worst: Vec<PrintedStretch>,
    starts: Vec<PrintedStart>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Series<'a> {
    object: String,
    schedule: &'a str,
    run_ms: i64,
    runs_seen: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PrintedStretch {
    from: Time,
    until: Time,
    held_ms: i64,
    runs: usize,
    over: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PrintedStart {
    at: Time,
    open: bool,
    held_ms: i64,
    runs: usize,
    over: usize,
}

/// Reckons, and reports.
pub(super) fn answer(
    scene: &Scene,
    span: Span,
    output: RehearseFormat,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let cloud = Durations::learn(&scene.view, scene.now).cloud();
    let until_cordon = cloud.react.high + cloud.boot.high + cloud.ready.high;
    let view = run::with_groups(scene);
    let sweep = sweep(&view, &scene.plan, &run::options(scene), span, until_cordon);
    let (best, worst) = (sweep.best(NAMED), sweep.worst(NAMED));
    match output {
        RehearseFormat::Text => {
            let look = printer.look();
            let text = report::sweep(&sweep, &best, &worst, scene.plan.batch.wait, &scene.plan.name, look);
            printer.data(&text)?;
        }
        RehearseFormat::Markdown => {
            return Err(Failure::usage_message("a change request covers one rehearsal")
                .next("omit --start-sweep, or use -o text for the sweep"));
        }
        RehearseFormat::Github => {
            return Err(Failure::usage_message("a sweep finds nothing that could be annotated")
                .next("omit --start-sweep, or use -o text for the sweep"));
        }
        RehearseFormat::Json => printer.json(&printed(scene, &sweep, &best, &worst))?,
    }
    Ok(Exit::Passes)
}

fn printed<'a>(scene: &Scene, sweep: &'a Sweep, best: &[Stretch], worst: &[Stretch]) -> Printed<'a> {
    let stretches = |stretches: &[Stretch]| stretches.iter().map(stretch).collect();
    let starts = sweep.starts.iter().map(|start| PrintedStart {
        at: start.at,
        open: start.is_open,
        held_ms: start.held.as_millis(),
        runs: start.runs,
        over: start.over,
    });
    let series = sweep.series.iter().map(|series| Series {
        object: series.workload.to_string(),
        schedule: &series.written,
        run_ms: series.length.as_millis(),
        runs_seen: series.seen,
    });
    Printed {
        version: VERSION,
        from: scene.now,
        step_ms: STEP.as_millis(),
        until_cordon_ms: sweep.until_cordon.as_millis(),
        batch_wait_ms: scene.plan.batch.wait.as_millis(),
        series: series.collect(),
        endless: sweep.endless.iter().map(ToString::to_string).collect(),
        best: stretches(best),
        worst: stretches(worst),
        starts: starts.collect(),
    }
}

fn stretch(stretch: &Stretch) -> PrintedStretch {
    PrintedStretch {
        from: stretch.from,
        until: stretch.until,
        held_ms: stretch.held.as_millis(),
        runs: stretch.runs,
        over: stretch.over,
    }
}
