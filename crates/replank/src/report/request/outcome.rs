//! What the rehearsal showed: time, who notices, risks, evidence.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use replank_facts::finding::Severity;
use replank_model::time::Span;
use replank_rehearse::{FindingEntry, RehearsalResult, Verdict, WorkloadFigures};

use super::super::markdown::{escape, remedy};
use super::super::words::{count, grouped, span};
use super::super::{batch, elasticity, findings, interruptions, starts};
use super::Request;

/// Rows of a table; the others are in `-o json`.
const ROWS_MAX: usize = 15;
/// Waits that are told.
const WAITS_MAX: usize = 3;

pub(super) fn when(request: &Request<'_>) -> String {
    let (plan, result) = (request.plan, request.result);
    let mut text = format!(
        "Rehearsed from {}: {} until {}.",
        result.start,
        span(result.virtual_duration),
        result.start + result.virtual_duration
    );
    if result.verdict != Verdict::Refused {
        text.push_str(" Durations vary: `--seeds 20` shows the spread.");
    }
    text.push('\n');
    match plan.care.windows.0.as_slice() {
        [] => text.push_str("\nNo window is set: the run continues day and night until it is done.\n"),
        windows => {
            let windows: Vec<String> = windows.iter().map(ToString::to_string).collect();
            text.push_str(&format!(
                "\nNodes are started and pods moved only in these windows: {}.\n",
                windows.join("; ")
            ));
        }
    }
    let mut waits: Vec<_> = result.waits.iter().filter(|wait| wait.kind != "turn").collect();
    waits.sort_by_key(|wait| Reverse(wait.waited));
    // Of each kind the longest.
    let mut kinds = BTreeSet::new();
    waits.retain(|wait| wait.waited >= Span::from_secs(1) && kinds.insert(&*wait.kind));
    if !waits.is_empty() {
        text.push_str("\nWhat takes the time:\n\n");
        for wait in waits.iter().take(WAITS_MAX) {
            text.push_str(&format!(
                "- {} waits {} for {}\n",
                escape(&wait.what),
                span(wait.waited),
                escape(&wait.reason)
            ));
        }
    }
    text.push_str(&scheduled(result));
    text
}

/// Scheduled runs that may land on the nodes.
fn scheduled(result: &RehearsalResult) -> String {
    if result.starts.is_empty() {
        return String::new();
    }
    let mut text = "\nScheduled runs that may land on the nodes:\n\n| run | schedule | next | during the roll |\n|---|---|---|---|\n".to_owned();
    for entry in result.starts.iter().take(ROWS_MAX) {
        let next = entry.next.map_or("never".to_owned(), |at| at.to_string());
        let held = starts::held(entry).map_or(String::new(), |held| format!(", **{held}**"));
        text.push_str(&format!(
            "| {} | `{}` | {next} | {}{held} |\n",
            escape(&starts::named(entry)),
            entry.schedule,
            starts::within(entry)
        ));
    }
    if result.starts.len() > ROWS_MAX {
        let rest = grouped(result.starts.len() - ROWS_MAX);
        text.push_str(&format!("\nAnd {rest} more: `-o json` has them all.\n"));
    }
    text
}

pub(super) fn noticed(result: &RehearsalResult) -> String {
    let pods = &result.pods;
    let mut text = format!(
        "{} moved, {}; at most {} more than before run at once.\n",
        are(pods.moved, "pod"),
        match pods.moved_more_than_once {
            0 => "none more than once".to_owned(),
            number => format!("{} of them more than once", grouped(number)),
        },
        count(usize::try_from(result.nodes.surge_max).unwrap_or(usize::MAX), "node")
    );
    let violated = result.budgets.iter().filter(|budget| budget.violations > 0).count();
    text.push_str(&match (result.budgets.len(), violated) {
        (0, _) => "No disruption budget is affected.\n".to_owned(),
        (1, 0) => "The 1 affected disruption budget is respected.\n".to_owned(),
        (all, 0) => format!("All {all} affected disruption budgets are respected.\n"),
        (all, violated) => {
            format!("**{} violated, of {all} affected.**\n", are(violated, "disruption budget"))
        }
    });
    let involuntary: usize = result.budgets.iter().map(|budget| budget.undercut_by_interruptions).sum();
    if involuntary > 0 {
        text.push_str(&format!(
            "{} deleted against its budget just before its instance was lost: an involuntary disruption.\n",
            are(involuntary, "pod")
        ));
    }
    text.push_str(&match (result.batch.waited, result.batch.ended_by_run.len()) {
        (0, 0) if !result.batch.ended_by_others.is_empty() => String::new(),
        (0, 0) => match result.batch.on_nodes {
            0 => "No batch pod runs on these nodes.\n".to_owned(),
            number => format!(
                "{} on these nodes at the start; none has to be waited for, none is terminated before it finishes.\n",
                match number {
                    1 => "1 batch pod runs".to_owned(),
                    many => format!("{} batch pods run", grouped(many)),
                }
            ),
        },
        (waited, 0) => {
            let by_us = if result.batch.ended_by_others.is_empty() { "" } else { " by the run" };
            format!(
                "{} waited for; none is terminated{by_us} before it finishes.\n",
                are(waited, "batch pod")
            )
        }
        (_, 1) => "**1 batch pod terminated before it finishes.**\n".to_owned(),
        (_, killed) => format!("**{} terminated before they finish.**\n", count(killed, "batch pod")),
    });
    for (by, one) in batch::rows(&result.batch).take(ROWS_MAX) {
        text.push_str(&format!("**{} {by}**: {}.\n", escape(&one.pod), escape(&one.what_became())));
    }
    text.push_str(&elastic(result));
    let fewer: Vec<&WorkloadFigures> =
        result.workloads.iter().filter(|one| one.min_ready < one.desired).collect();
    let (gone, less): (Vec<_>, Vec<_>) = fewer.into_iter().partition(|one| one.min_ready == 0);
    if gone.is_empty() && less.is_empty() {
        text.push_str("\nNo workload has fewer Ready pods than desired at any time.\n");
        return text;
    }
    text.push_str("\n| workload | wanted | fewest Ready |\n|---|---:|---:|\n");
    for (at, one) in gone.iter().chain(&less).enumerate() {
        if at == ROWS_MAX {
            let rest = gone.len() + less.len() - ROWS_MAX;
            text.push_str(&format!("\nAnd {} more: `-o json` has them all.\n", grouped(rest)));
            break;
        }
        let fewest =
            if one.min_ready == 0 { "**0: downtime**".to_owned() } else { one.min_ready.to_string() };
        text.push_str(&format!(
            "| {} {}/{} | {} | {fewest} |\n",
            one.kind,
            one.namespace,
            escape(&one.name),
            one.desired
        ));
    }
    text
}

/// What autoscalers made of their load, and what was taken away meanwhile.
fn elastic(result: &RehearsalResult) -> String {
    let mut text = String::new();
    if !result.autoscalers.is_empty() {
        text.push_str("\n| autoscaler | replicas | over target | without a node |\n|---|---|---|---|\n");
        for of in result.autoscalers.iter().take(ROWS_MAX) {
            let over = elasticity::over(of);
            let over = if of.over > Span::ZERO { format!("**{over}**") } else { over };
            text.push_str(&format!(
                "| {}/{} | {} | {over} | {} |\n",
                of.namespace,
                escape(&of.name),
                elasticity::replicas(of),
                elasticity::pending(of)
            ));
        }
    }
    if !result.interruptions.is_empty() {
        let all = &result.interruptions;
        text.push_str(&format!(
            "\nInterruptions: {}; {}.\n",
            interruptions::kinds(all),
            interruptions::lost(all)
        ));
    }
    text
}

/// `1 pod is`, `2 pods are`.
fn are(number: usize, noun: &str) -> String {
    format!("{} {}", count(number, noun), if number == 1 { "is" } else { "are" })
}

pub(super) fn risks(result: &RehearsalResult) -> String {
    let entries = findings::entries(&result.findings);
    let serious: Vec<_> = entries.iter().filter(|entry| entry[0].severity.is_serious()).collect();
    if serious.is_empty() {
        return "Nothing was found that blocks or causes downtime.".to_owned();
    }
    let mut text = String::new();
    for entry in &serious {
        let first = entry[0];
        text.push_str(&format!(
            "- **{}** `{}` {}: {}\n",
            first.severity,
            first.id,
            objects(entry),
            escape(&first.told())
        ));
    }
    let others = entries.len() - serious.len();
    if others > 0 {
        text.push_str(&format!(
            "\n{} for information; `replank check` lists them.\n",
            count(others, "finding")
        ));
    }
    text
}

fn objects(entry: &[&FindingEntry]) -> String {
    const NAMED_MAX: usize = 4;
    let named: Vec<String> = entry.iter().take(NAMED_MAX).map(|finding| escape(&finding.object)).collect();
    match entry.len().saturating_sub(NAMED_MAX) {
        0 => named.join(", "),
        more => format!("{} and {} more", named.join(", "), grouped(more)),
    }
}

pub(super) fn before(result: &RehearsalResult) -> String {
    let entries = findings::entries(&result.findings);
    let mut text = String::new();
    for entry in entries.iter().filter(|entry| entry[0].severity.is_serious()) {
        let must = if entry[0].severity == Severity::Blocking { "must" } else { "should" };
        text.push_str(&format!("- [ ] {must}: {} (`{}`)\n", objects(entry), entry[0].id));
        let mut remedies: Vec<String> = entry.iter().map(|finding| finding.to_do()).collect();
        remedies.dedup();
        text.push_str(&remedy(&remedies.join("\n")));
        text.push('\n');
    }
    text.push_str("- [ ] take a new snapshot and rehearse again: the cluster may have changed since\n");
    text
}

pub(super) fn evidence(request: &Request<'_>) -> String {
    let result = request.result;
    let (learnt, assumed): (Vec<_>, Vec<_>) =
        result.assumptions.iter().partition(|one| one.source == "learnt");
    let mut text = format!(
        "- snapshot {}, taken at {}\n- {} of the simulated cluster, seed {}, trace `{}`: equal input gives the same trace\n\
         - replank {}\n- {} learnt from the snapshot, {} assumed\n",
        escape(request.about.snapshot),
        result.start,
        count(usize::try_from(result.events).unwrap_or(usize::MAX), "event"),
        result.seed,
        result.trace_hash,
        env!("CARGO_PKG_VERSION"),
        count(learnt.len(), "duration"),
        grouped(assumed.len()),
    );
    if !assumed.is_empty() {
        text.push_str("\nAssumed, because the snapshot does not show it:\n\n");
        for one in assumed {
            text.push_str(&format!("- {}: {}\n", escape(&one.about), escape(&one.value)));
        }
    }
    text
}
