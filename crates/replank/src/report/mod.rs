//! The report of a rehearsal, for a person: pure functions from a result to text.
//!
//! Most important first: what was found before the start, then how the roll went, what was waited for, the timeline if it
//! was asked for, what had to be assumed, and at the end, where the eye is in a terminal, the verdict and what to do next.

mod assumptions;
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
mod seeds;
mod starts;
mod sweep;
mod timeline;
mod verdict;
mod waits;
pub(crate) mod words;

#[cfg(test)]
mod documented;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

use replank_rehearse::{RehearsalResult, Stop};

pub(crate) use page::{Cell, Color, Lean, Look, Page, Tone, wrap};
pub(crate) use seeds::{Run, Summary, seeds};
pub(crate) use sweep::sweep;

/// What a report says beside the result itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    /// The plan's name.
    pub(crate) plan: &'a str,
    /// What was read.
    pub(crate) snapshot: &'a str,
    /// Why the rehearsal stopped.
    pub(crate) stop: Stop,
    /// Whether every node's timeline is shown.
    pub(crate) timeline: Timeline,
}

/// Whether every node's timeline is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeline {
    /// Node by node.
    Shown,
    /// Not at all.
    Left,
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
    verdict::write(&mut page, result, about);
    page.into_text()
}
