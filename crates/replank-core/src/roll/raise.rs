//! More instances for a group.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_facts::places::Places;
use replank_model::object::cloud::{GroupSize, NodeGroup};
use replank_model::object::pod::Pod;

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

/// Raises a group by one more for pods that have no room on the new nodes that there are and would have on another one, within the surge and by no more than nodes are left: the
/// surge is taken when it is of use, and what came up may be in other zones, or full.
pub(super) fn raise_for_room(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, pods: &[Arc<Pod>]) {
    let (Some(group), Some(_)) = (roll.group, roll.original) else { return };
    let nodes = roll.nodes;
    let on_the_way = nodes.loose_new.len() + nodes.loose_leaving.len();
    let is_settled = nodes.arriving.is_empty() && nodes.leaving.is_empty() && on_the_way == 0;
    if !is_settled || roll.missing() > 0 || roll.unwanted() > 0 {
        return;
    }
    let kept = roll.retained();
    let most = roll.wanted_before() + kept + roll.allowance(ctx.scope).surge.min(nodes.old_left());
    if roll.wanted() >= most {
        return;
    }
    let names = BTreeSet::from([roll.name]);
    let target = &ctx.scope.plan.target;
    let mut places = Places::with_new_nodes(ctx.view, &names, target, ctx.fleet.closed());
    let mut known = BTreeMap::new();
    if pods.iter().any(|pod| places.obstacle_of_kind(&mut known, pod).is_none()) {
        raise(ctx, roll, group, roll.wanted() + 1);
    }
}

/// Raises a group until it wants so many nodes, with those whose nodes move into it; whether that is still to happen.
pub(super) fn raise(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, group: &NodeGroup, wanted: u32) -> bool {
    if roll.wanted() >= wanted {
        return false;
    }
    let more = wanted - roll.wanted();
    let (group, more) = short_of(roll, more).unwrap_or((group, more));
    let from = group.size;
    let desired = from.desired + more;
    let to = GroupSize { desired, max: from.max.max(desired), min: from.min };
    resize(ctx, group, to, "surge");
    true
}

/// Where nodes go back into several groups: one that wants less than before the run, and by how much it is raised, one group at a time.
fn short_of<'a>(roll: &GroupRoll<'a>, more: u32) -> Option<(&'a NodeGroup, u32)> {
    let lead = roll.group.zip(roll.original.map(|size| size.desired));
    let further = roll.further.iter().filter_map(|one| Some((one.group?, one.wanted_before())));
    let short = |(group, before): (&'a NodeGroup, u32)| {
        let less = before.saturating_sub(group.size.desired);
        (less > 0).then(|| (group, less.min(more)))
    };
    if roll.further.is_empty() { None } else { lead.into_iter().chain(further).find_map(short) }
}
