//! Nodes that are drained, and what may be taken from a group besides.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_facts::budget::Ledger;
use replank_facts::node_pods::{Actives, Bound, NodePods, missing_replicas};
use replank_facts::room::{Search, Step, is_about_to_be_placed};
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::Zone;
use replank_model::time::Time;
use replank_model::view::{Ix, View};
use replank_protocol::waiting::{PodWait, RollWait, WaitingOn};
use rustc_hash::FxHashSet;

use super::context::{Context, GroupRoll};
use super::fleet::GroupNodes;
use super::member::Member;

/// A node that is being drained.
#[derive(Clone, Copy)]
pub(super) struct Drain<'a> {
    pub(super) roll: usize,
    pub(super) member: &'a Member,
    pub(super) since: Time,
    pub(super) from: Time,
    pub(super) node_pods: &'a NodePods,
    /// Whether the node is dead ([`super::dead`]).
    pub(super) is_dead: bool,
    /// When the drain counts as stalled if nothing moves until then ([`super::stalled`]).
    pub(super) stalls: Option<Time>,
}

impl Drain<'_> {
    /// Whether it does not go on.
    pub(super) fn is_stalled(&self, now: Time) -> bool {
        self.stalls.is_some_and(|until| now >= until)
    }

    /// Whether it takes no place among those that are drained in turn: its node is dead, or it is stalled.
    pub(super) fn is_apart(&self, now: Time) -> bool {
        self.is_dead || self.is_stalled(now)
    }
}

/// Ready nodes that a group can spare.
#[derive(Clone)]
pub(super) struct Spare {
    pub(super) groups: Vec<GroupSpare>,
}

#[derive(Clone)]
pub(super) struct GroupSpare {
    /// Ready nodes, those being drained among them.
    pub(super) ready: u32,
    pub(super) needed: u32,
    /// The same by zone.
    pub(super) zones: BTreeMap<Zone, u32>,
    pub(super) needed_in_zone: u32,
}

impl Spare {
    /// What there is before any drain has acted in this decision.
    pub(super) fn of(ctx: &Context<'_>, rolls: &[GroupRoll<'_>]) -> Self {
        let mut spare = Self::beside_drains(ctx, rolls);
        for (number, roll) in rolls.iter().enumerate() {
            for name in &roll.nodes.draining {
                spare.put_back(number, ctx.member(name));
            }
        }
        spare
    }

    /// What there is when nodes being drained count for nothing: they stay cordoned, and nobody will take them up again.
    pub(super) fn beside_drains(ctx: &Context<'_>, rolls: &[GroupRoll<'_>]) -> Self {
        let groups = rolls.iter().map(|roll| {
            let nodes: &GroupNodes = roll.nodes;
            let zones = nodes.ready.clone();
            let ready = nodes.ready_total();
            let needed = roll.needed(ctx.scope);
            GroupSpare { ready, needed, zones, needed_in_zone: ctx.scope.plan.budget.min_ready_per_zone }
        });
        Self { groups: groups.collect() }
    }

    /// Whether a group and zone can do without a node.
    ///
    /// # Errors
    /// What there must be more of.
    pub(super) fn check(&self, roll: usize, member: &Member) -> Result<(), WaitingOn> {
        let group = &self.groups[roll];
        if !member.serves() {
            return Ok(());
        }
        if group.ready <= group.needed {
            return Err(WaitingOn::Roll(RollWait::Available { ready: group.ready, needed: group.needed }));
        }
        let ready = group.zones.get(&member.zone).copied().unwrap_or(0);
        if ready <= group.needed_in_zone {
            let needed = group.needed_in_zone;
            return Err(WaitingOn::Roll(RollWait::ZoneMinimum { zone: member.zone.clone(), ready, needed }));
        }
        Ok(())
    }

    /// Whether a group can do without none of the nodes that serve.
    pub(super) fn is_short(&self, roll: usize) -> bool {
        let group = &self.groups[roll];
        group.ready <= group.needed
    }

    /// Whether a group could do without a node if another one that is being drained were of use again.
    pub(super) fn would_help(&self, roll: usize, other: &Member, node: &Member) -> bool {
        let group = &self.groups[roll];
        let in_zone = group.zones.get(&node.zone).copied().unwrap_or(0);
        let in_zone = in_zone + u32::from(other.zone == node.zone);
        group.ready + 1 > group.needed && in_zone > group.needed_in_zone
    }

    /// Takes a node away from its group and zone, if they can do without it.
    ///
    /// # Errors
    /// As [`Spare::check`].
    pub(super) fn take(&mut self, roll: usize, member: &Member) -> Result<(), WaitingOn> {
        self.check(roll, member)?;
        self.give_up(roll, member);
        Ok(())
    }

    /// As [`Spare::check`] of a node that counts no more.
    ///
    /// # Errors
    /// As [`Spare::check`].
    pub(super) fn check_beside(&mut self, roll: usize, member: &Member) -> Result<(), WaitingOn> {
        self.put_back(roll, member);
        let checked = self.check(roll, member);
        self.give_up(roll, member);
        checked
    }

    /// A node counts.
    fn put_back(&mut self, roll: usize, member: &Member) {
        if member.serves() {
            let group = &mut self.groups[roll];
            *group.zones.entry(member.zone.clone()).or_default() += 1;
            group.ready += 1;
        }
    }

    /// A node counts no more, whether its group can do without it or not.
    pub(super) fn give_up(&mut self, roll: usize, member: &Member) {
        let group = &mut self.groups[roll];
        if let Some(in_zone) = group.zones.get_mut(&member.zone).filter(|_| member.serves()) {
            *in_zone = in_zone.saturating_sub(1);
            group.ready = group.ready.saturating_sub(1);
        }
    }
}

/// Pods without a node for which room is kept at a decision.
const WAITING_PODS_MAX: usize = 256;

/// What evictions are measured against.
pub(super) struct Works<'r> {
    pub(super) ledger: Ledger<'r>,
    pub(super) search: Search<'r>,
    pub(super) view: &'r View,
    /// Pods whose evictions are under way.
    pub(super) under_way: Vec<Arc<Pod>>,
    /// Pods that were asked to go before this decision, or that a budget's status names: an eviction of any other is a new one.
    pub(super) asked: FxHashSet<Ix<Pod>>,
    /// Pods without a node.
    pub(super) loose: &'r BTreeSet<Key>,
    /// Of what will take room before any pod that is to be moved; it is put in place when room is first asked for.
    pub(super) ahead: Option<Ahead<'r>>,
    /// How far things had been tried when that was in place.
    pub(super) begun: Option<Step>,
    /// Pods that are evicted in this decision.
    pub(super) evicted: Vec<Arc<Pod>>,
}

/// How far things have been tried; `None` before anything was, what comes first aside.
#[derive(Clone, Copy)]
pub(super) struct Point(Option<Step>);

/// Where those are looked for that are still to be made in place of pods on their way out.
pub(super) struct Ahead<'r> {
    pub(super) actives: &'r mut Actives,
    /// The pods of the nodes whose drains act.
    pub(super) acting: Vec<&'r NodePods>,
}

impl<'r> Works<'r> {
    /// Whether a pod has room; it is taken.
    pub(super) fn find_room(&mut self, pod: &Arc<Pod>) -> Result<(), WaitingOn> {
        self.place_ahead();
        let found = self.search.fits(pod);
        found.map_err(|message| WaitingOn::Pod(PodWait::Room { pod: pod.meta.key(), message }))
    }

    /// Whether there is room for one more pod like this one, which stays where it is meanwhile; it is taken.
    pub(super) fn find_room_beside(&mut self, pod: &Arc<Pod>) -> Result<(), WaitingOn> {
        self.place_ahead();
        let found = self.search.find_beside(pod, 0);
        found.map(drop).map_err(|message| WaitingOn::Pod(PodWait::Room { pod: pod.meta.key(), message }))
    }

    /// What stands in the way of a pod by itself, room aside.
    pub(super) fn obstacle(&mut self, bound: &Bound) -> Result<(), WaitingOn> {
        self.ledger.check_on(bound.ix, bound.footing)
    }

    /// Pods that are placed somewhere before what is moved later: those without a node, and those that are evicted. One that the scheduler has refused waits for the same as
    /// what is evicted now.
    pub(super) fn before_others(&self) -> impl Iterator<Item = &Arc<Pod>> {
        let bound = self.under_way.iter().filter(|pod| pod.node.is_some());
        let loose = self.loose.iter().filter_map(|key| self.view.find::<Pod>(key));
        bound.chain(loose).chain(&self.evicted)
    }

    pub(super) fn point(&self) -> Point {
        Point(self.begun.map(|_| self.search.point()))
    }

    /// Takes back what was tried since a point; what was put in place before all others stays.
    pub(super) fn rewind(&mut self, Point(to): Point) {
        if let Some(to) = to.or(self.begun) {
            self.search.rewind(to);
        }
    }

    pub(super) fn place_ahead(&mut self) {
        let Some(Ahead { actives, acting }) = self.ahead.take() else { return };
        for pod in self.under_way.iter().chain(self.about_to_be_placed()) {
            // One that finds none waits, and takes nothing.
            let _found = self.search.fits(pod);
        }
        let leaving = acting.iter().flat_map(|node_pods| &node_pods.leaving);
        for (pod, count) in missing_replicas(self.view, actives, leaving) {
            for number in 0..count {
                if !self.search.find_for_another(&pod, number) {
                    break;
                }
            }
        }
        self.begun = Some(self.search.point());
    }

    /// Pods that wait for a node and take room before others, in the order in which they get it.
    fn about_to_be_placed(&self) -> Vec<&'r Arc<Pod>> {
        let waiting = self.loose.iter().filter_map(|key| self.view.find::<Pod>(key));
        let mut waiting: Vec<&'r Arc<Pod>> = waiting.filter(|pod| is_about_to_be_placed(pod)).collect();
        waiting.sort_by_cached_key(|pod| {
            let priority = Reverse(pod.spec.priority.unwrap_or(0));
            (priority, pod.meta.creation_timestamp, pod.meta.key())
        });
        waiting.truncate(WAITING_PODS_MAX);
        waiting
    }
}
