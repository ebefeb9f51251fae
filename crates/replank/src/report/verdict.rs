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

/// The verdict in a word and a sentence, and what to do next, for a report that is no text of a terminal: no list follows its sentence.
pub(crate) fn in_words(result: &RehearsalResult, about: &About<'_>) -> (&'static str, String, Vec<String>) {
    let (word, _, said) = said(result, about);
    (word, said.alone(), next(result, about))
}

/// What is said of a verdict.
struct Said {
    text: String,
    /// What leads from it to a list.
    leads: &'static str,
}

impl Said {
    /// A sentence, or several, after which nothing comes.
    fn all(text: String) -> Self {
        Self { text, leads: "" }
    }

    /// With a list after it.
    fn leading(self) -> String {
        format!("{}{}", self.text, self.leads)
    }

    /// Without.
    fn alone(self) -> String {
        if self.text.ends_with('.') { self.text } else { self.text + "." }
    }
}

fn said(result: &RehearsalResult, about: &About<'_>) -> (&'static str, Tone, Said) {
    let (tone, text) = match about.stop {
        Stop::Interrupted => (Tone::Warning, Said::all(interrupted(result))),
        Stop::RanAway => (Tone::Bad, Said::all(ran_away(result))),
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
    let (word, tone, said) = said(result, about);
    let word = page.paint(word, tone);
    page.heading("Verdict", &word);
    page.wrapped(2, &said.leading(), Tone::Plain);
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

/// The finding that says more.
fn finding_of(cause: &Cause) -> String {
    cause.further_finding().map_or_else(String::new, |(id, object)| format!("; finding {id}, {object}"))
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

fn verdict(result: &RehearsalResult) -> (Tone, Said) {
    const BLOCKED_BY: &str = ". Blocked by:";
    let time = span(result.virtual_duration);
    let replaced = replaced(result);
    // A run that ends may have left nodes out: `onDeadline: skip`.
    let done = if is_script_alone(result) {
        format!("Only the script was rehearsed, for {}; no node was to be replaced", span(result.watched))
    } else if result.nodes.total == 0 {
        "Nothing to do: every selected node already matches the plan".to_owned()
    } else if result.nodes.replaced == result.nodes.total {
        replaced.clone()
    } else if result.nodes.total == 1 {
        format!("The node was skipped after {time}")
    } else {
        match result.nodes.total - result.nodes.replaced {
            1 => format!("{replaced}, the other was skipped"),
            _ => format!("{replaced}, the others were skipped"),
        }
    };
    let said = |text: String, leads| Said { text, leads };
    match result.verdict {
        Verdict::Passes => (Tone::Good, Said::all(format!("{done}; nothing was found."))),
        Verdict::Findings if result.ending == Ending::Cancelled => {
            (Tone::Warning, said(format!("Cancelled: {}", lower(&replaced)), ". What was left:"))
        }
        Verdict::Findings if result.ending == Ending::RolledBack => {
            let text = format!("Rolled back as requested: after {time} {}.", as_before(result));
            (Tone::Warning, Said::all(text))
        }
        Verdict::Findings => {
            let text = format!("{done}; {} to look at.", count(result.findings.len(), "finding"));
            (Tone::Warning, Said::all(text))
        }
        Verdict::Partial => {
            let left = result.nodes.total - result.nodes.replaced;
            let are = if left == 1 { "is" } else { "are" };
            (Tone::Warning, said(format!("{replaced}; {} {are} blocked", grouped(left)), " by:"))
        }
        Verdict::Incomplete => {
            const UNSEEN: &str =
                "parts of the cluster were not seen: what they would do is not known (see Coverage)";
            let text = match result.causes.len() {
                0 => Said::all(format!("{done}, but {UNSEEN}.")),
                _ => said(format!("{replaced}, and {UNSEEN}"), BLOCKED_BY),
            };
            (Tone::Bad, text)
        }
        Verdict::Blocked if result.ending == Ending::RolledBack => {
            (Tone::Bad, said(format!("Rolled back: after {time} {}", as_before(result)), BLOCKED_BY))
        }
        Verdict::Blocked if result.rollback.is_some() => {
            let text =
                format!("Rolled back in part: after {time} not every node group is as before the roll");
            (Tone::Bad, said(text, BLOCKED_BY))
        }
        Verdict::Blocked if is_script_alone(result) => {
            (Tone::Bad, said(done, ". What the script says was not done:"))
        }
        Verdict::Blocked => (Tone::Bad, said(replaced, BLOCKED_BY)),
        Verdict::Refused => (Tone::Bad, said("Not started, because of these findings".to_owned(), ":")),
    }
}

/// `26 of 28 nodes were replaced in 2h14m`
fn replaced(result: &RehearsalResult) -> String {
    format!("{} in {}", replaced_nodes(result), span(result.virtual_duration))
}

fn replaced_nodes(result: &RehearsalResult) -> String {
    match (result.nodes.replaced, result.nodes.total) {
        (0, 1) => "The node was not replaced".to_owned(),
        (1, 1) => "The node was replaced".to_owned(),
        (2, 2) => "Both nodes were replaced".to_owned(),
        (replaced, total) if replaced == total => format!("All {} were replaced", count(total, "node")),
        (1, total) => format!("1 of {} was replaced", count(total, "node")),
        (replaced, total) => format!("{} of {} were replaced", grouped(replaced), count(total, "node")),
    }
}

/// For the middle of a sentence.
fn lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
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
        "Stopped by Ctrl-C after {} of virtual time: {}. The figures above are partial.",
        span(result.virtual_duration),
        lower(&replaced_nodes(result))
    )
}

/// Whether what blocks are objects, and not the run or the rehearsal alone.
fn names_objects(result: &RehearsalResult) -> bool {
    result.blockers.iter().any(|blocker| !["run", "rehearsal"].contains(&&*blocker.what))
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
            if result.findings.is_empty() && names_objects(result) {
                steps.push("check the objects named above, or change the plan".to_owned());
            } else if result.findings.is_empty() {
                steps.push("fix the cause named above, or change the plan".to_owned());
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
