//! Draining: moving pods off the nodes that are begun, and ending their instances when they are empty.
//!
//! A node that is begun acts only while the budget of nodes allows it: of the nodes being drained, in the order in which they
//! were begun, as many as the plan's `parallel`, and as many Ready ones as the group and the zone can spare. So if a new
//! node stops being Ready half way, or an instance is taken away, drains stand still instead of making it worse. One that
//! has pods to move counts none of the others that are drained: those may have lost pods already, and what it moves may be the
//! first that it loses, long after it was begun.
//!
//! A pod is evicted when the disruption budgets, taken together with everything under way, allow it, and when the
//! scheduler has a place for it on a node that stays, after pods that wait for a node already and after what will be
//! made in place of pods that are on their way out. An instance is terminated when nothing is seen on its node; the
//! driver proves that by a read that is no older than the cordon ([`replank_protocol::command::Expected`]).
//!
//! # Where the new instance comes up
//!
//! An Auto Scaling group launches in the zone that has fewest instances, by chance among equals. While the group is raised by
//! one instance per zone (or a multiple), the zone of an ended instance is the one with fewest, so its
//! replacement comes up there, and pods bound to a zone by their volumes always find a new node in it. With a smaller
//! surge the new instance may come up where nothing is left to do, and pods bound to another zone wait for room that never
//! comes: the run is blocked and says so; `check` warns beforehand. A group that nodes of others move into fills its zones
//! evenly, wherever old instances are ended. It is not worked around by ending a new node and
//! hoping for a better draw: that has no end.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::GroupName;
use replank_model::time::Time;
use replank_model::view::{Ix, View};
use rustc_hash::FxHashSet;

use super::balancer;
use super::close::{beyond, floor};
use super::context::{Context, GroupRoll};
use super::dead;
use super::external;
use super::held_pods::deadline;
use super::last_pending;
use super::member::{Member, NodeState, Scope};
use super::prepare::MARK_LIFE;
use super::protection;
use super::retain;
use super::singleton;
use super::stalled::{self, Pause};
use super::start;
use super::stuck;
use crate::moving;
use crate::proof::drained;
use replank_facts::budget::Ledger;
use replank_facts::drain::Otherwise;
use replank_facts::node_pods::{Actives, BatchPod, Bound, NodePods};
use replank_facts::plan::OnDeadline;
use replank_facts::room::Room;
use replank_protocol::command::{self, Effect, GroupEffect, NodeRole, PodTarget, Replacement};
use replank_protocol::owner::Owner;
use replank_protocol::waiting::{PodEnd, PodWait, RollEnd, RollWait, Subject, WaitingOn};

use super::drain::Ahead;
pub(super) use super::drain::{Drain, Spare, Works};

pub(super) use super::batch::{batch_deadline, batch_is_over};

/// All nodes that are being drained, in the order in which they were begun.
pub(super) fn drains<'a>(ctx: &Context<'a>, rolls: &[GroupRoll<'a>]) -> Vec<Drain<'a>> {
    let mut drains = Vec::new();
    for (roll, of) in rolls.iter().enumerate() {
        let pause = Pause::of(ctx, of);
        for name in &of.nodes.draining {
            let member = ctx.member(name);
            if let NodeState::Draining { since, from, node_pods } = &member.state {
                let (is_dead, stalls) = (dead::is_dead(ctx, member), stalled::until(ctx, pause, member));
                drains.push(Drain { roll, member, since: *since, from: *from, node_pods, is_dead, stalls });
            }
        }
    }
    drains.sort_by(|a, b| (a.from, &a.member.name).cmp(&(b.from, &b.member.name)));
    drains
}

/// The drains that may act now.
pub(super) fn acting<'a>(ctx: &mut Context<'a>, drains: &[Drain<'a>], spare: &mut Spare) -> Vec<Drain<'a>> {
    let limit = ctx.scope.plan.pace.parallel;
    let mut acting: Vec<Drain<'a>> = Vec::new();
    let mut beside = spare.clone();
    drains.iter().filter(|one| one.from <= ctx.now).for_each(|one| beside.give_up(one.roll, one.member));
    let mut active = 0;
    for drain in drains {
        let subject = Subject::Node(drain.member.name.clone());
        drain.stalls.filter(|until| *until > ctx.now).into_iter().for_each(|until| ctx.wake_at(until));
        let takes_place = !drain.is_apart(ctx.now);
        if drain.from > ctx.now {
            let until = drain.from;
            ctx.wait_until(subject, WaitingOn::Roll(RollWait::Pace { until }), until);
        } else if takes_place && active >= limit {
            ctx.wait(subject, WaitingOn::Roll(RollWait::Turn { nodes: 1, active, limit }));
        } else {
            let checked = if due(ctx, drain.since, drain.node_pods).next().is_none() {
                spare.check(drain.roll, drain.member)
            } else {
                beside.check_beside(drain.roll, drain.member)
            };
            // Its drain may be stalled, but it is not capacity either: it takes no pods, and may have lost some.
            spare.give_up(drain.roll, drain.member);
            match checked {
                Ok(()) => {
                    active += u32::from(takes_place);
                    acting.push(*drain);
                }
                Err(on) => ctx.wait(subject, on),
            }
        }
    }
    acting
}

impl<'r> Works<'r> {
    pub(super) fn new<'a: 'r>(
        ctx: &Context<'a>,
        mut ledger: Ledger<'r>,
        room: &'r mut Room,
        (loose, actives): (&'r BTreeSet<Key>, &'r mut Actives),
        acting: &[Drain<'a>],
    ) -> Self {
        let mut under_way = Vec::new();
        // What the other modules have asked for.
        for target in ctx.sent.evictions(ctx.now, Some(&format!("{}/", ctx.scope.run))) {
            let Some(ix) = find(ctx.view, &target) else { continue };
            let pod = &ctx.view.pods[ix];
            ledger.charge(ix, pod);
            under_way.push(pod.clone());
        }
        let mut asked: FxHashSet<Ix<Pod>> =
            ctx.sent.evicted().filter_map(|pod| find(ctx.view, pod)).collect();
        for drain in acting {
            for bound in due(ctx, drain.since, drain.node_pods) {
                let uid = &bound.pod.meta.uid;
                let is_claimed =
                    asked.contains(&bound.ix) && ctx.sent.claims(ctx.now, &ctx.key("evict", uid));
                let is_granted =
                    ledger.may_be_granted(bound.footing) && ledger.is_granted(ctx.now, bound.ix, &bound.pod);
                if is_granted {
                    asked.insert(bound.ix);
                }
                if is_claimed || is_granted {
                    ledger.charge(bound.ix, &bound.pod);
                    under_way.push(bound.pod.clone());
                }
            }
        }
        let acting = acting.iter().map(|drain| drain.node_pods).collect();
        Self {
            ledger,
            search: room.search(ctx.view),
            view: ctx.view,
            under_way,
            asked,
            loose,
            ahead: Some(Ahead { actives, acting }),
            begun: None,
            evicted: Vec::new(),
        }
    }

    /// Whether every pod of a node may be evicted some time, as the budgets are, or moves in another way.
    ///
    /// # Errors
    /// The first pod that may not, and why.
    pub(super) fn can_be_emptied(
        &mut self,
        ctx: &Context<'_>,
        since: Time,
        node_pods: &NodePods,
    ) -> Result<(), (Subject, WaitingOn)> {
        let hopeless = due(ctx, since, node_pods).find_map(|bound| {
            let on = self.ledger.hopeless_on(bound.ix, bound.footing)?;
            let is_moved = singleton::moved_by(ctx.scope, ctx.view, bound).is_some();
            (!is_moved).then(|| (Subject::Pod(bound.key.clone()), on))
        });
        hopeless.map_or(Ok(()), Err)
    }
}

/// Where the View has a pod, if it is still the one that is meant.
fn find(view: &View, pod: &PodTarget) -> Option<Ix<Pod>> {
    view.pods.find(&pod.key).filter(|ix| view.pods[*ix].meta.uid == pod.uid)
}

/// The pods that are to be evicted from a node now: those that simply move, and batch pods past their deadline.
fn due<'p>(
    ctx: &Context<'p>,
    since: Time,
    node_pods: &'p NodePods,
) -> impl Iterator<Item = &'p Bound> + use<'p> {
    let (now, scope) = (ctx.now, ctx.scope);
    let is_evicted = scope.plan.batch.on_deadline == OnDeadline::Evict;
    let batch = node_pods.batch.iter().filter(move |batch| {
        is_evicted && batch.otherwise == Otherwise::Moves && now >= deadline(scope, since, batch)
    });
    node_pods.movers.iter().chain(batch.map(|batch| &batch.bound))
}

/// Moves what may be moved off one node, once no load balancer sends to it where the plan asks for that.
pub(super) fn evict(ctx: &mut Context<'_>, works: &mut Works<'_>, drain: &Drain<'_>) {
    if singleton::skip(ctx, drain.member, drain.node_pods) || !balancer::is_out(ctx, drain.member) {
        return;
    }
    for bound in due(ctx, drain.since, drain.node_pods) {
        if came_back(bound, drain.from) {
            ctx.wait(Subject::Pod(bound.key.clone()), WaitingOn::PodEnd(PodEnd::CameBack));
        } else if !singleton::surge(ctx, works, bound) {
            evict_one(ctx, works, bound);
        }
    }
    wait_for(ctx, drain.member, drain.since, drain.node_pods);
}

/// Whether a pod was made after its node's drain had begun: no cordon keeps it off (it tolerates the cordon's taint, or names
/// its node), so that to evict it would have no end.
pub(super) fn came_back(bound: &Bound, from: Time) -> bool {
    bound.created.is_some_and(|created| created > from)
}

fn evict_one(ctx: &mut Context<'_>, works: &mut Works<'_>, bound: &Bound) {
    let Bound { ix, pod, key, footing, .. } = bound;
    if works.asked.contains(ix) && moving::goes_on(ctx, &works.ledger, bound) {
        return;
    }
    let allowed = works
        .ledger
        .check_on(*ix, *footing)
        .and_then(|()| works.find_room(pod).or_else(|on| last_pending::instead(ctx, works, &[pod], on)));
    match allowed {
        Ok(()) => {
            works.ledger.charge(*ix, pod);
            works.evicted.push(pod.clone());
            moving::evict(ctx, bound, None);
        }
        Err(on) => ctx.wait(Subject::Pod(key.clone()), on),
    }
}

/// Says what of a node's pods is waited for and not moved.
pub(super) fn wait_for(ctx: &mut Context<'_>, member: &Member, since: Time, node_pods: &NodePods) {
    for (pod, reason) in &node_pods.refused {
        ctx.wait(Subject::Pod(pod.clone()), WaitingOn::PodEnd(PodEnd::Refused { reason: *reason }));
    }
    for pod in &node_pods.unrecorded {
        ctx.wait(Subject::Pod(pod.clone()), WaitingOn::Pod(PodWait::Unrecorded));
    }
    for batch in &node_pods.batch {
        wait_for_batch(ctx, batch, since);
    }
    // One pod that outlives its deadline keeps the node, whatever the others do.
    let is_over = node_pods.batch.iter().any(|batch| batch_is_over(ctx, since, batch));
    if is_over && ctx.scope.plan.batch.on_deadline == OnDeadline::Skip {
        let mark = command::Mark {
            owner: Owner::Run,
            role: NodeRole::Skipped,
            since: ctx.now,
            expires: ctx.now + MARK_LIFE,
        };
        let key = ctx.key("skip", &member.uid);
        ctx.mark(member, "mark for a skipped node", key, mark);
    }
}

fn wait_for_batch(ctx: &mut Context<'_>, batch: &BatchPod, cordoned: Time) {
    let pod = &batch.bound.pod;
    let deadline = batch_deadline(ctx, cordoned, batch);
    let is_over = batch_is_over(ctx, cordoned, batch);
    let subject = Subject::Pod(pod.meta.key());
    let since = pod.status.start_time;
    if !is_over {
        ctx.wait_until(subject, WaitingOn::Pod(PodWait::Batch { since, deadline }), deadline);
        return;
    }
    match (ctx.scope.plan.batch.on_deadline, batch.otherwise) {
        (OnDeadline::Pause, _) => ctx.wait(subject, WaitingOn::PodEnd(PodEnd::BatchOver { since, deadline })),
        (OnDeadline::Evict, Otherwise::Refused(reason)) => {
            ctx.wait(subject, WaitingOn::PodEnd(PodEnd::Refused { reason }));
        }
        (OnDeadline::Evict, Otherwise::Moves) | (OnDeadline::Skip, _) => {}
    }
}

/// Ends the instances of empty nodes, and of those on which nothing but stuck pods is left where the plan says so.
pub(super) fn terminate(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>], acting: &[Drain<'_>]) {
    let mut ending = vec![0_u32; rolls.len()];
    let mut leaving: BTreeMap<&GroupName, u32> = BTreeMap::new();
    for drain in acting {
        if !stuck::may_end(ctx, drain.member, drain.node_pods) {
            continue;
        }
        let subject = Subject::Node(drain.member.name.clone());
        if balancer::is_held(ctx, drain.member, drain.from) {
            continue;
        }
        if ctx.scope.is_external() {
            external::hand_out(ctx, drain.member);
            continue;
        }
        let roll = &rolls[drain.roll];
        if roll.is_from_managed(drain.member) {
            retain::keep(ctx, drain.member, drain.since);
            continue;
        }
        // A dead one, or one with stuck pods on it, is of no use for going back.
        let is_of_use = drain.node_pods.is_empty() && !drain.is_dead;
        if retain::keeps_nodes(ctx.scope) && is_of_use {
            retain::keep(ctx, drain.member, drain.since);
            continue;
        }
        if roll.is_moved_into() {
            let leaving = leaving.entry(&drain.member.group).or_default();
            if let Some(on) = at_minimum(roll, drain.member, *leaving) {
                ctx.wait(subject, on);
            } else {
                *leaving += 1;
                let keep = minimum(roll, drain.member);
                let replacement = Replacement::Decrement { keep };
                end_instance(ctx, drain.member, stuck::stuck_pods(drain.node_pods), replacement);
            }
            continue;
        }
        ending[drain.roll] += 1;
        let held = roll.nodes.held.len() - start::late(ctx, roll.nodes).count() + roll.nodes.postponed.len();
        let held = u32::try_from(held).unwrap_or(u32::MAX);
        let left = roll.nodes.old_left().saturating_sub(ending[drain.roll]).saturating_sub(held);
        let raised = beyond(roll).min(roll.allowance(ctx.scope).surge);
        let old = roll.nodes.old_left().saturating_sub(ending[drain.roll] - 1);
        let replacement = replacement(ctx.scope, roll, old, left, raised);
        end_instance(ctx, drain.member, stuck::stuck_pods(drain.node_pods), replacement);
    }
}

/// The minimum of the group that a node leaves.
pub(super) fn minimum(roll: &GroupRoll<'_>, member: &Member) -> u32 {
    let source = roll.sources.iter().find(|source| *source.name == member.group);
    source.and_then(|source| source.group).map_or(0, |group| group.size.min)
}

/// What keeps a group that its nodes leave from wanting one less, when so many of its instances are being ended already.
fn at_minimum(roll: &GroupRoll<'_>, member: &Member, leaving: u32) -> Option<WaitingOn> {
    let source = roll.sources.iter().find(|source| *source.name == member.group)?;
    let size = source.group?.size;
    let left = size.desired.saturating_sub(leaving);
    let on = WaitingOn::RollEnd(RollEnd::GroupMinimum { min: size.min, left: left.saturating_sub(1) });
    (left <= size.min).then_some(on)
}

/// While at least as many old instances are left as the group is raised by, each is replaced by another; the last ones are
/// not, so that the group ends at its size before the run, give or take what others did to it, and never below. Nodes that
/// have to wait for batch pods do not count as left: see [`super::prepare`]. Where as many as before are there beside all old ones
/// (on the way back, when nodes were retained), none is replaced.
fn replacement(scope: &Scope, roll: &GroupRoll<'_>, old: u32, left: u32, raised: u32) -> Replacement {
    let is_at_minimum = roll.group.is_none_or(|group| group.size.desired <= group.size.min);
    // On the way forward, what somebody else has raised the group by is theirs.
    let is_short =
        !scope.is_way_back() || roll.wanted().saturating_sub(roll.retained() + old) < roll.wanted_before();
    if (left >= raised && is_short) || is_at_minimum {
        Replacement::Launch
    } else {
        Replacement::Decrement { keep: floor(roll, 0) }
    }
}

/// Terminates the instance of a node that is empty but for the pods that are named.
pub(super) fn end_instance(
    ctx: &mut Context<'_>,
    member: &Member,
    remaining: Vec<PodTarget>,
    replacement: Replacement,
) {
    let takes_place = matches!(replacement, Replacement::Decrement { .. });
    if takes_place && ctx.awaits_raise(Subject::Node(member.name.clone()), &member.group) {
        return;
    }
    if protection::is_held(ctx, member) {
        return;
    }
    let effect = Effect::Group(GroupEffect::Terminate {
        instance: member.instance.clone(),
        group: member.group.clone(),
        expected: drained(ctx.view, member.target(), &ctx.scope.run, remaining),
        replacement,
    });
    let key = ctx.key("terminate", &member.instance);
    ctx.send(Subject::Node(member.name.clone()), "termination", key, effect);
}
