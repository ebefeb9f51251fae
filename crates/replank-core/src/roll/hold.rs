//! What is said of queued nodes that cannot be begun.

use std::collections::BTreeSet;

use replank_facts::plan::OnDeadline;
use replank_model::time::Time;

use super::context::{Context, GroupRoll};
use super::evict::wait_for;
use super::member::NodeState;

/// Says of all groups at once what their nodes wait for that cannot be begun; `false` where one is to be left out for it, and each is to be looked at.
pub(super) fn all<'a>(ctx: &mut Context<'a>, rolls: &[GroupRoll<'a>]) -> bool {
    let is_everything = rolls.len() == ctx.fleet.groups.len();
    let lanes: Option<BTreeSet<_>> = (!is_everything).then(|| rolls.iter().map(|roll| roll.name).collect());
    let mut next: Option<Time> = None;
    for deadline in ctx.fleet.held_pods.deadlines(lanes.as_ref()) {
        if ctx.now < deadline {
            next = Some(next.map_or(deadline, |next| next.min(deadline)));
        } else if ctx.scope.plan.batch.on_deadline == OnDeadline::Skip {
            return false;
        }
    }
    if let Some(next) = next {
        ctx.is_moving = true;
        ctx.wake_at(next);
    }
    ctx.wait_for_held(lanes);
    true
}

/// Says what the nodes of a group wait for that cannot be begun, and leaves those out that are to be.
pub(super) fn each(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) {
    for name in &roll.nodes.held {
        let member = ctx.member(name);
        if let NodeState::Queued { since, node_pods } = &member.state {
            wait_for(ctx, member, *since, node_pods);
        }
    }
}
