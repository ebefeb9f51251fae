//! The page of a rehearsal, or of many.

use crate::axis::Axis;
use crate::document::Rehearsal;
use crate::markup::Markup;
use crate::page::Frame;
use crate::seeds::{self, SeedRun};
use crate::words::{grouped, millis, moment};
use crate::{availability, batch, findings, summary, tables, timeline};

/// What a page says beside the result. All of it may be left empty: then the page says what the document itself does.
#[derive(Clone, Debug, Default)]
pub struct About<'a> {
    /// The plan's name.
    pub plan: &'a str,
    /// What was read.
    pub snapshot: &'a str,
    /// The verdict in one word, where it is not that of the document.
    pub word: Option<&'a str>,
    /// The verdict in a sentence.
    pub sentence: &'a str,
    /// What to do next.
    pub next: &'a [String],
}

/// The page of one rehearsal.
#[must_use]
pub fn rehearsal(rehearsal: &Rehearsal, about: &About<'_>) -> String {
    page(rehearsal, None, about)
}

/// The page of rehearsals with several seeds: their spread, then the worst of them in full.
#[must_use]
pub fn rehearsals(worst: &Rehearsal, runs: &[SeedRun], about: &About<'_>) -> String {
    page(worst, Some(runs), about)
}

impl Rehearsal {
    /// It in short.
    #[must_use]
    pub fn in_short(&self) -> SeedRun {
        SeedRun::of(self)
    }
}

fn page(rehearsal: &Rehearsal, runs: Option<&[SeedRun]>, about: &About<'_>) -> String {
    let axis = Axis::new(rehearsal.start, rehearsal.virtual_duration_ms.max(rehearsal.watched_ms));
    let mut first = Markup::default();
    let word = about.word.unwrap_or(&rehearsal.verdict);
    let own = summary::sentence(rehearsal);
    let sentence = if about.sentence.is_empty() { &own } else { about.sentence };
    summary::verdict(word, sentence, &mut first);
    if let Some(runs) = runs {
        first.leaf("p", &[("class", "quiet")], &spread(runs, rehearsal.seed));
    }
    summary::causes(rehearsal, &mut first);
    summary::next(about.next, &mut first);
    summary::figures(&summary::of(rehearsal), &mut first);
    let mut rest = Markup::default();
    if let Some(runs) = runs {
        seeds::write(runs, rehearsal.seed, &mut rest);
    }
    findings::write(rehearsal, &mut rest);
    timeline::write(rehearsal, axis, &mut rest);
    availability::write(rehearsal, axis, &mut rest);
    batch::write(rehearsal, &mut rest);
    tables::waits(rehearsal, axis, &mut rest);
    tables::events(rehearsal, axis, &mut rest);
    tables::starts(rehearsal, &mut rest);
    tables::assumptions(rehearsal, &mut rest);
    tables::coverage(rehearsal, &mut rest);
    tables::evidence(rehearsal, &mut rest);
    let plan = if about.plan.is_empty() { "Rehearsal" } else { about.plan };
    let title = format!("{plan}: {word}");
    let on = if about.snapshot.is_empty() { String::new() } else { format!("on {}, ", about.snapshot) };
    let of = format!("{on}as of {} UTC", moment(rehearsal.start));
    Frame { title: &title, kind: "Rehearsal by Replank", heading: plan, of: &of, first, rest }.into_page()
}

/// `Worst of 20 seeds: seed 7. Half took at most 2h11m, 95 % at most 2h30m, all at most 2h31m.`
fn spread(runs: &[SeedRun], worst: u64) -> String {
    let mut durations: Vec<i64> = runs.iter().map(|run| run.duration_ms).collect();
    durations.sort_unstable();
    let at = |percent| millis(seeds::percentile(&durations, percent));
    format!(
        "The worst of {} seeds, seed {worst}. Half took at most {}, 95 % at most {}, all at most {}.",
        grouped(runs.len()),
        at(50),
        at(95),
        at(100)
    )
}
