//! The page of a journal: what a run did, node by node, and what it waited for.

use replank_journal::{Fate, NodeTale, Tale, WaitTale, word};
use replank_model::time::Time;
use replank_protocol::decision::End;

use crate::axis::Axis;
use crate::document::Phase;
use crate::markup::Markup;
use crate::page::{self, Frame};
use crate::rows::{self, Bar, Row, ShortNames};
use crate::summary;
use crate::tables::table;
use crate::words::{capital, count, grouped, moment, span};

/// Rows of waits, the longest first.
const WAITS_MAX: usize = 100;
/// Pods that are told one by one.
const PODS_MAX: usize = 2_000;

/// The page of a journal.
#[must_use]
pub fn journal(tale: &Tale) -> String {
    let beginning = &tale.beginning;
    let axis = Axis::new(tale.from, tale.took().as_millis());
    let (end, why) = match &tale.end {
        Some(end @ End::Done) => (word(end), &[][..]),
        Some(end @ (End::RolledBack(why) | End::Blocked(why) | End::Cancelled(why) | End::Refused(why))) => {
            (word(end), why.as_slice())
        }
        None => ("not ended", &[][..]),
    };
    let moved = tale.pods().filter(|pod| pod.gone.is_some()).count();
    let sentence = format!(
        "{} in {}, from {} to {} UTC.",
        count(tale.nodes.len(), "node"),
        span(tale.took()),
        moment(tale.from),
        moment(tale.to)
    );
    let mut first = Markup::default();
    // A journal has what was decided and done. What was found before is in the rehearsal's own report, and may be bad.
    if matches!(tale.end, Some(End::Done)) && tale.is_rehearsed() {
        let sentence = format!(
            "{sentence} A journal has no findings: the report of the rehearsal has them, and its verdict."
        );
        summary::verdict_as(summary::OVER, end, &sentence, &mut first);
    } else {
        summary::verdict(end, &sentence, &mut first);
    }
    if !why.is_empty() {
        first.raw("<h2 class=\"small\">What blocks</h2><ul class=\"causes\">");
        for waiting in why {
            first.leaf("li", &[], &axis.told(&waiting.to_string()));
        }
        first.raw("</ul>");
    }
    let by = |fate: Fate| tale.pods().filter(|pod| pod.granted.is_some() && pod.fate == fate).count();
    let mut figures = vec![
        (grouped(tale.nodes.len()), "nodes"),
        (span(tale.took()), "duration"),
        (grouped(moved), "pods gone"),
        (grouped(tale.refused()), "evictions refused"),
    ];
    let rarely = [
        (by(Fate::Deleted), "pods deleted without asking budgets"),
        (by(Fate::ForceDeleted), "pods deleted without grace"),
        (tale.pods().filter(|pod| pod.granted.is_none()).count(), "pods not moved"),
        (tale.unknown, "answers lost"),
        (tale.anew, "times taken over by another process"),
    ];
    figures.extend(
        rarely.into_iter().filter(|(number, _)| *number > 0).map(|(number, what)| (grouped(number), what)),
    );
    summary::figures(&figures, &mut first);
    let mut rest = Markup::default();
    timeline(tale, axis, &mut rest);
    waits(tale, axis, &mut rest);
    pods(tale, axis, &mut rest);
    let heading = capital(&format!("{} of {}", tale.deed(), beginning.of));
    let of = format!("on {}, from {} UTC", beginning.on, moment(tale.from));
    let title = format!("{heading}: {end}");
    Frame { title: &title, kind: "Journal by Replank", heading: &heading, of: &of, first, rest }.into_page()
}

fn timeline(tale: &Tale, axis: Axis, out: &mut Markup) {
    if tale.nodes.is_empty() {
        return;
    }
    page::section("timeline", "Timeline", "nodes in the order in which their pods were moved", out);
    let bars = [Phase::Serving, Phase::Cordoned, Phase::Draining, Phase::Terminating].map(Bar::Phase);
    rows::legend(&bars, out);
    page::toggle(out);
    out.raw("<div class=\"group\">");
    axis.ruler(out);
    let names = ShortNames::of(tale.nodes.iter().map(|node| node.name.as_str()));
    let all: Vec<Row> = tale.nodes.iter().map(|node| row(tale, node, axis, &names)).collect();
    rows::write(axis, &all, out);
    out.raw("</div>");
    page::end_section(out);
}

fn row(tale: &Tale, node: &NodeTale, axis: Axis, names: &ShortNames<'_>) -> Row {
    let starts = [
        (Phase::Serving, Some(tale.from)),
        (Phase::Cordoned, node.cordoned),
        (Phase::Draining, node.drained_from),
        (Phase::Terminating, node.emptied),
        (Phase::Serving, node.uncordoned),
    ];
    let known: Vec<(Phase, Time)> = starts.into_iter().filter_map(|(phase, at)| Some((phase, at?))).collect();
    let end = node.gone.unwrap_or(axis.end());
    let mut bars = Vec::new();
    let mut words = format!("{}:", node.name);
    for (index, (phase, at)) in known.iter().enumerate() {
        let until = known.get(index + 1).map_or(end, |(_, next)| *next);
        // A drained node that stays is empty, and nothing ends it.
        let phase =
            if *phase == Phase::Terminating && node.gone.is_none() { Phase::Cordoned } else { *phase };
        bars.push((Bar::Phase(phase), *at, until));
    }
    let moments = [
        ("cordoned", node.cordoned),
        ("drained from", node.drained_from),
        ("empty", node.emptied),
        ("uncordoned", node.uncordoned),
        ("gone", node.gone),
    ];
    let told: Vec<String> =
        moments.iter().filter_map(|(what, at)| Some(format!(" {what} {}", axis.since((*at)?)))).collect();
    words.push_str(&told.join(","));
    words.push('.');
    let refused: usize = node.pods.iter().map(|pod| pod.refused).sum();
    words.push_str(&format!(" {}, {} refused.", count(node.pods.len(), "pod"), count(refused, "eviction")));
    let left = node.pods.iter().filter(|pod| pod.gone.is_none()).count();
    if left > 0 {
        words.push_str(&format!(" {} left.", count(left, "pod")));
    }
    let name = names.short(node.name.as_str()).to_owned();
    Row { name, aside: count(node.pods.len(), "pod"), bars, words }
}

fn waits(tale: &Tale, axis: Axis, out: &mut Markup) {
    if tale.waits.is_empty() {
        return;
    }
    page::section("waits", "Waited for", "the longest first", out);
    let lasted = |wait: &WaitTale| wait.until.unwrap_or(tale.to) - wait.from;
    let mut waits: Vec<&WaitTale> = tale.waits.iter().collect();
    waits.sort_by_key(|wait| std::cmp::Reverse(lasted(wait)));
    let rows: Vec<Vec<String>> = waits
        .iter()
        .take(WAITS_MAX)
        .map(|wait| vec![span(lasted(wait)), axis.since(wait.from), axis.told(&wait.waiting.to_string())])
        .collect();
    table("Waits", &["Waited ", "From ", "What, and why"], &rows, out);
    if waits.len() > WAITS_MAX {
        let more = format!("and {} more: -o json has them all", count(waits.len() - WAITS_MAX, "wait"));
        out.leaf("p", &[("class", "quiet")], &more);
    }
    page::end_section(out);
}

fn pods(tale: &Tale, axis: Axis, out: &mut Markup) {
    let all = tale.pods().count();
    if all == 0 {
        return;
    }
    page::section("pods", "Pods", "when each was asked to leave, and when it was gone", out);
    out.raw("<details class=\"named\"><summary>");
    out.text(&count(all, "pod"));
    out.raw("</summary>");
    let told = |at: Option<Time>| at.map_or_else(|| "not".to_owned(), |at| axis.since(at));
    let rows: Vec<Vec<String>> = tale
        .nodes
        .iter()
        .flat_map(|node| node.pods.iter().map(move |pod| (node, pod)))
        .take(PODS_MAX)
        .map(|(node, pod)| {
            vec![
                pod.pod.key.to_string(),
                node.name.to_string(),
                axis.since(pod.asked),
                grouped(pod.refused),
                told(pod.granted),
                told(pod.gone),
            ]
        })
        .collect();
    table("Pods", &["Pod", "Node", "Asked ", "Refused ", "Granted ", "Gone "], &rows, out);
    if all > PODS_MAX {
        let more = format!("and {} more: -o json has them all", count(all - PODS_MAX, "pod"));
        out.leaf("p", &[("class", "quiet")], &more);
    }
    out.raw("</details>");
    page::end_section(out);
}
