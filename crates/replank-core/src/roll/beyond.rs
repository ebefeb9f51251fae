//! What a group has beyond its size.

use super::context::GroupRoll;
use super::kept::keeps_nodes;
use super::member::Scope;

/// Instances that the group wants beyond its size before the run, those aside that moved into it and those that are kept.
pub(super) fn beyond(roll: &GroupRoll<'_>) -> u32 {
    match (roll.group, roll.original) {
        (Some(_), Some(_)) => roll.wanted().saturating_sub(roll.wanted_before() + roll.retained()),
        (Some(_) | None, Some(_) | None) => 0,
    }
}

/// What the group itself is to want at least when all that it has beyond its size is gone, and so many of the nodes that are retained.
pub(super) fn floor(roll: &GroupRoll<'_>, retained: u32) -> u32 {
    roll.group.map_or(0, |group| group.size.desired.saturating_sub(beyond(roll) + retained))
}

/// How many more nodes than before a group may want for the run's sake as far as it is by now; `None` before it has begun.
///
/// A node comes up beside another one only once that is marked as retained, or its group wants one less. So what somebody else has added shows from the
/// beginning, and not only when the run has all that it may come to want. A run that has halted releases what it kept: then nothing tells any more how much
/// that was.
pub(super) fn extra_by_now(scope: &Scope, roll: &GroupRoll<'_>) -> Option<u32> {
    let begun = roll.begun.as_ref()?;
    if roll.halted.is_some() || !keeps_nodes(scope) && !roll.is_moved_into() {
        return Some(begun.extra);
    }
    let nodes = roll.nodes;
    // One that was kept and has got pods since then is drained once more, and one that somebody has uncordoned is left to him: each is still beside the
    // one in its place.
    let again = if roll.retained_until.is_some() { nodes.draining.len() } else { 0 };
    let still = u32::try_from(again + nodes.aside.len()).unwrap_or(u32::MAX);
    let by_now = [roll.gone(), roll.moved(), still].into_iter().fold(begun.surge, u32::saturating_add);
    Some(begun.extra.min(by_now))
}
