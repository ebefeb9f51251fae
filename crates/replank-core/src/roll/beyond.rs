//! What a group has beyond its size.

use super::context::GroupRoll;

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
