//! What others did in the middle of the run.

use replank_rehearse::RehearsalResult;

use super::page::{Page, Tone};
use super::words::{count, span};

/// Lines that a person reads; the others are in `-o json`.
const LINES_MAX: usize = 10;

pub(super) fn write(page: &mut Page, result: &RehearsalResult) {
    let noticed = &result.noticed;
    if noticed.is_empty() {
        return;
    }
    page.heading("Changes by external actors", "noticed and left as they are");
    for entry in noticed.iter().take(LINES_MAX) {
        page.wrapped(2, &format!("{}  {}", span(entry.at - result.start), entry.what), Tone::Plain);
    }
    if noticed.len() > LINES_MAX {
        let more = count(noticed.len() - LINES_MAX, "change");
        page.wrapped(2, &format!("and {more} more: -o json has them all"), Tone::Faint);
    }
}
