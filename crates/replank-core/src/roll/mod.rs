//! The roll: old nodes of the chosen groups are replaced by new ones, and nobody who uses the cluster notices.
//!
//! # How a decision is made
//!
//! [`Roll::decide`] reads everything off the View, which includes what earlier decisions wrote: marks on nodes, tags on groups.
//! It goes through the same steps every time and wants whatever is not yet so; what was sent and is not seen yet is not sent
//! again ([`crate::sent`]). There is no plan of steps that could go stale, and nothing to be recovered after a restart.
//!
//! ```text
//!            ┌───────────┐ size, template, surge  ┌──────┐ every old node    ┌─────────┐ no old node ┌─────────┐
//!   group:   │ Preparing │──────────────────────► │ Open │──────────────────►│ Rolling │────────────►│ Closing │──► done
//!            └───────────┘ first new node Ready   └──────┘ is cordoned       └─────────┘   is left   └─────────┘
//!                  └─────────────────────────────────┴───────────────────────────┴──► Halted: nothing moves any more
//! ```
//!
//! 1. [`prepare`]: the group's size is written down, its template changed, its surge launched; when every group of the run has
//!    its first new node, all old nodes are cordoned and marked.
//! 2. [`evict`]: nodes that are begun are drained, empty ones are ended.
//! 3. [`start`]: the next nodes are chosen and begun.
//! 4. [`close`]: when no old node is left, the group's bounds are given back and the tags taken off.
//! 5. [`progress`] and [`halt`]: when nothing is in motion and nothing can be expected to move any more, or the plan's
//!    deadline has passed, the run halts: what was not begun is released, and every blocker is named.
//!
//! The states of a node are in [`member`]. A group's capacity is counted as follows: a new node counts when it is Ready and its
//! DaemonSet pods are; an old one counts while it is Ready and not being drained. A drain acts only while the group keeps
//! what it wanted before the run, less `maxUnavailable`, and each zone keeps `minReadyPerZone` (promise S4).
//!
//! # Moving into another group
//!
//! With `target.group` the new nodes come up in that group. All groups that are left and that one share one lane and one
//! track, named after the target group: [`fleet::Lane`] has the old nodes of the former and the nodes of the latter, which are
//! new if they were launched after the run began, and else bystanders. Every rule above then holds for all of them together:
//! what they wanted is the sum of the sizes written in their tags. An old instance is ended with a decrement of its own
//! group, and the target group is raised for it; so the sum never exceeds what it was by more than the surge. An ordinary
//! roll is the case in which the two groups are one.
//!
//! # What ends a run
//!
//! Done, when no old node is left. Blocked, when nothing is in motion and only a person can help, or nothing has moved for
//! `progressDeadline`, or `deadline` is over. Every wait either ends by itself at a known moment, or counts against one of
//! these, so every run ends (promise L1).
//!
//! # What a decision costs
//!
//! Nodes are sorted once and looked at again when something about them changes ([`fleet`]); the scheduler and the counts of
//! healthy pods follow changes too. So a decision costs what changed, plus the nodes being drained, those arriving,
//! those held by batch pods and a few that are next in line; not the cluster.

mod balancer;
mod clear;
mod close;
mod evict;
mod fleet;
mod halt;
mod hands;
mod health;
mod member;
mod prepare;
mod progress;
mod rest;
mod retain;
mod singleton;
mod stage;
mod start;
mod stuck;
mod turn;
mod zones;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, NodeName, RunId};
use replank_model::time::Time;
use replank_model::view::{Change, View};

use crate::account::Account;
use evict::{Spare, Works};
use fleet::{Fleet, Refreshed};
pub(crate) use halt::goes_back;
use health::Vitals;
use member::Scope;
use prepare::Readiness;
use progress::Outlook;
use replank_facts::budget::{Healths, Ledger};
use replank_facts::places::Places;
use replank_facts::plan::RunOptions;
use replank_facts::plan::{ChosenBy, Plan};
use replank_facts::room::Room;
use replank_protocol::decision::{Decision, End};
use replank_protocol::intent::Intent;
use replank_protocol::mark::Halt;
use replank_protocol::waiting::{Hope, Subject, Waiting, WaitingOn};
use rest::Rest;
use turn::{Track, Turn, Watched};

/// A roll under way: the plan, and caches.
#[derive(Debug)]
pub(crate) struct Roll {
    scope: Scope,
    cache: Cache,
    end: Option<End>,
}

/// Everything that can be dropped at any time.
#[derive(Debug, Default)]
struct Cache {
    fleet: Fleet,
    healths: Healths,
    room: Option<Room>,
    /// `None` until it is first asked for; only where the plan asks.
    vitals: Option<Vitals>,
    /// When the run last rested. Once it has begun, what is written on its groups says so too.
    rested: Option<Time>,
    watched: BTreeMap<(GroupName, Watched), Time>,
    /// Pods without a node; `None` until they are first asked for.
    loose: Option<BTreeSet<Key>>,
    /// What waited when the run was halted: until it is over, what blocks is told from it.
    blockers: Vec<Waiting>,
}

impl Cache {
    fn new() -> Self {
        let mut cache = Self::default();
        cache.fleet.forget();
        cache
    }
}

impl Roll {
    pub(crate) fn new(plan: Arc<Plan>, run: RunId, options: RunOptions) -> Self {
        Self { scope: Scope { plan, run, options }, cache: Cache::new(), end: None }
    }

    /// Takes in a change that `view` has taken in.
    pub(crate) fn observe(&mut self, view: &View, change: &Change) {
        let cache = &mut self.cache;
        cache.fleet.observe(&self.scope, change);
        cache.healths.observe(change);
        if let Some(room) = &mut cache.room {
            room.observe(view, change);
        }
        if let Some(vitals) = &mut cache.vitals {
            vitals.observe(change);
        }
        if let (Some(loose), Change::Object { old, new, .. }) = (&mut cache.loose, change) {
            note_loose(loose, old.as_ref(), new.as_ref());
        }
    }

    pub(crate) fn drop_caches(&mut self) {
        self.cache = Cache::new();
    }

    /// Has an end that was come to looked into again: something else is wanted now, or it was not told.
    pub(crate) fn reopen(&mut self) {
        self.end = None;
    }

    pub(crate) fn decide(
        &mut self,
        view: &View,
        now: Time,
        intent: Intent,
        account: &mut Account,
    ) -> Decision {
        if let Some(end) = &self.end {
            return Decision { end: Some(end.clone()), ..Decision::default() };
        }
        let decision = self.cache.decide(&self.scope, view, (now, intent), account);
        self.end = decision.end.clone();
        decision
    }
}

impl Cache {
    fn decide(
        &mut self,
        scope: &Scope,
        view: &View,
        (now, intent): (Time, Intent),
        account: &mut Account,
    ) -> Decision {
        self.fleet.set_interrupted(&account.interrupted, &account.released);
        self.refresh(scope, view);
        let tracks = tracks(view, scope, &self.fleet, &account.owed);
        if scope.plan.stage_health().is_some() && self.vitals.is_none() {
            self.vitals = Some(Vitals::of(view));
        }
        let mut turn = Turn::new(
            now,
            view,
            (scope, intent),
            &self.fleet,
            (self.vitals.as_ref(), self.rested),
            &mut account.sent,
            &mut self.watched,
        );
        turn.is_scaled = account.is_scaled;
        let mut gear = Gear { healths: &mut self.healths, room: &mut self.room, loose: &mut self.loose };
        let is_halted = tracks.iter().any(|track| track.halted.is_some());
        let is_halting = !is_halted && halt::is_under_way(&turn, &tracks);
        let verdict = if is_halted && halt::undo(&mut turn, &tracks) {
            Verdict::Open
        } else if is_halted {
            settle(&mut turn, &tracks, &mut gear, &self.blockers)
        } else if is_halting {
            // What was written first is what counts.
            stop(&mut turn, &tracks, Halt::Hopeless)
        } else if let Some(why) = ended_by(intent) {
            if tracks.iter().all(close::is_over) {
                turn.wait(Subject::Run, WaitingOn::Over);
                Verdict::Done
            } else {
                stop(&mut turn, &tracks, why)
            }
        } else {
            advance(&mut turn, &tracks, &mut gear)
        };
        let rested = turn.rested;
        let (rolled, marked) = (std::mem::take(&mut turn.rolled), std::mem::take(&mut turn.marked));
        let Decision { commands, waiting, wake_at, .. } = turn.finish();
        self.rested = rested;
        account.rolled = rolled;
        account.marked = marked;
        if !is_halted && !is_halting {
            self.blockers = blocking(&waiting);
        }
        let end = match verdict {
            Verdict::Open => None,
            Verdict::Done => Some(End::Done),
            Verdict::Stopped(Halt::Cancelled) => Some(End::Cancelled(blocking(&waiting))),
            Verdict::Stopped(_) => Some(End::Blocked(blocking(&waiting))),
        };
        let wake_at = wake_at.filter(|_| end.is_none());
        Decision { commands, waiting, wake_at, end, ..Decision::default() }
    }

    fn refresh(&mut self, scope: &Scope, view: &View) {
        match (self.fleet.refresh(view, scope), &mut self.room) {
            (_, None) => {}
            (Refreshed::All, Some(room)) => room.set_all_closed(&self.fleet.closed()),
            (Refreshed::Some(names), Some(room)) => {
                for name in &names {
                    let is_closed = self.fleet.members.get(name).is_some_and(member::Member::is_closed);
                    room.set_closed(name, is_closed);
                }
            }
        }
    }
}

/// What a decision needs that costs something to have.
struct Gear<'r> {
    healths: &'r mut Healths,
    room: &'r mut Option<Room>,
    loose: &'r mut Option<BTreeSet<Key>>,
}

impl Gear<'_> {
    fn works<'a: 'g, 'g>(&'g mut self, turn: &Turn<'a>, acting: &[evict::Drain<'a>]) -> Works<'g> {
        let room = self.room.get_or_insert_with(|| Room::load(turn.view, turn.fleet.closed()));
        let loose = self.loose.get_or_insert_with(|| loose_pods(turn.view));
        Works::new(turn, Ledger::new(turn.view, self.healths), room, loose, acting)
    }
}

/// What a decision comes to.
enum Verdict {
    Open,
    Done,
    Stopped(Halt),
}

/// Why a run ends that somebody wants to end.
fn ended_by(intent: Intent) -> Option<Halt> {
    match intent {
        Intent::Run | Intent::Paused => None,
        Intent::Cancelled => Some(Halt::Cancelled),
        Intent::Undo => Some(Halt::Undone),
    }
}

/// The groups that the run is about.
fn tracks<'a>(
    view: &'a View,
    scope: &'a Scope,
    fleet: &'a Fleet,
    owed: &BTreeMap<GroupName, u32>,
) -> Vec<Track<'a>> {
    let owed = |name| owed.get(name).copied();
    let all = fleet.lanes.iter().map(|(name, lane)| Track::of(view, scope, (name, lane), owed(name)));
    all.filter(|track| match scope.plan.nodes.by {
        ChosenBy::Groups(_) => true,
        ChosenBy::Selector(_) => {
            let is_under_way = track.begun.is_some() || track.halted.is_some();
            track.lane.is_chosen() || is_under_way || !close::notes(scope, track).is_empty()
        }
    })
    .collect()
}

/// One decision of a run that goes on.
fn advance<'a>(turn: &mut Turn<'a>, tracks: &[Track<'a>], gear: &mut Gear<'_>) -> Verdict {
    let deadline = turn.scope.options.started + turn.scope.plan.deadline;
    if turn.now >= deadline {
        return stop(turn, tracks, Halt::Deadline);
    }
    turn.wake_at(deadline);
    let missing = tracks.iter().filter(|track| prepare::is_missing(turn, track)).count();
    if missing > 0 {
        return stop(turn, tracks, Halt::Hopeless);
    }
    if let Some(ailment) = health::ailment(turn, tracks) {
        return stop(turn, tracks, Halt::Unhealthy(ailment));
    }
    let rest = rest::of(turn, tracks);
    rest::note(turn, tracks, rest);
    if let Some(rest) = rest {
        turn.rested = Some(turn.now);
        let is_begun = tracks.iter().any(Track::is_touched);
        let has_old = tracks.iter().any(|track| track.lane.old_left() > 0);
        if rest == Rest::Paused || (has_old && !is_begun) {
            rest::rest(turn, tracks, rest);
            prepare::renew(turn);
            return Verdict::Open;
        }
    }
    take_in_hand(turn, tracks);
    let ready: Vec<Readiness> = tracks.iter().map(|track| prepare::prepare(turn, track)).collect();
    for track in tracks {
        halt::aside(turn, track);
    }
    hands::kept(turn);
    stuck::force_delete(turn, tracks);
    let drains = evict::drains(turn, tracks);
    let mut spare = Spare::of(turn, tracks);
    if let Some(rest) = rest {
        rest::rest(turn, tracks, rest);
        prepare::renew(turn);
        let empty: Vec<evict::Drain<'_>> =
            drains.iter().filter(|drain| drain.load.is_empty()).copied().collect();
        let acting = evict::acting(turn, &empty, &mut spare);
        evict::terminate(turn, tracks, &acting);
    } else if ready.iter().all(|ready| *ready == Readiness::Open) {
        prepare::cordon(turn, tracks);
        let uncordoned: usize = tracks.iter().map(|track| track.lane.found.len()).sum();
        if uncordoned == 0 {
            roll(turn, tracks, &drains, &mut spare, gear);
        } else {
            let nodes = u32::try_from(uncordoned).unwrap_or(u32::MAX);
            turn.wait(Subject::Run, WaitingOn::Cordon { nodes });
        }
    }
    for track in tracks {
        stage::watch(turn, track);
    }
    let closed: Vec<bool> = tracks
        .iter()
        .enumerate()
        .map(|(number, track)| close::close(turn, track, number, &mut spare))
        .collect();
    let is_open = |ready: &Readiness| *ready == Readiness::Open;
    if closed.iter().all(|closed| *closed) {
        let restored: Vec<bool> = tracks.iter().map(|track| close::restore(turn, track)).collect();
        if restored.iter().all(|restored| *restored) && ready.iter().all(is_open) {
            return Verdict::Done;
        }
    }
    if turn.is_moving {
        return Verdict::Open;
    }
    match progress::outlook(turn, tracks, &drains) {
        Outlook::Until(at) if turn.now < at => {
            turn.wake_at(at);
            Verdict::Open
        }
        Outlook::Until(_) => {
            let since = progress::last(turn, tracks, &drains);
            stop(turn, tracks, Halt::Stalled { since })
        }
        Outlook::Hopeless => stop(turn, tracks, Halt::Hopeless),
    }
}

/// Says which groups are the run's from here on, before anything on them says so.
fn take_in_hand(turn: &mut Turn<'_>, tracks: &[Track<'_>]) {
    for track in tracks.iter().filter(|track| !close::is_over(track)) {
        let sources = track.sources.iter().map(|source| source.name);
        turn.rolled.extend(sources.chain([track.name]).cloned());
    }
}

/// Moves pods, ends empty nodes, begins the next ones.
fn roll<'a>(
    turn: &mut Turn<'a>,
    tracks: &[Track<'a>],
    drains: &[evict::Drain<'a>],
    spare: &mut Spare,
    gear: &mut Gear<'_>,
) {
    let is_idle = drains.is_empty()
        && tracks.iter().all(|track| track.lane.queued() == 0 && track.lane.held.is_empty());
    if is_idle {
        return;
    }
    let acting = evict::acting(turn, drains, spare);
    let mut works = gear.works(turn, &acting);
    for drain in &acting {
        evict::evict(turn, &mut works, drain);
    }
    stuck::wait_for(turn, &acting);
    evict::terminate(turn, tracks, &acting);
    for (number, track) in tracks.iter().enumerate() {
        close::retire_needless(turn, track, number, spare);
    }
    start::start(turn, tracks, drains, spare, &mut works);
}

/// Halts the run, at once if there is nothing to be put back.
fn stop(turn: &mut Turn<'_>, tracks: &[Track<'_>], why: Halt) -> Verdict {
    if why != Halt::Hopeless {
        halt::say(turn, why, turn.now);
    }
    if halt::halt(turn, tracks, why) { Verdict::Open } else { Verdict::Stopped(why) }
}

/// One decision of a run that has halted.
fn settle(turn: &mut Turn<'_>, tracks: &[Track<'_>], gear: &mut Gear<'_>, blockers: &[Waiting]) -> Verdict {
    let why = halt::settle(turn, tracks);
    if turn.is_moving || halt::is_tried_again(turn, tracks) {
        return Verdict::Open;
    }
    if let Halt::Unhealthy(ailment) = why {
        health::name(turn, tracks, ailment);
    }
    if !halt::is_for_what_blocks(why) {
        return Verdict::Stopped(why);
    }
    for waiting in blockers {
        turn.wait(waiting.what.clone(), waiting.on.clone());
    }
    let names: BTreeSet<&GroupName> = tracks.iter().map(|track| track.name).collect();
    let closed = turn.fleet.closed();
    let mut places = Places::with_new_nodes(turn.view, &names, &turn.scope.plan.target, closed);
    let mut works = gear.works(turn, &[]);
    halt::blockers(turn, tracks, &mut works, &mut places);
    Verdict::Stopped(why)
}

/// The nodes that a plan would replace as things are.
pub(crate) fn old_nodes(view: &View, plan: &Plan, options: &RunOptions) -> BTreeSet<NodeName> {
    let scope = Scope { plan: Arc::new(plan.clone()), run: RunId::default(), options: options.clone() };
    let members = view.nodes.unordered().filter_map(|(_, node)| member::member(view, &scope, node, false));
    members.filter(member::Member::is_old).map(|member| member.name).collect()
}

/// Of all that waits, what blocks.
fn blocking(waiting: &[Waiting]) -> Vec<Waiting> {
    let blocks = |waiting: &&Waiting| match waiting.on.hope() {
        Hope::Possible | Hope::None => !matches!(
            waiting.on,
            WaitingOn::Turn { .. } | WaitingOn::ManagedBy { .. } | WaitingOn::Leftover { .. }
        ),
        Hope::Moving => matches!(waiting.on, WaitingOn::Terminating { .. }),
    };
    waiting.iter().filter(blocks).cloned().collect()
}

fn loose_pods(view: &View) -> BTreeSet<Key> {
    let loose = view.pods.unordered().filter(|(_, pod)| pod.node.is_none() && pod.is_active());
    loose.map(|(_, pod)| pod.meta.key()).collect()
}

fn note_loose(loose: &mut BTreeSet<Key>, old: Option<&Object>, new: Option<&Object>) {
    if let Some(Object::Pod(pod)) = old {
        loose.remove(&pod.meta.key());
    }
    if let Some(Object::Pod(pod)) = new
        && pod.node.is_none()
        && pod.is_active()
    {
        loose.insert(pod.meta.key());
    }
}
