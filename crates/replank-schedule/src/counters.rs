//! Counts of pods per node and per topology domain, kept as pods come and go.
//!
//! A *counter* counts something per node: pods that a selector matches, or pods that carry an affinity term (times its
//! weight). A *sum* adds a counter up per domain of a topology, over the nodes that are eligible. Both exist because a
//! pod to be placed once asked for them, and are kept up to date from then on.

use smallvec::SmallVec;

use super::counts::Counts;
use super::eligible::Eligibles;
use super::ids::{CounterId, EligibleId, NodeId, SumId, TopologyId};
use super::intern::Interned;
use super::topology::Topologies;

/// Something counted per node.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter {
    pub(super) per_node: Counts,
    sums: SmallVec<[SumId; 2]>,
}

/// A counter added up per domain.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub(super) counter: CounterId,
    pub(super) topology: TopologyId,
    pub(super) eligible: EligibleId,
    /// By [`super::ids::DomainId`].
    pub(super) by_domain: Counts,
}

/// All counters and sums.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    counters: Vec<Counter>,
    sums: Interned<(CounterId, TopologyId, EligibleId), Sum>,
}

impl std::ops::Index<CounterId> for Counters {
    type Output = Counter;

    fn index(&self, id: CounterId) -> &Counter {
        &self.counters[id.at()]
    }
}

impl std::ops::Index<SumId> for Counters {
    type Output = Sum;

    fn index(&self, id: SumId) -> &Sum {
        self.sums.get(id.0)
    }
}

impl Counters {
    pub(super) fn counter(&mut self) -> CounterId {
        self.counters.push(Counter::default());
        CounterId::new(self.counters.len() - 1)
    }

    /// Counts something more, or less, on a node.
    pub(super) fn add(
        &mut self,
        id: CounterId,
        node: NodeId,
        delta: i64,
        topologies: &Topologies,
        eligible: &Eligibles,
    ) {
        let counter = &mut self.counters[id.at()];
        counter.per_node.add(node.0, delta);
        for sum in &counter.sums {
            let sum = self.sums.get_mut(sum.0);
            if eligible[sum.eligible].has(node) {
                sum.by_domain.add(topologies[sum.topology].domain(node).0, delta);
            }
        }
    }

    /// The sum of a counter, made if need be.
    pub(super) fn sum(
        &mut self,
        counter: CounterId,
        topology: TopologyId,
        eligible: EligibleId,
        topologies: &Topologies,
        eligibles: &Eligibles,
    ) -> SumId {
        let key = (counter, topology, eligible);
        if let Some(id) = self.sums.find(&key) {
            return SumId(id);
        }
        let mut by_domain = Counts::default();
        for (node, count) in self.counters[counter.at()].per_node.entries() {
            if eligibles[eligible].has(NodeId(*node)) {
                by_domain.add(topologies[topology].domain(NodeId(*node)).0, *count);
            }
        }
        let id = SumId(self.sums.insert(key, Sum { counter, topology, eligible, by_domain }));
        self.counters[counter.at()].sums.push(id);
        id
    }
}
