//! Choosing the next nodes to drain.
//!
//! A node is begun by a mark that says from when on its pods may be moved. The pause between two nodes (`pace.betweenNodes`) is
//! written into that moment, so that it outlives a restart: the next node is chosen and marked as soon as there is a
//! free place, and waits out the pause marked. Only one node at a time is ahead of its moment.
//!
//! Per group: the canary's nodes go first, or those of each wave; nothing else of the group is begun while one is watched ([`stage`]). Which
//! nodes a canary is made of, [`canary`] says.
//!
//! Where the plan has a `minReadyPerZone`, nodes in zones with fewer new nodes come before the plan's order (except
//! `zoneByZone`): replacements come up where nodes go, so that every zone has a new node before its last old one goes,
//! and the group ends as evenly spread as it was.
//!
//! Of a group's nodes the first in this order is begun for which the group and the zone can spare a Ready node, none of
//! whose pods is under a disruption budget that never lets one go, and for all of whose pods the scheduler finds room. So a node
//! that cannot be emptied keeps nobody else from having a turn. Nor does one whose drain has come to a standstill ([`super::stalled`]): it is taken up again when all of
//! its pods can be moved. [`LOOK_AHEAD`] nodes of each zone are considered, so that a decision stays
//! cheap; once a minute, while nothing is being drained, all are.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::pod::{Pod, PodSpec};
use replank_model::text::{Namespace, NodeName, Zone};
use replank_model::time::{Span, Time};
use rustc_hash::FxHashMap;

use super::canary::{self, Canary};
use super::context::{Context, GroupRoll};
use super::dead;
use super::evict::{Drain, Spare, Works, batch_deadline, batch_is_over};
use super::external;
use super::fleet::GroupNodes;
use super::hold;
use super::last_pending;
use super::member::{Member, NodeState};
use super::postpone;
use super::prepare::MARK_LIFE;
use super::raise;
use super::singleton;
use super::stage;
use super::stalled;
use replank_facts::node_pods::NodePods;
use replank_facts::plan::{Order, Singletons, Standing};
use replank_protocol::command::{Mark, NodeRole};
use replank_protocol::owner::Owner;
use replank_protocol::waiting::{PodEnd, PodWait, RollEnd, RollWait, RunWait, Subject, WaitingOn};

pub(super) use super::late::late;

/// Nodes of each zone that are considered at every decision.
const LOOK_AHEAD: usize = 4;
/// How often all nodes are considered while nothing is being drained.
const LOOK_AROUND: Span = Span::from_secs(60);

/// Begins as many nodes as there are free places for.
pub(super) fn start<'a>(
    ctx: &mut Context<'a>,
    rolls: &[GroupRoll<'a>],
    drains: &[Drain<'_>],
    spare: &mut Spare,
    works: &mut Works<'_>,
) {
    let mut places = Places::of(ctx, rolls, drains, spare);
    let is_held_said = hold::all(ctx, rolls);
    for (number, roll) in rolls.iter().enumerate() {
        let turn = Turn::of(ctx, (number, roll), drains);
        external::shut(ctx, roll);
        if !is_held_said {
            hold::each(ctx, roll);
        }
        for (name, since) in dead::due(ctx, roll) {
            begin(ctx, &name, since, ctx.now);
            places.starting.insert(name);
        }
        while let Some(from) = places.next(ctx, rolls, number) {
            let Some(name) = choose(ctx, &turn, &places.starting, spare, works) else { break };
            let since = cordoned_since(ctx.member(&name)).unwrap_or(ctx.now);
            begin(ctx, &name, since, from);
            places.take(number, name, from);
        }
        external::open(ctx, roll, &places.starting);
        queue(ctx, roll, &places);
    }
}

/// Drains that there are, those under way among them.
struct Places {
    /// Drains of each group.
    active: Vec<u32>,
    /// The latest moment at which one begins or began.
    last: Option<Time>,
    /// Nodes whose beginning is under way.
    starting: BTreeSet<NodeName>,
    /// Whether anything of the run has been begun before.
    has_begun: bool,
}

impl Places {
    /// A node that is about to be drained no longer counts as capacity.
    fn of(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>], drains: &[Drain<'_>], spare: &mut Spare) -> Self {
        let mut places = Self {
            active: vec![0; rolls.len()],
            last: in_turn(ctx.now, drains).map(|drain| drain.from).max(),
            starting: BTreeSet::new(),
            has_begun: !drains.is_empty() || rolls.iter().any(|roll| roll.gone() > 0),
        };
        for drain in in_turn(ctx.now, drains) {
            places.active[drain.roll] += 1;
        }
        for (name, from) in ctx.sent.drains(ctx.now) {
            let Some(member) = ctx.fleet.members.get(&name) else { continue };
            let is_begun = matches!(member.state, NodeState::Queued { .. } | NodeState::Postponed { .. });
            if !is_begun {
                continue;
            }
            let since = cordoned_since(member).unwrap_or(ctx.now);
            let Some(number) = rolls.iter().position(|roll| ctx.is_in(member, roll)) else { continue };
            begin(ctx, &name, since, from);
            if dead::is_dead(ctx, member) {
                places.starting.insert(name);
                continue;
            }
            spare.give_up(number, member);
            places.take(number, name, from);
        }
        places
    }

    fn take(&mut self, roll: usize, name: NodeName, from: Time) {
        self.active[roll] += 1;
        self.last = self.last.max(Some(from));
        self.starting.insert(name);
        self.has_begun = true;
    }

    fn total(&self) -> u32 {
        self.active.iter().sum()
    }

    /// From when on the next node of a group may be drained; `None` if none may be begun yet.
    fn next(&self, ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>], number: usize) -> Option<Time> {
        let roll = &rolls[number];
        let limit = ctx.scope.plan.pace.parallel;
        let has_postponed = !roll.nodes.postponed.is_empty();
        let has_candidate =
            roll.nodes.queued() > 0 || has_postponed || late(ctx, roll.nodes).next().is_some();
        if self.total() >= limit || !has_candidate {
            return None;
        }
        if let Some(until) = self.last.filter(|last| *last > ctx.now) {
            ctx.wait_until(roll.subject(), WaitingOn::Roll(RollWait::Pace { until }), until);
            return None;
        }
        let pause = if self.has_begun { ctx.scope.plan.pace.between_nodes } else { Span::ZERO };
        let from = ctx.now + pause;
        if let Standing::Closed(opens) = ctx.scope.plan.care.windows.at(from) {
            // Its drain would begin in the next window; until then it may as well take pods.
            ctx.wait_until(roll.subject(), WaitingOn::Run(RunWait::Window { opens }), opens);
            return None;
        }
        stage::is_open(ctx, roll, self.active[number]).then_some(from)
    }
}

/// Drains that take a place.
fn in_turn<'d, 'a>(now: Time, drains: &'d [Drain<'a>]) -> impl Iterator<Item = &'d Drain<'a>> {
    drains.iter().filter(move |drain| !drain.is_apart(now))
}

/// A group whose next node is looked for, and what its nodes that are being drained have to say about it.
struct Turn<'t, 'a> {
    number: usize,
    roll: &'t GroupRoll<'a>,
    drains: &'t [Drain<'t>],
    /// Whether none of them takes a place.
    is_idle: bool,
    /// Whether one of them does not go on, so that it could give up its share of the surge.
    can_yield: bool,
}

impl<'t, 'a> Turn<'t, 'a> {
    fn of(ctx: &Context<'_>, (number, roll): (usize, &'t GroupRoll<'a>), drains: &'t [Drain<'t>]) -> Self {
        let own = || drains.iter().filter(|drain| drain.roll == number);
        let is_idle = own().all(|drain| drain.is_apart(ctx.now));
        let can_yield = own().any(|drain| drain.is_stalled(ctx.now));
        Self { number, roll, drains, is_idle, can_yield }
    }
}

/// Since when a node that is to be begun has been cordoned; `None` for one that takes pods and is cordoned anew.
fn cordoned_since(member: &Member) -> Option<Time> {
    if let NodeState::Queued { since, .. } = member.state { Some(since) } else { None }
}

pub(super) fn begin(ctx: &mut Context<'_>, name: &NodeName, since: Time, from: Time) {
    let member = ctx.member(name);
    let mark =
        Mark { owner: Owner::Run, role: NodeRole::Draining { from }, since, expires: ctx.now + MARK_LIFE };
    // One that was postponed is begun once more.
    let key = match member.postponed {
        0 => ctx.key("drain", &member.uid),
        times => ctx.key("drain", format!("{}/{times}", member.uid)),
    };
    ctx.mark(member, "start of the drain", key, mark);
}

/// Says how many nodes have not had their turn.
fn queue(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, places: &Places) {
    let waiting = roll
        .nodes
        .queued()
        .saturating_sub(places.starting.iter().filter(|name| ctx.is_in(ctx.member(name), roll)).count());
    if waiting > 0 {
        let nodes = u32::try_from(waiting).unwrap_or(u32::MAX);
        let limit = ctx.scope.plan.pace.parallel;
        ctx.wait(roll.subject(), WaitingOn::Roll(RollWait::Turn { nodes, active: places.total(), limit }));
    }
}

/// The next node to be begun, its pods put in place.
fn choose<'a>(
    ctx: &mut Context<'a>,
    turn: &Turn<'_, 'a>,
    starting: &BTreeSet<NodeName>,
    spare: &mut Spare,
    works: &mut Works<'_>,
) -> Option<NodeName> {
    let Turn { number, roll, can_yield, .. } = *turn;
    // Nothing that is about to be begun can be stalled.
    let is_idle = turn.is_idle && starting.iter().all(|name| dead::is_dead(ctx, ctx.member(name)));
    let is_round = ctx.now.as_millis() % LOOK_AROUND.as_millis() == 0;
    let depth = if is_idle && is_round { usize::MAX } else { LOOK_AHEAD };
    let mut hopeless = Hopeless::default();
    let mut first_reason = None;
    let mut without_room = Vec::new();
    let mut yields_to = None;
    // What keeps one of them keeps all of them then, and there is nothing else to be found out.
    let is_each_alike = !can_yield
        && spare.is_short(number)
        && roll.nodes.queued_idle == 0
        && ctx.scope.plan.care.singletons != Singletons::Skip;
    // A canary that stands still keeps all others waiting: one whose pods may all go now is better than one with more of them.
    let mut canary = Canary::of(ctx, roll);
    let mut second_best = None;
    for name in candidates(ctx, turn, starting, depth) {
        if starting.contains(name) {
            continue;
        }
        let member = ctx.member(name);
        let NodeState::Queued { since, node_pods } = &member.state else { continue };
        // It may be Ready again in a moment, or is replaced for that.
        if member.unready.is_some() || singleton::skip(ctx, member, node_pods) {
            continue;
        }
        let point = works.point();
        let by_node = |on| (Subject::Node(name.clone()), on);
        let spared = spare.check(number, member).map_err(by_node);
        let could = match (&spared, can_yield) {
            (Err(_), false) => Ok(()),
            (Err(_), true) | (Ok(()), _) => works
                .can_be_emptied(ctx, *since, node_pods)
                .and_then(|()| has_room(ctx, works, &mut hopeless, *since, node_pods).map_err(by_node)),
        };
        match (spared, could) {
            (Ok(()), Ok(())) if canary.waits_for_better_than(member) => works.rewind(point),
            (Ok(()), Ok(())) if canary.is_next && movers_may_go(ctx, works, node_pods).is_err() => {
                works.rewind(point);
                second_best.get_or_insert(name);
            }
            (Ok(()), Ok(())) => {
                spare.take(number, member).expect("it was just checked");
                return Some(name.clone());
            }
            (Err(reason), Ok(())) => {
                works.rewind(point);
                // One that would come to a standstill as well is no reason to give anything up: it waits for its turn.
                if !can_yield {
                    first_reason.get_or_insert(reason);
                    if is_each_alike {
                        break;
                    }
                } else if yields_to.is_none() && movers_may_go(ctx, works, node_pods).is_ok() {
                    first_reason.get_or_insert(reason);
                    yields_to = Some(member);
                }
            }
            (Ok(()) | Err(_), Err(reason)) => {
                works.rewind(point);
                if let WaitingOn::Pod(PodWait::Room { pod, .. }) = &reason.1 {
                    canary.lacks_room(member);
                    without_room.extend(ctx.view.find::<Pod>(pod).cloned());
                }
                first_reason.get_or_insert(reason);
            }
        }
    }
    if let Some(name) = second_best {
        let member = ctx.member(name);
        if let NodeState::Queued { since, node_pods } = &member.state {
            // It was found before that there is room.
            let _room = has_room(ctx, works, &mut hopeless, *since, node_pods);
        }
        spare.take(number, member).expect("it was just checked");
        return Some(name.clone());
    }
    if let Some(next) = yields_to {
        postpone::postpone(ctx, (number, roll), turn.drains, spare, next);
    } else if let Some(name) = take_up(ctx, turn, starting, spare, works) {
        return Some(name);
    }
    if is_idle && is_round {
        raise::raise_for_room(ctx, roll, &without_room);
    }
    if let Some((what, on)) = first_reason {
        ctx.wait(what, on);
        if is_idle {
            let millis = LOOK_AROUND.as_millis();
            let next = (ctx.now.as_millis().div_euclid(millis) + 1).saturating_mul(millis);
            ctx.wake_at(Time::from_millis(next));
        }
    }
    None
}

/// A node whose drain was postponed and can go on, its pods put in place: nothing of what is left on it is in the way any more. Says what the others wait for.
fn take_up(
    ctx: &mut Context<'_>,
    turn: &Turn<'_, '_>,
    starting: &BTreeSet<NodeName>,
    spare: &mut Spare,
    works: &mut Works<'_>,
) -> Option<NodeName> {
    let Turn { number, roll, .. } = *turn;
    let mut taken = None;
    for name in &roll.nodes.postponed {
        let member = ctx.member(name);
        let NodeState::Postponed { since, node_pods } = &member.state else { continue };
        if starting.contains(name) {
            continue;
        }
        let point = works.point();
        let could = could_go_on(ctx, works, member, *since, node_pods);
        let spared = spare.check(number, member).map_err(|on| (Subject::Node(name.clone()), on));
        match could.and(spared) {
            Ok(()) if taken.is_none() => {
                spare.take(number, member).expect("it was just checked");
                taken = Some(name.clone());
                continue;
            }
            Ok(()) => {}
            Err((what, on)) => {
                // Its share of the surge was given back when everything else was replaced.
                let is_short = matches!(on, WaitingOn::Roll(RollWait::Available { .. }));
                if is_short && taken.is_none() {
                    raise::raise_for_one(ctx, roll);
                    postpone::postpone(ctx, (number, roll), turn.drains, spare, member);
                }
                ctx.wait(what, on);
            }
        }
        works.rewind(point);
    }
    taken
}

/// Whether all of a postponed node's pods can be moved as things are.
fn could_go_on(
    ctx: &Context<'_>,
    works: &mut Works<'_>,
    member: &Member,
    since: Time,
    node_pods: &NodePods,
) -> Result<(), (Subject, WaitingOn)> {
    if member.postponed >= stalled::TIMES_MAX {
        let on = WaitingOn::RollEnd(RollEnd::Postponed { times: member.postponed });
        return Err((Subject::Node(member.name.clone()), on));
    }
    if let Some((pod, reason)) = node_pods.refused.first() {
        return Err((Subject::Pod(pod.clone()), WaitingOn::PodEnd(PodEnd::Refused { reason: *reason })));
    }
    if let Some(pod) = node_pods.unrecorded.first() {
        return Err((Subject::Pod(pod.clone()), WaitingOn::Pod(PodWait::Unrecorded)));
    }
    if let Some(batch) = node_pods.batch.first() {
        let pod = &batch.bound.pod;
        let deadline = batch_deadline(ctx, since, batch);
        let on = WaitingOn::Pod(PodWait::Batch { since: pod.status.start_time, deadline });
        return Err((Subject::Pod(pod.meta.key()), on));
    }
    if let Some(leaving) = node_pods.leaving.first() {
        let on = WaitingOn::Pod(PodWait::Terminating { pods: 1, grace_max: leaving.grace });
        return Err((Subject::Pod(leaving.pod.meta.key()), on));
    }
    movers_may_go(ctx, works, node_pods)?;
    has_room(ctx, works, &mut Hopeless::default(), since, node_pods)
        .map_err(|on| (Subject::Node(member.name.clone()), on))
}

/// Whether each of a node's pods may be evicted as its budgets are now, or moves in another way.
fn movers_may_go(
    ctx: &Context<'_>,
    works: &mut Works<'_>,
    node_pods: &NodePods,
) -> Result<(), (Subject, WaitingOn)> {
    let mut rest = node_pods.movers.iter();
    let refused = rest.find_map(|bound| {
        let on = works.obstacle(bound).err()?;
        let is_moved = singleton::moved_by(ctx.scope, ctx.view, bound).is_some();
        (!is_moved).then(|| (Subject::Pod(bound.key.clone()), on))
    });
    refused.map_or(Ok(()), Err)
}

/// The first nodes of each zone, in the plan's order; and nodes whose batch pods are over and are to be evicted, last.
fn candidates<'a>(
    ctx: &Context<'a>,
    turn: &Turn<'_, 'a>,
    starting: &BTreeSet<NodeName>,
    depth: usize,
) -> impl Iterator<Item = &'a NodeName> + use<'a> {
    let Turn { number, roll, .. } = *turn;
    let nodes = roll.nodes;
    let by_zone = ctx.scope.plan.order == Order::ZoneByZone;
    let keeps_zones = ctx.scope.plan.budget.min_ready_per_zone > 0 && !by_zone;
    let is_canary = stage::is_canary_next(ctx, roll);
    // A later zone is not begun while an earlier one is being drained.
    let drained = in_turn(ctx.now, turn.drains).filter(|drain| by_zone && drain.roll == number);
    let drained = drained.map(|drain| drain.member.zone.as_str()).min();
    let mut zones = Vec::new();
    for (zone, queue) in &nodes.queue {
        let renewed = if keeps_zones { renewed(ctx, nodes, starting, zone) } else { 0 };
        let zone = if by_zone { zone.as_str() } else { "" };
        if drained.is_some_and(|drained| zone > drained) {
            continue;
        }
        let queue = queue.iter().map(move |(rank, name)| (renewed, zone, Reverse((0, 0)), *rank, name));
        let queue: Vec<_> = if is_canary {
            // The best of a canary may be the last in the plan's order.
            let worth = |name| canary::worth(ctx.member(name));
            let mut all: Vec<_> = queue
                .map(|(renewed, zone, _, rank, name)| (renewed, zone, worth(name), rank, name))
                .collect();
            all.sort_unstable();
            all
        } else {
            queue.take(depth).collect()
        };
        zones.push(queue.into_iter().peekable());
    }
    let late: Vec<&NodeName> = late(ctx, nodes).take(depth).collect();
    // Each zone is in order, and hardly more than the first node of all is looked at.
    let in_order = std::iter::from_fn(move || {
        let with_next = zones.iter_mut().filter_map(|zone| Some((*zone.peek()?, zone)));
        let (_, zone) = with_next.min_by(|(one, _), (other, _)| one.cmp(other))?;
        zone.next().map(|(_, _, _, _, name)| name)
    });
    in_order.chain(late)
}

/// New nodes of a zone, and those that will come in place of nodes that are on their way out.
fn renewed(ctx: &Context<'_>, nodes: &GroupNodes, starting: &BTreeSet<NodeName>, zone: &Zone) -> u32 {
    let starting = starting.iter().filter(|name| ctx.member(name).zone == *zone);
    let starting = u32::try_from(starting.count()).unwrap_or(u32::MAX);
    let known = [&nodes.new, &nodes.draining_in, &nodes.booting_in];
    known.iter().filter_map(|counts| counts.get(zone)).fold(starting, |sum, count| sum.saturating_add(*count))
}

/// Pods for which there was no room in this decision, though nothing of their node had been put in place before them: for
/// pods like them there is none either, for what is tried meanwhile only takes room away.
#[derive(Default)]
struct Hopeless(FxHashMap<(*const PodSpec, Namespace), WaitingOn>);

fn alike(pod: &Pod) -> (*const PodSpec, Namespace) {
    (Arc::as_ptr(&pod.spec), pod.meta.namespace.clone())
}

/// Whether all pods of a node have room elsewhere, taken together; or will have it once the node is gone, where the plan asks for no more.
fn has_room(
    ctx: &Context<'_>,
    works: &mut Works<'_>,
    hopeless: &mut Hopeless,
    since: Time,
    node_pods: &NodePods,
) -> Result<(), WaitingOn> {
    let batch =
        node_pods.batch.iter().filter(|batch| batch_is_over(ctx, since, batch)).map(|batch| &batch.bound);
    let pods: Vec<&Arc<Pod>> = node_pods.movers.iter().chain(batch).map(|bound| &bound.pod).collect();
    fit(works, hopeless, &pods).or_else(|on| last_pending::instead(ctx, works, &pods, on))
}

/// Whether pods have room elsewhere, taken together.
fn fit(works: &mut Works<'_>, hopeless: &mut Hopeless, pods: &[&Arc<Pod>]) -> Result<(), WaitingOn> {
    if let Some(on) = pods.iter().find_map(|pod| hopeless.0.get(&alike(pod))) {
        return Err(on.clone());
    }
    let point = works.point();
    for pod in pods {
        if let Err(on) = works.find_room(pod) {
            works.rewind(point);
            if let Err(alone) = works.find_room(pod) {
                hopeless.0.insert(alike(pod), alone);
            }
            return Err(on);
        }
    }
    Ok(())
}
