//! When CronJobs and CronWorkflows begin next whose pods may land on the nodes.

use replank_rehearse::{RehearsalResult, StartEntry};

use super::page::{Page, Tone};
use super::words::{count, span};

/// Those that a person reads; the others are in `-o json`.
const LINES_MAX: usize = 12;
/// Column of the text beside a moment.
const AT: usize = 14;

pub(super) fn write(page: &mut Page, result: &RehearsalResult) {
    let starts = &result.starts;
    if starts.is_empty() {
        return;
    }
    page.heading("Next starts", "runs that may land on the nodes");
    for entry in starts.iter().take(LINES_MAX) {
        let next = entry.next.map_or("never".to_owned(), |at| format!("in {}", span(at - result.start)));
        let held = held(entry).map_or(String::new(), |held| format!(", {held}"));
        page.labelled(AT, &next, &format!("{} ({}): {}{held}", named(entry), entry.schedule, within(entry)));
    }
    if starts.len() > LINES_MAX {
        let more = starts.len() - LINES_MAX;
        page.wrapped(AT, &format!("and {more} more: -o json has them all"), Tone::Faint);
    }
}

/// Kind, namespace and name.
pub(super) fn named(entry: &StartEntry) -> String {
    format!("{} {}/{}", entry.kind, entry.namespace, entry.name)
}

/// How many times came while the roll went on.
pub(super) fn within(entry: &StartEntry) -> String {
    match entry.within {
        0 => "not within the roll".to_owned(),
        1 => "once within the roll".to_owned(),
        number => format!("{number} times within the roll"),
    }
}

/// What runs met, if they met nodes that are replaced.
pub(super) fn held(entry: &StartEntry) -> Option<String> {
    (entry.on_old_nodes > 0).then(|| format!("{} on nodes to be replaced", count(entry.on_old_nodes, "run")))
}
