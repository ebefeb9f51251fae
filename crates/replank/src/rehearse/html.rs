//! The report as a page.

use std::cmp::Reverse;
use std::fs;
use std::path::Path;

use replank_html::SeedRun;
use replank_rehearse::{RehearsalResult, Stop};

use super::Scene;
use super::document::{Among, Document};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::{About, Badness, Run, Timeline};

/// The page of many rehearsals: the worst of them, and all in short.
pub(super) fn spread(worst: &RehearsalResult, runs: &[Run], scene: &Scene) -> Result<String, Failure> {
    let mut runs: Vec<&Run> = runs.iter().collect();
    runs.sort_by_key(|run| Reverse(Badness::of(run)));
    let rows: Vec<SeedRun> = runs.into_iter().map(in_short).collect();
    let (document, word) = Document::of(worst, &about(scene), Among::Seeds);
    let document = replank_html::Rehearsal::of(&document).map_err(Failure::internal)?;
    Ok(replank_html::rehearsals(&document, &rows, Some(word)))
}

/// A rehearsal as a row of the page.
fn in_short(run: &Run) -> SeedRun {
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
