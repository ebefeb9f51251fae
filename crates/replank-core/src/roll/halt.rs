//! Ending without being done: nothing more is begun, what was not begun is released, and every blocker is named.
//!
//! That the run has halted is written on its groups (tag [`mark::HALTED`]), so that a restart does not begin again. Then
//!
//! - nodes that were cordoned and not begun are uncordoned, ours only; from those that somebody else has uncordoned the mark
//!   is taken, lest it keep a later run away;
//! - nodes whose drain was begun stay cordoned and marked: fewer pods are left on them than on any other. Their marks,
//!   and those of nodes that were left out, expire at once, so that a later run may take them over. Where a person has cancelled
//!   the run, they are released, too: nothing of it is to be left;
//! - both is otherwise where the plan's `atEnd` says so: `uncordon` releases all that are left, `keep` none, and cordons those again that were postponed;
//! - new nodes on which nothing runs are ended where enough others are left (nodes whose drain was begun do not count: they take
//!   no pods any more), and the group's bounds are given back as far as its nodes allow. Where they do not, the tag with the
//!   original size stays, and the report says so. Where an autoscaler is at work beside the run, the nodes are left to it;
//! - protections of instances from scale-in end;
//! - what is refused meanwhile is tried again for some minutes.
//!
//! Groups on which another run is at work are left as they are: what is written there is its own, and so are the new nodes.
//!
//! Nothing is evicted any more, and no node with pods is ended. Where the plan says to roll back, or a person does, the groups
//! get their former launch template, nodes whose drain was begun are released as well, and [`crate::Core`] goes on with the
//! way back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::condition;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};

use super::clear;
use super::close::{
    awaits_launch, beyond, hand_over, is_taken_back, release, restore, retire, say_leaving, surplus,
};
use super::context::{Context, GroupRoll};
use super::departure;
use super::evict::{Spare, Works, came_back};
use super::external;
use super::member::{Member, NodeState};
use super::prepare::{arrivals, queue, set_template};
use super::processes;
use super::protection;
use super::raise::raise;
use super::retain;
use super::stuck;
use super::tags::followed;
use super::way_back::goes_back;
use replank_facts::batch::wait;
use replank_facts::drain::Otherwise;
use replank_facts::node_pods::{Bound, NodePods};
use replank_facts::places::Places;
use replank_facts::plan::{AtEnd, OnDeadline, Plan};
use replank_facts::target;
use replank_protocol::command::{CommandKey, Effect, GroupEffect};
use replank_protocol::intent::Intent;
use replank_protocol::mark::{self, Halt, Halted};
use replank_protocol::taker::Taker;
use replank_protocol::waiting::{PodEnd, PodWait, RollEnd, RollWait, RunEnd, RunWait, Subject, WaitingOn};

/// How long after a halt what is refused is tried again. What is refused for longer than some minutes is refused for a reason
/// that only a person can take away.
pub(crate) const RELEASE_WITHIN: Span = Span::from_minutes(10);

/// Writes down that the run halts; `false` if there is nothing to write it on, for nothing was begun.
pub(super) fn halt(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>], why: Halt) -> bool {
    let mut is_touched = false;
    for roll in rolls.iter().filter(|roll| roll.is_touched() && roll.group.is_some()) {
        if clear::is_held_by_another(ctx, roll) {
            continue;
        }
        is_touched = true;
        if roll.halted.is_some() {
            continue;
        }
        let value = Halted { run: ctx.scope.run.clone(), at: ctx.now, why }.to_text();
        if ctx.scope.is_external() {
            ctx.note(roll.name, mark::HALTED, Some(value));
            continue;
        }
        // Another run's is over. In its place at once: a way back that is started anew counts its time from what stands there.
        let from = roll.group.and_then(|group| group.tags.get(mark::HALTED)).cloned();
        let effect = Effect::Group(GroupEffect::Tag {
            group: ctx.view.group_id(roll.name),
            key: mark::HALTED.into(),
            from,
            value,
        });
        ctx.send(roll.subject(), "halt", key(ctx, roll), effect);
    }
    is_touched
}

/// Writes down that a run which has halted is taken back after all; whether that is still to be seen. The way back counts from then on,
/// however long ago the run came to its end.
pub(super) fn undo(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>]) -> bool {
    if ctx.intent != Intent::Undo {
        return false;
    }
    let mut is_writing = false;
    for roll in rolls.iter().filter(|roll| clear::newer(roll).is_none()) {
        let Some(halted) = roll.halted.as_ref().filter(|halted| halted.why != Halt::Undone) else {
            continue;
        };
        let value = Halted { at: ctx.now, why: Halt::Undone, ..halted.clone() }.to_text();
        is_writing = true;
        if ctx.scope.is_external() {
            ctx.note(roll.name, mark::HALTED, Some(value));
            continue;
        }
        let from = roll.group.and_then(|group| group.tags.get(mark::HALTED)).cloned();
        let effect = Effect::Group(GroupEffect::Tag {
            group: ctx.view.group_id(roll.name),
            key: mark::HALTED.into(),
            from,
            value,
        });
        let id = ctx.key("undo", roll.name);
        ctx.send(roll.subject(), "undo", id, effect);
    }
    is_writing
}

/// Whether a halt was written a moment ago and is not seen yet: until then nothing else may be begun.
pub(super) fn is_under_way(ctx: &Context<'_>, rolls: &[GroupRoll<'_>]) -> bool {
    let is_sent = ctx.sent.knows_any(&key_of(ctx, ""))
        && rolls.iter().any(|roll| ctx.sent.is_under_way(ctx.now, &key(ctx, roll)));
    is_sent || ctx.is_halting()
}

/// Whether something that is to be released was refused a moment ago, and will be tried again.
pub(super) fn is_tried_again(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>]) -> bool {
    let is_young = rolls.iter().filter_map(halted_at).any(|at| ctx.now < at + RELEASE_WITHIN);
    is_young
        && ctx.waits().any(|waiting| {
            matches!(
                waiting.on,
                WaitingOn::Run(RunWait::Retry { .. }) | WaitingOn::Run(RunWait::Denied { .. })
            )
        })
}

fn key(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> CommandKey {
    key_of(ctx, &format!("{}/{}", roll.name, mark::HALTED))
}

fn key_of(ctx: &Context<'_>, on: &str) -> CommandKey {
    ctx.key("tag", on)
}

/// Says why the run has halted.
pub(super) fn say(ctx: &mut Context<'_>, why: Halt, at: Time) {
    let on = match why {
        Halt::Hopeless => WaitingOn::RunEnd(RunEnd::Halted { at }),
        Halt::Stalled { since } => {
            WaitingOn::RunEnd(RunEnd::Stalled { since, limit: ctx.scope.plan.progress_deadline })
        }
        Halt::Deadline => {
            let (from, run) = (ctx.scope.options.started, ctx.scope.plan.deadline);
            let at = from + run;
            let open = ctx.scope.plan.care.windows.open_within(from, at);
            let is_short = open < run;
            let end = if is_short { RunEnd::Windows { at, open, run } } else { RunEnd::Deadline { at } };
            WaitingOn::RunEnd(end)
        }
        Halt::Unhealthy(ailment) => WaitingOn::RunEnd(RunEnd::Unhealthy { at, ailment }),
        Halt::Cancelled => WaitingOn::RunEnd(RunEnd::Cancelled { at }),
        Halt::Undone => WaitingOn::RunEnd(RunEnd::Undone { at }),
    };
    ctx.wait(Subject::Run, on);
}

/// Whether a run has halted for want of a way: then everything that is in it is named. Else the reason says it all.
pub(super) fn is_for_what_blocks(why: Halt) -> bool {
    match why {
        Halt::Hopeless | Halt::Stalled { .. } | Halt::Deadline => true,
        Halt::Unhealthy(_) | Halt::Cancelled | Halt::Undone => false,
    }
}

/// Releases what is to be released. The run is over when nothing of that is under way any more. Returns why it has halted.
pub(super) fn settle(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>]) -> Halt {
    let halted = rolls.iter().find_map(|roll| roll.halted.as_ref()).expect("a run that settles has halted");
    let (why, at) = (halted.why, halted.at);
    halt(ctx, rolls, why);
    say(ctx, why, halted.at);
    let mut spare = Spare::beside_drains(ctx, rolls);
    let goes_back = goes_back(why, ctx.scope.plan.on_failure);
    let leaves_nothing = goes_back || why == Halt::Cancelled;
    for (number, roll) in rolls.iter().enumerate() {
        // Until it is seen on the group that the run has halted, a restart would begin with it again.
        let is_unwritten = roll.halted.is_none() && roll.is_touched() && roll.group.is_some();
        let is_awaited = is_unwritten && ctx.now < at + RELEASE_WITHIN;
        if clear::is_held_by_another(ctx, roll) || is_awaited {
            continue;
        }
        // Nothing is waited for any more, and what is protected could not be scaled in by anybody.
        protection::end_all(ctx, roll);
        if goes_back {
            former_template(ctx, roll);
        }
        if leaves_nothing && ctx.scope.is_external() {
            external::say_replaced(ctx, roll);
        }
        let at_end = if leaves_nothing { AtEnd::Uncordon } else { ctx.scope.plan.care.at_end };
        release_unbegun(ctx, roll, at_end);
        if ctx.scope.is_external() {
            release_upgraded(ctx, roll);
        }
        say_leaving(ctx, roll);
        if let Some(at) = halted_at(roll) {
            leave_taken(ctx, roll, at);
            if goes_back {
                release_managed(ctx, roll);
                for name in &roll.nodes.retained {
                    if !roll.is_from_managed(ctx.member(name)) {
                        release(ctx, name);
                    }
                }
            } else if why == Halt::Cancelled {
                retain::end(ctx, roll);
                release_managed(ctx, roll);
            } else {
                hand_over(ctx, roll.nodes.retained.iter(), at);
            }
            let begun = || roll.nodes.draining.iter().chain(&roll.nodes.drained);
            match at_end {
                AtEnd::Uncordon => begun().for_each(|name| release(ctx, name)),
                AtEnd::KeepBegun => drop(hand_over(ctx, begun(), at)),
                AtEnd::Keep => {
                    let kept = begun().chain(queue_of(roll)).chain(&roll.nodes.held);
                    let shut: Vec<&NodeName> = kept.filter(|name| !ctx.member(name).is_open).collect();
                    hand_over(ctx, shut.into_iter(), at);
                }
            }
            hand_over(ctx, roll.nodes.skipped.iter(), at);
        }
        // An instance that was ended in another group a moment before the halt is still to be wanted here: as long as the sizes from before are written on all of them,
        // that is known.
        let is_known = roll.original.is_some() && roll.sources.iter().all(|source| source.original.is_some());
        if let Some(group) = roll.group.filter(|_| roll.is_moved_into() && is_known && !goes_back)
            && raise(ctx, roll, group, roll.wanted_before())
        {
            continue;
        }
        let surplus = surplus(ctx, roll);
        let is_retiring = retire(ctx, roll, number, surplus, &BTreeSet::new(), &mut spare);
        // The way back goes by the sizes that are written down, and gives the bounds back itself.
        let is_moved_back = goes_back && has_moved(roll);
        if !is_retiring && !is_moved_back && !awaits_launch(ctx, roll) {
            give_back(ctx, roll, goes_back);
        }
    }
    why
}

/// Whether there is anything in the group that nodes move into, or out of those that they left, that a way back has to bring back.
fn has_moved(roll: &GroupRoll<'_>) -> bool {
    let nodes = roll.nodes;
    let is_any_new = !nodes.usable.is_empty() || !nodes.arriving.is_empty() || !nodes.loose_new.is_empty();
    roll.is_moved_into() && (is_any_new || roll.moved() > 0)
}

/// Uncordons the nodes that were not begun, or that were postponed; or keeps them, as the plan says.
fn release_unbegun(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, at_end: AtEnd) {
    let reopened = roll.nodes.aside.iter().filter(|name| ctx.member(name).state == NodeState::Reopened);
    let reopened: Vec<&NodeName> = reopened.collect();
    for name in reopened {
        release(ctx, name);
    }
    match at_end {
        AtEnd::KeepBegun | AtEnd::Uncordon => {
            for name in queue_of(roll).chain(&roll.nodes.held).chain(&roll.nodes.postponed) {
                release(ctx, name);
            }
        }
        AtEnd::Keep => {
            let unbegun = queue_of(roll).chain(&roll.nodes.held);
            let open = unbegun.filter(|name| ctx.member(name).is_open);
            let open: Vec<&NodeName> = open.chain(&roll.nodes.postponed).collect();
            for name in open {
                queue(ctx, ctx.member(name));
            }
        }
    }
}

/// Uncordons the nodes that somebody has upgraded in place, Ready or not: nobody else would.
fn release_upgraded(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) {
    let marked = roll.nodes.arriving.iter().filter(|name| ctx.member(name).expires.is_some());
    for name in roll.nodes.upgraded.iter().chain(marked.collect::<Vec<_>>()) {
        release(ctx, name);
    }
}

/// Gives nodes up that somebody else takes away: the cordon is theirs from here on, and the mark keeps nobody.
fn leave_taken(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, at: Time) {
    let is_taken = |name: &&NodeName| ctx.view.node(name).is_some_and(|node| Taker::of(node).is_some());
    let marked = |name: &&NodeName| ctx.member(name).expires.is_some();
    let taken: Vec<&NodeName> = roll.nodes.leaving.iter().filter(is_taken).filter(marked).collect();
    hand_over(ctx, taken.into_iter(), at);
}

/// Uncordons the empty nodes of managed groups that EKS was not asked to terminate.
fn release_managed(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) {
    for source in roll.sources.iter().filter(|source| source.is_managed()) {
        if departure::is_ending(ctx, source) {
            ctx.is_moving |= source.group.is_some_and(|group| group.size.desired > 0);
            continue;
        }
        for name in &roll.nodes.retained {
            if ctx.member(name).group == *source.name {
                release(ctx, name);
            }
        }
    }
}

/// Has nothing more made of what failed.
fn former_template(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) {
    let Some(group) = roll.group else { return };
    if let Some(former) = target::original(group).filter(|former| *former != group.template()) {
        let word = followed(group, former);
        set_template(ctx, roll, group, (Arc::new(former.clone()), word));
    }
}

/// Gives bounds back and takes tags off, unless more instances are in use than there were before and nobody takes them away when they are not.
fn give_back(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, goes_back: bool) {
    let (Some(group), Some(original)) = (roll.group, roll.original) else {
        restore(ctx, roll);
        return;
    };
    // Where the number of nodes is kept to what is needed, what is in use beside nodes that stay is left to that, and goes as soon as it is not. Were the tags
    // left, it would never go: they say that a run is at work on the group.
    let is_left = ctx.is_scaled && !ctx.scope.is_external() && !is_taken_back(ctx, roll);
    if beyond(roll) > 0 && !is_left {
        let max = roll.max_kept(original).max(group.size.desired);
        if group.size.max > max && roll.begun.is_some() {
            restore(ctx, roll);
        } else if goes_back || ctx.scope.is_external() || processes::resume_all(ctx, roll) {
            // Bounds that stay raised are no reason to keep the group from balancing itself; the way back resumes that at its end.
            let on = WaitingOn::RollEnd(RollEnd::Bounds { size: group.size, original });
            ctx.wait(Subject::Bounds(roll.name.clone()), on);
        }
        return;
    }
    restore(ctx, roll);
}

/// Names everything that stands in the way of every old node. `places` has an empty new node of each zone and kind: what
/// fits on none of these, fits nowhere.
pub(super) fn blockers(
    ctx: &mut Context<'_>,
    rolls: &[GroupRoll<'_>],
    works: &mut Works<'_>,
    places: &mut Places,
) {
    let mut known = BTreeMap::new();
    let plan = ctx.scope.plan.clone();
    for roll in rolls {
        let nodes = roll.nodes;
        let left = nodes.draining.iter().chain(&nodes.postponed).chain(queue_of(roll));
        for name in left.chain(&nodes.held).chain(&nodes.found) {
            let node_pods = NodePods::of(ctx.view, &ctx.scope.plan, name);
            for bound in node_pods.movers.iter().chain(evicted_at_deadline(&plan, &node_pods)) {
                if let NodeState::Draining { from, .. } = ctx.member(name).state
                    && came_back(bound, from)
                {
                    ctx.wait(Subject::Pod(bound.key.clone()), WaitingOn::PodEnd(PodEnd::CameBack));
                } else if let Err(on) = obstacle(ctx, works, name, bound) {
                    ctx.wait(Subject::Pod(bound.key.clone()), on);
                    homeless(ctx, bound);
                } else if let Some(message) = places.obstacle_of_kind(&mut known, &bound.pod) {
                    let pod = bound.key.clone();
                    ctx.wait(Subject::Pod(pod.clone()), WaitingOn::Pod(PodWait::Room { pod, message }));
                }
            }
            held(ctx, roll, ctx.member(name), &node_pods);
        }
        aside(ctx, roll);
        arrivals(ctx, roll);
    }
}

/// Batch pods that the plan would have evicted at their deadline.
fn evicted_at_deadline<'p>(plan: &Plan, node_pods: &'p NodePods) -> impl Iterator<Item = &'p Bound> {
    let evicts = plan.batch.on_deadline == OnDeadline::Evict;
    let batch = node_pods.batch.iter().filter(move |batch| evicts && batch.otherwise == Otherwise::Moves);
    batch.map(|batch| &batch.bound)
}

/// What keeps a pod on its node. On a node that was never begun that is only what will not pass by itself: that its budget allows nothing at the moment keeps
/// nobody from beginning it.
fn obstacle(
    ctx: &Context<'_>,
    works: &mut Works<'_>,
    name: &NodeName,
    bound: &Bound,
) -> Result<(), WaitingOn> {
    if was_begun(ctx.member(name)) {
        return works.obstacle(bound);
    }
    works.ledger.hopeless_on(bound.ix, bound.footing).map_or(Ok(()), Err)
}

fn was_begun(member: &Member) -> bool {
    member.postponed > 0 || matches!(member.state, NodeState::Draining { .. })
}

/// Names the pods without a node that a pod's budgets are short of.
fn homeless(ctx: &mut Context<'_>, bound: &Bound) {
    for ix in ctx.view.budgets_of(bound.ix).iter().flat_map(|budget| ctx.view.pods_of_budget(*budget)) {
        let pod = &ctx.view.pods[ix];
        let scheduled = condition::find(&pod.status.conditions, "PodScheduled");
        if let Some(scheduled) = scheduled.filter(|_| pod.node.is_none() && pod.is_active()) {
            let on =
                WaitingOn::Pod(PodWait::Room { pod: pod.meta.key(), message: scheduled.message.clone() });
            ctx.wait(Subject::Pod(pod.meta.key()), on);
        }
    }
}

pub(super) fn queue_of<'a>(roll: &GroupRoll<'a>) -> impl Iterator<Item = &'a NodeName> {
    roll.nodes.queue.values().flatten().map(|(_, name)| name)
}

/// Names the pods of one node that do not simply move.
fn held(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, member: &Member, node_pods: &NodePods) {
    for (pod, reason) in &node_pods.refused {
        ctx.wait(Subject::Pod(pod.clone()), WaitingOn::PodEnd(PodEnd::Refused { reason: *reason }));
    }
    for pod in &node_pods.unrecorded {
        ctx.wait(Subject::Pod(pod.clone()), WaitingOn::Pod(PodWait::Unrecorded));
    }
    // They were waited for until the run halted, at the latest.
    let deadline = halted_at(roll).unwrap_or(ctx.now);
    for batch in &node_pods.batch {
        let pod = &batch.bound.pod;
        if !was_waited_for(ctx, roll, member, pod) {
            continue;
        }
        let on = match (ctx.scope.plan.batch.on_deadline, batch.otherwise) {
            // What would keep them is what keeps any other.
            (OnDeadline::Evict, Otherwise::Moves) => continue,
            (OnDeadline::Evict, Otherwise::Refused(reason)) => PodEnd::Refused { reason },
            (OnDeadline::Pause | OnDeadline::Skip, _) => {
                PodEnd::BatchOver { since: pod.status.start_time, deadline }
            }
        };
        let on = WaitingOn::PodEnd(on);
        ctx.wait(Subject::Pod(pod.meta.key()), on);
    }
    let mut census = None;
    for leaving in &node_pods.leaving {
        stuck::name(ctx, &mut census, leaving);
    }
}

/// Whether the run waited for a batch pod until it halted. What came to a node when it took pods again kept nobody, and neither did what runs on one that was
/// never begun and may end in time, unless the run had no more of it.
fn was_waited_for(ctx: &Context<'_>, roll: &GroupRoll<'_>, member: &Member, pod: &Pod) -> bool {
    let Some(halted) = &roll.halted else { return true };
    let Some(began) = pod.status.start_time.filter(|began| *began < halted.at) else { return false };
    let since = began.max(ctx.scope.options.started);
    let is_over = since + wait::wait_of(pod, ctx.scope.plan.batch.wait) <= halted.at;
    is_over || was_begun(member) || halted.why == Halt::Deadline
}

/// Says why old nodes are left to others.
pub(super) fn aside(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) {
    for name in &roll.nodes.aside {
        let on = match &ctx.member(name).state {
            NodeState::OtherRun { run, until } if *until <= ctx.now => {
                WaitingOn::Roll(RollWait::Leftover { run: run.clone() })
            }
            NodeState::OtherRun { run, until } => {
                WaitingOn::RunEnd(RunEnd::OtherRun { run: run.clone(), until: *until })
            }
            NodeState::Newer { version } => WaitingOn::RunEnd(RunEnd::NewerVersion { version: *version }),
            NodeState::Reopened => WaitingOn::RollEnd(RollEnd::Reopened),
            NodeState::OtherNode => {
                let kubelet = ctx.view.node(name).map(|node| node.status.node_info.kubelet_version.clone());
                RollEnd::OtherNode { kubelet: kubelet.unwrap_or_default() }.into()
            }
            NodeState::NoInstance => WaitingOn::Roll(RollWait::NoInstance),
            NodeState::Bystander
            | NodeState::Usable
            | NodeState::Arriving { .. }
            | NodeState::Closed
            | NodeState::Surplus { .. }
            | NodeState::Found { .. }
            | NodeState::Queued { .. }
            | NodeState::Draining { .. }
            | NodeState::Postponed { .. }
            | NodeState::Skipped { .. }
            | NodeState::Retained { .. }
            | NodeState::Drained { .. }
            | NodeState::Upgraded
            | NodeState::Kept { .. }
            | NodeState::Leaving => continue,
        };
        ctx.wait(Subject::Node(name.clone()), on);
    }
}

fn halted_at(roll: &GroupRoll<'_>) -> Option<Time> {
    roll.halted.as_ref().map(|halted| halted.at)
}
