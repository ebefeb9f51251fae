//! Managed node groups: EKS replaces their nodes, and the run starts that, follows it, or adopts what somebody else has started.
//!
//! Nothing of what the other modules do to groups and nodes is done here: no cordon, no eviction, no change of the Auto Scaling group
//! ([`crate::sent`] sees to that). Where nodes are not as the plan says,
//!
//! - an update in progress to the same target is followed, regardless of who started it; the run waits for one to another target;
//! - one that has failed since the run began is told with its errors: nothing is tried again by itself;
//! - else EKS is asked for one (UpdateNodegroupVersion). Its client request token follows from the command's key, so that a restart asks for the
//!   same one.
//!
//! An update cannot be paused or cancelled. So a run that rests begins none, and follows the one that it has begun.

use replank_facts::budget::{Healths, Ledger};
use replank_model::object::cloud::{GroupKind, NodeGroup, NodegroupUpdate, UpdateError, UpdateStatus};
use replank_model::text::{NodeName, Text};
use replank_protocol::command::{Effect, GroupEffect, Refusal};
use replank_protocol::proof::goes_with_its_node;
use replank_protocol::waiting::{LeftPod, RollEnd, RollWait, WaitingOn};

use super::context::{Context, GroupRoll};
use super::eks_drain;
use super::prepare::{is_suspended, other_kubelet};
use replank_facts::target;

/// How far the managed node groups of a run are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Followed {
    /// All of them are as the plan says.
    Done,
    /// Something is still to happen, or only a person can help.
    Open,
}

/// Whether EKS replaces the nodes of a group: those that move into another one are drained here ([`super::departure`]).
pub(super) fn is_managed(roll: &GroupRoll<'_>) -> bool {
    !roll.is_moved_into() && roll.group.is_some_and(|group| group.kind == GroupKind::EksManaged)
}

/// Looks after the managed node groups of a run; `may_begin` unless the run rests.
pub(super) fn follow(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>], may_begin: bool) -> Followed {
    let mut followed = Followed::Done;
    for roll in rolls {
        if follow_one(ctx, roll, may_begin) == Followed::Open {
            followed = Followed::Open;
        }
    }
    followed
}

/// Says which updates go on though the run ends: nobody can cancel them.
pub(super) fn leave(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>]) {
    for roll in rolls {
        if let Some(update) = roll.group.and_then(NodeGroup::update_in_progress) {
            say(ctx, roll, update);
        }
    }
}

fn follow_one(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, may_begin: bool) -> Followed {
    let Some(group) = roll.group else { return Followed::Open };
    if let Some(update) = group.update_in_progress() {
        if eks_drain::leads_there(ctx, group, update) {
            say(ctx, roll, update);
        } else {
            let (id, since) = (update.id.clone(), update.created);
            ctx.wait(roll.subject(), RollWait::OtherUpdate { id, since }.into());
        }
        return Followed::Open;
    }
    let target = &ctx.scope.plan.target;
    let is_made = target::meets_template(target, group, group.template());
    if roll.nodes.old_left() == 0 && is_made {
        return Followed::Done;
    }
    if let Some(update) = failed(ctx, group) {
        let (id, errors) = (update.id.clone(), update.errors.clone());
        let left = left(ctx, &errors);
        ctx.wait(roll.subject(), RollEnd::UpdateFailed { id, errors, left }.into());
        return Followed::Open;
    }
    if !is_made && other_kubelet(ctx, roll, group) {
        return Followed::Open;
    }
    let key = ctx.key("nodegroup-version", format!("{}/{}", roll.name, group.current));
    if let Some(message) = ctx.sent.refusal(&key).and_then(for_good) {
        ctx.wait(roll.subject(), RollEnd::UpdateRefused { message }.into());
        return Followed::Open;
    }
    if may_begin && !is_suspended(ctx, roll) {
        let effect = Effect::Group(GroupEffect::UpdateNodegroupVersion {
            group: group.id(),
            from: group.current.clone(),
            to: target::template(target, group),
            force: false,
        });
        ctx.send(roll.subject(), "update of the managed node group", key, effect);
    }
    Followed::Open
}

/// Pods that are still on the nodes that EKS could not empty, and what keeps them.
fn left(ctx: &Context<'_>, errors: &[UpdateError]) -> Vec<LeftPod> {
    let not_emptied = errors.iter().filter(|error| &*error.code == UpdateError::POD_EVICTION_FAILURE);
    let nodes = not_emptied.flat_map(|error| &error.resources).map(|name| NodeName::from(&**name));
    let mut healths = Healths::default();
    let mut ledger = Ledger::new(ctx.view, &mut healths);
    let (mut left, mut census) = (Vec::new(), None);
    for name in nodes {
        for ix in ctx.view.pods_on(&name) {
            let pod = &ctx.view.pods[*ix];
            if goes_with_its_node(pod) {
                continue;
            }
            let kept = match eks_drain::leaving(pod) {
                Some(leaving) => Err(eks_drain::leaves(ctx, &mut census, &leaving)),
                None => ledger.check(*ix, pod),
            };
            let (on, end) = match kept {
                Err(WaitingOn::Pod(on)) => (Some(on), None),
                Err(WaitingOn::PodEnd(end)) => (None, Some(end)),
                Ok(()) | Err(_) => (None, None),
            };
            left.push(LeftPod { pod: pod.meta.key(), on, end });
        }
    }
    left.sort_by(|a, b| a.pod.cmp(&b.pod));
    left
}

/// What EKS says of a request that is wrong as it is: the same one is refused again. Throttling and credentials that cannot be had are 400, too, and pass.
const WRONG: [&str; 2] = ["InvalidParameterException", "InvalidRequestException"];

fn for_good(refusal: &Refusal) -> Option<Text> {
    match refusal {
        Refusal::Failed { code: 400, message } if WRONG.iter().any(|code| message.contains(code)) => {
            Some(message.clone())
        }
        Refusal::Failed { .. }
        | Refusal::Budget { .. }
        | Refusal::Conflict { .. }
        | Refusal::Denied { .. }
        | Refusal::Gone { .. }
        | Refusal::Mismatch { .. }
        | Refusal::Late => None,
    }
}

fn say(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, update: &NodegroupUpdate) {
    ctx.is_moving = true;
    let nodes = roll.nodes.old_left();
    let on = RollWait::NodegroupUpdate { id: update.id.clone(), since: update.created, nodes };
    ctx.wait(roll.subject(), on.into());
}

/// The update that leads where the plan says and has failed since the run began, also one that somebody else had asked for before.
fn failed<'g>(ctx: &Context<'_>, group: &'g NodeGroup) -> Option<&'g NodegroupUpdate> {
    let is_of_now =
        |update: &&NodegroupUpdate| update.created >= ctx.scope.options.started || update.was_followed;
    let update = group.update.as_ref().filter(is_of_now)?;
    let has_failed = match update.status {
        UpdateStatus::Failed | UpdateStatus::Cancelled => true,
        UpdateStatus::InProgress | UpdateStatus::Successful => false,
    };
    (has_failed && eks_drain::leads_there(ctx, group, update)).then_some(update)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_asked_for_again() {
        let refused =
            |code: u16, message: &str| for_good(&Refusal::Failed { code, message: Text::from(message) });
        assert!(refused(400, "InvalidParameterException: already using the requested version").is_some());
        assert!(refused(400, "eks:UpdateNodegroupVersion: InvalidRequestException: being deleted").is_some());
        assert!(refused(400, "autoscaling:DescribeAutoScalingGroups: Throttling: Rate exceeded").is_none());
        assert!(refused(400, "no credentials can be had from STS").is_none());
        assert!(refused(503, "InvalidParameterException").is_none());
    }
}
