//! The report as a page.

use std::fs;
use std::path::Path;

use replank_html::SeedRun;
use replank_rehearse::{RehearsalResult, Stop};

use super::Scene;
use super::document::{Among, Document};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::{About, Run, Timeline};

/// The worst of many rehearsals, and all of them in short.
#[derive(Default)]
pub(super) struct Worst {
    worst: Option<RehearsalResult>,
    runs: Vec<SeedRun>,
}

impl Worst {
    /// Takes one in. Of two that are equally bad, the one with the lower seed stays, in whatever order they come.
    pub(super) fn add(&mut self, result: &RehearsalResult) {
        let of = |result: &RehearsalResult| in_short(&Run::of(result));
        let run = of(result);
        let rank = |run: &SeedRun| (run.badness(), std::cmp::Reverse(run.seed));
        if self.worst.as_ref().is_none_or(|worst| rank(&run) > rank(&of(worst))) {
            self.worst = Some(result.clone());
        }
        self.runs.push(run);
    }

    /// The page; none where there was no rehearsal.
    pub(super) fn page(mut self, scene: &Scene) -> Result<Option<String>, Failure> {
        let Some(worst) = self.worst else { return Ok(None) };
        self.runs.sort_by_key(|run| run.seed);
        spread(&worst, &self.runs, scene).map(Some)
    }
}

/// The page of many rehearsals: the worst of them, and all in short.
pub(super) fn spread(worst: &RehearsalResult, runs: &[SeedRun], scene: &Scene) -> Result<String, Failure> {
    let (document, word) = Document::of(worst, &about(scene), Among::Seeds);
    let document = replank_html::Rehearsal::of(&document).map_err(Failure::internal)?;
    Ok(replank_html::rehearsals(&document, runs, Some(word)))
}

/// A rehearsal as a row of the page.
pub(super) fn in_short(run: &Run) -> SeedRun {
    SeedRun {
        seed: run.seed(),
        verdict: run.verdict().as_str().to_owned(),
        duration_ms: run.duration().as_millis(),
        replaced: run.replaced(),
        moved: run.moved(),
        refused: run.refused(),
        killed: run.killed(),
    }
}

/// The page of one rehearsal.
pub(super) fn page(result: &RehearsalResult, about: &About<'_>) -> Result<String, Failure> {
    let (document, word) = Document::of(result, about, Among::Alone);
    let document = replank_html::Rehearsal::of(&document).map_err(Failure::internal)?;
    Ok(replank_html::rehearsal(&document, Some(word)))
}

/// Writes a page to a file, and says so.
///
/// # Errors
/// Where it cannot be written.
pub(crate) fn save(path: &Path, page: &str, printer: &mut Printer) -> Result<(), Failure> {
    write(path, page)?;
    printer.story(&format!("wrote {}: open it in a browser", path.display()));
    Ok(())
}

/// Writes a file that somebody named.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| {
        Failure::usage_message(format!("cannot write {}: {error}", path.display()))
            .next("name a file in a directory that can be written")
    })
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
