//! The head of a page: the verdict in a word and a sentence, figures, what blocks, and what to do next.

use crate::axis::Axis;
use crate::document::{Cause, Rehearsal};
use crate::markup::Markup;
use crate::words::{capital, count, grouped, millis};

/// What keeps nodes, as far as it is told here.
const CAUSES_MAX: usize = 10;

/// How a run looks that is over, whatever was found.
pub(crate) const OVER: (&str, &str) = ("over", "●");

/// How a verdict looks: its class and a sign that is no colour.
pub(crate) fn face(verdict: &str) -> (&'static str, &'static str) {
    match verdict {
        "passes" | "done" => ("good", "✓"),
        "findings" | "partial" | "interrupted" | "cancelled" | "rolledBack" => ("some", "!"),
        _ => ("bad", "✕"),
    }
}

/// The verdict in a word and a sentence.
pub(crate) fn verdict(word: &str, sentence: &str, out: &mut Markup) {
    verdict_as(face(word), word, sentence, out);
}

/// The same with another face.
pub(crate) fn verdict_as((class, sign): (&str, &str), word: &str, sentence: &str, out: &mut Markup) {
    out.open("div", &[("class", &format!("verdict {class}"))]);
    out.raw("<p class=\"word\"><span aria-hidden=\"true\">");
    out.text(sign);
    out.raw("</span> ");
    out.text(&capital(word));
    out.raw("</p>");
    out.leaf("p", &[("class", "sentence")], sentence);
    out.raw("</div>");
}

/// What the document says of itself, or what its figures do: one of an older version has no sentence.
pub(crate) fn sentence(rehearsal: &Rehearsal) -> String {
    if !rehearsal.sentence.is_empty() {
        return rehearsal.sentence.clone();
    }
    let nodes = &rehearsal.nodes;
    let time = millis(rehearsal.virtual_duration_ms);
    match (rehearsal.verdict.as_str(), rehearsal.ending.as_str()) {
        ("refused", _) => "Not started, because of the findings below.".to_owned(),
        (_, "rolledBack") => format!("Rolled back: after {time} every node group is as before the roll."),
        _ if nodes.total == 0 => "No node was to be replaced.".to_owned(),
        _ => {
            let were = if nodes.replaced == 1 { "was" } else { "were" };
            let of = format!("{} of {}", grouped(nodes.replaced), count(nodes.total, "node"));
            let replaced = format!("{of} {were} replaced in {time}");
            match rehearsal.findings.len() {
                0 => format!("{replaced}."),
                found => format!("{replaced}; {} to look at.", count(found, "finding")),
            }
        }
    }
}

/// What keeps nodes from being replaced.
pub(crate) fn causes(rehearsal: &Rehearsal, axis: Axis, out: &mut Markup) {
    let told: Vec<(String, String)> = if rehearsal.causes.is_empty() {
        rehearsal.blockers.iter().map(|one| (one.what.clone(), one.reason.clone())).collect()
    } else {
        let of = |cause: &Cause| {
            let keeps = match (cause.nodes.as_slice(), cause.pods) {
                ([], _) => String::new(),
                ([node], pods) => format!(" Keeps node {node}, with {}.", count(pods, "pod")),
                (nodes, pods) => {
                    format!(" Keeps {}, with {}.", count(nodes.len(), "node"), count(pods, "pod"))
                }
            };
            let finding = further_finding(cause).map_or_else(String::new, |(id, object)| {
                match *object == *cause.object {
                    true => format!(" Finding {id}."),
                    false => format!(" Finding {id}, {object}."),
                }
            });
            (cause.object.clone(), format!("{}.{keeps}{finding}", named_once(cause).trim_end_matches('.')))
        };
        rehearsal.causes.iter().map(of).collect()
    };
    if told.is_empty() {
        return;
    }
    out.raw("<h2 class=\"small\">What blocks</h2><ul class=\"causes\">");
    for (what, why) in told.iter().take(CAUSES_MAX) {
        out.raw("<li>");
        let why = &axis.told(why);
        // `run`, and why: that the run was halted.
        if why.starts_with(what.as_str()) {
            out.text(&capital(why));
        } else {
            out.leaf("b", &[], &capital(what));
            out.raw(" ");
            out.text(why);
        }
        out.raw("</li>");
    }
    if told.len() > CAUSES_MAX {
        out.leaf("li", &[], &format!("and {} more: the JSON has them all", grouped(told.len() - CAUSES_MAX)));
    }
    out.raw("</ul>");
}

/// The rule of the findings that a rehearsal makes of causes.
const STOPS: &str = "stops-the-roll";

/// The finding that says more than a cause, and what it is about. One that the rehearsal made of the cause itself says the same: `Cause::further_finding` of
/// replank-rehearse has the same rule.
fn further_finding(cause: &Cause) -> Option<(&str, &str)> {
    let (id, object) = cause.finding.as_deref().zip(cause.finding_object.as_deref())?;
    (id != STOPS || *object != *cause.object).then_some((id, object))
}

/// The reason of a cause without the name that stands before it.
fn named_once(cause: &Cause) -> &str {
    let budget = cause.object.strip_prefix("PodDisruptionBudget ");
    let rest = budget.and_then(|name| cause.reason.strip_prefix("disruption budget ")?.strip_prefix(name));
    rest.and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&cause.reason)
}

/// What to do next, in order.
pub(crate) fn next(steps: &[String], out: &mut Markup) {
    if steps.is_empty() {
        return;
    }
    out.raw("<h2 class=\"small\">Next</h2><ol class=\"next\">");
    for step in steps {
        out.leaf("li", &[], &capital(step));
    }
    out.raw("</ol>");
}

/// Figures side by side: a number and what it is.
pub(crate) fn figures(figures: &[(String, &str)], out: &mut Markup) {
    out.raw("<dl class=\"figures\">");
    for (number, what) in figures {
        out.raw("<div><dt>");
        out.text(what);
        out.raw("</dt><dd>");
        out.text(number);
        out.raw("</dd></div>");
    }
    out.raw("</dl>");
}

/// The figures of a rehearsal.
pub(crate) fn of(rehearsal: &Rehearsal) -> Vec<(String, &'static str)> {
    let Rehearsal { nodes, pods, batch, .. } = rehearsal;
    let dark = rehearsal.workloads.iter().filter(|one| one.desired > 0 && one.min_ready == 0).count();
    let mut figures = vec![
        (format!("{} of {}", grouped(nodes.replaced), grouped(nodes.total)), "nodes replaced"),
        (millis(rehearsal.virtual_duration_ms), "duration"),
        (grouped(pods.moved), "pods moved"),
        (grouped(pods.evictions_refused), "evictions refused"),
        (grouped(dark), "workloads without a Ready pod for a while"),
        (grouped(pods.unschedulable_max), "pods pending at once"),
        (grouped(nodes.surge_max), "nodes of surge"),
    ];
    if batch.on_nodes > 0 {
        figures.push((
            format!("{} of {}", grouped(batch.waited), grouped(batch.on_nodes)),
            "batch pods waited for",
        ));
        figures.push((grouped(batch.killed), "batch pods killed"));
    }
    figures
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cause_names_the_finding_that_says_more_and_no_other() {
        let cause = |object: &str, finding: &str, about: &str| json!({"object": object, "reason": "no room for it", "nodes": ["n"], "pods": 1, "finding": finding, "findingObject": about});
        let rehearsal = json!({"verdict": "blocked", "seed": 1, "traceHash": "", "start": "2026-01-01T00:00:00Z", "virtualDurationMs": 0,
        "nodes": {}, "pods": {}, "findings": [], "causes": [
            cause("Pod a/p", "stops-the-roll", "Pod a/p"),
            cause("Pod a/q", "no-room", "Pod a/q"),
            // Held by a node that this pod is on.
            cause("Node n", "stops-the-roll", "Pod a/p"),
        ]});
        let rehearsal: Rehearsal = serde_json::from_value(rehearsal).expect("a rehearsal");
        let named: Vec<_> = rehearsal.causes.iter().map(further_finding).collect();
        assert_eq!(named, [None, Some(("no-room", "Pod a/q")), Some(("stops-the-roll", "Pod a/p"))]);
    }
}
