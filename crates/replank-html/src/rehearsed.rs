//! The page of a rehearsal, or of many.

use crate::axis::Axis;
use crate::document::Rehearsal;
use crate::markup::Markup;
use crate::page::Frame;
use crate::seeds::{self, SeedRun};
use crate::words::{grouped, millis, moment};
use crate::{availability, batch, findings, summary, tables, timeline};

/// The page of one rehearsal; its verdict in one word, where it is not that of the document.
#[must_use]
pub fn rehearsal(rehearsal: &Rehearsal, word: Option<&str>) -> String {
    page(rehearsal, None, word)
}

/// The page of rehearsals with several seeds: their spread, then the worst of them in full. The runs come with the worst first.
#[must_use]
pub fn rehearsals(worst: &Rehearsal, runs: &[SeedRun], word: Option<&str>) -> String {
    page(worst, Some(runs), word)
}

impl Rehearsal {
    /// It in short.
    #[must_use]
    pub fn in_short(&self) -> SeedRun {
        SeedRun::of(self)
    }
}

fn page(rehearsal: &Rehearsal, runs: Option<&[SeedRun]>, word: Option<&str>) -> String {
    let axis = Axis::new(rehearsal.start, rehearsal.virtual_duration_ms.max(rehearsal.watched_ms));
    let mut first = Markup::default();
    let word = word.unwrap_or(&rehearsal.verdict);
    summary::verdict(word, &summary::sentence(rehearsal), &mut first);
    if let Some(runs) = runs {
        first.leaf("p", &[("class", "quiet")], &spread(runs, rehearsal.seed));
    }
    summary::causes(rehearsal, axis, &mut first);
    summary::next(&rehearsal.next, &mut first);
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
    let plan = if rehearsal.plan.is_empty() { "Rehearsal" } else { &rehearsal.plan };
    let title = format!("{plan}: {word}");
    let on =
        if rehearsal.snapshot.is_empty() { String::new() } else { format!("on {}, ", rehearsal.snapshot) };
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
