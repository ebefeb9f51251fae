//! Whether another run holds a group.

use replank_facts::leftover::{Holds, State};

use super::context::{Context, GroupRoll};

/// Whether what is written on a group is of another run that still holds: then a run that has not begun there has nothing to give
/// back.
pub(super) fn is_held_by_another(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> bool {
    if roll.begun.is_some() || ctx.scope.is_way_back() {
        return false;
    }
    let holds = Holds::of(ctx.view, ctx.now);
    let groups = roll.group.into_iter().chain(roll.sources.iter().filter_map(|source| source.group));
    let mut left = groups.flat_map(|group| holds.on_group(group));
    left.any(|leftover| {
        let is_others = leftover.run.as_ref().is_some_and(|run| *run != ctx.scope.run);
        is_others && matches!(leftover.state, State::Running { .. })
    })
}
