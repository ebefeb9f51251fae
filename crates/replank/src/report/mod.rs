//! The report of a rehearsal, for a person: pure functions from a result to text.
//!
//! Most important first: what was found before the start, then how the roll went, what was waited for, the timeline if it
//! was asked for, what had to be assumed, and at the end, where the eye is in a terminal, the verdict and what to do next.

mod about;
mod assumptions;
mod badness;
mod batch;
mod compare;
mod connections;
mod elasticity;
pub(crate) mod findings;
mod happened;
mod interruptions;
pub(crate) mod markdown;
mod noticed;
mod page;
pub(crate) mod request;
mod roll;
mod run;
mod seeds;
mod starts;
mod sweep;
mod tally;
mod timeline;
mod verdict;
mod waits;
pub(crate) mod words;

use crate::coverage;
pub(crate) use about::{About, Timeline};
pub(crate) use compare::{Comparison, comparison};
use replank_rehearse::RehearsalResult;

#[cfg(test)]
mod documented;
#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;

pub(crate) use badness::Badness;
pub(crate) use page::{Cell, Color, Lean, Look, Page, Tone, cut, wrap};
pub(crate) use run::{Row, Run};
pub(crate) use seeds::{Rows, seeds};
pub(crate) use sweep::sweep;
pub(crate) use tally::{Lowest, Summary, Tally};
pub(crate) use verdict::in_words;

/// The report in short: what was found, the figures and the verdict.
pub(crate) fn short(result: &RehearsalResult, about: &About<'_>, look: Look) -> String {
    let mut page = Page::new(look);
    findings::write(&mut page, &result.findings);
    roll::write(&mut page, result, about);
    verdict::write_alone(&mut page, result, about);
    page.into_text()
}

/// The report of one rehearsal.
pub(crate) fn text(result: &RehearsalResult, about: &About<'_>, look: Look) -> String {
    let mut page = Page::new(look);
    findings::write(&mut page, &result.findings);
    roll::write(&mut page, result, about);
    connections::write(&mut page, &result.connections);
    elasticity::write(&mut page, result);
    interruptions::write(&mut page, &result.interruptions, result.start);
    happened::write(&mut page, &result.script_events, result.start);
    waits::write(&mut page, &result.waits);
    starts::write(&mut page, result);
    noticed::write(&mut page, result);
    match about.timeline {
        Timeline::Shown => timeline::write(&mut page, result),
        Timeline::Left => {}
    }
    assumptions::write(&mut page, &result.assumptions);
    coverage::write(&mut page, &result.coverage);
    verdict::write(&mut page, result, about);
    page.into_text()
}
