//! Which nodes a pod's node-only constraints let it onto, kept as bits, and which of them count for a spread constraint.

use replank_model::labels::TextMap;
use replank_model::object::affinity::{NodeSelector, PreferredSchedulingTerm, Taint, Toleration};
use replank_model::text::{NodeName, Text};
use smallvec::SmallVec;

use super::bits::Bits;
use super::counts::Counts;
use super::ids::{AffinityId, DomainId, EligibleId, NodeId, PreferenceId, TolerationId, TopologyId};
use super::intern::Interned;
use super::nodes::{NodeEntry, Nodes};
use super::predicate::{
    Preference, RequiredNodeAffinity, avoided_taints, reaches, tolerates_cordon, untolerated_taint,
};
use super::topology::Topologies;

/// Node selector and required node affinity, or the node affinity of a volume.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum AffinityKey {
    /// Of a pod.
    Pod {
        /// Node selector.
        selector: TextMap,
        /// Required node affinity.
        required: Option<NodeSelector>,
        /// Whether a term that lost its requirement on the name matches.
        is_pinned: bool,
    },
    /// Of a volume.
    Volume(NodeSelector),
}

#[derive(Clone, Debug)]
enum Affinity {
    Pod(RequiredNodeAffinity),
    Volume(NodeSelector),
}

impl Affinity {
    fn matches(&self, entry: &NodeEntry) -> bool {
        match self {
            Self::Pod(required) => required.matches(entry.name.as_str(), &entry.node.meta.labels),
            Self::Volume(required) => reaches(required, &entry.node.meta.labels),
        }
    }
}

/// A filter and the nodes that pass it.
#[derive(Clone, Debug)]
struct Filter<T> {
    of: T,
    passes: Bits,
}

/// A list of tolerations and what it says of the nodes.
#[derive(Clone, Debug)]
pub(super) struct Tolerated {
    list: Vec<Toleration>,
    pub(super) bears_cordon: bool,
    /// Nodes with a taint that keeps the pod off.
    blocked: Bits,
    /// How many taints of a node ask that others be preferred.
    avoided: Counts,
}

impl Tolerated {
    pub(super) fn is_blocked(&self, node: NodeId) -> bool {
        self.blocked.has(node.at())
    }

    pub(super) fn avoided(&self, node: NodeId) -> i64 {
        self.avoided.get(node.0)
    }

    fn enter(&mut self, id: NodeId, entry: &NodeEntry, compare_numbers: bool) {
        let taints = &entry.node.spec.taints;
        self.blocked.set(id.at(), untolerated_taint(&self.list, taints, compare_numbers).is_some());
        let avoided = avoided_taints(&self.list, taints, compare_numbers);
        let avoided = i64::try_from(avoided).expect("a node has fewer than 2^63 taints");
        self.avoided.add(id.0, avoided - self.avoided.get(id.0));
    }
}

/// A preferred node affinity and what it says of the nodes.
#[derive(Clone, Debug)]
struct Preferred {
    of: Preference,
    /// Weights of the terms that match.
    scores: Counts,
}

impl Preferred {
    fn enter(&mut self, id: NodeId, entry: &NodeEntry) {
        let score = self.of.score(entry.name.as_str(), &entry.node.meta.labels);
        self.scores.add(id.0, score - self.scores.get(id.0));
    }
}

/// What makes nodes count for a spread constraint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct EligibleKey {
    /// Node affinity must match.
    pub(super) affinity: Option<AffinityId>,
    /// The node must be this one.
    pub(super) pin: Option<NodeName>,
    /// Taints must be tolerated.
    pub(super) tolerations: Option<TolerationId>,
    /// Labels that must be there.
    pub(super) topologies: SmallVec<[TopologyId; 2]>,
}

/// Nodes that count for a spread constraint.
#[derive(Clone, Debug)]
pub(super) struct Eligible {
    key: EligibleKey,
    nodes: Bits,
    /// For each topology of the key, its domains and how many of the nodes are in each.
    domains: SmallVec<[Counts; 2]>,
}

impl Eligible {
    pub(super) fn has(&self, node: NodeId) -> bool {
        self.nodes.has(node.at())
    }

    /// The domains of a topology of the key that have eligible nodes.
    pub(super) fn domains(&self, topology: TopologyId) -> &Counts {
        let place = self.key.topologies.iter().position(|known| *known == topology);
        &self.domains[place.expect("domains are asked of the key's own topologies")]
    }
}

/// All filters and eligible sets.
#[derive(Clone, Debug)]
pub(super) struct Eligibles {
    compare_numbers: bool,
    affinities: Interned<AffinityKey, Filter<Affinity>>,
    tolerations: Interned<Vec<Toleration>, Tolerated>,
    preferences: Interned<Vec<PreferredSchedulingTerm>, Preferred>,
    sets: Interned<EligibleKey, Eligible>,
}

impl std::ops::Index<EligibleId> for Eligibles {
    type Output = Eligible;

    fn index(&self, id: EligibleId) -> &Eligible {
        self.sets.get(id.0)
    }
}

impl std::ops::Index<TolerationId> for Eligibles {
    type Output = Tolerated;

    fn index(&self, id: TolerationId) -> &Tolerated {
        self.tolerations.get(id.0)
    }
}

impl Eligibles {
    /// The set of all nodes.
    pub(super) const ALL: EligibleId = EligibleId(0);

    pub(super) fn new(compare_numbers: bool) -> Self {
        let mut sets = Interned::default();
        let key = EligibleKey::default();
        sets.insert(key.clone(), Eligible { key, nodes: Bits::default(), domains: SmallVec::new() });
        Self {
            compare_numbers,
            affinities: Interned::default(),
            tolerations: Interned::default(),
            preferences: Interned::default(),
            sets,
        }
    }

    /// What a node scores by a preferred node affinity.
    pub(super) fn preferred(&self, preference: PreferenceId, node: NodeId) -> i64 {
        self.preferences.get(preference.0).scores.get(node.0)
    }

    /// # Errors
    /// What is wrong with the terms.
    pub(super) fn preference(
        &mut self,
        terms: &Vec<PreferredSchedulingTerm>,
        nodes: &Nodes,
    ) -> Result<PreferenceId, Text> {
        if let Some(id) = self.preferences.find(terms) {
            return Ok(PreferenceId(id));
        }
        let mut preferred = Preferred { of: Preference::compile(terms)?, scores: Counts::default() };
        for id in nodes.ids() {
            preferred.enter(id, &nodes[id]);
        }
        Ok(PreferenceId(self.preferences.insert(terms.clone(), preferred)))
    }

    /// Whether a node passes a node affinity.
    pub(super) fn matches(&self, affinity: AffinityId, node: NodeId) -> bool {
        self.affinities.get(affinity.0).passes.has(node.at())
    }

    pub(super) fn affinity(&mut self, key: AffinityKey, nodes: &Nodes) -> AffinityId {
        if let Some(id) = self.affinities.find(&key) {
            return AffinityId(id);
        }
        let of = match &key {
            AffinityKey::Pod { selector, required, is_pinned } => {
                Affinity::Pod(RequiredNodeAffinity::new(selector, required.as_ref(), *is_pinned))
            }
            AffinityKey::Volume(required) => Affinity::Volume(required.clone()),
        };
        let mut passes = Bits::default();
        for id in nodes.ids() {
            passes.set(id.at(), of.matches(&nodes[id]));
        }
        AffinityId(self.affinities.insert(key, Filter { of, passes }))
    }

    pub(super) fn tolerations(&mut self, list: &Vec<Toleration>, nodes: &Nodes) -> TolerationId {
        if let Some(id) = self.tolerations.find(list) {
            return TolerationId(id);
        }
        let mut tolerated = Tolerated {
            bears_cordon: tolerates_cordon(list, self.compare_numbers),
            list: list.clone(),
            blocked: Bits::default(),
            avoided: Counts::default(),
        };
        for id in nodes.ids() {
            tolerated.enter(id, &nodes[id], self.compare_numbers);
        }
        TolerationId(self.tolerations.insert(list.clone(), tolerated))
    }

    pub(super) fn set(&mut self, key: EligibleKey, nodes: &Nodes, topologies: &Topologies) -> EligibleId {
        if let Some(id) = self.sets.find(&key) {
            return EligibleId(id);
        }
        let domains = key.topologies.iter().map(|_| Counts::default()).collect();
        let id = self.sets.insert(key.clone(), Eligible { key, nodes: Bits::default(), domains });
        for node in nodes.ids() {
            self.enter_set(id, node, &nodes[node], topologies);
        }
        EligibleId(id)
    }

    /// A node appears, or has other labels or taints. Its topologies know it already.
    pub(super) fn enter(&mut self, id: NodeId, nodes: &Nodes, topologies: &Topologies) {
        let entry = &nodes[id];
        for filter in self.affinities.values_mut() {
            filter.passes.set(id.at(), filter.of.matches(entry));
        }
        for tolerated in self.tolerations.values_mut() {
            tolerated.enter(id, entry, self.compare_numbers);
        }
        for preferred in self.preferences.values_mut() {
            preferred.enter(id, entry);
        }
        for set in 0..self.sets.len() {
            self.enter_set(u32::try_from(set).expect("ids have 32 bits"), id, entry, topologies);
        }
    }

    /// Whether such taints would put a node into, or out of, a set of nodes that are counted.
    pub(super) fn is_moved_by(&self, id: NodeId, taints: &[Taint]) -> bool {
        let mut tolerations = self.sets.values().iter().filter_map(|set| set.key.tolerations);
        tolerations.any(|tolerations| {
            let tolerated = &self[tolerations];
            tolerated.is_blocked(id)
                != untolerated_taint(&tolerated.list, taints, self.compare_numbers).is_some()
        })
    }

    /// A node has other taints that do not put it into other sets.
    pub(super) fn change_taints(&mut self, id: NodeId, entry: &NodeEntry) {
        for tolerated in self.tolerations.values_mut() {
            tolerated.enter(id, entry, self.compare_numbers);
        }
    }

    /// A node goes, or is about to have other labels or taints. Its topologies still know it.
    pub(super) fn leave(&mut self, id: NodeId, topologies: &Topologies) {
        for filter in self.affinities.values_mut() {
            filter.passes.set(id.at(), false);
        }
        for tolerated in self.tolerations.values_mut() {
            tolerated.blocked.set(id.at(), false);
            tolerated.avoided.add(id.0, -tolerated.avoided.get(id.0));
        }
        for preferred in self.preferences.values_mut() {
            preferred.scores.add(id.0, -preferred.scores.get(id.0));
        }
        for set in self.sets.values_mut() {
            if set.has(id) {
                set.nodes.set(id.at(), false);
                for (topology, domains) in set.key.topologies.iter().zip(&mut set.domains) {
                    domains.add(topologies[*topology].domain(id).0, -1);
                }
            }
        }
    }

    fn enter_set(&mut self, set: u32, id: NodeId, entry: &NodeEntry, topologies: &Topologies) {
        let key = &self.sets.get(set).key;
        let is_in = key.affinity.is_none_or(|affinity| self.matches(affinity, id))
            && key.pin.as_ref().is_none_or(|pin| *pin == entry.name)
            && key.tolerations.is_none_or(|tolerations| !self[tolerations].is_blocked(id))
            && key.topologies.iter().all(|t| topologies[*t].domain(id) != DomainId::MISSING);
        let set = self.sets.get_mut(set);
        if is_in {
            set.nodes.set(id.at(), true);
            for (topology, domains) in set.key.topologies.iter().zip(&mut set.domains) {
                domains.add(topologies[*topology].domain(id).0, 1);
            }
        }
    }
}
