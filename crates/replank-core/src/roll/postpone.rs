//! Uncordoning a node whose drain is stalled ([`super::stalled`]), so that another node of its group can have its share of the surge.

use replank_model::time::Time;
use replank_protocol::command::{Mark, NodeRole};
use replank_protocol::owner::Owner;

use super::context::{Context, GroupRoll};
use super::drain::{Drain, Spare};
use super::member::{Member, NodeState};
use super::terms::MARK_LIFE;

/// Uncordons one node of a group whose drain is stalled, so that another can have its share.
pub(super) fn postpone(
    ctx: &mut Context<'_>,
    (number, roll): (usize, &GroupRoll<'_>),
    drains: &[Drain<'_>],
    spare: &Spare,
    next: &Member,
) {
    let stalled = drains.iter().filter(|drain| drain.roll == number && drain.is_stalled(ctx.now));
    let stalled = stalled.map(|drain| drain.member).filter(|member| member.serves());
    // EKS takes the nodes of a managed group all at once.
    let ours = stalled.filter(|member| !roll.is_from_managed(member));
    let helps = ours.filter(|member| spare.would_help(number, member, next));
    let Some(member) = helps.min_by_key(|member| (begun(member), &member.name)) else { return };
    if ctx.awaits_evictions(&member.name) {
        return;
    }
    let times = member.postponed + 1;
    let mark = Mark {
        owner: Owner::Run,
        role: NodeRole::Postponed { times },
        since: ctx.now,
        expires: ctx.now + MARK_LIFE,
    };
    let key = ctx.key("postpone", format!("{}/{times}", member.uid));
    ctx.mark(member, "uncordon of a node that cannot be emptied for now", key, mark);
}

fn begun(member: &Member) -> Option<Time> {
    match member.state {
        NodeState::Draining { from, .. } => Some(from),
        NodeState::Bystander
        | NodeState::Usable
        | NodeState::Arriving { .. }
        | NodeState::Closed
        | NodeState::Surplus { .. }
        | NodeState::Found { .. }
        | NodeState::Queued { .. }
        | NodeState::Postponed { .. }
        | NodeState::Skipped { .. }
        | NodeState::Drained { .. }
        | NodeState::Retained { .. }
        | NodeState::Upgraded
        | NodeState::OtherNode
        | NodeState::Reopened
        | NodeState::OtherRun { .. }
        | NodeState::Newer { .. }
        | NodeState::NoInstance
        | NodeState::Kept { .. }
        | NodeState::Leaving => None,
    }
}
