//! Protection from scale-in, for instances with batch pods that the run waits for.
//!
//! A wait for batch pods may take hours. Meanwhile somebody may lower the size of the group, by hand or by a scaling policy, and Auto Scaling then picks an instance
//! and asks nobody; by its default it picks one of the oldest launch template, which is one that the run has yet to replace. What is protected it does not pick.
//!
//! That the run protects an instance is written down in a tag of its group first ([`mark::PROTECTED`]), and the tag is taken off when the protection is seen to have
//! ended: whoever goes on with the run, or comes after it, knows from the group alone which protections are to be ended. One without a tag is somebody
//! else's, and stays. It ends as soon as nothing on the instance is waited for any more, so before the run ends the instance by its id, and when the run comes to its end, whatever that is.
//!
//! The run does not depend on it: where it is refused, that is said, and the run goes on.

use replank_facts::drain::Otherwise;
use replank_facts::node_pods::{BatchPod, NodePods};
use replank_facts::plan::OnDeadline;
use replank_model::object::cloud::{GroupKind, Instance, NodeGroup};
use replank_model::text::{InstanceId, Text};
use replank_model::time::Time;
use replank_protocol::command::{CommandKey, Effect, GroupEffect};
use replank_protocol::mark::{PROTECTED, protected_by, protected_in, protected_key, protected_tag};
use replank_protocol::waiting::{RollWait, RunWait, Subject, WaitingOn};

use super::batch::batch_is_over;
use super::context::{Context, GroupRoll};
use super::member::{Member, NodeState};
use super::protectable::can_change;
use super::tags::untag;

/// How many instances of a group are protected at once. Each takes a tag, of which an Auto Scaling group can have 50 (EC2 Auto Scaling user guide, "Tag Auto Scaling
/// groups and instances"), and a dozen others of ours, those of its owner and those for an autoscaler have to fit, too.
const PROTECTED_MAX: usize = 20;

/// Protects what is to be protected of the groups of a run, and ends what is not needed any more.
pub(super) fn tend(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>]) {
    if ctx.scope.is_external() {
        return;
    }
    for roll in rolls.iter().filter(|roll| roll.begun.is_some()) {
        for group in own(roll) {
            end_but(ctx, group, Some(roll));
            protect(ctx, group, roll);
        }
    }
}

/// Ends every protection that runs have written down on the groups of a roll; whether that is done.
pub(super) fn end_all(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let mut is_done = true;
    for group in own(roll) {
        is_done &= end_but(ctx, group, None);
    }
    is_done
}

/// Whether a node's instance is to be kept until its protection has ended, which is said. Where ending it is refused, it keeps nothing: a termination by id does not ask for it.
pub(super) fn is_held(ctx: &mut Context<'_>, member: &Member) -> bool {
    let key = key(ctx, &member.instance, false);
    let is_protected = ctx.view.instances().get(&member.instance).is_some_and(|one| one.is_protected);
    if !is_protected || !ctx.sent.is_under_way(ctx.now, &key) {
        return false;
    }
    ctx.is_moving = true;
    let what = Text::from("end of its protection from scale-in");
    ctx.wait(Subject::Node(member.name.clone()), WaitingOn::Run(RunWait::Effect { what }));
    true
}

/// The groups of a roll whose Auto Scaling groups are not EKS's: in those nothing is changed.
fn own<'a>(roll: &GroupRoll<'a>) -> Vec<&'a NodeGroup> {
    let all = roll.group.into_iter().chain(roll.others().map(|(_, group)| group));
    all.filter(|group| group.kind == GroupKind::SelfManaged).collect()
}

/// Whether something on a node is waited for that would be lost with its instance.
fn waits(ctx: &Context<'_>, member: &Member) -> bool {
    let waits = |since: Time, node_pods: &NodePods| {
        !node_pods.unrecorded.is_empty()
            || node_pods.batch.iter().any(|batch| is_waited_for(ctx, since, batch))
    };
    match &member.state {
        NodeState::Queued { since, node_pods }
        | NodeState::Draining { since, node_pods, .. }
        | NodeState::Postponed { since, node_pods } => waits(*since, node_pods),
        NodeState::Bystander
        | NodeState::Usable
        | NodeState::Arriving { .. }
        | NodeState::Closed
        | NodeState::Surplus { .. }
        | NodeState::Found { .. }
        | NodeState::Skipped { .. }
        | NodeState::Retained { .. }
        | NodeState::Drained { .. }
        | NodeState::Upgraded
        | NodeState::OtherNode
        | NodeState::Reopened
        | NodeState::OtherRun { .. }
        | NodeState::Newer { .. }
        | NodeState::NoInstance
        | NodeState::Kept { .. }
        | NodeState::Leaving => false,
    }
}

fn is_waited_for(ctx: &Context<'_>, since: Time, batch: &BatchPod) -> bool {
    if !batch_is_over(ctx, since, batch) {
        return true;
    }
    match (ctx.scope.plan.batch.on_deadline, batch.otherwise) {
        (OnDeadline::Pause, _) | (OnDeadline::Evict, Otherwise::Refused(_)) => true,
        (OnDeadline::Evict, Otherwise::Moves) | (OnDeadline::Skip, _) => false,
    }
}

/// Protects instances of a group on which a roll's nodes have what is waited for: the tag first, and the instance when that is seen.
fn protect(ctx: &mut Context<'_>, group: &NodeGroup, roll: &GroupRoll<'_>) {
    if roll.nodes.unprotected.is_empty() {
        return;
    }
    let view = ctx.view;
    // In order, as tags are.
    let tags = group.tags.iter().filter_map(|(key, _)| key.strip_prefix(PROTECTED));
    let written: Vec<&str> = tags.filter(|id| !id.is_empty()).collect();
    let mut tagged = written.len();
    for (id, name) in &roll.nodes.unprotected {
        let member = ctx.member(name);
        if member.group != group.name || !waits(ctx, member) {
            continue;
        }
        let Some(instance) = view.instances().get(id) else { continue };
        let (key, effect) = if written.binary_search(&instance.id.as_str()).is_ok() {
            (key(ctx, &instance.id, true), set(group, &instance.id, true))
        } else if tagged < PROTECTED_MAX {
            tagged += 1;
            let (tag, value) = (protected_key(&instance.id), protected_tag(&ctx.scope.run));
            let effect = GroupEffect::Tag { group: group.id(), key: tag.clone(), from: None, value };
            (ctx.key("tag", format!("{}/{tag}", group.name)), effect)
        } else {
            let limit = u32::try_from(PROTECTED_MAX).ok();
            ctx.wait(subject(instance), RollWait::Unprotected { limit }.into());
            continue;
        };
        if !ctx.try_to("protection from scale-in", &key, Effect::Group(effect)) {
            ctx.wait(subject(instance), RollWait::Unprotected { limit: None }.into());
        }
    }
}

/// Ends the protection of all instances of a group but those on which a roll's nodes have what is waited for, where a tag says that it is a run's; whether none is
/// left.
fn end_but(ctx: &mut Context<'_>, group: &NodeGroup, roll: Option<&GroupRoll<'_>>) -> bool {
    let view = ctx.view;
    let keeps = |member: &Member| roll.is_some_and(|roll| ctx.is_in(member, roll)) && waits(ctx, member);
    // An instance that has registered under another name has two nodes for a while.
    let is_wanted = |id: &str| {
        ctx.fleet.member_of(id).is_some_and(keeps)
            || ctx.fleet.members.values().any(|member| member.instance.as_str() == id && keeps(member))
    };
    let tagged =
        group.tags.iter().filter_map(|(tag, value)| Some((tag, tag.strip_prefix(PROTECTED)?, value)));
    let ended = tagged.filter(|(_, id, value)| protected_by(value).is_some() && !is_wanted(id));
    let ended: Vec<(&str, InstanceId)> =
        ended.filter_map(|(tag, ..)| Some((tag, protected_in(tag)?))).collect();
    for (tag, id) in &ended {
        let known = view.instances().get(id).filter(|one| one.group == group.name && can_change(one));
        let protecting = key(ctx, id, true);
        match known {
            Some(known) if known.is_protected => {
                let key = key(ctx, id, false);
                let effect = Effect::Group(set(group, id, false));
                ctx.send(subject(known), "end of its protection from scale-in", key, effect);
            }
            // What was sent a moment ago may still come to be: until that is known the tag is needed.
            Some(known) if ctx.sent.is_under_way(ctx.now, &protecting) => {
                ctx.sent.keep(&protecting.0);
                ctx.is_moving = true;
                let what = Text::from("protection from scale-in");
                ctx.wait(subject(known), WaitingOn::Run(RunWait::Effect { what }));
            }
            Some(_) | None => untag(ctx, &group.name, tag),
        }
    }
    ended.is_empty()
}

fn set(group: &NodeGroup, instance: &InstanceId, is_protected: bool) -> GroupEffect {
    GroupEffect::ProtectInstance { instance: instance.clone(), group: group.id(), is_protected }
}

fn key(ctx: &Context<'_>, instance: &InstanceId, is_protected: bool) -> CommandKey {
    ctx.key(if is_protected { "protect" } else { "unprotect" }, instance)
}

/// The node, where there is one.
fn subject(instance: &Instance) -> Subject {
    let node = instance.node.clone().map(Subject::Node);
    node.unwrap_or_else(|| Subject::Instance(instance.id.clone()))
}
