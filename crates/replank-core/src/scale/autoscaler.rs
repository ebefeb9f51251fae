//! The autoscaler as a module of [`crate::Core`]: it decides after interruptions and the run, and sees what both have in flight.
//!
//! It looks at the cluster at the full ten seconds ([`LOOK`], Cluster Autoscaler's `--scan-interval`) if something has changed since its last look, or something
//! falls due; in between it stands by what it asked for. A cluster in which nothing changes costs nothing.
//!
//! It has an engine of its own ([`replank_schedule::Scheduler`]) that follows every change: those of the run and of interruptions leave out the nodes on which they move
//! nothing, and to them an autoscaler would be blind.
//!
//! What it remembers is a cache, as with Cluster Autoscaler: a process that starts anew finds the nodes that go by their marks and those that come by
//! their groups, and counts anew how long a node has not been needed and how long a group that failed is left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::text::{GroupName, NodeName};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};

use super::RUN;
use super::backoff::State;
use super::group::Groups;
use super::in_flight::InFlight;
use super::options::Options;
use super::ownership::RollOwnership;
use super::prices::Prices;
use super::priorities::Priorities;
use super::raises::Raises;
use super::scaler::Scaler;
use super::up::Given;
use crate::account::Account;
use replank_facts::budget::{Healths, Ledger};
use replank_facts::group_facts::Facts;
use replank_facts::groups::GroupBy;
use replank_protocol::command::Outcome;
use replank_protocol::decision::Decision;
use replank_protocol::mark::{self, read_size};
use replank_protocol::wait_list::WaitList;
use replank_protocol::waiting::{PodWait, Subject, WaitingOn};
use replank_schedule::Scheduler;

/// From one look to the next.
const LOOK: Span = Span::from_secs(10);

/// How an autoscaler is set.
#[derive(Clone, Debug, Default)]
pub struct Autoscaler {
    /// Cluster Autoscaler's flags.
    pub options: Options,
    /// What the cloud says of groups besides their sizes, tags and zones: types, markets, labels.
    pub facts: Vec<Facts>,
    /// What instances cost.
    pub prices: Prices,
    /// What the expander `priority` goes by.
    pub priorities: Priorities,
    /// How the group of a node is known.
    pub group_by: GroupBy,
}

/// See the module's page.
#[derive(Debug)]
pub(crate) struct Scale {
    settings: Arc<Autoscaler>,
    scaler: Scaler,
    cache: Cache,
}

/// Everything that can be dropped at any time.
#[derive(Debug, Default)]
struct Cache {
    /// Only once there was something to look at.
    scheduler: Option<Scheduler>,
    healths: Healths,
    /// `None` before the first decision.
    state: Option<State>,
    /// Raises of groups in a run's hands of which nobody knows what became of them.
    raises: Raises,
    /// What the last look came to.
    waiting: WaitList,
    /// When to look again though nothing changes; absent if never.
    due: Option<Time>,
    /// What the others had in flight then.
    others: Others,
    /// Nothing has changed since the last look.
    is_seen: bool,
}

/// Inputs of the scaling decision that are not observed: they may change with time alone.
#[derive(Debug, Default, PartialEq)]
struct Others {
    interrupted: BTreeSet<NodeName>,
    rolled: BTreeSet<GroupName>,
    /// What waits for room: pods, and nodes for the sake of theirs.
    homeless: BTreeSet<Subject>,
}

impl Others {
    fn of(account: &Account, waiting: &WaitList) -> Self {
        let homeless = waiting.iter().filter(|one| matches!(one.on, WaitingOn::Pod(PodWait::Room { .. })));
        Self {
            interrupted: account.interrupted.clone(),
            rolled: account.rolled.clone(),
            homeless: homeless.map(|one| one.what.clone()).collect(),
        }
    }
}

impl Scale {
    pub(crate) fn new(settings: Autoscaler) -> Self {
        Self { settings: settings.into(), scaler: Scaler::new(), cache: Cache::default() }
    }

    pub(crate) fn anew(&self) -> Self {
        Self { settings: self.settings.clone(), scaler: Scaler::new(), cache: Cache::default() }
    }

    pub(crate) fn drop_caches(&mut self) {
        self.cache = Cache::default();
    }

    /// Takes in a change that `view` has taken in.
    pub(crate) fn observe(&mut self, view: &View, change: &Change) {
        let cache = &mut self.cache;
        cache.healths.observe(view, change);
        if let Change::Group { new: Some(group), .. } = change {
            let debt = cache.raises.seen(group);
            cache.owe(debt);
        }
        if let Some(scheduler) = &mut cache.scheduler {
            scheduler.observe(view, change);
        }
        cache.is_seen = false;
    }

    /// Takes in what became of a command.
    pub(crate) fn outcome(&mut self, outcome: &Outcome) {
        let cache = &mut self.cache;
        let debt = cache.raises.answered(outcome);
        cache.owe(debt);
        if outcome.key.0.starts_with(&*prefix()) {
            cache.is_seen = false;
        }
    }

    /// What groups in a run's hands are to want in the end, where that is not written on them yet.
    pub(crate) fn owed(&self, view: &View) -> BTreeMap<GroupName, u32> {
        let state = self.cache.state.iter().flat_map(|state| &state.owed);
        let unwritten = state.filter(|(name, desired)| {
            let tags = view.groups().get(*name).map(|group| &group.tags);
            let tags = tags.filter(|tags| tags.contains_key(mark::BEGUN));
            let original = tags.and_then(|tags| tags.value(mark::ORIGINAL_SIZE)).and_then(read_size);
            original.is_some_and(|original| original.desired < **desired)
        });
        unwritten.map(|(name, desired)| (name.clone(), *desired)).collect()
    }

    /// Groups in a run's hands that may have been raised: nobody knows yet.
    pub(crate) fn raising(&mut self, now: Time) -> BTreeSet<GroupName> {
        self.cache.raises.forget_late(now);
        self.cache.raises.groups()
    }

    /// What is done about the number of nodes now. `waiting` is what the others wait for in this decision.
    pub(crate) fn decide(
        &mut self,
        view: &View,
        now: Time,
        account: &mut Account,
        waiting: &WaitList,
    ) -> Decision {
        let others = Others::of(account, waiting);
        if others != self.cache.others {
            self.cache.others = others;
            self.cache.is_seen = false;
        }
        if self.cache.state.is_none() {
            self.cache.state = Some(self.found(view, now, account));
        }
        let is_due = !self.cache.is_seen || self.cache.due.is_some_and(|due| due <= now);
        let is_time = now == full(now);
        if is_due && is_time {
            return self.look(view, now, account, waiting);
        }
        account.sent.keep(&prefix());
        let next = if is_due { Some(full(now)) } else { self.cache.due.map(full) };
        Decision { waiting: self.cache.waiting.clone(), wake_at: next, ..Decision::default() }
    }

    /// What a process finds that has just started. What an earlier one has added and not recorded is read off the groups before the run goes on: a node that is
    /// retained a moment later would pass for the reason why its group is as large.
    fn found(&self, view: &View, now: Time, account: &Account) -> State {
        let Autoscaler { options, facts, group_by, .. } = &*self.settings;
        let mut groups = Groups::of(view, group_by, facts, options);
        groups.take_hold(&account.rolled, &account.extra, &BTreeMap::new());
        let owed = groups.all.iter().filter_map(|group| match group.ownership {
            RollOwnership::Run { original, wanted } if wanted > original.desired => {
                Some((group.name.clone(), wanted))
            }
            RollOwnership::Run { .. }
            | RollOwnership::Closed
            | RollOwnership::Newer { .. }
            | RollOwnership::Free => None,
        });
        State { owed: owed.collect(), ..State::found(view, &groups, now) }
    }

    fn look(&mut self, view: &View, now: Time, account: &mut Account, waiting: &WaitList) -> Decision {
        let Autoscaler { options, facts, prices, priorities, group_by } = &*self.settings;
        let cache = &mut self.cache;
        let mut groups = Groups::of(view, group_by, facts, options);
        let mut state = cache.state.take().unwrap_or_default();
        state.settle_debts(&groups);
        state.unanswered = cache.raises.groups();
        groups.take_hold(&account.rolled, &account.extra, &state.owed);
        let in_flight = InFlight::of(view, options, now, account, waiting);
        let scheduler = cache.scheduler.get_or_insert_with(|| Scheduler::load(view));
        let mut ledger = Ledger::new(view, &mut cache.healths);
        for target in account.sent.evictions(now, None) {
            if let Some(ix) = view.pods.find(&target.key)
                && view.pods[ix].meta.uid == target.uid
            {
                ledger.charge(ix, &view.pods[ix]);
            }
        }
        let given = Given {
            view,
            groups: &groups,
            options,
            prices,
            priorities,
            state: &state,
            in_flight: &in_flight,
            now,
        };
        let decision = self.scaler.decision(given, scheduler, &mut ledger, &mut account.sent);
        cache.raises.sent(decision.raised);
        cache.state = Some(decision.state);
        let decision = decision.out.finish();
        cache.waiting.clone_from(&decision.waiting);
        cache.due = decision.wake_at.into_iter().chain(cache.raises.until()).min();
        cache.is_seen = true;
        Decision { wake_at: cache.due.map(full), ..decision }
    }
}

impl Cache {
    /// Takes note of what a group in a run's hands is to want in the end.
    fn owe(&mut self, debt: Option<(GroupName, u32)>) {
        if let (Some((group, desired)), Some(state)) = (debt, &mut self.state) {
            let owed = state.owed.entry(group).or_default();
            *owed = desired.max(*owed);
        }
    }
}

impl State {
    /// Forgets intended sizes that are recorded on their group, or whose group is no longer rolling.
    fn settle_debts(&mut self, groups: &Groups) {
        self.owed.retain(|name, desired| match groups.get(name).map(|group| group.ownership) {
            Some(RollOwnership::Run { original, .. }) => original.desired < *desired,
            // Between a run and its way back nothing says how far it is.
            Some(RollOwnership::Closed | RollOwnership::Newer { .. }) => true,
            Some(RollOwnership::Free) | None => false,
        });
    }
}

fn prefix() -> String {
    format!("{RUN}/")
}

/// The next full ten seconds; the moment itself if it is one.
fn full(at: Time) -> Time {
    let millis = LOOK.as_millis();
    Time::from_millis(-(-at.as_millis()).div_euclid(millis) * millis)
}

#[cfg(test)]
mod tests;
