//! What a script made happen besides.

use replank_model::time::Time;
use replank_sim::rehearse::HappeningEntry;

use super::page::Page;
use super::words::{count, span};

/// Column of the text beside a moment.
const AT: usize = 12;

pub(super) fn write(page: &mut Page, happenings: &[HappeningEntry], start: Time) {
    if happenings.is_empty() {
        return;
    }
    page.heading("Besides", &format!("{} of the script", count(happenings.len(), "line")));
    for entry in happenings {
        let what = match &entry.refused {
            Some(why) => format!("{}: had no effect, {why}", entry.what),
            None => entry.what.clone(),
        };
        page.labelled(AT, &span(entry.at - start), &what);
    }
}
