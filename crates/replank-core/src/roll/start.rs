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

use super::evict::{Drain, Spare, Works, batch_is_over, wait_for};
use super::member::{Member, Stand};
use super::prepare::MARK_LIFE;
use super::singleton;
use super::stage;
use super::turn::{Track, Turn};
use replank_facts::drain::Otherwise;
use replank_facts::load::Load;
use replank_facts::plan::{OnDeadline, Order, Standing};
use replank_protocol::command::{Mark, NodeRole};
use replank_protocol::waiting::{Subject, WaitingOn};

/// Nodes of each zone that are considered at every decision.
const LOOK_AHEAD: usize = 4;
/// How often all nodes are considered while nothing is being drained.
const LOOK_AROUND: Span = Span::from_secs(60);

/// Begins as many nodes as there are free places for.
pub(super) fn start(
    turn: &mut Turn<'_>,
    tracks: &[Track<'_>],
    drains: &[Drain<'_>],
    spare: &mut Spare,
    works: &mut Works<'_>,
) {
    let mut places = Places::of(turn, tracks, drains, spare);
    for (number, track) in tracks.iter().enumerate() {
        hold(turn, track);
        while let Some(from) = places.next(turn, tracks, number) {
            let Some(name) = choose(turn, track, number, &places.starting, spare, works) else { break };
            let Stand::Doomed { since, .. } = turn.member(&name).stand else { break };
            begin(turn, &name, since, from);
            places.take(number, name, from);
        }
        queue(turn, track, &places);
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
    /// What is about to be drained is no capacity any more.
    fn of(turn: &mut Turn<'_>, tracks: &[Track<'_>], drains: &[Drain<'_>], spare: &mut Spare) -> Self {
        let mut places = Self {
            active: vec![0; tracks.len()],
            last: drains.iter().map(|drain| drain.from).max(),
            starting: BTreeSet::new(),
            has_begun: !drains.is_empty() || tracks.iter().any(|track| track.gone() > 0),
        };
        for drain in drains {
            places.active[drain.track] += 1;
        }
        for (name, from) in turn.sent.drains(turn.now) {
            let Some(member) = turn.fleet.members.get(&name) else { continue };
            let Stand::Doomed { since, .. } = member.stand else { continue };
            let Some(number) = tracks.iter().position(|track| turn.is_in(member, track)) else { continue };
            begin(turn, &name, since, from);
            spare.give_up(number, member);
            places.take(number, name, from);
        }
        places
    }

    fn take(&mut self, track: usize, name: NodeName, from: Time) {
        self.active[track] += 1;
        self.last = self.last.max(Some(from));
        self.starting.insert(name);
        self.has_begun = true;
    }

    fn total(&self) -> u32 {
        self.active.iter().sum()
    }

    /// From when on the next node of a group may be drained; `None` if none may be begun yet.
    fn next(&self, turn: &mut Turn<'_>, tracks: &[Track<'_>], number: usize) -> Option<Time> {
        let track = &tracks[number];
        let limit = turn.scope.plan.pace.parallel;
        let has_candidate = track.lane.queued() > 0 || late(turn, track).next().is_some();
        if self.total() >= limit || !has_candidate {
            return None;
        }
        if let Some(until) = self.last.filter(|last| *last > turn.now) {
            turn.wait_until(track.subject(), WaitingOn::Pace { until }, until);
            return None;
        }
        let pause = if self.has_begun { turn.scope.plan.pace.between_nodes } else { Span::ZERO };
        let from = turn.now + pause;
        if let Standing::Closed(opens) = turn.scope.plan.care.windows.at(from) {
            // Its drain would begin in the next window; until then it may as well take pods.
            turn.wait_until(track.subject(), WaitingOn::Window { opens }, opens);
            return None;
        }
        stage::is_open(turn, track, self.active[number]).then_some(from)
    }
}

pub(super) fn begin(turn: &mut Turn<'_>, name: &NodeName, since: Time, from: Time) {
    let member = turn.member(name);
    let mark = Mark { role: NodeRole::Draining { from }, since, expires: turn.now + MARK_LIFE };
    let key = turn.key("drain", &member.uid);
    turn.mark(member, "beginning of the drain", key, mark);
}

/// Says what the nodes wait for that cannot be begun.
fn hold(turn: &mut Turn<'_>, track: &Track<'_>) {
    for name in &track.lane.held {
        let member = turn.member(name);
        if let Stand::Doomed { since, load } = &member.stand {
            wait_for(turn, member, *since, load);
        }
    }
}

/// Says how many nodes have not had their turn.
fn queue(turn: &mut Turn<'_>, track: &Track<'_>, places: &Places) {
    let waiting = track
        .lane
        .queued()
        .saturating_sub(places.starting.iter().filter(|name| turn.is_in(turn.member(name), track)).count());
    if waiting > 0 {
        let nodes = u32::try_from(waiting).unwrap_or(u32::MAX);
        let limit = turn.scope.plan.pace.parallel;
        turn.wait(track.subject(), WaitingOn::Turn { nodes, active: places.total(), limit });
    }
}

/// The next node to be begun, its pods put in place.
fn choose(
    turn: &mut Turn<'_>,
    track: &Track<'_>,
    number: usize,
    starting: &BTreeSet<NodeName>,
    spare: &mut Spare,
    works: &mut Works<'_>,
) -> Option<NodeName> {
    let is_idle = track.lane.draining.is_empty() && starting.is_empty();
    let is_round = turn.now.as_millis() % LOOK_AROUND.as_millis() == 0;
    let depth = if is_idle && is_round { usize::MAX } else { LOOK_AHEAD };
    let mut hopeless = Hopeless::default();
    let mut first_reason = None;
    for name in candidates(turn, track, starting, depth) {
        if starting.contains(&name) {
            continue;
        }
        let member = turn.member(&name);
        let Stand::Doomed { since, load } = &member.stand else { continue };
        if singleton::skip(turn, member, load) {
            continue;
        }
        let point = works.point();
        let by_node = |on| (Subject::Node(name.clone()), on);
        let fits = spare
            .check(number, member)
            .map_err(by_node)
            .and_then(|()| works.can_be_emptied(turn, load))
            .and_then(|()| has_room(turn, works, &mut hopeless, *since, load).map_err(by_node));
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
        turn.wait(what, on);
        if is_idle {
            let millis = LOOK_AROUND.as_millis();
            let next = (turn.now.as_millis().div_euclid(millis) + 1).saturating_mul(millis);
            turn.wake_at(Time::from_millis(next));
        }
    }
    None
}

/// The first nodes of each zone, in the plan's order; and nodes whose batch pods are over and are to be evicted, last.
fn candidates(
    turn: &Turn<'_>,
    track: &Track<'_>,
    starting: &BTreeSet<NodeName>,
    depth: usize,
) -> Vec<NodeName> {
    let by_zone = turn.scope.plan.order == Order::ZoneByZone;
    let keeps_zones = turn.scope.plan.budget.min_ready_per_zone > 0 && !by_zone;
    let mut first: Vec<_> = Vec::new();
    for (zone, nodes) in &track.lane.queue {
        let renewed = if keeps_zones { renewed(turn, track, starting, zone) } else { 0 };
        let zone = if by_zone { zone.as_str() } else { "" };
        first.extend(nodes.iter().take(depth).map(|(rank, name)| (renewed, zone, *rank, name)));
    }
    first.sort();
    if by_zone {
        // A later zone is not begun while an earlier one is being drained.
        let drained = track.lane.draining.iter().map(|name| turn.member(name).zone.as_str()).min();
        first.retain(|(_, zone, _, _)| drained.is_none_or(|drained| *zone <= drained));
    }
    let late = late(turn, track).take(depth);
    first.into_iter().map(|(_, _, _, name)| name).chain(late).cloned().collect()
}

/// New nodes of a zone, and those that will come in place of nodes that are on their way out.
fn renewed(turn: &Turn<'_>, track: &Track<'_>, starting: &BTreeSet<NodeName>, zone: &Zone) -> u32 {
    let lane = track.lane;
    let going = lane.draining.iter().chain(starting).filter(|name| turn.member(name).zone == *zone);
    let booting = lane.loose_new.iter().filter_map(|id| turn.view.instances().get(id));
    let booting = booting.filter(|instance| instance.zone == *zone);
    let soon = u32::try_from(going.count() + booting.count()).unwrap_or(u32::MAX);
    lane.new.get(zone).copied().unwrap_or(0).saturating_add(soon)
}

/// Nodes that are held by nothing but batch pods that are to be evicted now.
pub(super) fn late<'a>(turn: &'a Turn<'_>, track: &'a Track<'_>) -> impl Iterator<Item = &'a NodeName> {
    let is_evicted = turn.scope.plan.batch.on_deadline == OnDeadline::Evict;
    track.lane.held.iter().filter(move |name| is_evicted && is_late(turn, turn.member(name)))
}

fn is_late(turn: &Turn<'_>, member: &Member) -> bool {
    let Stand::Doomed { since, load } = &member.stand else { return false };
    load.refused.is_empty()
        && load.unrecorded.is_empty()
        && load
            .batch
            .iter()
            .all(|batch| batch.otherwise == Otherwise::Moves && batch_is_over(turn, *since, batch))
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
    turn: &Turn<'_>,
    works: &mut Works<'_>,
    hopeless: &mut Hopeless,
    since: Time,
    load: &Load,
) -> Result<(), WaitingOn> {
    let batch = load.batch.iter().filter(|batch| batch_is_over(turn, since, batch)).map(|batch| &batch.bound);
    let pods: Vec<&Arc<Pod>> = load.movers.iter().chain(batch).map(|bound| &bound.pod).collect();
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
