//! S4, second half: the sizes of groups.

use std::sync::Arc;

use replank_model::object::cloud::{GroupKind, NodeGroup};
use replank_model::object::node::Node;
use replank_model::text::{GroupName, NodeName};
use replank_model::time::Time;
use replank_protocol::decision::{Decision, End};
use replank_protocol::waiting::{RollEnd, Subject, WaitingOn};

use super::capacity::Capacity;
use super::promised::Family;
use super::truth::{Truth, goes_with_its_node};
use super::{Found, Promise, Promised};

/// How the value of a tag of ours begins.
pub(super) const VERSION: &str = "v1 ";
const ORIGINAL: &str = "replank.dev/original-size";
const BEGUN: &str = "replank.dev/begun";
/// Stays where a run has halted: it is what keeps the same run from beginning again.
const HALTED: &str = "replank.dev/halted";
const ROLE: &str = "replank.dev/role";

/// A group has changed.
pub(super) fn check(promised: &Promised, truth: &Truth, group: &NodeGroup, found: &mut Found<'_>) {
    if let Some(family) = promised.family.as_ref().filter(|family| family.before.contains_key(&group.name)) {
        check_family(family, truth, group, found);
        return;
    }
    let Some(limits) = promised.groups.get(&group.name) else { return };
    let (size, before) = (group.size, limits.before);
    let name = &group.name;
    if size.desired > size.max {
        found.broken(Promise::S4, format!("group {name} exceeds its maximum: {size}"));
    }
    let surge = limits.surge + limits.kept;
    let most = promised.raised(name).bounds(before);
    if size.max > most.max + surge || size.desired > most.desired + surge {
        found.broken(Promise::S4, format!("group {name} is {size}, was {before}, and may grow by {surge}"));
    }
    let written = promised.may_be_written(found.at, name, before);
    let is_raised = size.max > most.max || size.desired > most.desired;
    let tag = group.tags.value(ORIGINAL).map(said);
    if is_raised && !tag.is_some_and(|tag| written.iter().any(|one| one == tag)) {
        found.broken(
            Promise::S4,
            format!("group {name} grows to {size} while its tag is {tag:?}, not one of {written:?}"),
        );
    }
}

/// What a tag says behind its version.
fn said(value: &str) -> &str {
    value.strip_prefix(VERSION).unwrap_or(value)
}

/// Nodes that the groups which are left want less than before.
fn moved(family: &Family, truth: &Truth) -> u32 {
    let sources = family.before.iter().filter(|(name, _)| **name != family.landing);
    sources.map(|(name, before)| before.desired - truth.groups[name].size.desired.min(before.desired)).sum()
}

/// A group has changed out of which nodes move, or into which.
fn check_family(family: &Family, truth: &Truth, group: &NodeGroup, found: &mut Found<'_>) {
    let (size, before) = (group.size, family.before[&group.name]);
    let moved = moved(family, truth);
    let is_landing = group.name == family.landing;
    let extra = if is_landing { moved + family.limits.surge + family.limits.kept } else { 0 };
    let max = before.max.max(before.desired + extra);
    if size.desired > size.max || size.max > max || size.desired > before.desired + extra {
        let what = format!(
            "group {} is {size}, was {before}, with {moved} moved and a surge of {}",
            group.name, family.limits.surge
        );
        found.broken(Promise::S4, what);
    }
    if is_landing && size.desired > before.desired + moved {
        for (name, before) in &family.before {
            let written = format!("{}/{}/{}", before.min, before.max, before.desired);
            let tag = truth.groups[name].tags.value(ORIGINAL).map(said);
            if tag != Some(written.as_str()) {
                let what = format!("{} grows while the tag of group {name} is {tag:?}", group.name);
                found.broken(Promise::S4, what);
            }
        }
    }
}

/// Whether it is said, at last or among what blocks, that a group's bounds cannot be given back.
pub(super) fn says_bounds(last: &Decision, end: Option<&End>, group: &GroupName) -> bool {
    let blockers = match end {
        Some(End::Blocked(why) | End::RolledBack(why) | End::Cancelled(why) | End::Refused(why)) => &why[..],
        Some(End::Done) | None => &[],
    };
    last.waiting.iter().chain(blockers).any(|waiting| {
        matches!((&waiting.what, &waiting.on), (Subject::Bounds(of), WaitingOn::RollEnd(RollEnd::Bounds { .. })) if of == group)
    })
}

/// The run is over: what has moved is wanted there, and nothing else is changed, or it is said why not.
fn finish_family(family: &Family, truth: &Truth, end: Option<&End>, last: &Decision, found: &mut Found<'_>) {
    let landing = &family.landing;
    let is_said = says_bounds(last, end, landing);
    let moved = moved(family, truth);
    for (name, before) in &family.before {
        let group = &truth.groups[name];
        let size = group.size;
        let wanted = if name == landing { before.desired + moved } else { size.desired.min(before.desired) };
        let max = before.max.max(wanted);
        // EKS lowers the minimum of a managed group that is to have no nodes.
        let is_emptied = group.kind == GroupKind::EksManaged && size.desired == 0 && name != landing;
        let min = if is_emptied { 0 } else { before.min };
        let is_right = size.min == min && size.max == max && size.desired == wanted;
        let is_excused = is_said && (name != landing || size.desired > wanted);
        if !is_right && !is_excused {
            let what = format!("group {name} ends as {size}, was {before}, with {moved} moved");
            found.broken(Promise::S4, what);
        }
        let is_blocked = matches!(end, Some(End::Blocked(_) | End::RolledBack(_) | End::Cancelled(_)));
        for (tag, may_stay) in [(ORIGINAL, is_said), (BEGUN, is_said), (HALTED, is_blocked)] {
            if group.tags.contains_key(tag) && !may_stay {
                found.broken(Promise::S4, format!("group {name} keeps the tag {tag}"));
            }
        }
    }
}

/// Nodes of a group that are replaced, and that the plan keeps for a way back.
fn retained(truth: &Truth, group: &GroupName) -> u32 {
    let is_retained = |node: &&Arc<Node>| {
        let is_of_group = truth.instance_of(node).is_some_and(|one| one.group == *group);
        is_of_group && node.meta.annotations.value(ROLE) == Some("retained")
    };
    u32::try_from(truth.nodes.values().filter(is_retained).count()).expect("few")
}

/// New nodes of a group on which nothing runs, those aside that somebody has closed: they are his. What a way back did not come to take away is none.
fn idle<'t>(
    promised: &'t Promised,
    truth: &'t Truth,
    group: &'t GroupName,
) -> impl Iterator<Item = NodeName> + 't {
    let launched = truth
        .instances
        .values()
        .filter(move |one| one.group == *group && one.state.is_alive() && promised.is_launched(one));
    let nodes = launched.filter_map(|one| truth.nodes.get(one.node.as_ref()?));
    let nodes = nodes
        .filter(|node| !node.spec.unschedulable && !promised.old.contains(&node.name()))
        .map(|node| node.name());
    nodes.filter(|name| !truth.pods_on(name).any(|pod| !goes_with_its_node(truth, pod)))
}

/// The run is over: sizes are as they were, or it is said why not. What has become idle after it `ended` it did not look at.
pub(super) fn finish(
    promised: &Promised,
    (truth, capacity): (&Truth, &Capacity),
    (end, ended): (Option<&End>, Time),
    last: &Decision,
    found: &mut Found<'_>,
) {
    if let Some(family) = &promised.family {
        finish_family(family, truth, end, last, found);
    }
    for (name, limits) in &promised.groups {
        let Some(group) = truth.groups.get(name) else { continue };
        let (size, before) = (group.size, limits.before);
        let is_said = says_bounds(last, end, name);
        // More than before are in use: that is said, and the tag stays. What the plan keeps for a way back is wanted beside what was there before, be
        // all of that alive at the moment or not: one of the others may just have been taken away, and the group launches another for it.
        let alive = truth.seen_alive(name, found.at);
        let others = promised.raised(name);
        let more = size.desired.saturating_sub(others.bounds(before).desired);
        let is_kept = more > 0 && more <= retained(truth, name);
        let is_excused = is_said && (alive > before.desired as usize || is_kept);
        if !others.may_make(before, size) && !is_excused {
            found.broken(
                Promise::S4,
                format!("group {name} ends as {size} and was {before} ({alive} instances)"),
            );
        }
        // Where the number of nodes is kept to what is needed, what is idle goes by that.
        if is_said && more > retained(truth, name) && !promised.is_scaled {
            let is_seen =
                |node: &NodeName| truth.is_quiet(node, ended) && capacity.can_spare(promised, truth, node);
            let idle: Vec<NodeName> = idle(promised, truth, name).filter(is_seen).collect();
            for node in idle {
                found.broken(
                    Promise::S4,
                    format!("group {name} stays at {size}, was {before}, although nothing runs on {node}"),
                );
            }
        }
        let is_blocked = matches!(end, Some(End::Blocked(_) | End::RolledBack(_) | End::Cancelled(_)));
        for (tag, may_stay) in [(ORIGINAL, is_excused), (BEGUN, is_excused), (HALTED, is_blocked)] {
            if group.tags.contains_key(tag) && !may_stay {
                found.broken(Promise::S4, format!("group {name} keeps the tag {tag}"));
            }
        }
    }
}
