//! Why a pod fits nowhere, without asking every node again.
//!
//! Most nodes object for what they are by themselves: taints, labels, ports, resources. Those objections are the same for
//! all pods of a base and change only with the node, so that they are kept and counted with the base. What is left, nodes
//! that have room and object for other reasons, is asked one by one.

use std::collections::BTreeSet;

use super::base::Bases;
use super::explain::Histogram;
use super::filter::{Cycle, OnNode};
use super::ids::NodeId;
use super::nodes::Log;
use super::plugin::{Code, Failure, Plugin, Reason};
use super::predicate::Narrowing;
use super::world::World;

pub(super) use super::refusals::Refusals;

/// The filters before those that look at other nodes, in order.
const OWN: [Plugin; 5] = [
    Plugin::NodeUnschedulable,
    Plugin::TaintToleration,
    Plugin::NodeAffinity,
    Plugin::NodePorts,
    Plugin::NodeResourcesFit,
];

/// Number of a node that does not object, or is not there.
const NONE: u16 = u16::MAX;

impl Refusals {
    /// Takes in what changed since the last time.
    pub(super) fn catch_up(&mut self, log: &Log, slots: usize, ask: impl Fn(NodeId) -> Option<Failure>) {
        if self.read == 0 || log.since(self.read).is_none() {
            *self = Self::default();
        }
        self.of.resize(slots, NONE);
        let read = self.read;
        let mut renew = |id: NodeId| {
            let number = ask(id).map_or(NONE, |failure| self.number(failure));
            let old = std::mem::replace(&mut self.of[id.at()], number);
            for (number, more) in [(old, false), (number, true)] {
                if number != NONE {
                    let count = &mut self.kinds.get_mut(number.into()).1;
                    *count = if more { *count + 1 } else { *count - 1 };
                }
            }
        };
        match log.since(read) {
            Some(changed) => changed.for_each(&mut renew),
            None => (0..slots).map(NodeId::new).for_each(&mut renew),
        }
        self.read = log.end();
    }

    fn get(&self, node: NodeId) -> Option<&Failure> {
        let number = self.of.get(node.at()).filter(|number| **number != NONE)?;
        Some(&self.kinds.get((*number).into()).0)
    }
}

/// The first objection of every node that objects.
#[derive(Debug, Default)]
pub(super) struct Objections<'a> {
    /// Objections of nodes by themselves, unless they are among the next.
    own: Option<&'a Refusals>,
    /// Nodes that were asked one by one, by number, with what they said.
    asked: Vec<(NodeId, Option<Failure>)>,
    /// Nodes that were not scanned, because required affinity names others.
    pub(super) outside: usize,
}

impl Objections<'_> {
    /// A node's objection.
    pub(super) fn of(&self, node: NodeId) -> Option<&Failure> {
        match self.asked.binary_search_by_key(&node, |(id, _)| *id) {
            Ok(at) => self.asked[at].1.as_ref(),
            Err(_) => self.own.and_then(|own| own.get(node)),
        }
    }

    /// Each objection, with how many nodes make it.
    pub(super) fn counted(&self) -> Vec<(&Failure, usize)> {
        let mut own: Vec<(&Failure, usize)> = match self.own {
            Some(own) => own.kinds.values().iter().map(|(failure, count)| (failure, *count)).collect(),
            None => Vec::new(),
        };
        let mut counted = Vec::new();
        for (node, failure) in &self.asked {
            if let Some(number) = self.own.map(|own| own.of[node.at()]).filter(|number| *number != NONE) {
                own[usize::from(number)].1 -= 1;
            }
            counted.extend(failure.as_ref().map(|failure| (failure, 1)));
        }
        own.retain(|(_, count)| *count > 0);
        own.extend(counted);
        own
    }

    /// Nodes on which removing pods could help.
    pub(super) fn resolvable(&self) -> impl Iterator<Item = NodeId> + '_ {
        let slots = self.own.map_or(0, |own| own.of.len());
        let own = (0..slots).map(NodeId::new).filter(|id| self.own.is_some_and(|own| own.get(*id).is_some()));
        let own = own.filter(|id| self.asked.binary_search_by_key(id, |(id, _)| *id).is_err());
        let asked = self.asked.iter().map(|(id, _)| *id);
        own.chain(asked).filter(|id| self.of(*id).is_some_and(|failure| failure.code == Code::Unschedulable))
    }

    /// The scheduler's words, and the plugins whose objections decided.
    pub(super) fn words(&self, nodes: usize) -> (String, BTreeSet<Plugin>) {
        let mut reasons = Histogram::default();
        let mut plugins = BTreeSet::new();
        for (failure, count) in self.counted() {
            reasons.add(&failure.reasons, count);
            plugins.insert(failure.plugin);
        }
        if self.outside > 0 {
            reasons.add(&[Reason::OutsideNarrowing], self.outside);
            plugins.insert(Plugin::NodeAffinity);
        }
        (reasons.message(nodes), plugins)
    }
}

impl Cycle<'_> {
    /// The first objection of every node that objects.
    pub(super) fn objections<'b>(&mut self, world: &mut World, bases: &'b mut Bases) -> Objections<'b> {
        if !self.refused_by.is_empty() {
            let mut asked = std::mem::take(&mut self.refused_by);
            let outside = world.nodes.len() - asked.len();
            asked.sort_by_key(|(id, _)| *id);
            asked.dedup_by_key(|(id, _)| *id);
            return Objections { own: None, asked, outside };
        }
        let asks_all = self.narrowing != Narrowing::All || self.pod.node.is_some() || self.plan.features != 0;
        let mut single: Vec<NodeId>;
        let mut own = None;
        let mut outside = 0;
        if asks_all {
            single = self.scope(world);
            outside = world.nodes.len() - single.len();
        } else {
            let base = bases.refusals(self.plan.base, world, |id| self.own_failure(world, id)).base;
            single = base.groups().iter().flat_map(super::base::Group::nodes).collect();
            single.extend(world.pods.nominees().filter_map(|entry| world.nodes.find(&entry.node_name)));
            own = Some(base.refusals());
        }
        single.sort();
        single.dedup();
        self.measure(world, &single);
        let asked = single.into_iter().map(|id| (id, self.failure(world, id))).collect();
        Objections { own, asked, outside }
    }

    /// What a node objects to by itself; nothing if it is not there.
    fn own_failure(&self, world: &World, id: NodeId) -> Option<Failure> {
        world.nodes.get(id)?;
        let on = OnNode::of(world, id);
        let asked = OWN.iter().filter(|plugin| !self.skips(world, **plugin));
        asked.copied().find_map(|plugin| self.ask(world, plugin, id, &on))
    }
}
