//! Old nodes that are not Ready: no pod on them serves anybody, and nothing is to be learnt from their replacement.
//!
//! They are not drained in turn: they take no place of `pace.parallel`, are no canary, and cost their group nothing. One that has not been Ready
//! for the plan's `deadNodes.after` is begun at once. The control plane has its pods deleted by then
//! (`node.kubernetes.io/not-ready` and `unreachable`, 300 s by default), and where the kubelet is silent nobody ends them: once nothing but
//! such pods is left, its instance is terminated by its id, and they go with the machine. What a
//! terminated machine had attached is free, and garbage collection takes its pods out of the API when the node is gone; no pod is
//! deleted by force while its instance may run.
//!
//! One that becomes Ready again before that is an old node like any other.

use replank_facts::plan::DeadAction;
use replank_model::text::NodeName;
use replank_model::time::Time;
use replank_protocol::waiting::{RollWait, Subject};

use super::context::{Context, GroupRoll};
use super::member::{Member, NodeState};

/// Whether a node has not been Ready for as long as the plan waits for it, and is to be replaced for that.
pub(super) fn is_dead(ctx: &Context<'_>, member: &Member) -> bool {
    let dead = ctx.scope.plan.care.dead_nodes;
    match dead.action {
        DeadAction::Replace => member.unready.is_some_and(|since| ctx.now >= since + dead.after),
        DeadAction::Leave => false,
    }
}

/// Old nodes of a group that are dead, gone ones aside.
pub(super) fn left(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> u32 {
    let unready = roll.nodes.unready.iter();
    u32::try_from(unready.filter(|name| is_dead(ctx, ctx.member(name))).count()).unwrap_or(u32::MAX)
}

/// Queued nodes of a group that are to be begun now, and since when they have been queued; says what the others wait for that are not Ready.
pub(super) fn due(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> Vec<(NodeName, Time)> {
    let mut due = Vec::new();
    if roll.nodes.unready.is_empty() {
        return due;
    }
    let plan = ctx.scope.plan.care.dead_nodes;
    for name in roll.nodes.queue.values().flatten().map(|(_, name)| name) {
        let member = ctx.member(name);
        let (Some(unready), NodeState::Queued { since, .. }) = (member.unready, &member.state) else {
            continue;
        };
        let subject = Subject::Node(name.clone());
        match plan.action {
            DeadAction::Leave => ctx.wait(subject, RollWait::NotReady { since: unready, until: None }.into()),
            DeadAction::Replace if is_dead(ctx, member) => due.push((name.clone(), *since)),
            DeadAction::Replace => {
                let until = unready + plan.after;
                ctx.wait_until(
                    subject,
                    RollWait::NotReady { since: unready, until: Some(until) }.into(),
                    until,
                );
            }
        }
    }
    due
}
