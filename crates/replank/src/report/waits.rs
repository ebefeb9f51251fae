//! What was waited for, by kind of reason.

use std::collections::BTreeMap;

use replank_model::time::Span;
use replank_rehearse::Wait;

use super::page::{Lean, Page, Tone, cut};
use super::words::{count, span};

/// Kinds that a person reads, the longest first; the others are in `-o json`.
const KINDS_MAX: usize = 10;

/// A kind in words: what is waited for.
fn words(kind: &str) -> &str {
    match kind {
        "ailing" => "a person: pods in a bad way",
        "available" => "more Ready nodes",
        "bake" => "a wave's bake",
        "bounds" => "a group's bounds",
        "batch" => "batch pods to end",
        "batchOver" => "batch pods past their deadline",
        "budget" => "a disruption budget",
        "budgetUncounted" => "a budget that is not counted",
        "budgets" => "several budgets on one pod",
        "cameBack" => "a person: pods that bear every cordon",
        "canary" => "the canary",
        "capacity" => "new instances",
        "cancelled" => "nothing: it was cancelled",
        "cordon" => "every old node's cordon",
        "deadline" => "the plan's deadline",
        "effect" => "a command's effect",
        "finding" => "a person: something blocking was found",
        "interrupted" => "nodes that are taken away to be empty",
        "instanceLate" => "an instance that is late",
        "managedBy" => "whoever made the node",
        "leaving" => "instances to end",
        "leftover" => "what another run has left to be cleared",
        "keepsNode" => "nothing: pods that keep a node",
        "newNodes" => "nodes that pods have brought",
        "noGroup" => "a node that no group adds",
        "notNeeded" => "the end of nodes that nobody needs",
        "nodeReady" => "a new node to be Ready",
        "poison" => "a person: messages that cannot be read",
        "pace" => "the plan's pace",
        "paused" => "a person, who has paused it",
        "quiet" => "late news of an empty node",
        "refused" => "a person: the plan refuses",
        "retained" => "the end of retention",
        "deregistration" => "load balancers to let go",
        "stuck" => "pods that do not end",
        "restart" => "a rolling restart",
        "retry" => "a command to be tried again",
        "room" => "room on another node",
        "skipped" => "nodes that were left out",
        "soak" => "the canary's soak",
        "stalled" => "anything to move",
        "terminating" => "pods to terminate",
        "turn" => "their turn",
        "over" => "nothing: it was over",
        "undone" => "nothing: it was taken back",
        "unhealthy" => "a person: things became worse",
        "unregistered" => "the node of an interrupted instance",
        "unrecorded" => "a Workflow's record",
        "volumes" => "volumes to be detached",
        "wave" => "a wave to be through",
        "window" => "the next window",
        "zoneMinimum" => "more Ready nodes in a zone",
        other => other,
    }
}

/// What waits: `2 nodes`, `1 pod`, `3 things` where they differ.
fn who(waits: &[&Wait]) -> String {
    let noun = |wait: &Wait| wait.what.split(' ').next().unwrap_or_default().to_owned();
    let first = waits.first().map(|wait| noun(wait)).unwrap_or_default();
    match first.as_str() {
        "run" => "the run".to_owned(),
        noun_of_all @ ("node" | "pod" | "group") if waits.iter().all(|wait| noun(wait) == noun_of_all) => {
            count(waits.len(), noun_of_all)
        }
        _ => count(waits.len(), "thing"),
    }
}

pub(super) fn write(page: &mut Page, waits: &[Wait]) {
    if waits.is_empty() {
        page.heading("Waited for", "nothing");
        return;
    }
    let mut kinds: BTreeMap<&str, Vec<&Wait>> = BTreeMap::new();
    for wait in waits {
        kinds.entry(&wait.kind).or_default().push(wait);
    }
    let mut kinds: Vec<Kind<'_>> = kinds.into_iter().map(|(name, waits)| Kind::of(name, waits)).collect();
    // A turn lasts as long as what others wait for: it explains nothing and goes last.
    kinds.sort_by_key(|kind| (kind.name == "turn", Span::ZERO - kind.longest.waited));
    page.heading("Waited for", "");
    let titles = ["reason", "who", "in all", "longest"];
    let mut rows = vec![titles.map(|title| (title.to_owned(), Tone::Faint)).to_vec()];
    rows.extend(kinds.iter().take(KINDS_MAX).map(|kind| {
        vec![
            (words(kind.name).to_owned(), Tone::Plain),
            (who(&kind.waits), Tone::Plain),
            (span(kind.all), Tone::Plain),
            (span(kind.longest.waited), Tone::Strong),
        ]
    }));
    page.table(&[Lean::Left, Lean::Right, Lean::Right, Lean::Right], &rows);
    if kinds.len() > KINDS_MAX {
        page.wrapped(
            2,
            &format!("and {} more: -o json has them all", count(kinds.len() - KINDS_MAX, "reason")),
            Tone::Faint,
        );
    }
    page.gap();
    longest(page, &kinds);
}

/// All waits of one kind.
struct Kind<'a> {
    name: &'a str,
    waits: Vec<&'a Wait>,
    longest: &'a Wait,
    all: Span,
}

impl<'a> Kind<'a> {
    /// Of at least one wait.
    fn of(name: &'a str, waits: Vec<&'a Wait>) -> Self {
        let longest = waits.iter().copied().reduce(|a, b| if b.waited > a.waited { b } else { a });
        let all = waits.iter().fold(Span::ZERO, |sum, wait| sum + wait.waited);
        Self { name, longest: longest.expect("a kind is made of its waits"), all, waits }
    }
}

/// The longest single wait of the kinds that took longest.
fn longest(page: &mut Page, kinds: &[Kind<'_>]) {
    const SHOWN: usize = 3;
    for kind in kinds.iter().filter(|kind| kind.name != "turn").take(SHOWN) {
        let width = page.width().saturating_sub(4) * 3;
        let wait = kind.longest;
        let text = format!("{} waited {} on {}", wait.what, span(wait.waited), wait.reason);
        page.wrapped(2, &cut(&text, width), Tone::Plain);
    }
}
