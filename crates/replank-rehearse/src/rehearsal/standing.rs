//! Drains of a script that have not ended when the rehearsal does, for which `kubectl drain` would still be asking, and those that could not begin.

use std::collections::BTreeSet;

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
pub(super) fn find(blockers: &[Blocker], findings: &mut Vec<FindingEntry>) {
    let found = blockers.iter().map(|blocker| {
        let object = blocker.what.replacen("node", "Node", 1);
        FindingEntry::of_rehearsal(STOPS, &object, &blocker.reason)
    });
    findings.splice(..0, found);
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

/// Why a pod is still there: it is terminating, or budgets refuse its eviction.
fn what_keeps(view: &View, pod: &Key) -> String {
    if view.pods.by_key(pod).is_some_and(|pod| pod.is_terminating()) {
        return "terminating".to_owned();
    }
    let budgets = view.pods.find(pod).map_or(&[][..], |ix| view.budgets_of(ix));
    let names: Vec<String> =
        budgets.iter().map(|budget| view.pod_disruption_budgets[*budget].meta.key().to_string()).collect();
    match names.as_slice() {
        [] => "its eviction refused".to_owned(),
        [only] => format!("kept by disruption budget {only}"),
        several => format!("kept by disruption budgets {}", several.join(" and ")),
    }
}
