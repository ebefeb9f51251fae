//! What a script made happen besides.

use replank_model::time::Time;
use replank_rehearse::ScriptEventEntry;
use replank_sim::script::Origin;

use super::page::Page;
use super::words::{count, span};

/// Column of the text beside a moment.
const AT: usize = 12;

pub(super) fn write(page: &mut Page, events: &[ScriptEventEntry], start: Time) {
    if events.is_empty() {
        return;
    }
    let of = |origin: Origin| events.iter().filter(|entry| entry.origin == origin).count();
    let told = [
        (of(Origin::Script), "line", "the script"),
        (of(Origin::Interruptions), "row", "the interruptions"),
        (of(Origin::Rates), "rate", "interruptions"),
    ];
    let told = told.into_iter().filter(|(number, ..)| *number > 0);
    let told: Vec<String> =
        told.map(|(number, noun, of)| format!("{} of {of}", count(number, noun))).collect();
    page.heading("Other events", &told.join(", "));
    for entry in events {
        let what = match &entry.refused {
            Some(why) => format!("{}: had no effect, {why}", entry.what),
            None => entry.what.clone(),
        };
        page.labelled(AT, &span(entry.at - start), &what);
    }
}
