//! More instances for a group.

use replank_model::object::cloud::{GroupSize, NodeGroup};

use super::context::{Context, GroupRoll};
use super::tags::resize;

/// Raises a group by one for a node that can be drained after all, within the surge.
pub(super) fn raise_for_one(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) {
    let (Some(group), Some(_)) = (roll.group, roll.original) else { return };
    if roll.missing() == 0 && roll.unwanted() == 0 && roll.allowance(ctx.scope).surge > 0 {
        let kept = roll.retained().saturating_sub(roll.unwanted());
        raise(ctx, roll, group, roll.wanted_before() + kept + 1);
    }
}

/// Raises a group until it wants so many nodes, with those whose nodes move into it; whether that is still to happen.
pub(super) fn raise(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, group: &NodeGroup, wanted: u32) -> bool {
    let from = group.size;
    if roll.wanted() >= wanted {
        return false;
    }
    let desired = from.desired + (wanted - roll.wanted());
    let to = GroupSize { desired, max: from.max.max(desired), min: from.min };
    resize(ctx, roll, from, to, "surge");
    true
}
