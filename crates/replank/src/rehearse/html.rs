//! `--html`: the report as a page in a file.

use std::fs;
use std::path::Path;

use replank_html::SeedRun;
use replank_rehearse::RehearsalResult;

use super::Scene;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::{self, About, Timeline};

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
        let about = About {
            plan: &scene.plan.name,
            snapshot: &scene.name,
            stop: replank_rehearse::Stop::Ended,
            timeline: Timeline::Shown,
            spread: None,
        };
        let document = replank_html::Rehearsal::of(&worst).map_err(Failure::internal)?;
        let (word, sentence, next) = report::in_words(&worst, &about);
        // More seeds are what it has.
        let next: Vec<String> = next.into_iter().filter(|step| !step.contains("--seeds")).collect();
        let page = replank_html::rehearsals(&document, &self.runs, &said(&about, word, &sentence, &next));
        save(path, &page, printer)
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
    let about = About { timeline: Timeline::Shown, ..*about };
    let document = replank_html::Rehearsal::of(result).map_err(Failure::internal)?;
    let (word, sentence, next) = report::in_words(result, &about);
    save(path, &replank_html::rehearsal(&document, &said(&about, word, &sentence, &next)), printer)
}

fn said<'a>(
    about: &About<'a>,
    word: &'a str,
    sentence: &'a str,
    next: &'a [String],
) -> replank_html::About<'a> {
    replank_html::About {
        plan: about.plan,
        snapshot: about.snapshot,
        word: Some(word),
        // A sentence that leads to a list in the text has no list after it here.
        sentence: if sentence.ends_with(':') { "" } else { sentence },
        next,
    }
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
