//! One decision in the making: what it looks at, and what it has found so far.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use replank_model::object::cloud::{GroupKind, GroupSize, NodeGroup};
use replank_model::object::cluster::Other;
use replank_model::text::{GroupName, NodeName, RunId, Text};
use replank_model::time::{Span, Time};
use replank_model::view::View;

use super::fleet::{Fleet, GroupNodes};
use super::health::Vitals;
use super::member::{Member, Scope};
use super::notes::Notes;
use super::prepare::LATE_AFTER;
use super::written::{Readings, Written};
use crate::builder::{DecisionBuilder, Wish};
use crate::moving::Mover;
use crate::sent::{COMMAND_LIFE, Sent};
use replank_facts::plan::{Allowance, ChosenBy};
use replank_protocol::command::{CommandKey, Effect, KubernetesEffect, Mark};
use replank_protocol::decision::Decision;
use replank_protocol::intent::Intent;
use replank_protocol::mark::{Before, Begun, Halted, Moment, Until};
use replank_protocol::wait_list::WaitList;
use replank_protocol::waiting::{RunWait, Subject, Waiting, WaitingOn};

/// See the module's page.
pub(super) struct Context<'a> {
    pub(super) now: Time,
    pub(super) view: &'a View,
    pub(super) scope: &'a Scope,
    pub(super) intent: Intent,
    pub(super) fleet: &'a Fleet,
    /// Pods in a bad way, where the plan asks for them.
    pub(super) vitals: Option<&'a Vitals>,
    /// When the run last rested, as far as this process knows: of use before anything of it is written on groups.
    pub(super) rested: Option<Time>,
    pub(super) sent: &'a mut Sent,
    /// The ConfigMap that holds the run's record, where it is written.
    pub(super) holder: Option<Arc<Other>>,
    /// What is to be written into it.
    pub(super) notes: Notes,
    watched: &'a mut BTreeMap<(GroupName, Watched), Time>,
    /// Groups of which [`Watched::Added`] is so by this decision.
    added: BTreeSet<GroupName>,
    builder: DecisionBuilder,
    held_said: Option<HeldSaid<'a>>,
    /// Whether something is in motion that will change things without anybody's doing.
    pub(super) is_moving: bool,
    /// Whether somebody keeps the number of nodes to what is needed.
    pub(super) is_scaled: bool,
    /// Groups that an autoscaler may have raised: nobody knows yet.
    pub(super) raising: BTreeSet<GroupName>,
    /// Groups that the run rolls.
    pub(super) rolled: BTreeSet<GroupName>,
    /// Nodes that are to bear its mark.
    pub(super) marked: BTreeSet<NodeName>,
}

/// What is remembered of a group: see [`Context::watch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Watched {
    /// It has fewer instances than it wants.
    Launching,
    /// Instances of it are being ended.
    Leaving,
    /// It is to give something back of what it has yet to launch.
    Surplus,
    /// It has more instances than it wants.
    Unwanted,
    /// Instances that an autoscaler may have added are to come up before any of its surplus goes. That is asked only while there is surplus: a decision that does not ask
    /// ends it, and what is awaited later is counted anew.
    Added,
}

/// That pods are told for which nodes cannot be begun: after so many other things, and of which groups, if not of all.
struct HeldSaid<'a> {
    found: usize,
    lanes: Option<BTreeSet<&'a GroupName>>,
}

/// A group of the run.
pub(super) struct GroupRoll<'a> {
    pub(super) name: &'a GroupName,
    pub(super) nodes: &'a GroupNodes,
    pub(super) group: Option<&'a NodeGroup>,
    /// Its size before the run, once that is written down.
    pub(super) original: Option<GroupSize>,
    /// Whether somebody has added to it and has yet to write that down.
    pub(super) is_owed: bool,
    /// What the run wrote when it had raised the group.
    pub(super) begun: Option<Begun>,
    /// What the run wrote when it ended without being done.
    pub(super) halted: Option<Halted>,
    /// How pods were when it began, where the plan asks.
    pub(super) health_before: Option<Before>,
    /// Until when what was replaced is retained, once that is written down.
    pub(super) retained_until: Option<Time>,
    /// The groups whose nodes move into this one; none where nodes are replaced within their group.
    pub(super) sources: Vec<Source<'a>>,
    /// Further groups that they move into: those that they had left, on the way back.
    pub(super) further: Vec<Source<'a>>,
}

/// A group whose nodes move into another one, or a further one that they move into.
pub(super) struct Source<'a> {
    pub(super) name: &'a GroupName,
    pub(super) group: Option<&'a NodeGroup>,
    /// Its size before the run, once that is written down.
    pub(super) original: Option<GroupSize>,
}

impl Source<'_> {
    /// What it wanted before the run.
    pub(super) fn wanted_before(&self) -> u32 {
        size_before(self.original, self.group).desired
    }

    /// What it wants.
    pub(super) fn wanted(&self) -> u32 {
        self.group.map_or(0, |group| group.size.desired)
    }

    /// Whether EKS owns its Auto Scaling group.
    pub(super) fn is_managed(&self) -> bool {
        self.group.is_some_and(|group| group.kind == GroupKind::EksManaged)
    }
}

/// A group of that name, or what stands for it.
fn named<'a>(
    view: &'a View,
    stand_ins: Option<&'a BTreeMap<GroupName, NodeGroup>>,
    name: &GroupName,
) -> Option<&'a NodeGroup> {
    match stand_ins {
        Some(stand_ins) => stand_ins.get(name),
        None => view.groups().get(name).map(|group| &**group),
    }
}

fn total<'a>(of: &[Source<'a>], what: impl Fn(&Source<'a>) -> u32) -> u32 {
    of.iter().map(what).sum()
}

fn size_before(original: Option<GroupSize>, group: Option<&NodeGroup>) -> GroupSize {
    original.or_else(|| group.map(|group| group.size)).unwrap_or_default()
}

impl<'a> GroupRoll<'a> {
    /// `owed` is what the group is to want in the end, where that is more than is written on it.
    pub(super) fn of(
        view: &'a View,
        scope: &'a Scope,
        (name, nodes): (&'a GroupName, &'a GroupNodes),
        readings: &Readings,
        owed: Option<u32>,
        stand_ins: Option<&'a BTreeMap<GroupName, NodeGroup>>,
    ) -> Self {
        let named = |name: &GroupName| named(view, stand_ins, name);
        let written =
            |group: Option<&NodeGroup>| group.map(|group| readings.of(group, &scope.run)).unwrap_or_default();
        let sources = match (&scope.plan.target.group, &scope.plan.nodes.by) {
            (Some(_), ChosenBy::Groups(names)) => names.as_slice(),
            (Some(_), ChosenBy::Selector(_)) | (None, ChosenBy::Groups(_) | ChosenBy::Selector(_)) => &[],
        };
        let source = |name| {
            let group = named(name);
            Source { name, group, original: written(group).original }
        };
        let sources = sources.iter().map(source).collect();
        let further = scope.plan.target.further.iter().map(source).collect();
        let group = named(name);
        let Written { original, begun, halted, health_before, retained_until } = written(group);
        let original = original.map(|size| GroupSize {
            desired: owed.map_or(size.desired, |owed| owed.max(size.desired)),
            ..size
        });
        Self {
            name,
            nodes,
            group,
            original,
            is_owed: owed.is_some(),
            begun,
            halted,
            health_before,
            retained_until,
            sources,
            further,
        }
    }

    /// The moment that a tag of the run's names.
    pub(super) fn until(&self, run: &RunId, key: &str) -> Option<Time> {
        let until = Until::read(self.group?.tags.value(key)?)?;
        (until.run == *run).then_some(until.until)
    }

    /// When a pause of the run began or ended, as a tag says.
    pub(super) fn moment(&self, run: &RunId, key: &str) -> Option<Time> {
        let moment = Moment::read(self.group?.tags.value(key)?)?;
        (moment.run == *run).then_some(moment.at)
    }

    /// Old nodes that are kept for a while beside those that took their places.
    pub(super) fn retained(&self) -> u32 {
        u32::try_from(self.nodes.retained.len()).unwrap_or(u32::MAX)
    }

    /// Whether a node leaves a managed node group.
    pub(super) fn is_from_managed(&self, member: &Member) -> bool {
        self.sources.iter().any(|source| *source.name == member.group && source.is_managed())
    }

    /// The other groups of the roll: those that nodes leave, and further ones that they move into.
    pub(super) fn others(&self) -> impl Iterator<Item = (&'a GroupName, &'a NodeGroup)> + '_ {
        self.sources.iter().chain(&self.further).filter_map(|source| Some((source.name, source.group?)))
    }

    /// Whether the nodes of other groups move into this one.
    pub(super) fn is_moved_into(&self) -> bool {
        !self.sources.is_empty()
    }

    /// The budget in numbers: shares of what the groups whose nodes go wanted before the run. The surge is what was written down when the run began: were it
    /// a share of a size to which an autoscaler adds; if the run's own nodes counted as added ones, the run would add more and more.
    pub(super) fn allowance(&self, scope: &Scope) -> Allowance {
        let own = || size_before(self.original, self.group).desired;
        let nodes = match self.is_moved_into() {
            // What the run made in the group that is left now, it made for these.
            true if scope.is_way_back() => own() + total(&self.further, Source::wanted_before),
            true => total(&self.sources, Source::wanted_before),
            false => own(),
        };
        let zones = self.group.map_or(0, |group| group.zones.len());
        let allowance = scope.plan.budget.allowance(nodes, zones);
        match &self.begun {
            Some(begun) => Allowance { surge: begun.surge, ..allowance },
            None => allowance,
        }
    }

    /// How many more nodes than before the run the group may want for its sake.
    pub(super) fn extra(&self, scope: &Scope) -> u32 {
        self.begun.as_ref().map_or_else(|| self.allowance(scope).surge, |begun| begun.extra)
    }

    /// Nodes that the group, and those whose nodes move into it, wanted together before the run.
    pub(super) fn wanted_before(&self) -> u32 {
        let own = size_before(self.original, self.group).desired;
        own + total(&self.sources, Source::wanted_before) + total(&self.further, Source::wanted_before)
    }

    /// Nodes that they want together.
    pub(super) fn wanted(&self) -> u32 {
        let own = self.group.map_or(0, |group| group.size.desired);
        own + total(&self.sources, Source::wanted) + total(&self.further, Source::wanted)
    }

    /// Nodes that are to be Ready at any time.
    pub(super) fn needed(&self, scope: &Scope) -> u32 {
        let wanted = if self.is_moved_into() {
            // The move itself lowers the desired size of the source groups, so it cannot be the measure.
            self.wanted_before().saturating_sub(self.nodes.broken)
        } else {
            let before = size_before(self.original, self.group).desired;
            self.group.map_or(before, |group| group.size.desired.min(before))
        };
        wanted.saturating_sub(self.allowance(scope).max_unavailable)
    }

    /// Nodes that other groups want less than before the run, and this one more.
    pub(super) fn moved(&self) -> u32 {
        self.sources.iter().map(|source| source.wanted_before().saturating_sub(source.wanted())).sum()
    }

    /// Instances that the groups want and do not have.
    pub(super) fn missing(&self) -> u32 {
        let own = self.group.map(|group| (self.name, group));
        let groups = own.into_iter().chain(self.others());
        groups.map(|(name, group)| group.size.desired.saturating_sub(self.nodes.alive(name))).sum()
    }

    /// Instances that are still there though the groups that they are in do not want them any more.
    pub(super) fn unwanted(&self) -> u32 {
        let sources = self.sources.iter();
        sources.map(|source| self.nodes.alive(source.name).saturating_sub(source.wanted())).sum()
    }

    /// The maximum that the group is to have in the end: its own, or what it takes to hold the nodes that moved into it.
    pub(super) fn max_kept(&self, original: GroupSize) -> u32 {
        original.max.max(original.desired + self.moved())
    }

    /// Nodes of the run that have been replaced. One that was left out has none in its place: nothing shows on it.
    pub(super) fn gone(&self) -> u32 {
        let skipped = u32::try_from(self.nodes.skipped.len()).unwrap_or(u32::MAX);
        let left = self.nodes.old_left().saturating_add(skipped);
        self.begun.as_ref().map_or(0, |begun| begun.nodes.saturating_sub(left))
    }

    /// Whether the run has left anything on the group or its nodes.
    pub(super) fn is_touched(&self) -> bool {
        let nodes = self.nodes;
        let of_old = nodes.queued() + nodes.held.len() + nodes.draining.len() + nodes.retained.len();
        let has_marks = of_old + nodes.surplus.len() + nodes.postponed.len() > 0;
        let is_written = self.sources.iter().chain(&self.further).any(|source| source.original.is_some());
        self.original.is_some() || is_written || self.begun.is_some() || has_marks
    }

    pub(super) fn subject(&self) -> Subject {
        Subject::Group(self.name.clone())
    }
}

impl<'a> Context<'a> {
    pub(super) fn new(
        now: Time,
        view: &'a View,
        (scope, intent): (&'a Scope, Intent),
        fleet: &'a Fleet,
        (vitals, rested): (Option<&'a Vitals>, Option<Time>),
        sent: &'a mut Sent,
        watched: &'a mut BTreeMap<(GroupName, Watched), Time>,
    ) -> Self {
        Self {
            now,
            view,
            scope,
            intent,
            fleet,
            vitals,
            rested,
            sent,
            holder: None,
            notes: Notes::new(),
            watched,
            added: BTreeSet::new(),
            builder: DecisionBuilder::new(now, scope.run.clone()),
            held_said: None,
            is_moving: false,
            is_scaled: false,
            raising: BTreeSet::new(),
            rolled: BTreeSet::new(),
            marked: BTreeSet::new(),
        }
    }

    /// Has something noted of a group, or a note taken away, in the record of the run.
    pub(super) fn note(&mut self, group: &GroupName, key: &str, value: Option<Text>) {
        self.notes.entry(group.clone()).or_default().insert(key.into(), value);
        let is_refused = |holder| {
            let keys = [true, false].map(|halts| self.record_key(holder, halts));
            keys.iter().any(|key| self.sent.is_refused(self.now, key))
        };
        // Where the record is not there yet, it is written first.
        self.is_moving |= !self.holder.as_ref().is_some_and(is_refused);
        let on = WaitingOn::Run(RunWait::Effect { what: Text::from("note in the record of the run") });
        self.wait(Subject::Group(group.clone()), on);
    }

    /// The key of a write of the record. That the run halts is told apart: until it is seen, nothing else may be begun.
    pub(super) fn record_key(&self, holder: &Arc<Other>, halts: bool) -> CommandKey {
        let effect = if halts { "record-halt" } else { "record" };
        self.key(effect, format!("{}/{}", holder.meta.key(), holder.meta.resource_version.0))
    }

    /// Whether the note that the run has halted is on its way.
    pub(super) fn is_halting(&self) -> bool {
        let is_under_way = |holder| self.sent.is_under_way(self.now, &self.record_key(holder, true));
        self.scope.is_external() && self.holder.as_ref().is_some_and(is_under_way)
    }

    pub(super) fn member(&self, name: &NodeName) -> &'a Member {
        self.fleet.members.get(name).expect("a nodes lists members only")
    }

    /// Whether a node is one of a group's of the run, or moves into it.
    pub(super) fn is_in(&self, member: &Member, roll: &GroupRoll<'_>) -> bool {
        self.scope.lane_of(&member.group) == roll.name
    }

    /// Says what the decision before told: most of it will be told again.
    pub(super) fn follow(&mut self, last: &WaitList) {
        self.builder.follow(last.clone());
    }

    /// Says why something waits; the first reason that is found for it stands.
    pub(super) fn wait(&mut self, what: Subject, on: WaitingOn) {
        self.builder.wait(what, on);
    }

    /// Says of the nodes of such groups, or of all, for which pods they cannot be begun.
    pub(super) fn wait_for_held(&mut self, lanes: Option<BTreeSet<&'a GroupName>>) {
        self.held_said = Some(HeldSaid { found: self.builder.count(), lanes });
    }

    /// Says why something waits for a moment that is known: by itself the wait will end.
    pub(super) fn wait_until(&mut self, what: Subject, on: WaitingOn, at: Time) {
        self.is_moving = true;
        self.wake_at(at);
        self.wait(what, on);
    }

    /// Looks again then, if not earlier.
    pub(super) fn wake_at(&mut self, at: Time) {
        self.builder.wake_at(at);
    }

    /// Whether an autoscaler may have raised a group and nobody knows yet, which is said: until then what changes its size waits.
    pub(super) fn awaits_raise(&mut self, subject: Subject, group: &GroupName) -> bool {
        let is_raising = self.raising.contains(group);
        if is_raising {
            let what = Text::from("the group size that another actor requested");
            self.wait_until(subject, WaitingOn::Run(RunWait::Effect { what }), self.now + COMMAND_LIFE);
        }
        is_raising
    }

    /// Sends a command, unless it is under way.
    pub(super) fn send(&mut self, subject: Subject, what: &str, key: CommandKey, effect: Effect) {
        match self.builder.send(self.sent, (subject, Text::from(what)), key, effect) {
            Wish::UnderWay(_) => self.is_moving = true,
            Wish::Refused => {}
        }
    }

    /// Sends a command that the run does not wait for, unless it is under way; `false` where it was refused, and is tried again later.
    pub(super) fn try_to(&mut self, what: &str, key: &CommandKey, effect: Effect) -> bool {
        self.builder.send_silently(self.sent, &Text::from(what), key.clone(), effect);
        !self.sent.is_refused(self.now, key)
    }

    /// The key of an effect on something; see [`CommandKey`].
    pub(super) fn key(&self, effect: &str, on: impl fmt::Display) -> CommandKey {
        self.builder.key(effect, on)
    }

    /// Marks a node.
    pub(super) fn mark(&mut self, member: &Member, what: &str, key: CommandKey, mark: Mark) {
        self.marked.insert(member.name.clone());
        let effect = Effect::Kubernetes(KubernetesEffect::Cordon {
            node: member.target(),
            version: member.version,
            mark,
        });
        self.send(Subject::Node(member.name.clone()), what, key, effect);
    }

    /// Whether an eviction of a node's pods may still be on its way, which is said: one that arrives after the node is uncordoned would move a pod off a node that takes pods.
    pub(super) fn awaits_evictions(&mut self, name: &NodeName) -> bool {
        let pods = self.view.pods_on(name).iter().map(|ix| &self.view.pods[*ix]);
        let left = pods.filter(|pod| pod.meta.deletion_timestamp.is_none());
        let sent = left.filter_map(|pod| self.sent.may_be_evicted(self.now, &pod.meta.uid)).max();
        if let Some(until) = sent {
            let on = WaitingOn::Run(RunWait::Effect { what: Text::from("evictions already sent") });
            self.wait_until(Subject::Node(name.clone()), on, until);
        }
        sent.is_some()
    }

    /// Since when something about a group has been so that is nowhere to be read. It is remembered; after a restart the
    /// count begins anew, and what takes too long is found so that much later. `None` once it is not so any more.
    pub(super) fn watch(&mut self, roll: &GroupRoll<'_>, what: Watched, is_so: bool) -> Option<Time> {
        let key = (roll.name.clone(), what);
        if !is_so {
            self.watched.remove(&key);
            return None;
        }
        if what == Watched::Added {
            self.added.insert(roll.name.clone());
        }
        let since = *self.watched.entry(key).or_insert(self.now);
        if self.now <= since + LATE_AFTER {
            self.is_moving = true;
            self.wake_at(since + LATE_AFTER + Span::from_secs(1));
        }
        Some(since)
    }

    /// Since when a group has launched nothing, if that is too long.
    pub(super) fn launches_nothing(&self, roll: &GroupRoll<'_>) -> Option<Time> {
        let since = self.watched.get(&(roll.name.clone(), Watched::Launching)).copied();
        since.filter(|since| self.now > *since + LATE_AFTER)
    }

    /// What waits so far.
    pub(super) fn waits(&mut self) -> impl Iterator<Item = &Waiting> {
        self.say_held();
        self.builder.waits()
    }

    fn say_held(&mut self) {
        let Some(HeldSaid { found, lanes }) = self.held_said.take() else { return };
        let held = &self.fleet.held_pods;
        let told = match lanes {
            None => held.told(),
            Some(lanes) => held.told_of(&lanes, self.now, self.scope.plan.batch.on_deadline),
        };
        let may_be = |what: &Subject| matches!(what, Subject::Pod(pod) if held.has(pod));
        self.builder.wait_for_shelved(found, told, may_be);
    }

    /// What was found, in order.
    pub(super) fn finish(mut self) -> Decision {
        self.say_held();
        let added = &self.added;
        self.watched.retain(|(name, what), _| *what != Watched::Added || added.contains(name));
        self.builder.finish()
    }
}

impl Mover for Context<'_> {
    fn now(&self) -> Time {
        self.now
    }

    fn sent(&self) -> &Sent {
        self.sent
    }

    fn key(&self, effect: &str, on: &str) -> CommandKey {
        self.builder.key(effect, on)
    }

    fn send(&mut self, subject: Subject, what: &str, key: CommandKey, effect: Effect) {
        Self::send(self, subject, what, key, effect);
    }

    fn renew(&mut self, subject: Subject, key: &CommandKey) -> bool {
        let wish = self.builder.renew(self.sent, subject, key);
        self.is_moving |= matches!(wish, Some(Wish::UnderWay(_)));
        wish.is_some()
    }

    fn wait(&mut self, what: Subject, on: WaitingOn) {
        Self::wait(self, what, on);
    }

    fn wait_until(&mut self, what: Subject, on: WaitingOn, at: Time) {
        Self::wait_until(self, what, on, at);
    }
}
