//! Whether another run holds a group.

use replank_facts::leftover::{Holds, State};
use replank_protocol::mark;

use super::context::{Context, GroupRoll};

/// Whether what is written on a group is of another run that still holds: then a run that has not begun there has nothing to give
/// back. What a newer Replank has written on is left as it is in any case.
pub(super) fn is_held_by_another(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> bool {
    if newer(roll).is_some() {
        return true;
    }
    if roll.begun.is_some() || ctx.scope.is_way_back() {
        return false;
    }
    let holds = Holds::of(ctx.view, ctx.now);
    let groups = roll.group.into_iter().chain(roll.others().map(|(_, group)| group));
    let mut left = groups.flat_map(|group| holds.on_group(group));
    left.any(|leftover| {
        let is_others = leftover.run.as_ref().is_some_and(|run| *run != ctx.scope.run);
        is_others && matches!(leftover.state, State::Running { .. })
    })
}

/// The version of what a newer Replank has written on one of the groups, if it has.
pub(super) fn newer(roll: &GroupRoll<'_>) -> Option<u64> {
    let groups = roll.group.into_iter().chain(roll.others().map(|(_, group)| group));
    groups.filter_map(mark::newer_on_group).max()
}
