//! Drains of a script that have not ended when the rehearsal does, for which `kubectl drain` would still be asking, and those that could not begin.

use std::collections::BTreeSet;

use replank_facts::remedy::blocks;
use replank_model::object::meta::Key;
use replank_model::view::View;
use replank_sim::{StandingDrain, World};

use super::ids::STOPS;
use super::result::Blocker;
use super::script_event::ScriptEventEntry;
use super::unready;
use crate::finding_entry::FindingEntry;

/// What keeps each of them, one entry for a node.
pub(super) fn blockers(world: &World) -> Vec<Blocker> {
    let of = |drain: &StandingDrain| Blocker {
        what: format!("node {}", drain.node),
        reason: reason(world.view(), drain),
    };
    world.standing_drains().iter().map(of).collect()
}

/// Drains that `kubectl drain` refused to begin.
pub(super) fn not_begun<'e>(refused: impl Iterator<Item = &'e ScriptEventEntry>) -> Vec<Blocker> {
    let of = |entry: &ScriptEventEntry| Blocker {
        what: format!("line {} of the script", entry.line),
        reason: format!("{} had no effect: {}", entry.what, entry.refused.as_deref().unwrap_or_default()),
    };
    refused.map(of).collect()
}

/// The findings that tell of them come first.
pub(super) fn find(world: &World, findings: &mut Vec<FindingEntry>) {
    let found = world.standing_drains().into_iter().map(|drain| {
        let remedy = remedy(world.view(), &drain);
        FindingEntry {
            remedy_blocks: blocks(&remedy),
            remedy,
            ..FindingEntry::of_rehearsal(
                STOPS,
                &format!("Node {}", drain.node),
                &reason(world.view(), &drain),
            )
        }
    });
    findings.splice(..0, found);
}

/// What shows why the first pod is still there: its budgets, or the pod itself if it is terminating or has none.
fn remedy(view: &View, drain: &StandingDrain) -> String {
    let Some(pod) = drain.pods.first() else { return format!("kubectl describe node {}", drain.node) };
    let keeping = keeping(view, pod);
    if keeping.is_empty() {
        return format!("kubectl -n {} describe pod {}", pod.namespace, pod.name);
    }
    let shown = |budget: &Key| format!("kubectl -n {} describe pdb {}", budget.namespace, budget.name);
    keeping.iter().map(shown).collect::<Vec<_>>().join("\n")
}

pub(super) fn reason(view: &View, drain: &StandingDrain) -> String {
    let first = drain.pods.first().map_or_else(String::new, ToString::to_string);
    let others = match drain.pods.len() {
        0 | 1 => String::new(),
        pods => format!(" and {} more", pods - 1),
    };
    let keeps = drain.pods.first().map_or_else(String::new, |pod| what_keeps(view, pod));
    let pods: BTreeSet<Key> = drain.pods.iter().cloned().collect();
    let unready =
        unready::under_the_budgets_of(view, &pods).map_or_else(String::new, |pod| format!("; {pod}"));
    let queued = match drain.queued {
        0 => String::new(),
        1 => "; another node waits for its turn".to_owned(),
        nodes => format!("; {nodes} other nodes wait for their turn"),
    };
    let state = if drain.is_given_up { "failed" } else { "not ended" };
    format!("the drain has {state}: pod {first}{others} still there, {keeps}{unready}{queued}")
}

/// The budgets that keep a pod from being evicted. None keeps one that is terminating.
fn keeping(view: &View, pod: &Key) -> Vec<Key> {
    if view.pods.by_key(pod).is_some_and(|pod| pod.is_terminating()) {
        return Vec::new();
    }
    let budgets = view.pods.find(pod).map_or(&[][..], |ix| view.budgets_of(ix));
    budgets.iter().map(|budget| view.pod_disruption_budgets[*budget].meta.key()).collect()
}

/// Why a pod is still there: it is terminating, or budgets refuse its eviction.
fn what_keeps(view: &View, pod: &Key) -> String {
    if view.pods.by_key(pod).is_some_and(|pod| pod.is_terminating()) {
        return "terminating".to_owned();
    }
    let names: Vec<String> = keeping(view, pod).iter().map(ToString::to_string).collect();
    match names.as_slice() {
        [] => "its eviction refused".to_owned(),
        [only] => format!("kept by disruption budget {only}"),
        several => format!("kept by disruption budgets {}", several.join(" and ")),
    }
}
