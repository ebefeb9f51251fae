//! S4, second half: the sizes of groups.

use replank_core::decision::{Decision, End};
use replank_core::waiting::{Subject, WaitingOn};
use replank_model::object::cloud::NodeGroup;

use super::truth::Truth;
use super::{Found, Promise, Promised};

const ORIGINAL: &str = "replank.dev/original-size";
const BEGUN: &str = "replank.dev/begun";
/// Stays where a run was blocked: it is what keeps the same run from beginning again.
const HALTED: &str = "replank.dev/halted";

/// A group has changed.
pub(super) fn check(promised: &Promised, group: &NodeGroup, found: &mut Found<'_>) {
    let Some(limits) = promised.groups.get(&group.name) else { return };
    let (size, before) = (group.size, limits.before);
    let name = &group.name;
    if size.desired > size.max {
        found.broken(Promise::S4, format!("group {name} wants more than its maximum: {size}"));
    }
    if size.max > before.max + limits.surge || size.desired > before.desired + limits.surge {
        let surge = limits.surge;
        found.broken(
            Promise::S4,
            format!("group {name} is {size}, was {before}, and may be raised by {surge}"),
        );
    }
    let written = format!("{}/{}/{}", before.min, before.max, before.desired);
    let is_raised = size.max > before.max || size.desired > before.desired;
    if is_raised && group.tags.value(ORIGINAL) != Some(written.as_str()) {
        let tag = group.tags.value(ORIGINAL);
        found.broken(
            Promise::S4,
            format!("group {name} is raised to {size} while its tag says {tag:?}, not {written}"),
        );
    }
}

/// The run is over: sizes are as they were, or it is said why not.
pub(super) fn finish(
    promised: &Promised,
    truth: &Truth,
    end: Option<&End>,
    last: &Decision,
    found: &mut Found<'_>,
) {
    for (name, limits) in &promised.groups {
        let Some(group) = truth.groups.get(name) else { continue };
        let (size, before) = (group.size, limits.before);
        let is_said = last.waiting.iter().any(|waiting| {
            matches!((&waiting.what, &waiting.on), (Subject::Bounds(of), WaitingOn::Bounds { .. }) if of == name)
        });
        // More than before are in use: that is said, and the tag stays.
        let alive = truth.instances.values().filter(|one| one.group == *name && one.state.is_alive()).count();
        let is_excused = is_said && alive > before.desired as usize;
        if size != before && !is_excused {
            found.broken(
                Promise::S4,
                format!("group {name} ends as {size} and was {before} ({alive} instances)"),
            );
        }
        let is_blocked = matches!(end, Some(End::Blocked(_)));
        for (tag, may_stay) in [(ORIGINAL, is_excused), (BEGUN, is_excused), (HALTED, is_blocked)] {
            if group.tags.contains_key(tag) && !may_stay {
                found.broken(Promise::S4, format!("group {name} keeps the tag {tag}"));
            }
        }
    }
}
