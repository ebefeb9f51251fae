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
//! With `target.group` the new nodes come up in that group. All groups that are left and that one share one nodes and one
//! roll, named after the target group: [`fleet::GroupNodes`] has the old nodes of the former and the nodes of the latter, which are
//! new if they were launched after the run began, and else bystanders. Every rule above then holds for all of them together:
//! what they wanted is the sum of the sizes written in their tags. An old instance is ended with a decrement of its own
//! group, and the target group is raised for it; so the sum never exceeds what it was by more than the surge. An ordinary
//! roll is the case in which the two groups are one.
//!
//! # Managed node groups
//!
//! Their nodes are EKS's to replace: [`nodegroup`] starts an update, or follows one; [`eks_drain`] says what keeps a node that EKS drains, and does what the plan allows about it. All other modules are given the groups that are
//! self-managed. [`external`] is a run over nodes that somebody else replaces. [`pool`] does the same for node pools of Karpenter. Nodes that leave a managed group for another one are drained like any others; [`departure`] ends their instances.
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

mod arrivals;
mod balancer;
mod batch;
mod beyond;
mod canary;
mod clear;
mod close;
mod context;
mod dead;
mod departure;
mod drain;
mod eks_drain;
mod evict;
mod external;
mod fleet;
mod group_nodes;
mod halt;
mod health;
mod held;
mod held_pods;
mod hold;
mod kept;
mod last_pending;
mod late;
mod managed;
mod managed_source;
mod member;
mod nodegroup;
mod notes;
mod on_time;
mod pool;
mod postpone;
mod prepare;
mod processes;
mod progress;
mod protectable;
mod protection;
mod raise;
pub(crate) mod record;
mod rest;
mod retain;
mod sets;
mod singleton;
mod stage;
mod stalled;
mod start;
mod stuck;
mod tags;
mod targets;
mod terms;
mod vitals;
mod way_back;
mod written;
mod zones;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::cloud::NodeGroup;
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, NodeName, RunId};
use replank_model::time::Time;
use replank_model::view::{Change, View};

use crate::account::Account;
use beyond::BoundsBefore;
use context::{Context, GroupRoll, Watched};
use evict::{Spare, Works};
use fleet::{Fleet, Refreshed};
pub(crate) use halt::RELEASE_WITHIN;
use health::Vitals;
use member::Scope;
use prepare::Readiness;
use progress::Outlook;
use record::Standing;
use replank_facts::budget::{Healths, Ledger};
use replank_facts::node_pods::{Actives, NodePods};
use replank_facts::places::Places;
use replank_facts::plan::RunOptions;
use replank_facts::plan::{ChosenBy, Plan};
use replank_facts::room::Room;
use replank_protocol::decision::{Decision, End};
use replank_protocol::intent::Intent;
use replank_protocol::mark::Halt;
use replank_protocol::record::GroupRecord;
use replank_protocol::wait_list::WaitList;
use replank_protocol::waiting::{Hope, PodWait, RollEnd, RollWait, RunEnd, Subject, Waiting, WaitingOn};
use rest::Rest;
pub(crate) use way_back::goes_back;
use written::Readings;

/// A roll under way: the plan, and caches.
#[derive(Debug)]
pub(crate) struct Roll {
    scope: Scope,
    cache: Cache,
    over: Option<Over>,
}

/// The end that a roll has come to, and what it says besides.
#[derive(Clone, Debug)]
struct Over {
    end: End,
    waiting: WaitList,
}

/// Everything that can be dropped at any time. One thing is told less of then: see [`Cache::before`].
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
    readings: Readings,
    /// Pods without a node; `None` until they are first asked for.
    loose: Option<BTreeSet<Key>>,
    actives: Actives,
    /// Names of the plan that were those of pools: what the run's record says, too.
    pools: BTreeSet<GroupName>,
    /// What was last read in the run's record of groups that somebody else keeps: should the record be deleted, it is written again.
    noted: BTreeMap<GroupName, GroupRecord>,
    /// Bounds of groups before the run, as they were last read off their tags. A run that keeps a record reads them there, and needs none of these. One without a record, as
    /// rehearsals have it, has them nowhere else once the tags are gone: dropped then, the end of the run does not tell which maximum is still raised.
    before: BTreeMap<GroupName, BoundsBefore>,
    /// What waited when the run was halted: until it is over, what blocks is told from it.
    waited: WaitList,
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
        Self { scope: Scope { plan, run, options }, cache: Cache::new(), over: None }
    }

    /// Takes in a change that `view` has taken in.
    pub(crate) fn observe(&mut self, view: &View, change: &Change) {
        let cache = &mut self.cache;
        cache.fleet.observe(&self.scope, change);
        cache.healths.observe(view, change);
        cache.actives.observe(change);
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
        self.over = None;
    }

    /// The end has been told: nothing is waited for any more.
    pub(crate) fn rest(&mut self) {
        if let Some(over) = &mut self.over {
            over.waiting = WaitList::default();
        }
    }

    pub(crate) fn decide(
        &mut self,
        view: &View,
        (now, intent): (Time, Intent),
        standing: Option<&Standing>,
        account: &mut Account,
    ) -> Decision {
        if let Some(Over { end, waiting }) = self.over.clone() {
            return Decision { end: Some(end), waiting, ..Decision::default() };
        }
        let decision = self.cache.decide(&self.scope, view, (now, intent), standing, account);
        let end = decision.end.clone();
        self.over = end.map(|end| Over { end, waiting: decision.waiting.clone() });
        decision
    }
}

impl Cache {
    fn decide(
        &mut self,
        scope: &Scope,
        view: &View,
        (now, intent): (Time, Intent),
        standing: Option<&Standing>,
        account: &mut Account,
    ) -> Decision {
        self.fleet.set_interrupted(&account.interrupted, &account.released);
        self.refresh(scope, view);
        self.fleet.held_pods.tell(now, scope.plan.batch.on_deadline);
        self.readings.refresh(view, &scope.run);
        let written = match standing {
            Some(Standing::Written(record, _)) => Some(&**record),
            Some(Standing::Absent | Standing::Taken(..)) | None => None,
        };
        if let Some(written) = written.filter(|_| scope.is_external()) {
            self.noted.clone_from(&written.groups);
        }
        let stand_ins = scope.is_external().then(|| external::stand_ins(&self.fleet, &self.noted));
        let rolls = rolls(view, scope, (&self.fleet, &self.readings), &account.owed, stand_ins.as_ref());
        let extra =
            rolls.iter().filter_map(|roll| Some((roll.name.clone(), beyond::extra_by_now(scope, roll)?)));
        account.extra = extra.collect();
        for roll in rolls.iter().filter(|_| account.is_scaled) {
            let known = self.before.get(roll.name);
            if let Some(bounds) = BoundsBefore::read(scope, roll).filter(|bounds| known != Some(bounds)) {
                self.before.insert(roll.name.clone(), bounds);
            }
        }
        let (of_eks, rolls): (Vec<_>, Vec<_>) = rolls.into_iter().partition(nodegroup::is_managed);
        let known = &self.pools;
        let (pools, rolls): (Vec<_>, Vec<_>) =
            rolls.into_iter().partition(|roll| pool::is_pool(view, roll, (known, written)));
        self.pools = pools.iter().map(|roll| roll.name.clone()).collect();
        if scope.plan.stage_health().is_some() && self.vitals.is_none() {
            self.vitals = Some(Vitals::of(view));
        }
        let is_absent = matches!(standing, Some(Standing::Absent));
        let is_over = is_over(view, scope, (&rolls, &of_eks, &pools));
        let is_first = is_absent && !is_over;
        // What is decided before the record is there is not sent, and nothing of it is to be remembered.
        let mut draft = is_first.then(|| account.sent.clone());
        let mut ctx = Context::new(
            now,
            view,
            (scope, intent),
            &self.fleet,
            (self.vitals.as_ref(), self.rested),
            draft.as_mut().unwrap_or(&mut account.sent),
            &mut self.watched,
        );
        ctx.follow(&self.waited);
        ctx.is_scaled = account.is_scaled;
        ctx.raising.clone_from(&account.raising);
        ctx.holder = match standing {
            Some(Standing::Written(_, holder)) => Some(holder.clone()),
            Some(Standing::Absent | Standing::Taken(..)) | None => None,
        };
        let mut gear = Gear {
            healths: &mut self.healths,
            room: &mut self.room,
            loose: &mut self.loose,
            actives: &mut self.actives,
        };
        let is_halted = rolls.iter().any(|roll| roll.halted.is_some());
        let is_halting = !is_halted && halt::is_under_way(&ctx, &rolls);
        if let Some(Standing::Written(known, holder)) = standing
            && !scope.is_external()
        {
            record::note(&mut ctx, &rolls, known, holder);
        }
        let verdict = if let Some(Standing::Taken(what, on)) = standing
            && !is_over
        {
            // What is written on groups under the name of this run is another's.
            ctx.wait(what.clone(), on.clone());
            Verdict::Stopped(Halt::Hopeless)
        } else if is_halted && halt::undo(&mut ctx, &rolls) {
            Verdict::Open
        } else if is_halted {
            settle(&mut ctx, &rolls, &mut gear, &self.waited)
        } else if is_halting {
            // What was written first is what counts.
            stop(&mut ctx, &rolls, Halt::Hopeless)
        } else if let Some(why) = ended_by(intent) {
            nodegroup::leave(&mut ctx, &of_eks);
            pool::leave(&mut ctx, &pools);
            if of_eks.is_empty() && is_over {
                ctx.wait(Subject::Run, WaitingOn::RunEnd(RunEnd::Over));
                Verdict::Done
            } else {
                stop(&mut ctx, &rolls, why)
            }
        } else {
            advance(&mut ctx, &rolls, (&of_eks, &pools), &mut gear)
        };
        if let Some(Standing::Written(known, holder)) = standing
            && scope.is_external()
        {
            // With what the decision wants noted.
            record::note(&mut ctx, &rolls, known, holder);
        }
        match verdict {
            Verdict::Open => {}
            Verdict::Done | Verdict::Stopped(_) => {
                close::say_left(&mut ctx, &rolls, (&self.before, written));
            }
        }
        let rested = ctx.rested;
        let (rolled, marked) = (std::mem::take(&mut ctx.rolled), std::mem::take(&mut ctx.marked));
        let Decision { commands, waiting, wake_at, .. } = ctx.finish();
        self.rested = rested;
        let is_written_first =
            !is_halted && !is_halting && (matches!(verdict, Verdict::Open) || !commands.is_empty());
        if draft.is_some() && is_written_first {
            account.rolled = rolled;
            return self.write_record(scope, view, (now, intent), account);
        }
        if let Some(draft) = draft {
            account.sent = draft;
        }
        account.rolled = rolled;
        account.marked = marked;
        if !is_halted && !is_halting {
            self.waited = waiting.clone();
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

    /// The first decision of a run that has something to do: it is written down. Where that is refused for as long as the plan waits for progress, the run
    /// is blocked.
    fn write_record(
        &mut self,
        scope: &Scope,
        view: &View,
        (now, intent): (Time, Intent),
        account: &mut Account,
    ) -> Decision {
        let stand_ins = scope.is_external().then(|| external::stand_ins(&self.fleet, &self.noted));
        let rolls = rolls(view, scope, (&self.fleet, &self.readings), &account.owed, stand_ins.as_ref());
        let vitals = (self.vitals.as_ref(), self.rested);
        let mut ctx = Context::new(
            now,
            view,
            (scope, intent),
            &self.fleet,
            vitals,
            &mut account.sent,
            &mut self.watched,
        );
        let is_under_way = record::write(&mut ctx, &rolls, &self.noted);
        let limit = scope.options.started + scope.plan.progress_deadline;
        if !is_under_way && now < limit {
            ctx.wake_at(limit);
        }
        let decision = ctx.finish();
        if is_under_way || now < limit {
            return decision;
        }
        let end = Some(End::Blocked(decision.waiting.to_vec()));
        Decision { end, wake_at: None, ..decision }
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
    actives: &'r mut Actives,
}

impl Gear<'_> {
    /// Where pods fit, kept from one decision to the next.
    fn room<'r>(room: &'r mut Option<Room>, ctx: &Context<'_>) -> &'r mut Room {
        room.get_or_insert_with(|| Room::load(ctx.view, ctx.fleet.closed()))
    }

    fn works<'a: 'g, 'g>(&'g mut self, ctx: &Context<'a>, acting: &[evict::Drain<'a>]) -> Works<'g> {
        let room = Self::room(self.room, ctx);
        let loose = self.loose.get_or_insert_with(|| loose_pods(ctx.view));
        Works::new(ctx, Ledger::new(ctx.view, self.healths), room, (loose, self.actives), acting)
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
fn rolls<'a>(
    view: &'a View,
    scope: &'a Scope,
    (fleet, readings): (&'a Fleet, &Readings),
    owed: &BTreeMap<GroupName, u32>,
    stand_ins: Option<&'a BTreeMap<GroupName, NodeGroup>>,
) -> Vec<GroupRoll<'a>> {
    let owed = |name| owed.get(name).copied();
    let of = |(name, nodes)| GroupRoll::of(view, scope, (name, nodes), readings, owed(name), stand_ins);
    let all = fleet.groups.iter().map(of);
    all.filter(|roll| match scope.plan.nodes.by {
        ChosenBy::Groups(_) => true,
        ChosenBy::Selector(_) => {
            let is_under_way = roll.begun.is_some() || roll.halted.is_some();
            roll.nodes.is_chosen() || is_under_way || !close::notes(scope, roll).is_empty()
        }
    })
    .collect()
}

/// Whether nothing is left to be replaced, and nothing of the run that could be taken back. A run that has come so far has met its deadline, however long its
/// end has to wait for what others do.
fn is_over(
    view: &View,
    scope: &Scope,
    (rolls, of_eks, pools): (&[GroupRoll<'_>], &[GroupRoll<'_>], &[GroupRoll<'_>]),
) -> bool {
    rolls.iter().chain(of_eks).all(close::is_over)
        && pools.iter().all(|roll| pool::is_over(view, scope, roll.name))
}

/// One decision of a run that goes on.
fn advance<'a>(
    ctx: &mut Context<'a>,
    rolls: &[GroupRoll<'a>],
    (of_eks, pools): (&[GroupRoll<'a>], &[GroupRoll<'a>]),
    gear: &mut Gear<'_>,
) -> Verdict {
    let deadline = ctx.scope.options.started + ctx.scope.plan.deadline;
    if ctx.now < deadline {
        ctx.wake_at(deadline);
    } else if !is_over(ctx.view, ctx.scope, (rolls, of_eks, pools)) {
        return stop(ctx, rolls, Halt::Deadline);
    }
    let missing = rolls.iter().chain(of_eks).filter(|roll| prepare::is_missing(ctx, roll)).count();
    let newer = rolls.iter().chain(of_eks).filter(|roll| clear::is_newer(ctx, roll)).count();
    if missing + newer > 0 {
        return stop(ctx, rolls, Halt::Hopeless);
    }
    if let Some(ailment) = health::ailment(ctx, rolls) {
        return stop(ctx, rolls, Halt::Unhealthy(ailment));
    }
    let rest = rest::of(ctx, rolls);
    rest::note(ctx, rolls, rest);
    let followed = [
        nodegroup::follow(ctx, of_eks, rest.is_none()),
        pool::follow(ctx, pools, rest.is_none(), &mut Ledger::new(ctx.view, gear.healths)),
    ];
    if eks_drain::is_any(ctx, of_eks) {
        if rest.is_none() && eks_drain::surges(ctx) {
            eks_drain::surge(ctx, of_eks, &mut gear.works(ctx, &[]));
        }
        eks_drain::report(ctx, of_eks, &mut Ledger::new(ctx.view, gear.healths));
    }
    if let Some(rest) = rest {
        ctx.rested = Some(ctx.now);
        let is_begun = rolls.iter().any(GroupRoll::is_touched);
        let has_old = rolls.iter().chain(of_eks).any(|roll| roll.nodes.old_left() > 0);
        if rest == Rest::Paused || (has_old && !is_begun) {
            rest::rest(ctx, rolls, rest);
            prepare::renew(ctx);
            return Verdict::Open;
        }
    }
    take_in_hand(ctx, rolls);
    take_in_hand(ctx, of_eks);
    let ready: Vec<Readiness> = rolls.iter().map(|roll| prepare::prepare(ctx, roll)).collect();
    for roll in rolls {
        halt::aside(ctx, roll);
    }
    managed::kept(ctx);
    protection::tend(ctx, rolls);
    stuck::force_delete(ctx, rolls);
    let drains = evict::drains(ctx, rolls);
    let mut spare = Spare::of(ctx, rolls);
    if let Some(rest) = rest {
        rest::rest(ctx, rolls, rest);
        prepare::renew(ctx);
        let empty: Vec<evict::Drain<'_>> =
            drains.iter().filter(|drain| drain.node_pods.is_empty()).copied().collect();
        let acting = evict::acting(ctx, &empty, &mut spare);
        evict::terminate(ctx, rolls, &acting);
    } else if ready.iter().all(|ready| *ready == Readiness::Open) {
        prepare::cordon(ctx, rolls);
        let uncordoned: usize = rolls.iter().map(|roll| roll.nodes.found.len()).sum();
        if uncordoned == 0 {
            roll(ctx, rolls, &drains, &mut spare, gear);
        } else {
            let nodes = u32::try_from(uncordoned).unwrap_or(u32::MAX);
            ctx.wait(Subject::Run, WaitingOn::Roll(RollWait::Cordon { nodes }));
        }
    }
    for roll in rolls {
        stage::watch(ctx, roll);
    }
    let closed: Vec<bool> =
        rolls.iter().enumerate().map(|(number, roll)| close::close(ctx, roll, number, &mut spare)).collect();
    let is_open = |ready: &Readiness| *ready == Readiness::Open;
    if closed.iter().all(|closed| *closed) && followed == [nodegroup::Followed::Done; 2] {
        let restored: Vec<bool> = rolls.iter().map(|roll| close::restore(ctx, roll)).collect();
        if restored.iter().all(|restored| *restored) && ready.iter().all(is_open) {
            return Verdict::Done;
        }
    }
    if ctx.is_moving {
        return Verdict::Open;
    }
    let of_pools = pool::last(ctx, pools).map(|last| last + ctx.scope.plan.progress_deadline);
    match progress::outlook(ctx, rolls, &drains).not_before(of_pools) {
        Outlook::Until(at) if ctx.now < at => {
            ctx.wake_at(at);
            Verdict::Open
        }
        Outlook::Until(_) => {
            let since = progress::last(ctx, rolls, &drains);
            let since = pool::last(ctx, pools).map_or(since, |last| since.max(last));
            stop(ctx, rolls, Halt::Stalled { since })
        }
        Outlook::Hopeless => stop(ctx, rolls, Halt::Hopeless),
    }
}

/// Says which groups are the run's from here on, before anything on them says so.
fn take_in_hand(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>]) {
    for roll in rolls.iter().filter(|roll| !close::is_over(roll)) {
        let others = roll.sources.iter().chain(&roll.further).map(|source| source.name);
        ctx.rolled.extend(others.chain([roll.name]).cloned());
    }
}

/// Moves pods, ends empty nodes, begins the next ones.
fn roll<'a>(
    ctx: &mut Context<'a>,
    rolls: &[GroupRoll<'a>],
    drains: &[evict::Drain<'a>],
    spare: &mut Spare,
    gear: &mut Gear<'_>,
) {
    let has_none = |roll: &GroupRoll<'_>| {
        roll.nodes.queued() == 0 && roll.nodes.held.is_empty() && roll.nodes.postponed.is_empty()
    };
    let is_idle = drains.is_empty() && rolls.iter().all(has_none);
    if is_idle {
        return;
    }
    let acting = evict::acting(ctx, drains, spare);
    let mut works = gear.works(ctx, &acting);
    for drain in &acting {
        evict::evict(ctx, &mut works, drain);
    }
    stuck::wait_for(ctx, &acting);
    evict::terminate(ctx, rolls, &acting);
    for (number, roll) in rolls.iter().enumerate() {
        close::retire_needless(ctx, roll, number, spare);
    }
    start::start(ctx, rolls, drains, spare, &mut works);
}

/// Halts the run, at once if there is nothing to be put back.
fn stop(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>], why: Halt) -> Verdict {
    if why != Halt::Hopeless {
        halt::say(ctx, why, ctx.now);
    }
    if halt::halt(ctx, rolls, why) { Verdict::Open } else { Verdict::Stopped(why) }
}

/// One decision of a run that has halted.
fn settle(ctx: &mut Context<'_>, rolls: &[GroupRoll<'_>], gear: &mut Gear<'_>, waited: &WaitList) -> Verdict {
    let why = halt::settle(ctx, rolls);
    if ctx.is_moving || halt::is_tried_again(ctx, rolls) {
        return Verdict::Open;
    }
    if let Halt::Unhealthy(ailment) = why {
        health::name(ctx, rolls, ailment);
    }
    if !halt::is_for_what_blocks(why) {
        return Verdict::Stopped(why);
    }
    for waiting in blocking(waited) {
        ctx.wait(waiting.what, waiting.on);
    }
    // Nobody has promised a new node where somebody else brings them.
    let grown = rolls.iter().filter(|_| !ctx.scope.is_external());
    let names: BTreeSet<&GroupName> = grown.map(|roll| roll.name).collect();
    let closed = external::closed_at_end(ctx);
    let mut places =
        Places::beside(Gear::room(gear.room, ctx), ctx.view, &names, &ctx.scope.plan.target, &closed);
    let mut works = gear.works(ctx, &[]);
    halt::blockers(ctx, rolls, &mut works, &mut places);
    Verdict::Stopped(why)
}

/// The nodes that a plan would replace as things are.
pub(crate) fn old_nodes(view: &View, plan: &Plan, options: &RunOptions) -> BTreeSet<NodeName> {
    let scope = Scope { plan: Arc::new(plan.clone()), run: RunId::default(), options: options.clone() };
    let members = view
        .nodes
        .unordered()
        .filter_map(|(_, node)| member::member(view, &scope, node, false, NodePods::default()));
    let members = members.filter(member::Member::is_old).map(|member| member.name);
    let names = match &plan.nodes.by {
        ChosenBy::Groups(names) => names.as_slice(),
        ChosenBy::Selector(_) => &[],
    };
    let pools = names.iter().filter(|name| !view.groups().contains_key(*name));
    members.chain(pools.flat_map(|name| pool::old_nodes(view, &scope, name))).collect()
}

/// Of all that waits, what blocks.
fn blocking(waiting: &WaitList) -> Vec<Waiting> {
    let blocks = |waiting: &&Waiting| match waiting.on.hope() {
        Hope::Possible | Hope::None => !matches!(
            waiting.on,
            WaitingOn::Roll(RollWait::Turn { .. })
                | WaitingOn::RollEnd(RollEnd::ManagedBy { .. })
                | WaitingOn::Roll(RollWait::Leftover { .. } | RollWait::Unprotected { .. })
        ),
        Hope::Moving => matches!(
            waiting.on,
            WaitingOn::Pod(PodWait::Terminating { .. })
                | WaitingOn::Roll(RollWait::Replacement { .. } | RollWait::Successor { .. })
        ),
    };
    waiting.iter().filter(blocks).cloned().collect()
}

fn loose_pods(view: &View) -> BTreeSet<Key> {
    let loose = view.pods.unordered().filter(|(_, pod)| pod.node.is_none() && pod.is_active());
    loose.map(|(_, pod)| pod.meta.key()).collect()
}

fn note_loose(loose: &mut BTreeSet<Key>, old: Option<&Object>, new: Option<&Object>) {
    if let Some(Object::Pod(pod)) = old
        && pod.node.is_none()
    {
        loose.remove(&pod.meta.key());
    }
    if let Some(Object::Pod(pod)) = new
        && pod.node.is_none()
        && pod.is_active()
    {
        loose.insert(pod.meta.key());
    }
}
