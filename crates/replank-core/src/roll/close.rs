//! After the last node: the group's bounds as they were, our tags taken off, and new nodes that are not needed ended.
//!
//! A group that is through waits for the others: until all are, what the run wrote down of it is what a way back goes by.
//!
//! A group that others moved into wants more than before, and for good: its maximum comes back as far as that allows.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::cloud::{GroupKind, GroupSize, NodeGroup};
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, NodeName, Text, Zone};
use replank_model::time::Time;

use super::balancer;
use super::beyond::{BoundsBefore, max_raised};
use super::clear;
use super::context::{Context, GroupRoll, Watched};
use super::evict::{Spare, end_instance};
use super::member::{NodeState, Scope};
use super::prepare::{LATE_AFTER, MARK_LIFE, arrivals, last_failure, resize, untag};
use super::processes;
use super::protection;
use super::retain;
use super::way_back::goes_back;
use super::zones;
use crate::sent::COMMAND_LIFE;
use replank_facts::node_pods::NodePods;
use replank_protocol::cause::Cause;
use replank_protocol::command::Expected;
use replank_protocol::command::{Effect, GroupEffect, KubernetesEffect, Mark, NodeRole, Replacement};
use replank_protocol::mark::{self, Before, Begun, Moment, Until};
use replank_protocol::owner::Owner;
use replank_protocol::record::RunRecord;
use replank_protocol::taker::Taker;
use replank_protocol::waiting::{CapacityWait, RollEnd, RollWait, RunWait, Subject, WaitingOn};

pub(super) use super::beyond::{beyond, floor};

/// What a change of a group's size is for at the end.
const RESTORATION: &str = "restoration of the original bounds";

/// Whether a group is in its final state, except for bounds and tags; moves it there if possible.
pub(super) fn close(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, number: usize, spare: &mut Spare) -> bool {
    let has_leaving = is_leaving(ctx, roll);
    if roll.nodes.old_left() > 0 {
        return false;
    }
    // Nodes that were upgraded in place are being uncordoned: once the record is gone, no other process would.
    if !roll.nodes.upgraded.is_empty() {
        return false;
    }
    for name in &roll.nodes.skipped {
        ctx.wait(Subject::Node(name.clone()), WaitingOn::RollEnd(RollEnd::Skipped));
    }
    if has_leaving || is_arriving(ctx, roll) {
        return false;
    }
    let surplus = surplus(ctx, roll);
    let is_busy = retire_needless(ctx, roll, number, spare);
    if is_busy || retire(ctx, roll, number, surplus, &BTreeSet::new(), spare) {
        return false;
    }
    let now = ctx.now;
    if hand_over(ctx, roll.nodes.skipped.iter(), now) {
        return false;
    }
    retain::is_over(ctx, roll)
}

/// Whether nothing is left to be replaced, and nothing of the run that could be taken back.
pub(super) fn is_over(roll: &GroupRoll<'_>) -> bool {
    roll.nodes.old_left() == 0 && !roll.is_touched() && roll.halted.is_none()
}

/// Lets the marks of nodes that keep them expire at a moment, so that a later run may take the nodes over; whether one is
/// still to be written.
pub(super) fn hand_over<'n>(
    ctx: &mut Context<'_>,
    names: impl Iterator<Item = &'n NodeName>,
    at: Time,
) -> bool {
    let mut is_busy = false;
    for name in names {
        let member = ctx.member(name);
        let Some(found) = ctx.view.node(name).and_then(|node| mark::of(node)) else { continue };
        // A mark that was written since then holds for no time at all.
        let at = at.max(found.mark.since);
        if found.mark.expires > at {
            let key = ctx.key("hand-over", &member.uid);
            ctx.mark(member, "handover of the mark", key, Mark { expires: at, ..found.mark });
            is_busy = true;
        }
    }
    is_busy
}

/// Whether instances are being ended, which is said; those that are interrupted are waited for until they are gone.
fn is_leaving(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    // One may be held for its batch pods; it ends by itself all the same.
    ctx.is_moving |= !roll.nodes.leaving.is_disjoint(&ctx.fleet.interrupted);
    say_leaving(ctx, roll)
}

/// Whether instances are being ended, which is said. Those that are not gone when any should be are not waited for, nor are those that others take
/// away and that are still up.
pub(super) fn say_leaving(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let leaving = roll.nodes.leaving.len() + roll.nodes.loose_leaving.len();
    let interrupted = roll.nodes.leaving.intersection(&ctx.fleet.interrupted);
    let kept = interrupted.filter(|name| is_taken_away(ctx, name)).count();
    ctx.watch(roll, Watched::Leaving, leaving > kept);
    for name in &roll.nodes.leaving {
        if let Some(by) = ctx.view.node(name).and_then(|node| Taker::of(node)) {
            ctx.wait(Subject::Node(name.clone()), RollWait::TakenAway { by }.into());
        }
    }
    if leaving > 0 {
        let instances = u32::try_from(leaving).unwrap_or(u32::MAX);
        ctx.wait(roll.subject(), WaitingOn::Roll(RollWait::Leaving { instances }));
    }
    leaving > 0
}

/// Whether a node is drained because others take its instance away, at a moment that may be far off.
fn is_taken_away(ctx: &Context<'_>, name: &NodeName) -> bool {
    let found = ctx.view.node(name).and_then(|node| mark::of(node));
    found.is_some_and(|found| match found.mark.role {
        NodeRole::Interrupted { by, .. } => by != Cause::Down,
        NodeRole::Queued
        | NodeRole::Draining { .. }
        | NodeRole::Postponed { .. }
        | NodeRole::Skipped
        | NodeRole::Surplus
        | NodeRole::Retained
        | NodeRole::Drained
        | NodeRole::Listed => false,
    })
}

fn is_arriving(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    arrivals(ctx, roll);
    let nodes = roll.nodes;
    !nodes.arriving.is_empty() || !nodes.loose_new.is_empty() || roll.missing() > 0
}

/// Instances of the run's own surge that are too much once no more nodes are replaced, be it that none is left or that the run has halted.
///
/// A node that was left out half way keeps its place in the group, as an old one does that is left, and the one that was launched for it is too
/// much. So is the surge where old nodes were taken away by somebody else, and the group has launched others in their places; and what it has launched
/// in the place of a node that was kept.
pub(super) fn surplus(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> u32 {
    let left_out = u32::try_from(roll.nodes.skipped.len()).unwrap_or(u32::MAX);
    let own = if is_ours(ctx, roll) { u32::MAX } else { left_out.saturating_add(roll.nodes.old_left()) };
    beyond(roll).min(roll.extra(ctx.scope)).min(own)
}

/// Whether a group that is to give something back has yet to launch what it wants, which is said: somebody has taken an instance away. What comes up
/// has nothing on it and can go again; a number that is wanted is never lowered by itself (promise S5). What comes too late is not waited for.
pub(super) fn awaits_launch(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let Some(group) = roll.group else { return false };
    let instances = ctx.view.instances().values();
    let counted = instances.filter(|one| one.group == group.name && one.is_counted()).count();
    let wanted = if beyond(roll) > 0 { group.size.desired } else { 0 };
    let is_short = counted < wanted as usize;
    let since = ctx.watch(roll, Watched::Surplus, is_short);
    if since.is_none_or(|since| ctx.now > since + LATE_AFTER) {
        return false;
    }
    let ready = u32::try_from(counted).unwrap_or(u32::MAX);
    ctx.wait(
        roll.subject(),
        WaitingOn::Capacity(CapacityWait::Capacity {
            ready,
            wanted,
            failure: last_failure(ctx.view, roll.name),
        }),
    );
    true
}

/// Whether this run has raised the group, and nobody else has changed its maximum: then what it wants beyond its size before the run is the run's surge, as far as that goes.
fn is_ours(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let (Some(group), Some(original)) = (roll.group, roll.original) else { return false };
    let is_raised_by_us = roll.begun.is_some() && !roll.is_moved_into();
    is_raised_by_us && group.size.max <= original.max.max(original.desired + roll.extra(ctx.scope))
}

/// Ends new instances that came up in zones where nothing is left to do, once the zones that they were launched for have
/// theirs (see [`zones`]); whether one is still to go.
pub(super) fn retire_needless(
    ctx: &mut Context<'_>,
    roll: &GroupRoll<'_>,
    number: usize,
    spare: &mut Spare,
) -> bool {
    let is_by_zone = ctx.scope.plan.budget.min_ready_per_zone > 0;
    if !is_by_zone || !zones::short(ctx, roll).is_empty() {
        return false;
    }
    let needless = beyond(roll).min(roll.allowance(ctx.scope).surge).saturating_sub(roll.nodes.old_left());
    retire(ctx, roll, number, needless, &zones::unfinished(ctx, roll), spare)
}

/// Ends up to `count` new instances on which nothing runs, each with a place less in the group, but none in the zones of
/// `but_in`; whether one is still to go. A node is cordoned first, and looked at again before its instance is ended: it may be used by then, or
/// wanted, where another that was too much went first.
pub(super) fn retire(
    ctx: &mut Context<'_>,
    roll: &GroupRoll<'_>,
    number: usize,
    count: u32,
    but_in: &BTreeSet<&Zone>,
    spare: &mut Spare,
) -> bool {
    // EKS picks what it terminates in a managed group: what is too much there stays, and is said.
    let mut left =
        if roll.group.is_some_and(|group| group.kind == GroupKind::EksManaged) { 0 } else { count };
    let mut is_busy = false;
    let replacement = Replacement::Decrement { keep: floor(roll, 0) };
    // News of an instance that is on its way out may come before news of what its group wants, and the other way round.
    let is_settled = roll.group.is_some_and(|group| roll.nodes.alive(roll.name) <= group.size.desired);
    for name in &roll.nodes.surplus {
        let member = ctx.member(name);
        let NodeState::Surplus { since, is_empty } = member.state else { continue };
        let until = since + LATE_AFTER;
        if !is_empty || left == 0 && (is_settled || ctx.now >= until) {
            release(ctx, name);
        } else if left == 0 {
            // A run that halts does not end before the news is there, either: nobody would take the mark off.
            ctx.wait(roll.subject(), WaitingOn::Roll(RollWait::Leaving { instances: 1 }));
            ctx.is_moving = true;
            ctx.wake_at(until);
        } else if !balancer::is_held(ctx, member, since) {
            end_instance(ctx, member, Vec::new(), replacement);
        }
        left = left.saturating_sub(1);
        is_busy = true;
    }
    if left > 0 && awaits_use(ctx, roll) {
        return true;
    }
    for id in roll.nodes.loose_new.keys().rev() {
        if left == 0 {
            return is_busy;
        }
        if ctx.view.instances().get(id).is_some_and(|instance| but_in.contains(&instance.zone)) {
            continue;
        }
        let effect = Effect::Group(GroupEffect::Terminate {
            instance: id.clone(),
            group: roll.name.clone(),
            expected: Expected::Unregistered,
            replacement,
        });
        let key = ctx.key("terminate", id);
        if !ctx.awaits_raise(Subject::Instance(id.clone()), roll.name) {
            ctx.send(Subject::Instance(id.clone()), "termination", key, effect);
        }
        left -= 1;
        is_busy = true;
    }
    if left == 0 {
        return is_busy;
    }
    // One of which the cordon is on its way goes before all others, whatever it was when that was sent.
    let idle = roll.nodes.arriving.iter().chain(&roll.nodes.usable);
    let (sent, unsent): (Vec<&NodeName>, Vec<&NodeName>) = idle.partition(|name| {
        let key = ctx.key("surplus", &ctx.member(name).uid);
        ctx.sent.is_under_way(ctx.now, &key)
    });
    for name in sent.into_iter().chain(unsent) {
        if left == 0 {
            return is_busy;
        }
        let member = ctx.member(name);
        let is_kept = member.state == NodeState::Closed || but_in.contains(&member.zone);
        if is_kept || !NodePods::of(ctx.view, &ctx.scope.plan, name).is_empty() {
            continue;
        }
        // A node that does not count can be spared. One that does is taken off what can be, and only if it is to go.
        if member.state == NodeState::Usable && spare.take(number, member).is_err() {
            continue;
        }
        let mark =
            Mark { owner: Owner::Run, role: NodeRole::Surplus, since: ctx.now, expires: ctx.now + MARK_LIFE };
        let key = ctx.key("surplus", &member.uid);
        ctx.mark(member, "cordon of a node that is not needed", key, mark);
        left -= 1;
        is_busy = true;
    }
    is_busy
}

/// Whether new instances have yet to come up that an autoscaler may have added for pods that wait for a node, which is said. It records what it has added once that has
/// happened ([`crate::scale`]): a process that starts between the two cannot tell its instance from the surge, where the run had taken a part of that. A node that comes up
/// takes these pods, and stays; one that stays empty is ended then. Where the group had no room for more before the run, all that is beyond is the run's.
fn awaits_use(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let may_have_added = ctx.is_scaled && roll.original.is_some_and(|size| size.desired < size.max);
    let is_coming = !roll.nodes.arriving.is_empty() || !roll.nodes.loose_new.is_empty() || roll.missing() > 0;
    let waits = |pod: &Pod| pod.node.is_none() && pod.is_active();
    let is_awaited = may_have_added && is_coming && ctx.view.pods.unordered().any(|(_, pod)| waits(pod));
    let since = ctx.watch(roll, Watched::Added, is_awaited);
    if since.is_none_or(|since| ctx.now > since + LATE_AFTER) {
        return false;
    }
    arrivals(ctx, roll);
    true
}

/// Takes our marks and our cordon off a node, once no eviction of its pods is on its way any more: one that arrives then would move a pod off a node
/// that stays.
pub(super) fn release(ctx: &mut Context<'_>, name: &NodeName) {
    let member = ctx.member(name);
    if ctx.awaits_evictions(name) {
        return;
    }
    let effect =
        Effect::Kubernetes(KubernetesEffect::Uncordon { node: member.target(), version: member.version });
    let key = ctx.key("release", &member.uid);
    ctx.send(Subject::Node(name.clone()), "uncordon", key, effect);
}

/// Gives a group its bounds back and takes our tags off; whether that is done.
///
/// Only what this run raised is lowered: a maximum that somebody else has set since then stays. The desired number is never
/// lowered here (promise S5). A group that others moved into keeps a maximum that holds them.
pub(super) fn restore(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    // Nothing was raised, and what was noted goes with the record.
    if ctx.scope.is_external() {
        return true;
    }
    let Some(group) = roll.group else { return roll.original.is_none() && roll.begun.is_none() };
    if clear::is_held_by_another(ctx, roll) {
        return true;
    }
    let is_for_way_back = is_taken_back(ctx, roll);
    if let Some(original) = roll.original {
        if ctx.awaits_raise(roll.subject(), roll.name) {
            return false;
        }
        let own = format!("{}/", ctx.scope.run);
        if roll.is_owed || ctx.sent.is_resized(ctx.now, roll.name, &own) {
            let on = WaitingOn::Run(RunWait::Effect {
                what: Text::from("the group size that another actor requested"),
            });
            ctx.wait_until(roll.subject(), on, ctx.now + COMMAND_LIFE);
            return false;
        }
        let raised = max_raised(ctx.scope, roll, original);
        let kept = roll.max_kept(original);
        let is_ours = group.size.max > kept && group.size.max <= raised;
        let max = kept.max(group.size.desired);
        if is_ours && group.size.max != max {
            resize(ctx, group, GroupSize { max, ..group.size }, RESTORATION);
            return false;
        }
        // After the bounds: who may not resume a process gives these back all the same.
        if !protection::end_all(ctx, roll) || !processes::resume_all(ctx, roll) {
            return false;
        }
        if ctx.scope.is_way_back() && restore_others(ctx, roll) {
            return false;
        }
        // What was launched beside nodes that stay, and is in use by now, cannot be taken back.
        // Where the number of nodes is kept to what is needed, it goes as soon as it is not, and so do the tags: they would keep it. A maximum that has to hold it
        // until then stays as it is, and is told at the end ([`say_left`]).
        let is_left = ctx.is_scaled && !is_for_way_back;
        let is_raised = is_ours && !is_left;
        let is_beyond =
            !ctx.is_scaled && (original.desired + roll.moved() + 1..=raised).contains(&group.size.desired);
        if is_raised || is_beyond {
            let on = WaitingOn::RollEnd(RollEnd::Bounds { size: group.size, original });
            ctx.wait(Subject::Bounds(roll.name.clone()), on);
            return true;
        }
        if !is_for_way_back {
            untag(ctx, roll.name, mark::ORIGINAL_SIZE);
            return false;
        }
    }
    if !protection::end_all(ctx, roll) || !processes::resume_all(ctx, roll) {
        return false;
    }
    // After the group's own: what moved into it is read off these.
    let mut others = roll.sources.iter().chain(&roll.further).filter(|_| !is_for_way_back);
    if let Some(source) = others.find(|source| source.original.is_some()) {
        untag(ctx, source.name, mark::ORIGINAL_SIZE);
        return false;
    }
    // A halted run keeps it for the rollback; the rollback keeps it for a restarted process, which then finds nothing to do, and for a
    // later run, which removes it. It names no run, so it is removed before the tag that shows that it belongs to this one.
    if !ctx.scope.is_way_back() && roll.halted.is_none() && group.tags.contains_key(mark::ORIGINAL_TEMPLATE) {
        untag(ctx, roll.name, mark::ORIGINAL_TEMPLATE);
        return false;
    }
    if ctx.scope.is_way_back() && clear_others(ctx, roll) {
        return false;
    }
    // The way back may have nothing to do where the run that it takes back had begun: that one's goes, too.
    if roll.begun.is_some() || ctx.scope.is_way_back() && group.tags.contains_key(mark::BEGUN) {
        untag(ctx, roll.name, mark::BEGUN);
        return false;
    }
    let notes = notes(ctx.scope, roll);
    for key in &notes {
        untag(ctx, roll.name, key);
    }
    notes.is_empty()
}

/// Says of groups whose nodes are left to the autoscaler that their maximum is still what the run has raised it to; what somebody else has set is not, as in [`restore`].
/// Nothing on them tells any more what it was: the run's record does, and where there is none `before` has what was read there.
pub(super) fn say_left(
    ctx: &mut Context<'_>,
    rolls: &[GroupRoll<'_>],
    (before, written): (&BTreeMap<GroupName, BoundsBefore>, Option<&RunRecord>),
) {
    if !ctx.is_scaled {
        return;
    }
    for roll in rolls.iter().filter(|roll| roll.original.is_none() && !roll.is_moved_into()) {
        let recorded = written.and_then(|record| record.groups.get(roll.name));
        let recorded = recorded.map(|record| BoundsBefore::recorded(ctx.scope, record));
        let known = recorded.or_else(|| before.get(roll.name).copied());
        let (Some(group), Some(BoundsBefore { original, max_raised })) = (roll.group, known) else {
            continue;
        };
        if group.size.max > roll.max_kept(original) && group.size.max <= max_raised {
            let on = WaitingOn::RollEnd(RollEnd::Bounds { size: group.size, original });
            ctx.wait(Subject::Bounds(roll.name.clone()), on);
        }
    }
}

/// Whether a way back follows on this run ([`crate::run`]). It goes by the sizes from before the run, so these stay written. They name no run: were they taken off and
/// written anew, whoever takes over in between would take the way back's for this run's, and take them off once more, when the group may have been raised already.
pub(super) fn is_taken_back(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let halted = roll.halted.as_ref().filter(|_| !ctx.scope.is_way_back());
    let is_changed = roll.group.is_some_and(|group| group.tags.contains_key(mark::ORIGINAL_TEMPLATE));
    let is_anything = is_changed || roll.is_moved_into();
    halted.is_some_and(|halted| is_anything && goes_back(halted.why, ctx.scope.plan.on_failure))
}

/// On the way back into several groups, or from another one: gives these their bounds back as well; whether one is still to get them. EKS has lowered the minimum of a
/// managed group that was left, and the run has raised the maximum of the one that was moved into, by no more than it says there.
fn restore_others(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let lead = roll.group.map(|group| (group, roll.original));
    let others = roll.sources.iter().chain(&roll.further).filter_map(|one| Some((one.group?, one.original)));
    for (group, original) in lead.into_iter().chain(others) {
        let Some(original) = original else { continue };
        let size = group.size;
        let is_landing = roll.sources.iter().all(|source| *source.name != group.name);
        let min =
            if is_landing && size.desired >= original.min { size.min.max(original.min) } else { size.min };
        let begun = group.tags.value(mark::BEGUN).and_then(Begun::read);
        let raised = begun.map_or(0, |begun| begun.extra.saturating_add(begun.nodes));
        let is_ours = size.max > original.max && size.max <= original.desired.saturating_add(raised);
        let max = if is_ours { original.max.max(size.desired) } else { size.max };
        let to = GroupSize { min, max, ..size };
        if to != size {
            resize(ctx, group, to, RESTORATION);
            return true;
        }
    }
    false
}

/// Takes off what the run that is taken back has written on the groups that are left again; whether something is still there. That it has halted stays written: it
/// keeps the same run from beginning again.
fn clear_others(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let mut is_busy = false;
    for (name, group) in roll.others() {
        let notes = notes_on(ctx.scope, group);
        let begun = group.tags.contains_key(mark::BEGUN).then(|| Text::from(mark::BEGUN));
        for key in notes.into_iter().chain(begun) {
            untag(ctx, name, &key);
            is_busy = true;
        }
    }
    is_busy
}

/// The tags in which the run has written down its stages, its pauses, what it retains and the cluster's health. They would be written
/// anew while the run goes on, so they go after the tag that says that it has begun.
pub(super) fn notes(scope: &Scope, roll: &GroupRoll<'_>) -> Vec<Text> {
    roll.group.map_or_else(Vec::new, |group| notes_on(scope, group))
}

fn notes_on(scope: &Scope, group: &NodeGroup) -> Vec<Text> {
    let is_ours = |key: &str, value: &str| {
        let run = if key == mark::HEALTH {
            Before::read(value).map(|before| before.run)
        } else if key.starts_with(mark::STAGE) || key == mark::RETAINED {
            Until::read(value).map(|until| until.run)
        } else if key == mark::PAUSED || key == mark::RESUMED {
            Moment::read(value).map(|moment| moment.run)
        } else {
            None
        };
        // The way back takes off what the run wrote that it takes back.
        run.is_some_and(|run| run == scope.run || scope.is_way_back())
    };
    group.tags.iter().filter(|(key, value)| is_ours(key, value)).map(|(key, _)| Text::from(key)).collect()
}
