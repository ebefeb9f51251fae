//! Many rehearsals of one plan, with a seed each.

use replank_rehearse::RehearsalResult;
use serde::Serialize;

use super::html;
use super::run::{self, Remedies};
use super::scene::{Scene, json};
use crate::cli::RehearseArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::DocumentFormat;
use crate::printer::Printer;
use crate::report::{self, Run, Summary, Tally};

/// The version of the form of many rehearsals.
pub(super) const SEEDS_VERSION: &str = "replank.dev/rehearsals/v1alpha1";

/// Many rehearsals, as `-o json` prints them.
#[derive(Serialize)]
pub(super) struct Rehearsals<'a, T> {
    pub(super) version: &'static str,
    pub(super) summary: &'a Summary,
    pub(super) rehearsals: &'a [T],
}

/// What a change request says where many are asked for.
pub(super) fn one_rehearsal_only() -> Failure {
    Failure::usage_message("a change request covers one rehearsal")
        .next("omit --seeds, or use -o text for the spread")
}

/// Rehearses with the seeds from 1 on, and reports the spread.
///
/// # Errors
/// Where the report cannot be written, or is one of a single rehearsal.
pub(super) fn many(
    args: &RehearseArgs,
    scene: &Scene,
    seeds: u64,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let mut tally = Tally::default();
    let limit = args.limit;
    let mut worst = args.html.as_ref().map(|_| html::Worst::default());
    let remedies = if args.html.is_some() { Remedies::Proved } else { Remedies::Untried };
    let text = match args.output {
        DocumentFormat::Text => {
            // Of a result only a line is kept: a hundred thousand of them fit.
            let mut runs: Vec<Run> = Vec::new();
            run::many(scene, 1..=seeds, limit, remedies, interrupt, |result| {
                tally.add(&result);
                worst.iter_mut().for_each(|worst| worst.add(&result));
                runs.push(Run::of(&result));
            });
            runs.sort_by_key(Run::seed);
            let look = printer.look();
            (!runs.is_empty()).then(|| Ok(report::seeds(&runs, &tally.summary(), look)))
        }
        DocumentFormat::Json => {
            let mut results: Vec<RehearsalResult> = Vec::new();
            run::many(scene, 1..=seeds, limit, Remedies::Proved, interrupt, |result| {
                tally.add(&result);
                worst.iter_mut().for_each(|worst| worst.add(&result));
                results.push(result);
            });
            results.sort_by_key(|result| result.seed);
            let summary = &tally.summary();
            let all = Rehearsals { version: SEEDS_VERSION, summary, rehearsals: &results };
            (!results.is_empty()).then(|| json(&all))
        }
        DocumentFormat::Markdown => {
            return Err(one_rehearsal_only());
        }
    };
    let Some(text) = text else {
        printer.warning("interrupted by Ctrl-C before the first rehearsal finished");
        return Ok(Exit::Interrupted);
    };
    if let Some((path, worst)) = args.html.as_deref().zip(worst) {
        worst.write(path, scene, printer)?;
    }
    printer.data(&text?)?;
    let summary = tally.summary();
    if interrupt.is_pressed() {
        printer.warning(&format!("interrupted by Ctrl-C after {} of {seeds} seeds", summary.seeds));
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::of(summary.verdict))
}
