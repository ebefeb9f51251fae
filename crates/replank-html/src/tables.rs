//! What is told in tables: waits, scheduled runs, events, assumptions, coverage, evidence.

use crate::axis::Axis;
use crate::document::Rehearsal;
use crate::markup::Markup;
use crate::page;
use crate::words::{count, grouped, millis, moment};

/// Rows of waits, the longest first.
const WAITS_MAX: usize = 60;
/// Rows of other tables.
const ROWS_MAX: usize = 200;

/// A table. Columns whose heading ends in a blank hold numbers.
pub(crate) fn table(caption: &str, head: &[&str], rows: &[Vec<String>], out: &mut Markup) {
    out.open("div", &[("class", if head.len() > 3 { "table wide" } else { "table" })]);
    out.raw("<table>");
    out.leaf("caption", &[("class", "unseen")], caption);
    out.raw("<thead><tr>");
    for cell in head {
        let class = if cell.ends_with(' ') { "number" } else { "text" };
        out.leaf("th", &[("scope", "col"), ("class", class)], cell.trim_end());
    }
    out.raw("</tr></thead><tbody>");
    for row in rows {
        out.raw("<tr>");
        for (cell, head) in row.iter().zip(head) {
            match head.ends_with(' ') {
                true => out.leaf("td", &[("class", "number")], cell),
                false => out.leaf("td", &[], cell),
            }
        }
        out.raw("</tr>");
    }
    out.raw("</tbody></table></div>");
}

pub(crate) fn more(all: usize, shown: usize, what: &str, out: &mut Markup) {
    if all > shown {
        let text = format!("and {} more: the JSON has them all", count(all - shown, what));
        out.leaf("p", &[("class", "quiet")], &text);
    }
}

pub(crate) fn waits(rehearsal: &Rehearsal, axis: Axis, out: &mut Markup) {
    if rehearsal.waits.is_empty() {
        return;
    }
    page::section("waits", "Waited for", "what took the time, the longest total first", out);
    let rows: Vec<Vec<String>> = rehearsal
        .waits
        .iter()
        .take(WAITS_MAX)
        .map(|wait| {
            vec![millis(wait.waited_ms), axis.since(wait.since), wait.what.clone(), axis.told(&wait.reason)]
        })
        .collect();
    table("Waits", &["In total ", "First from ", "What", "Last reason"], &rows, out);
    more(rehearsal.waits.len(), WAITS_MAX, "wait", out);
    page::end_section(out);
}

pub(crate) fn events(rehearsal: &Rehearsal, axis: Axis, out: &mut Markup) {
    let script = rehearsal.script_events.iter().map(|event| {
        let what = match &event.refused {
            None => axis.told(&event.what),
            Some(why) => axis.told(&format!("{} (no effect: {why})", event.what)),
        };
        (event.at, vec![axis.since(event.at), "script".to_owned(), what])
    });
    let noticed = rehearsal
        .noticed
        .iter()
        .map(|one| (one.at, vec![axis.since(one.at), "noticed".to_owned(), axis.told(&one.what)]));
    let mut all: Vec<_> = script.chain(noticed).collect();
    all.sort_by_key(|(at, _)| *at);
    if all.is_empty() {
        return;
    }
    page::section("events", "Other events", "what a script did, and what the run noticed of others", out);
    let rows: Vec<Vec<String>> = all.into_iter().map(|(_, row)| row).collect();
    table("Events", &["At ", "Source", "What"], &rows[..rows.len().min(ROWS_MAX)], out);
    more(rows.len(), ROWS_MAX, "event", out);
    page::end_section(out);
}

pub(crate) fn starts(rehearsal: &Rehearsal, out: &mut Markup) {
    if rehearsal.starts.is_empty() {
        return;
    }
    page::section("starts", "Next starts", "scheduled runs that may land on the nodes", out);
    let rows: Vec<Vec<String>> = rehearsal
        .starts
        .iter()
        .take(ROWS_MAX)
        .map(|start| {
            vec![
                start.next.map_or_else(|| "none within five years".to_owned(), moment),
                format!("{} {}/{}", start.kind, start.namespace, start.name),
                start.schedule.clone(),
                grouped(start.within),
                grouped(start.on_old_nodes),
            ]
        })
        .collect();
    table("Next starts", &["Next", "What", "Schedule", "During the roll ", "On old nodes "], &rows, out);
    more(rehearsal.starts.len(), ROWS_MAX, "schedule", out);
    page::end_section(out);
}

pub(crate) fn assumptions(rehearsal: &Rehearsal, out: &mut Markup) {
    if rehearsal.assumptions.is_empty() {
        return;
    }
    let learnt = rehearsal.assumptions.iter().filter(|one| one.source == "learnt").count();
    let beside = format!(
        "{} learnt from the snapshot, {} assumed",
        grouped(learnt),
        grouped(rehearsal.assumptions.len() - learnt)
    );
    page::section("assumptions", "Assumptions", &beside, out);
    let rows: Vec<Vec<String>> = rehearsal
        .assumptions
        .iter()
        .take(ROWS_MAX)
        .map(|one| {
            let source = match one.source.as_str() {
                "learnt" => format!("learnt, {}", count(one.samples, "observation")),
                _ => "assumed".to_owned(),
            };
            vec![one.about.clone(), one.value.clone(), source]
        })
        .collect();
    table("Assumptions", &["About", "Value", "Source"], &rows, out);
    more(rehearsal.assumptions.len(), ROWS_MAX, "assumption", out);
    page::end_section(out);
}

pub(crate) fn coverage(rehearsal: &Rehearsal, out: &mut Markup) {
    let coverage = &rehearsal.coverage;
    let beside = if coverage.complete { "complete" } else { "incomplete" };
    page::section("coverage", "Coverage", beside, out);
    list("Missing, and needed", &coverage.missing, out);
    list("Missing, and accepted", &coverage.accepted, out);
    let absent: Vec<String> = coverage
        .absent
        .iter()
        .map(|one| format!("{}{}: {}", one.kind, if one.needed { " (needed)" } else { "" }, one.unseen))
        .collect();
    list("Kinds of which the input has none", &absent, out);
    if coverage.skipped.parts > 0 {
        list(
            &format!("Not read: {} of the input", count(size(coverage.skipped.parts), "part")),
            &coverage.skipped.first,
            out,
        );
    }
    let present: Vec<String> = coverage
        .present
        .iter()
        .map(|(kind, objects)| format!("{kind} {}", grouped(size(*objects))))
        .collect();
    if !present.is_empty() {
        out.raw("<h3>Read</h3>");
        out.leaf("p", &[], &present.join(" · "));
    }
    page::end_section(out);
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn list(heading: &str, items: &[String], out: &mut Markup) {
    if items.is_empty() {
        return;
    }
    out.leaf("h3", &[], heading);
    out.raw("<ul>");
    for item in items.iter().take(ROWS_MAX) {
        out.leaf("li", &[], item);
    }
    out.raw("</ul>");
    more(items.len(), ROWS_MAX, "line", out);
}

/// How the run ended, in words that do not gainsay the verdict: a run that has replaced all that it could is blocked by the rest.
fn ending(rehearsal: &Rehearsal) -> String {
    let left = rehearsal.nodes.total.saturating_sub(rehearsal.nodes.replaced);
    match (rehearsal.verdict.as_str(), rehearsal.ending.as_str()) {
        ("partial", "blocked") => format!("with {} not replaced", count(left, "node")),
        (_, word) => word.to_owned(),
    }
}

pub(crate) fn evidence(rehearsal: &Rehearsal, out: &mut Markup) {
    page::section("evidence", "Evidence", "", out);
    let mut rows = vec![
        vec!["Snapshot time".to_owned(), format!("{} UTC", moment(rehearsal.start))],
        vec!["Seed".to_owned(), rehearsal.seed.to_string()],
        vec!["Trace".to_owned(), rehearsal.trace_hash.clone()],
        vec!["Events simulated".to_owned(), grouped(rehearsal.events)],
        vec!["Pods moved more than once".to_owned(), grouped(rehearsal.pods.moved_more_than_once)],
        vec!["Pods preempted".to_owned(), grouped(rehearsal.pods.preempted)],
        vec!["Nodes left cordoned".to_owned(), grouped(rehearsal.nodes.cordoned)],
    ];
    if !rehearsal.ending.is_empty() {
        rows.insert(0, vec!["The run ended".to_owned(), ending(rehearsal)]);
    }
    table("Evidence", &["What", "Value"], &rows, out);
    out.raw("<p class=\"quiet\">Equal objects, plan, seed and program give the same rehearsal and the same trace.</p>");
    page::end_section(out);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn how_a_run_ended_does_not_gainsay_the_verdict() {
        let told = |verdict: &str, end: &str| {
            let document = json!({"verdict": verdict, "ending": end, "seed": 1, "traceHash": "", "start": "2026-11-20T10:00:00Z",
                "virtualDurationMs": 0, "nodes": {"total": 3, "replaced": 2}, "pods": {}});
            ending(&Rehearsal::of(&document).expect("a document"))
        };
        assert_eq!(told("partial", "blocked"), "with 1 node not replaced");
        assert_eq!(told("blocked", "blocked"), "blocked");
        assert_eq!(told("findings", "done"), "done");
    }
}
