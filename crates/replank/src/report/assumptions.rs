//! What had to be assumed, and what the snapshot shows.

use replank_rehearse::AssumptionEntry;

use super::page::{Page, Tone};
use super::words::count;

/// Learnt ones that a person reads; defaults are always shown, since they are what may be wrong.
const LEARNT_MAX: usize = 8;
/// Column of the text beside a label.
const AT: usize = 12;

pub(super) fn write(page: &mut Page, assumptions: &[AssumptionEntry]) {
    if assumptions.is_empty() {
        return;
    }
    let (learnt, defaults): (Vec<_>, Vec<_>) = assumptions.iter().partition(|entry| entry.source == "learnt");
    page.heading(
        "Durations",
        &format!("{} learnt from the snapshot, {} assumed", learnt.len(), defaults.len()),
    );
    for entry in learnt.iter().take(LEARNT_MAX) {
        let samples = count(entry.samples, "observation");
        page.labelled(AT, "learnt", &format!("{}: {} ({samples})", entry.about, entry.value));
    }
    if learnt.len() > LEARNT_MAX {
        page.wrapped(
            AT,
            &format!("and {} more: -o json has them all", learnt.len() - LEARNT_MAX),
            Tone::Faint,
        );
    }
    for entry in defaults {
        page.labelled(AT, "assumed", &format!("{}: {}", entry.about, entry.value));
    }
}
