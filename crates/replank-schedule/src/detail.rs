//! One node's answer to one pod, with the numbers behind it: what a remedy would have to reach.

use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::object::resources::{CPU, EPHEMERAL_STORAGE, MEMORY};
use replank_model::text::{NodeName, Text};
use replank_model::view::View;

use super::Scheduler;
use super::cycle::Rejection;
use super::filter::{Cycle, OnNode, count_in};
use super::ids::{DomainId, NodeId};
use super::plugin::Failure;
use super::world::World;

/// One node's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// The pod is refused before any node is looked at. Nodes are then asked all the same.
    pub rejected: Option<Rejection>,
    /// The objection that decides: the first in the order of the profile.
    pub first: Option<Failure>,
    /// The objections of all plugins, each asked on its own.
    pub all: Vec<Failure>,
    /// Resources of which too little is left.
    pub shortages: Vec<Shortage>,
    /// Pods that the node takes, where it has as many.
    pub pods_max: Option<i64>,
    /// Ports of the host that the pod wants and that are taken.
    pub ports: Vec<HostPort>,
    /// Spread constraints that are not met.
    pub skews: Vec<Skew>,
    /// Positions of the pod's required anti-affinity terms that somebody here matches.
    pub apart: Vec<usize>,
}

/// Too little is left of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The resource.
    pub resource: Text,
    /// What the pod asks for: thousandths of cpu, bytes, or pieces.
    pub wanted: i64,
    /// What the node has for pods.
    pub capacity: i64,
    /// What is left of it; less than nothing where pods were put there by hand.
    pub free: i64,
}

/// A port of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// The number.
    pub number: i32,
    /// TCP, UDP or SCTP.
    pub protocol: Text,
}

/// A spread constraint that is not met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skew {
    /// Position among the pod's constraints that must hold.
    pub constraint: usize,
    /// The skew there would be; `None` where the node lacks the label.
    pub skew: Option<i64>,
    /// The skew allowed.
    pub max_skew: i64,
}

impl Scheduler {
    /// The answers of some nodes to a pod; names that no node has are passed over.
    #[must_use]
    pub fn details(&mut self, view: &View, pod: &Arc<Pod>, nodes: &[NodeName]) -> Vec<(NodeName, Detail)> {
        self.tidy();
        let Self { options, world, classes, bases, marks: _, epoch: _ } = self;
        let ids: Vec<NodeId> = nodes.iter().filter_map(|name| world.nodes.find(name)).collect();
        let (mut cycle, rejected) = Cycle::begin(world, (classes, bases), options, view, pod);
        cycle.measure(world, &ids);
        ids.iter()
            .map(|id| {
                let on = OnNode::of(world, *id);
                let detail = Detail {
                    rejected: rejected.clone(),
                    first: cycle.failure(world, *id),
                    all: cycle.all_failures(world, *id, &on),
                    shortages: cycle.shortages(world, *id, &on),
                    pods_max: Some(world.nodes[*id].room.pods).filter(|max| on.pods + 1 > *max),
                    ports: cycle.ports_taken(world, &on),
                    skews: cycle.skews(world, *id),
                    apart: cycle.apart(world, *id),
                };
                (world.nodes[*id].name.clone(), detail)
            })
            .collect()
    }
}

impl Cycle<'_> {
    fn shortages(&self, world: &World, node: NodeId, on: &OnNode<'_>) -> Vec<Shortage> {
        let request = &self.plan.request.amounts;
        let room = &world.nodes[node].room.amounts;
        let mut found = Vec::new();
        let mut check = |resource: &str, wanted: i64, capacity: i64, used: i64| {
            let free = capacity - used;
            if wanted > 0 && wanted > free {
                found.push(Shortage { resource: Text::from(resource), wanted, capacity, free });
            }
        };
        check(CPU, request.milli_cpu, room.milli_cpu, on.used.milli_cpu);
        check(MEMORY, request.memory, room.memory, on.used.memory);
        check(EPHEMERAL_STORAGE, request.ephemeral, room.ephemeral, on.used.ephemeral);
        for (id, wanted) in &request.others {
            check(world.resources.name(*id), *wanted, room.other(*id), on.used.other(*id));
        }
        found.sort_by(|a, b| a.resource.cmp(&b.resource));
        found
    }

    fn ports_taken(&self, world: &World, on: &OnNode<'_>) -> Vec<HostPort> {
        let wanted = world.specs[self.plan.key.spec].ports.iter();
        let taken = wanted.filter(|port| on.ports.iter().any(|known| known.conflicts(port)));
        taken.map(|port| HostPort { number: port.number, protocol: port.protocol.clone() }).collect()
    }

    fn skews(&self, world: &World, node: NodeId) -> Vec<Skew> {
        let mut found = Vec::new();
        for (constraint, hard) in self.plan.hard.iter().enumerate() {
            let domain = world.topologies[hard.topology].domain(node);
            let skew = (domain != DomainId::MISSING).then(|| {
                let count = count_in(world, hard, domain);
                count + i64::from(hard.is_self) - self.fewest_with(world, constraint, domain, count)
            });
            if skew.is_none_or(|skew| skew > hard.max_skew) {
                found.push(Skew { constraint, skew, max_skew: hard.max_skew });
            }
        }
        found
    }

    fn apart(&self, world: &World, node: NodeId) -> Vec<usize> {
        let is_met = |term: &super::plan::Counted| {
            let domain = world.topologies[term.topology].domain(node);
            domain == DomainId::MISSING || world.counters[term.sum].by_domain.get(domain.0) == 0
        };
        let terms = self.plan.apart.iter().enumerate();
        terms.filter(|(_, term)| !is_met(term)).map(|(at, _)| at).collect()
    }
}
