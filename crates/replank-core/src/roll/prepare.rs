//! Before the first node goes: the group's template and size, the first new nodes, the cordon of all old nodes.
//!
//! 0. What runs that are over have left is cleared ([`clear`]); where a run has written anything that still holds, nothing is done.
//! 1. The group's size is written down in a tag, before anything is raised (promise S4). A tag that is there already stays:
//!    it was written by a run that died, and tells the true size.
//!    The same goes for AZRebalance, which is suspended then ([`processes`]).
//! 2. The launch template gets the target's differences. From then on every instance that the group launches is new.
//! 3. The group is raised by the surge, but by no more than there are nodes to begin with; its maximum only if it must be.
//! 4. When the raised size is seen, a second tag says that this run has begun, how many nodes it replaces and by how much it
//!    raised the group at most. Nodes that have to wait for batch pods are not raised for: the wait may take hours, and
//!    instances cost money. When one of them is free and nothing else is under way, the group is raised again. Where all
//!    have to wait, the group is raised by one: they will be cordoned, and what is made meanwhile needs a place. Where the
//!    plan has a `minReadyPerZone`, it is raised by as many as it takes until each zone surely has a new node ([`zones`]).
//!
//!    Where nodes move into another group, that group is the one that gets the template and is raised, and the sizes of all
//!    groups concerned are written down first. "Raised by n" means that all of them together want n more than before. What
//!    an instance that was ended in a group took from the sum is given to the target group again, as long as more nodes are to
//!    move than it is raised by ([`left_to_move`]). What others do to the sizes meanwhile is evened out by the same rule.
//! 5. When every group has its first new node of use, or has no surge, all old nodes of all groups are cordoned and marked.
//!
//! # Why all old nodes are cordoned at once, and why with a cordon
//!
//! A pod that is moved must not land on a node that will go later: it would be moved again. So before the first pod moves,
//! every old node stops taking pods. A cordon does that and a `PreferNoSchedule` taint does not: a preference yields as soon
//! as new nodes are fuller than old ones. A `NoSchedule` taint of ours would also keep DaemonSet pods away that restart on
//! old nodes; the cordon's taint (`node.kubernetes.io/unschedulable`) is one that the DaemonSet controller makes its pods
//! tolerate. And a cordon is what people, `kubectl get nodes` and other tools look for.
//!
//! The price is paid by scale-outs: a pod that is made meanwhile finds room on new and unchosen nodes only. It is kept small in
//! three ways. Nothing is cordoned before the first new nodes are of use, so that a launch that fails costs nothing. A
//! pod that waits for a node is given room before any that is to be moved. And when the run halts, what was not
//! begun is uncordoned.

use replank_model::object::cloud::{GroupSize, NodeGroup, ScalingProcess};
use replank_model::text::{GroupName, NodeName, Text};
use replank_model::time::Span;

use super::clear;
use super::close::release;
use super::context::{Context, GroupRoll, Watched};
use super::dead;
use super::external;
use super::health;
use super::managed_source;
use super::member::{Member, NodeState};
use super::processes;
use super::raise::raise;
use super::retain;
use super::start;
use super::zones;
use crate::sent::COMMAND_LIFE;
use replank_facts::plan::Base;
use replank_facts::target;
use replank_protocol::command::Mark;
use replank_protocol::mark::{self, Begun, read_followed, read_template, size_tag, template_tag};
use replank_protocol::owner::Owner;
use replank_protocol::waiting::{RollEnd, RollWait, RunEnd, RunWait, Subject, WaitingOn};

pub(super) use super::terms::{LATE_AFTER, MARK_LIFE};

use super::tags::followed;
pub(super) use super::tags::{resize, set_template, tag, untag};

pub(super) use super::arrivals::{arrivals, last_failure};
/// How long before its expiry a mark is renewed.
const RENEW_BEFORE: Span = Span::from_minutes(24 * 60);
/// Cordons under way at once: they are writes to the API server that nobody waits for singly.
const CORDONS_MAX: usize = 200;

/// How far a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    /// Nothing of the group may be moved yet.
    Preparing,
    /// It has what it needs to begin.
    Open,
}

/// Whether a group is not there, which is said. Then nothing is done to any group.
pub(super) fn is_missing(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let others = roll.sources.iter().chain(&roll.further).filter(|source| source.group.is_none());
    let lost: Vec<&GroupName> = others.map(|source| source.name).collect();
    for name in &lost {
        let what = format!("node group {name}").into();
        ctx.wait(Subject::Group((*name).clone()), WaitingOn::RollEnd(RollEnd::Missing { what }));
    }
    if roll.group.is_none() {
        let what = if roll.name.is_empty() {
            "the node group of some of the chosen nodes".into()
        } else {
            format!("node group {}", roll.name).into()
        };
        ctx.wait(roll.subject(), WaitingOn::RollEnd(RollEnd::Missing { what }));
    }
    roll.group.is_none() || !lost.is_empty()
}

/// Brings a group's template and size to where the roll can begin.
pub(super) fn prepare(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> Readiness {
    if ctx.scope.is_external() {
        return prepare_for_others(ctx, roll);
    }
    if roll.begun.is_some() {
        return capacity(ctx, roll);
    }
    let is_clearing = clear::clear(ctx, roll);
    if roll.nodes.old_left() == 0 {
        return if is_clearing { Readiness::Preparing } else { Readiness::Open };
    }
    let Some(group) = roll.group else { return Readiness::Preparing };
    if is_other_runs(ctx, roll) || is_clearing || cannot_shrink(ctx, roll) || is_suspended(ctx, roll) {
        return Readiness::Preparing;
    }
    if managed_source::is_refused(ctx, roll) {
        return Readiness::Preparing;
    }
    let has_template = target::meets_template(&ctx.scope.plan.target, group, group.template());
    if !has_template && other_kubelet(ctx, roll, group) {
        return Readiness::Preparing;
    }
    let is_first_change = !has_template && ctx.scope.plan.target.base == Base::Current;
    let is_writing = write_sizes(ctx, roll, group);
    if is_writing | (is_first_change && write_template(ctx, roll, group)) {
        return Readiness::Preparing;
    }
    if processes::suspend_all(ctx, roll) {
        return Readiness::Preparing;
    }
    if !has_template {
        let to = target::template(&ctx.scope.plan.target, group);
        let word = if ctx.scope.is_way_back() { followed(group, &to) } else { None };
        set_template(ctx, roll, group, (to, word));
        return Readiness::Preparing;
    }
    if awaits_termination(ctx, roll, group) {
        return Readiness::Preparing;
    }
    let (nodes, surge) = (roll.nodes.old_left(), roll.allowance(ctx.scope).surge);
    let is_cordon_due = u32::from(!roll.nodes.found.is_empty());
    let free = roll.nodes.found_free + free(ctx, roll);
    let raised = free.max(is_cordon_due).max(zones::launches(ctx, roll).min(nodes));
    if raise(ctx, roll, group, roll.wanted_before() + surge.min(raised)) {
        return Readiness::Preparing;
    }
    if health::write_before(ctx, roll) {
        return Readiness::Preparing;
    }
    // What a run that went before has kept, and this one is to take back, is there already.
    let beside = if retain::keeps_nodes(ctx.scope) || roll.is_moved_into() { nodes } else { 0 };
    let there = roll.original.map_or(0, |original| group.size.desired.saturating_sub(original.desired));
    let extra = there.max(surge + beside);
    let dead = dead::left(ctx, roll);
    begin(ctx, roll, group, &Begun { run: ctx.scope.run.clone(), nodes, surge, extra, dead });
    Readiness::Preparing
}

/// Writes down what the run begins with; there is nothing else to be prepared.
fn prepare_for_others(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> Readiness {
    let is_clearing = clear::clear(ctx, roll);
    for name in &roll.nodes.upgraded {
        release(ctx, name);
    }
    if roll.begun.is_some() {
        arrivals(ctx, roll);
        return Readiness::Open;
    }
    if roll.nodes.old_left() == 0 {
        return if is_clearing { Readiness::Preparing } else { Readiness::Open };
    }
    let Some(group) = roll.group else { return Readiness::Preparing };
    if is_clearing || is_other_runs(ctx, roll) {
        return Readiness::Preparing;
    }
    health::write_before(ctx, roll);
    let nodes = roll.nodes.old_left();
    let dead = dead::left(ctx, roll);
    let begun = Begun { run: ctx.scope.run.clone(), nodes, surge: 0, extra: 0, dead };
    tag(ctx, roll.name, "original size", mark::ORIGINAL_SIZE, size_tag(group.size));
    tag(ctx, roll.name, "beginning", mark::BEGUN, begun.to_text());
    Readiness::Preparing
}

/// Whether a process is suspended that the roll needs: Launch where new nodes come up, AddToLoadBalancer where they are to be registered, Terminate where old ones go. Then it does not begin, and waits
/// until somebody resumes it.
pub(super) fn is_suspended(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let leaving = match roll.is_moved_into() {
        true => roll.sources.iter().filter_map(|source| source.group).collect(),
        false => Vec::from_iter(roll.group),
    };
    let further = roll.further.iter().filter_map(|one| one.group);
    let launching = roll.group.into_iter().chain(further).flat_map(|group| {
        let registers = group.registers_instances().then_some((group, ScalingProcess::AddToLoadBalancer));
        [(group, ScalingProcess::Launch)].into_iter().chain(registers)
    });
    let leaving = leaving.into_iter().map(|group| (group, ScalingProcess::Terminate));
    let mut is_any = false;
    for (group, process) in
        launching.chain(leaving).filter(|(group, process)| !group.ways.is_active(*process))
    {
        let auto_scaling_group = group.auto_scaling_group.clone();
        let on = RollWait::Suspended { process, auto_scaling_group };
        ctx.wait(Subject::Group(group.name.clone()), on.into());
        is_any = true;
    }
    is_any
}

/// Whether the plan asks for an image of another Kubernetes version than it asks for: no template makes such nodes.
pub(super) fn other_kubelet(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, group: &NodeGroup) -> bool {
    let found = target::other_kubelet(&ctx.scope.plan.target, group);
    let Some(target::OtherKubelet { image, kubelet, wanted }) = found else { return false };
    ctx.wait(roll.subject(), RollEnd::OtherKubelet { image, kubelet, wanted }.into());
    true
}

/// Whether another run has marked nodes of the group, or has raised the group and has marked nodes anywhere: then nothing is
/// done to it.
fn is_other_runs(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let mut found = false;
    let begun = roll.group.and_then(|group| group.tags.value(mark::BEGUN)).and_then(Begun::read);
    if let Some(Begun { run, .. }) = begun.filter(|begun| begun.run != ctx.scope.run) {
        let marks = ctx.view.nodes.unordered().filter_map(|(_, node)| mark::of(node));
        let until = marks.filter(|found| found.is_of_run(&run)).map(|found| found.mark.expires).max();
        if let Some(until) = until.filter(|until| *until > ctx.now) {
            ctx.wait(roll.subject(), WaitingOn::RunEnd(RunEnd::OtherRun { run, until }));
            found = true;
        }
    }
    for name in &roll.nodes.aside {
        if let NodeState::Newer { version } = ctx.member(name).state {
            ctx.wait(Subject::Node(name.clone()), WaitingOn::RunEnd(RunEnd::NewerVersion { version }));
            found = true;
        }
        if let NodeState::OtherRun { run, until } = &ctx.member(name).state
            && *until > ctx.now
        {
            let on = WaitingOn::RunEnd(RunEnd::OtherRun { run: run.clone(), until: *until });
            let subject = Subject::Node(name.clone());
            let owner = ctx.view.node(name).and_then(|node| mark::of(node)).map(|found| found.mark.owner);
            if owner == Some(Owner::Autoscaler) {
                // The autoscaler gives way to a run: it takes its mark off as soon as it looks.
                ctx.wait_until(subject, on, *until);
            } else {
                ctx.wait(subject, on);
            }
            found = true;
        }
    }
    found
}

/// Whether a group that its nodes are to leave wants at least more nodes than it would keep: nothing is begun before
/// somebody has lowered its minimum, for an instance that is ended with a decrement may not take the group below it.
fn cannot_shrink(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let mut is_stuck = false;
    for source in &roll.sources {
        // EKS lowers the minimum of a managed group together with its size.
        let Some(group) = source.group.filter(|_| !source.is_managed()) else { continue };
        let members = ctx.fleet.members.values();
        let old = members.filter(|member| member.group == *source.name && member.is_old()).count();
        let left = group.size.desired.saturating_sub(u32::try_from(old).unwrap_or(u32::MAX));
        if left < group.size.min {
            let on = WaitingOn::RollEnd(RollEnd::GroupMinimum { min: group.size.min, left });
            ctx.wait(Subject::Group(source.name.clone()), on);
            is_stuck = true;
        }
    }
    is_stuck
}

/// Writes down the sizes of the group and of those whose nodes move into it; whether one is still to be written.
fn write_sizes(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, group: &NodeGroup) -> bool {
    let others = roll.sources.iter().chain(&roll.further).filter(|source| source.original.is_none());
    let others = others.filter_map(|source| Some((source.name, source.group?.size)));
    let own = roll.original.is_none().then_some((roll.name, group.size));
    let unwritten: Vec<(&GroupName, GroupSize)> = others.chain(own).collect();
    let own = format!("{}/", ctx.scope.run);
    if let Some((name, _)) = unwritten.iter().find(|(name, _)| ctx.sent.is_resized(ctx.now, name, &own)) {
        let on = WaitingOn::Run(RunWait::Effect {
            what: Text::from("the group size that another actor requested"),
        });
        ctx.wait_until(Subject::Group((*name).clone()), on, ctx.now + COMMAND_LIFE);
        return true;
    }
    for (name, size) in &unwritten {
        tag(ctx, name, "restoration of the original size", mark::ORIGINAL_SIZE, size_tag(*size));
    }
    !unwritten.is_empty()
}

/// Writes down which launch template is current before it is changed; whether that is still to be written.
fn write_template(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, group: &NodeGroup) -> bool {
    match group.tags.value(mark::ORIGINAL_TEMPLATE) {
        Some(written)
            if read_template(written).as_ref() == Some(&group.current)
                && read_followed(written) == group.follows =>
        {
            return false;
        }
        // A run that is over has left it, and the template is another since then.
        Some(_) => untag(ctx, roll.name, mark::ORIGINAL_TEMPLATE),
        None => {
            let value = template_tag(&group.current, group.follows);
            tag(
                ctx,
                roll.name,
                "restoration of the original launch template",
                mark::ORIGINAL_TEMPLATE,
                value,
            );
        }
    }
    true
}

/// Raises a group whose surge was given up, or never taken, while only nodes were left that had to wait for batch pods, when
/// one of them can be replaced. Drains that were begun beside the one that used the surge up wait for it, too; and so does
/// a group whose new instances came up in other zones than where nodes are left.
fn raise_again(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) {
    let nodes = roll.nodes;
    let (Some(group), Some(_)) = (roll.group, roll.original) else { return };
    // What is kept until EKS terminates it with all others of its group may be wanted no more, and still be there.
    let kept = roll.retained().saturating_sub(roll.unwanted());
    let (before, surge) = (roll.wanted_before() + kept, roll.allowance(ctx.scope).surge);
    let is_by_hand = roll.is_moved_into() || retain::keeps_nodes(ctx.scope);
    let mut wanted = if is_by_hand { before + left_to_move(ctx, roll) } else { 0 };
    if nodes.leaving.is_empty() && nodes.loose_leaving.is_empty() {
        let draining = nodes.draining.iter().filter(|name| ctx.member(name).serves()).count();
        let ready = nodes.ready_total() + u32::try_from(draining).unwrap_or(u32::MAX);
        let under_way = u32::try_from(nodes.draining.len()).unwrap_or(u32::MAX);
        let is_short = ready <= roll.needed(ctx.scope);
        let for_nodes = if is_short { before + free(ctx, roll) + under_way } else { 0 };
        let is_settled = nodes.arriving.is_empty()
            && nodes.loose_new.is_empty()
            && roll.missing() == 0
            && nodes.alive(roll.name) == group.size.desired;
        let for_zones =
            if is_settled && under_way == 0 { roll.wanted() + zones::launches(ctx, roll) } else { 0 };
        // Somebody lowered the group before a new node was of use: nothing is cordoned yet, and without one nothing would be.
        let is_taken_back = is_settled && nodes.usable.is_empty() && !nodes.found.is_empty();
        let for_first = if is_taken_back { before + nodes.found_free.max(1) } else { 0 };
        wanted = wanted.max(for_nodes).max(for_zones).max(for_first);
    }
    raise(ctx, roll, group, wanted.min(before + surge));
}

/// Nodes that are still to move into the group, those aside that have to wait for batch pods: by as many, and no more than
/// the surge, the group is kept above what all wanted before.
///
/// An instance that was ended in another group is wanted by none any more, and this group takes its place. In the group
/// of its own the same is one step, a termination without a decrement (see [`super::evict`]), unless the node is kept.
fn left_to_move(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> u32 {
    let nodes = roll.nodes;
    let held =
        nodes.held.len() - start::late(ctx, roll.nodes).count() + nodes.found.len() + nodes.postponed.len();
    let held = u32::try_from(held).unwrap_or(u32::MAX) - nodes.found_free;
    nodes.old_left().saturating_sub(held).saturating_sub(roll.unwanted())
}

/// Nodes that can be begun as soon as their turn comes.
fn free(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> u32 {
    let free = roll.nodes.queued() + start::late(ctx, roll.nodes).count();
    u32::try_from(free).unwrap_or(u32::MAX)
}

/// Whether a group has more instances than it wants and has yet to terminate them, which is said. Were it raised before that, it would keep an old one in the place of
/// the surge, and launch nothing. What comes too late is not waited for.
fn awaits_termination(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, group: &NodeGroup) -> bool {
    let instances = roll.nodes.alive(roll.name).saturating_sub(group.size.desired);
    let since = ctx.watch(roll, Watched::Unwanted, instances > 0);
    if since.is_none_or(|since| ctx.now > since + LATE_AFTER) {
        return false;
    }
    ctx.wait(roll.subject(), WaitingOn::Roll(RollWait::Leaving { instances }));
    true
}

fn begin(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, group: &NodeGroup, begun: &Begun) {
    match group.tags.value(mark::BEGUN) {
        // What a run that is over has left: its nodes bear no mark that holds.
        Some(_) => untag(ctx, roll.name, mark::BEGUN),
        None => tag(ctx, roll.name, "beginning", mark::BEGUN, begun.to_text()),
    }
}

/// Whether a group that was raised has its first new node, and what it still waits for.
fn capacity(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) -> Readiness {
    arrivals(ctx, roll);
    raise_again(ctx, roll);
    let nodes = roll.nodes;
    let wants_surge = roll.allowance(ctx.scope).surge > 0 && !nodes.found.is_empty();
    // What a run that halted had to leave in the group that nodes move into is as good as a new node.
    let is_ahead = roll.is_moved_into() && nodes.ready_total() + nodes.broken > roll.wanted_before();
    if wants_surge && nodes.usable.is_empty() && !is_ahead { Readiness::Preparing } else { Readiness::Open }
}

/// Cordons and marks what is to go, and renews marks before they expire.
pub(super) fn cordon(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>]) {
    let mut under_way = 0;
    for roll in rolls {
        let expired = roll.nodes.aside.iter().filter(
            |name| matches!(&ctx.member(name).state, NodeState::OtherRun { until, .. } if *until <= ctx.now),
        );
        let names: Vec<_> = roll.nodes.found.iter().chain(expired).take(CORDONS_MAX).cloned().collect();
        for name in names.into_iter().take(CORDONS_MAX - under_way) {
            queue(ctx, ctx.member(&name));
            under_way += 1;
        }
    }
    renew(ctx);
}

/// Cordons a node that is to go.
pub(super) fn queue(ctx: &mut Context<'_>, member: &Member) {
    let role = external::role(ctx, member);
    let mark = Mark { owner: Owner::Run, role, since: ctx.now, expires: ctx.now + MARK_LIFE };
    // One that was postponed is cordoned once more.
    let key = match member.postponed {
        0 => ctx.key("queue", &member.uid),
        times => ctx.key("queue", format!("{}/{times}", member.uid)),
    };
    ctx.mark(member, "cordon", key, mark);
}

pub(super) fn renew(ctx: &mut Context<'_>) {
    let soon = ctx.now + RENEW_BEFORE;
    let expiring = ctx.fleet.expiries.iter().take_while(|(at, _)| *at < soon);
    // That a node was left out is to be known for as long as the run lasts, and to keep nobody away after it.
    let is_kept = |name: &NodeName| !matches!(ctx.member(name).state, NodeState::Skipped { .. });
    let expiring: Vec<_> = expiring.filter(|(_, name)| is_kept(name)).cloned().collect();
    // A run that waits for days is looked at in time, whatever else happens.
    let later = ctx.fleet.expiries.iter().skip_while(|(at, _)| *at < soon);
    if let Some(at) = later.filter(|(_, name)| is_kept(name)).map(|(at, _)| *at).next() {
        ctx.wake_at(at - RENEW_BEFORE);
    }
    for (_, name) in expiring.into_iter().take(CORDONS_MAX) {
        let member = ctx.member(&name);
        let Some(found) = ctx.view.node(&name).and_then(|node| mark::of(node)) else { continue };
        let mark = Mark { expires: ctx.now + MARK_LIFE, ..found.mark };
        let key = ctx.key("renew", format!("{}/{}", member.uid, found.mark.expires));
        ctx.mark(member, "renewal of the mark", key, mark);
    }
}
