//! What a script made happen besides.

use replank_model::time::Time;
use replank_sim::rehearse::HappeningEntry;
use replank_sim::script::Origin;

use super::page::Page;
use super::words::{count, span};

/// Column of the text beside a moment.
const AT: usize = 12;

pub(super) fn write(page: &mut Page, happenings: &[HappeningEntry], start: Time) {
    if happenings.is_empty() {
        return;
    }
    let of = |origin: Origin| happenings.iter().filter(|entry| entry.origin == origin).count();
    let lines = match (of(Origin::Script), of(Origin::Interruptions)) {
        (lines, 0) => format!("{} of the script", count(lines, "line")),
        (0, rows) => format!("{} of the interruptions", count(rows, "row")),
        (lines, rows) => {
            format!("{} of the script, {} of the interruptions", count(lines, "line"), count(rows, "row"))
        }
    };
    page.heading("Besides", &lines);
    for entry in happenings {
        let what = match &entry.refused {
            Some(why) => format!("{}: had no effect, {why}", entry.what),
            None => entry.what.clone(),
        };
        page.labelled(AT, &span(entry.at - start), &what);
    }
}
