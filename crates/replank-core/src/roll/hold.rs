//! What is said of queued nodes that cannot be begun.

use replank_facts::drain::Otherwise;
use replank_facts::plan::OnDeadline;
use replank_model::time::Time;
use replank_protocol::waiting::{PodEnd, PodWait, Subject, Waiting, WaitingOn};

use super::context::{Context, GroupRoll};
use super::evict::wait_for;
use super::held_pods::Held;
use super::member::NodeState;

/// Says of all groups at once what their nodes wait for that cannot be begun; `false` where one is to be left out for it, and each is to be looked at.
pub(super) fn all(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>]) -> bool {
    let on_deadline = ctx.scope.plan.batch.on_deadline;
    let is_everything = rolls.len() == ctx.fleet.groups.len();
    let mut told = Vec::new();
    let mut next: Option<Time> = None;
    for (pod, lane, held) in ctx.fleet.held_pods.iter() {
        if !is_everything && !rolls.iter().any(|roll| roll.name == lane) {
            continue;
        }
        let on = match (held, on_deadline) {
            (Held::Refused(reason), _) => WaitingOn::PodEnd(PodEnd::Refused { reason }),
            (Held::Unrecorded, _) => WaitingOn::Pod(PodWait::Unrecorded),
            (Held::Batch { since, deadline, .. }, _) if ctx.now < deadline => {
                next = Some(next.map_or(deadline, |next| next.min(deadline)));
                WaitingOn::Pod(PodWait::Batch { since, deadline })
            }
            (Held::Batch { since, deadline, .. }, OnDeadline::Pause) => {
                WaitingOn::PodEnd(PodEnd::BatchOver { since, deadline })
            }
            (Held::Batch { otherwise: Otherwise::Refused(reason), .. }, OnDeadline::Evict) => {
                WaitingOn::PodEnd(PodEnd::Refused { reason })
            }
            (Held::Batch { otherwise: Otherwise::Moves, .. }, OnDeadline::Evict) => continue,
            (Held::Batch { .. }, OnDeadline::Skip) => return false,
        };
        told.push(Waiting { what: Subject::Pod(pod.clone()), on });
    }
    ctx.wait_in_order(told);
    if let Some(next) = next {
        ctx.is_moving = true;
        ctx.wake_at(next);
    }
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
