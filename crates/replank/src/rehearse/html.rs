//! `--html`: the report as a page in a file.

use std::fs;
use std::path::Path;

use replank_html::SeedRun;
use replank_rehearse::{RehearsalResult, Stop};

use super::Scene;
use super::document::{Among, Document};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::{About, Timeline};

/// The worst of many rehearsals, and all of them in short.
#[derive(Default)]
pub(super) struct Worst {
    worst: Option<RehearsalResult>,
    runs: Vec<SeedRun>,
}

impl Worst {
    /// Takes one in. Of two that are equally bad, the one with the lower seed stays, in whatever order they come.
    pub(super) fn add(&mut self, result: &RehearsalResult) {
        let run = in_short(result);
        let rank = |run: &SeedRun| (run.badness(), std::cmp::Reverse(run.seed));
        if self.worst.as_ref().is_none_or(|worst| rank(&run) > rank(&in_short(worst))) {
            self.worst = Some(result.clone());
        }
        self.runs.push(run);
    }

    /// Writes the page, if there was any.
    pub(super) fn write(mut self, path: &Path, scene: &Scene, printer: &mut Printer) -> Result<(), Failure> {
        let Some(worst) = self.worst else { return Ok(()) };
        self.runs.sort_by_key(|run| run.seed);
        let (document, word) = Document::of(&worst, &about(scene), Among::Seeds);
        let document = replank_html::Rehearsal::of(&document).map_err(Failure::internal)?;
        save(path, &replank_html::rehearsals(&document, &self.runs, Some(word)), printer)
    }
}

fn in_short(result: &RehearsalResult) -> SeedRun {
    SeedRun {
        seed: result.seed,
        verdict: result.verdict.as_str().to_owned(),
        duration_ms: result.virtual_duration.as_millis(),
        moved: result.pods.moved,
        refused: result.pods.evictions_refused,
        killed: result.batch.killed,
    }
}

/// Writes the page of one rehearsal.
pub(super) fn write(
    path: &Path,
    result: &RehearsalResult,
    about: &About<'_>,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let (document, word) = Document::of(result, about, Among::Alone);
    let document = replank_html::Rehearsal::of(&document).map_err(Failure::internal)?;
    save(path, &replank_html::rehearsal(&document, Some(word)), printer)
}

/// Writes a page to a file, and says so.
///
/// # Errors
/// Where it cannot be written.
pub(crate) fn save(path: &Path, page: &str, printer: &mut Printer) -> Result<(), Failure> {
    let name = path.display();
    fs::write(path, page).map_err(|error| {
        Failure::usage_message(format!("cannot write {name}: {error}"))
            .next("name a file in a directory that can be written")
    })?;
    printer.story(&format!("wrote {name}: open it in a browser"));
    Ok(())
}

/// What is said of each of many.
pub(super) fn about(scene: &Scene) -> About<'_> {
    About {
        plan: &scene.plan.name,
        snapshot: &scene.name,
        stop: Stop::Ended,
        timeline: Timeline::Shown,
        spread: None,
    }
}
