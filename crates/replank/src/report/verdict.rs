//! What it comes to, and what to do next.

use replank_rehearse::{Blocker, Cause, Ending, RehearsalResult, Stop, Verdict};

use super::page::{Page, Tone};
use super::words::{count, grouped, span};
use super::{About, Timeline};

/// Blockers that a person reads.
const BLOCKERS_MAX: usize = 10;

pub(super) fn write(page: &mut Page, result: &RehearsalResult, about: &About<'_>) {
    write_alone(page, result, about);
    let steps = next(result, about);
    page.line("");
    page.line("  Next:");
    for (number, step) in steps.iter().enumerate() {
        page.labelled(5, &format!("{}.", number + 1), step);
    }
}

/// The verdict in a word and a sentence, and what to do next, for a report that is no text of a terminal.
pub(crate) fn in_words(result: &RehearsalResult, about: &About<'_>) -> (&'static str, String, Vec<String>) {
    let (word, _, text) = said(result, about);
    (word, text, next(result, about))
}

fn said(result: &RehearsalResult, about: &About<'_>) -> (&'static str, Tone, String) {
    let (tone, text) = match about.stop {
        Stop::Interrupted => (Tone::Warning, interrupted(result)),
        Stop::RanAway => (Tone::Bad, ran_away(result)),
        Stop::Ended | Stop::TimeUp | Stop::Silence => verdict(result),
    };
    let word = match about.stop {
        Stop::Interrupted => "interrupted",
        Stop::Ended | Stop::TimeUp | Stop::Silence | Stop::RanAway => result.verdict.as_str(),
    };
    (word, tone, text)
}

/// Without what to do next.
pub(super) fn write_alone(page: &mut Page, result: &RehearsalResult, about: &About<'_>) {
    let (word, tone, text) = said(result, about);
    let word = page.paint(word, tone);
    page.heading("Verdict", &word);
    page.wrapped(2, &text, Tone::Plain);
    match result.verdict {
        Verdict::Partial => causes(page, result),
        Verdict::Incomplete if !result.causes.is_empty() => causes(page, result),
        Verdict::Passes | Verdict::Findings | Verdict::Incomplete | Verdict::Blocked | Verdict::Refused => {
            blockers(page, result);
        }
    }
}

fn blockers(page: &mut Page, result: &RehearsalResult) {
    for blocker in result.blockers.iter().take(BLOCKERS_MAX) {
        let finding = cause_of(result, blocker).map_or_else(String::new, finding_of);
        page.labelled(4, "-", &format!("{}: {}{finding}", blocker.what, blocker.reason));
    }
    more(page, result.blockers.len());
}

/// What keeps nodes, grouped, the one that keeps most of them first.
fn causes(page: &mut Page, result: &RehearsalResult) {
    for cause in result.causes.iter().take(BLOCKERS_MAX) {
        let nodes = match cause.nodes.as_slice() {
            [] => format!("{}: ", cause.object),
            [only] => format!("node {only}: "),
            [first, ..] => format!("{}, {first} first: ", count(cause.nodes.len(), "node")),
        };
        let pods = match cause.pods {
            0 => String::new(),
            pods => format!(" ({})", count(pods, "pod")),
        };
        let finding = finding_of(cause);
        page.labelled(4, "-", &format!("{nodes}{}{pods}{finding}", cause.reason));
    }
    more(page, result.causes.len());
}

/// The cause that a blocker was grouped under: of one reason, which may go on with the pods that use a budget up, and about what waited.
fn cause_of<'r>(result: &'r RehearsalResult, blocker: &Blocker) -> Option<&'r Cause> {
    let (what, name) = blocker.what.split_once(' ')?;
    let kind = match what {
        "pod" => "Pod",
        "node" => "Node",
        "group" => "NodeGroup",
        _ => return None,
    };
    let object = format!("{kind} {name}");
    let is_about = |cause: &&Cause| cause.object == object || cause.related.contains(&object);
    let is_of = |cause: &&Cause| {
        let rest = cause.reason.strip_prefix(blocker.reason.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("; "))
    };
    result.causes.iter().filter(is_of).find(is_about)
}

fn finding_of(cause: &Cause) -> String {
    let found = cause.finding.zip(cause.finding_object.as_ref());
    found.map_or_else(String::new, |(id, object)| format!("; finding {id}, {object}"))
}

fn more(page: &mut Page, number: usize) {
    if number > BLOCKERS_MAX {
        let rest = number - BLOCKERS_MAX;
        page.wrapped(4, &format!("and {rest} more: -o json has them all"), Tone::Faint);
    }
}

/// Whether no group was to be rolled: what happened is what a script said.
pub(super) fn is_script_alone(result: &RehearsalResult) -> bool {
    result.timeline.is_empty() && !result.script_events.is_empty()
}

fn verdict(result: &RehearsalResult) -> (Tone, String) {
    let time = span(result.virtual_duration);
    let replaced = grouped(result.nodes.replaced);
    let nodes = count(result.nodes.total, "node");
    // A run that ends may have left nodes out: `onDeadline: skip`.
    let done = if is_script_alone(result) {
        format!("Only the script was rehearsed, for {}; no node was to be replaced", span(result.watched))
    } else if result.nodes.total == 0 {
        "Nothing to do: every selected node already matches the plan".to_owned()
    } else if result.nodes.replaced == result.nodes.total {
        format!("All {nodes} were replaced in {time}")
    } else {
        format!("{replaced} of {nodes} were replaced in {time}, the others were skipped")
    };
    match result.verdict {
        Verdict::Passes => (Tone::Good, format!("{done}; nothing was found.")),
        Verdict::Findings if result.ending == Ending::Cancelled => (
            Tone::Warning,
            format!("Cancelled: {replaced} of {nodes} were replaced in {time}. What was left:"),
        ),
        Verdict::Findings if result.ending == Ending::RolledBack => {
            (Tone::Warning, format!("Rolled back as requested: after {time} {}.", as_before(result)))
        }
        Verdict::Findings => {
            (Tone::Warning, format!("{done}; {} to look at.", count(result.findings.len(), "finding")))
        }
        Verdict::Partial => {
            let left = result.nodes.total - result.nodes.replaced;
            let are = if left == 1 { "is" } else { "are" };
            (
                Tone::Warning,
                format!("{replaced} of {nodes} were replaced in {time}; {left} {are} blocked by:"),
            )
        }
        Verdict::Incomplete => (
            Tone::Bad,
            match result.causes.len() {
                0 => format!(
                    "{done}, but parts of the cluster were not seen: what they would do is not known (see Coverage)."
                ),
                _ => format!(
                    "{replaced} of {nodes} were replaced in {time}, and parts of the cluster were not seen: what they would do is not known (see Coverage). Blocked by:"
                ),
            },
        ),
        Verdict::Blocked if result.ending == Ending::RolledBack => {
            (Tone::Bad, format!("Rolled back: after {time} {}. Blocked by:", as_before(result)))
        }
        Verdict::Blocked if result.rollback.is_some() => (
            Tone::Bad,
            format!(
                "Rolled back in part: after {time} not every node group is as before the roll. Blocked by:"
            ),
        ),
        Verdict::Blocked if is_script_alone(result) => {
            (Tone::Bad, format!("{done}. What the script says was not done:"))
        }
        Verdict::Blocked => {
            (Tone::Bad, format!("{replaced} of {nodes} were replaced in {time}. Blocked by:"))
        }
        Verdict::Refused => (Tone::Bad, "Not started, because of these findings:".to_owned()),
    }
}

/// What nodes are after a rollback, counted on the cluster.
fn as_before(result: &RehearsalResult) -> String {
    let (kept, renewed) = result.rollback.as_ref().map_or((0, 0), |back| (back.kept, back.renewed));
    let images = result.rollback.iter().flat_map(|back| &back.images);
    let images: String = images.map(|one| format!("; group {}: {}", one.group, one.made_of)).collect();
    match renewed {
        0 => "every node of before the roll is there, and no other".to_owned(),
        _ => format!(
            "every node group has as many nodes as before the roll, from the same launch template: {} and {}{images}",
            count(kept, "old node"),
            count(renewed, "new node")
        ),
    }
}

fn ran_away(result: &RehearsalResult) -> String {
    format!(
        "Stopped after {} of virtual time: something in this cluster makes or changes more objects than a roll can need.",
        span(result.virtual_duration),
    )
}

fn interrupted(result: &RehearsalResult) -> String {
    format!(
        "Stopped by Ctrl-C after {} of virtual time: {} of {} were replaced. The figures above are partial.",
        span(result.virtual_duration),
        grouped(result.nodes.replaced),
        count(result.nodes.total, "node")
    )
}

fn next(result: &RehearsalResult, about: &About<'_>) -> Vec<String> {
    let mut steps = Vec::new();
    let spread = || "add --seeds 20 to see how the duration varies".to_owned();
    match about.stop {
        Stop::Interrupted => return vec!["run it again to completion".to_owned()],
        Stop::RanAway => {
            return vec![
                "correct what is named above in the snapshot, or remove it, and rehearse again".to_owned(),
            ];
        }
        Stop::TimeUp => {
            steps.push("pass a longer --limit to see whether it finishes".to_owned());
        }
        Stop::Ended | Stop::Silence => {}
    }
    match result.verdict {
        Verdict::Passes => steps.push(spread()),
        Verdict::Findings => {
            if !result.findings.is_empty() {
                steps.push("resolve the findings from the top; each has its remedy".to_owned());
            }
            steps.push("take a new snapshot and rehearse again".to_owned());
            steps.push(spread());
        }
        Verdict::Incomplete => {
            steps.push(
                "add what is missing to the snapshot, or accept it by name: --allow-incomplete".to_owned(),
            );
            if !result.findings.is_empty() {
                steps.push("resolve the findings from the top; each has its remedy".to_owned());
            }
        }
        Verdict::Partial | Verdict::Blocked | Verdict::Refused => {
            if result.findings.is_empty() {
                steps.push("check the objects named above, or change the plan".to_owned());
            } else {
                steps.push("resolve the findings from the top; each has its remedy".to_owned());
            }
            steps.push("take a new snapshot and rehearse again".to_owned());
        }
    }
    match about.timeline {
        // A run that was refused has none.
        Timeline::Left if result.verdict == Verdict::Refused => {}
        Timeline::Shown => {}
        Timeline::Left => {
            steps.push("add --timeline to see every node from its cordon to its replacement".to_owned());
        }
    }
    steps
}
