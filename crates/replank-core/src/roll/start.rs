//! Choosing the next nodes to drain.
//!
//! A node is begun by a mark that says from when on its pods may be moved. The pause between two nodes (`pace.betweenNodes`) is
//! written into that moment, so that it outlives a restart: the next node is chosen and marked as soon as there is a
//! free place, and waits out the pause marked. Only one node at a time is ahead of its moment.
//!
//! Per group: the canary's nodes go first, or those of each wave; nothing else of the group is begun while one is watched ([`stage`]).
//!
//! Where the plan has a `minReadyPerZone`, nodes in zones with fewer new nodes come before the plan's order (except
//! `zoneByZone`): replacements come up where nodes go, so that every zone has a new node before its last old one goes,
//! and the group ends as evenly spread as it was.
//!
//! Of a group's nodes the first in this order is begun for which the group and the zone can spare a Ready node, none of
//! whose pods is under a disruption budget that never lets one go, and for all of whose pods the scheduler finds room. So a node
//! that cannot be emptied keeps nobody else from having a turn. [`LOOK_AHEAD`] nodes of each zone are considered, so that a decision stays
//! cheap; once a minute, while nothing is being drained, all are.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::pod::{Pod, PodSpec};
use replank_model::text::{Namespace, NodeName, Zone};
use replank_model::time::{Span, Time};
use rustc_hash::FxHashMap;

use super::context::{Context, GroupRoll};
use super::dead;
use super::evict::{Drain, Spare, Works, batch_is_over, wait_for};
use super::member::NodeState;
use super::prepare::MARK_LIFE;
use super::singleton;
use super::stage;
use replank_facts::node_pods::NodePods;
use replank_facts::plan::{Order, Standing};
use replank_protocol::command::{Mark, NodeRole};
use replank_protocol::owner::Owner;
use replank_protocol::waiting::{RollWait, RunWait, Subject, WaitingOn};

pub(super) use super::late::late;

/// Nodes of each zone that are considered at every decision.
const LOOK_AHEAD: usize = 4;
/// How often all nodes are considered while nothing is being drained.
const LOOK_AROUND: Span = Span::from_secs(60);

/// Begins as many nodes as there are free places for.
pub(super) fn start(
    ctx: &mut Context<'_>,
    rolls: &[GroupRoll<'_>],
    drains: &[Drain<'_>],
    spare: &mut Spare,
    works: &mut Works<'_>,
) {
    let mut places = Places::of(ctx, rolls, drains, spare);
    for (number, roll) in rolls.iter().enumerate() {
        hold(ctx, roll);
        for (name, since) in dead::due(ctx, roll) {
            begin(ctx, &name, since, ctx.now);
            places.starting.insert(name);
        }
        while let Some(from) = places.next(ctx, rolls, number) {
            let Some(name) = choose(ctx, roll, number, &places.starting, spare, works) else { break };
            let NodeState::Queued { since, .. } = ctx.member(&name).state else { break };
            begin(ctx, &name, since, from);
            places.take(number, name, from);
        }
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
            last: in_turn(ctx, drains).map(|drain| drain.from).max(),
            starting: BTreeSet::new(),
            has_begun: !drains.is_empty() || rolls.iter().any(|roll| roll.gone() > 0),
        };
        for drain in in_turn(ctx, drains) {
            places.active[drain.roll] += 1;
        }
        for (name, from) in ctx.sent.drains(ctx.now) {
            let Some(member) = ctx.fleet.members.get(&name) else { continue };
            let NodeState::Queued { since, .. } = member.state else { continue };
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
        let has_candidate = roll.nodes.queued() > 0 || late(ctx, roll).next().is_some();
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

/// Drains that take a place: a dead node's does not.
fn in_turn<'d, 'a>(ctx: &'d Context<'a>, drains: &'d [Drain<'a>]) -> impl Iterator<Item = &'d Drain<'a>> {
    drains.iter().filter(|drain| !dead::is_dead(ctx, drain.member))
}

pub(super) fn begin(ctx: &mut Context<'_>, name: &NodeName, since: Time, from: Time) {
    let member = ctx.member(name);
    let mark =
        Mark { owner: Owner::Run, role: NodeRole::Draining { from }, since, expires: ctx.now + MARK_LIFE };
    let key = ctx.key("drain", &member.uid);
    ctx.mark(member, "start of the drain", key, mark);
}

/// Says what the nodes wait for that cannot be begun.
fn hold(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) {
    for name in &roll.nodes.held {
        let member = ctx.member(name);
        if let NodeState::Queued { since, node_pods } = &member.state {
            wait_for(ctx, member, *since, node_pods);
        }
    }
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
fn choose(
    ctx: &mut Context<'_>,
    roll: &GroupRoll<'_>,
    number: usize,
    starting: &BTreeSet<NodeName>,
    spare: &mut Spare,
    works: &mut Works<'_>,
) -> Option<NodeName> {
    let is_apart = |name: &NodeName| dead::is_dead(ctx, ctx.member(name));
    let is_idle = roll.nodes.draining.iter().chain(starting).all(is_apart);
    let is_round = ctx.now.as_millis() % LOOK_AROUND.as_millis() == 0;
    let depth = if is_idle && is_round { usize::MAX } else { LOOK_AHEAD };
    let mut hopeless = Hopeless::default();
    let mut first_reason = None;
    for name in candidates(ctx, roll, starting, depth) {
        if starting.contains(&name) {
            continue;
        }
        let member = ctx.member(&name);
        let NodeState::Queued { since, node_pods } = &member.state else { continue };
        // It may be Ready again in a moment, or is replaced for that.
        if member.unready.is_some() || singleton::skip(ctx, member, node_pods) {
            continue;
        }
        let point = works.point();
        let by_node = |on| (Subject::Node(name.clone()), on);
        let fits = spare
            .check(number, member)
            .map_err(by_node)
            .and_then(|()| works.can_be_emptied(ctx, node_pods))
            .and_then(|()| has_room(ctx, works, &mut hopeless, *since, node_pods).map_err(by_node));
        match fits {
            Ok(()) => {
                spare.take(number, member).expect("it was just checked");
                return Some(name);
            }
            Err(reason) => {
                works.rewind(point);
                first_reason.get_or_insert(reason);
            }
        }
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

/// The first nodes of each zone, in the plan's order; and nodes whose batch pods are over and are to be evicted, last.
fn candidates(
    ctx: &Context<'_>,
    roll: &GroupRoll<'_>,
    starting: &BTreeSet<NodeName>,
    depth: usize,
) -> Vec<NodeName> {
    let by_zone = ctx.scope.plan.order == Order::ZoneByZone;
    let keeps_zones = ctx.scope.plan.budget.min_ready_per_zone > 0 && !by_zone;
    let mut first: Vec<_> = Vec::new();
    for (zone, nodes) in &roll.nodes.queue {
        let renewed = if keeps_zones { renewed(ctx, roll, starting, zone) } else { 0 };
        let zone = if by_zone { zone.as_str() } else { "" };
        first.extend(nodes.iter().take(depth).map(|(rank, name)| (renewed, zone, *rank, name)));
    }
    first.sort();
    if by_zone {
        // A later zone is not begun while an earlier one is being drained.
        let drained = roll.nodes.draining.iter().map(|name| ctx.member(name));
        let drained =
            drained.filter(|member| !dead::is_dead(ctx, member)).map(|member| member.zone.as_str()).min();
        first.retain(|(_, zone, _, _)| drained.is_none_or(|drained| *zone <= drained));
    }
    let late = late(ctx, roll).take(depth);
    first.into_iter().map(|(_, _, _, name)| name).chain(late).cloned().collect()
}

/// New nodes of a zone, and those that will come in place of nodes that are on their way out.
fn renewed(ctx: &Context<'_>, roll: &GroupRoll<'_>, starting: &BTreeSet<NodeName>, zone: &Zone) -> u32 {
    let nodes = roll.nodes;
    let going = nodes.draining.iter().chain(starting).filter(|name| ctx.member(name).zone == *zone);
    let booting = nodes.loose_new.iter().filter_map(|id| ctx.view.instances().get(id));
    let booting = booting.filter(|instance| instance.zone == *zone);
    let soon = u32::try_from(going.count() + booting.count()).unwrap_or(u32::MAX);
    nodes.new.get(zone).copied().unwrap_or(0).saturating_add(soon)
}

/// Pods for which there was no room in this decision, though nothing of their node had been put in place before them: for
/// pods like them there is none either, for what is tried meanwhile only takes room away.
#[derive(Default)]
struct Hopeless(FxHashMap<(*const PodSpec, Namespace), WaitingOn>);

fn alike(pod: &Pod) -> (*const PodSpec, Namespace) {
    (Arc::as_ptr(&pod.spec), pod.meta.namespace.clone())
}

/// Whether all pods of a node have room elsewhere, taken together.
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
