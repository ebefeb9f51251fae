//! Topology domains: nodes by the value of a label.

use replank_model::object::node::LABEL_HOSTNAME;
use replank_model::text::Text;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::ids::{DomainId, NodeId, PartId, TopologyId};
use super::intern::Interned;
use super::nodes::Nodes;

/// A topology of at most this many domains is coarse: nodes are sorted into parts by it, and what holds of a part is
/// decided once. The others are looked at domain by domain, only where something is counted.
const COARSE_MAX: usize = 32;
/// A coarse topology that grows beyond this is coarse no longer. The gap keeps one from going back and forth.
const COARSE_LIMIT: usize = 64;
/// Most parts that all coarse topologies together may make.
const PARTS_MAX: usize = 512;

/// The domains of one node label.
#[derive(Clone, Debug)]
pub(super) struct Topology {
    pub(super) key: Text,
    /// Each node's domain.
    domain_of: Vec<DomainId>,
    /// Each domain's value; the first stands for "missing".
    values: Vec<Text>,
    ids: FxHashMap<Text, DomainId>,
    /// The domain whose value is the empty text, if there is one.
    pub(super) empty_value: Option<DomainId>,
    members: Vec<Vec<NodeId>>,
    /// Domains, "missing" left out, that have nodes.
    inhabited: usize,
    pub(super) is_coarse: bool,
    pub(super) is_hostname: bool,
}

impl Topology {
    fn new(key: Text) -> Self {
        Self {
            is_hostname: &*key == LABEL_HOSTNAME,
            key,
            domain_of: Vec::new(),
            values: vec![Text::from("")],
            ids: FxHashMap::default(),
            empty_value: None,
            members: vec![Vec::new()],
            inhabited: 0,
            is_coarse: false,
        }
    }

    pub(super) fn domain(&self, node: NodeId) -> DomainId {
        self.domain_of.get(node.at()).copied().unwrap_or(DomainId::MISSING)
    }

    /// The nodes of a domain, in no order.
    pub(super) fn members(&self, domain: DomainId) -> &[NodeId] {
        &self.members[domain.at()]
    }

    fn enter(&mut self, node: NodeId, value: Option<&Text>) {
        let domain = value.map_or(DomainId::MISSING, |value| self.id(value));
        if self.domain_of.len() <= node.at() {
            self.domain_of.resize(node.at() + 1, DomainId::MISSING);
        }
        self.domain_of[node.at()] = domain;
        let members = &mut self.members[domain.at()];
        members.push(node);
        if members.len() == 1 && domain != DomainId::MISSING {
            self.inhabited += 1;
        }
    }

    fn leave(&mut self, node: NodeId) {
        let domain = self.domain(node);
        let members = &mut self.members[domain.at()];
        if let Some(at) = members.iter().position(|member| *member == node) {
            members.swap_remove(at);
            if members.is_empty() && domain != DomainId::MISSING {
                self.inhabited -= 1;
            }
        }
    }

    fn id(&mut self, value: &Text) -> DomainId {
        if let Some(id) = self.ids.get(value) {
            return *id;
        }
        let id = DomainId::new(self.values.len());
        self.values.push(value.clone());
        self.members.push(Vec::new());
        self.ids.insert(value.clone(), id);
        if value.is_empty() {
            self.empty_value = Some(id);
        }
        id
    }
}

/// A node's domains in the coarse topologies, in the order of those.
type Domains = SmallVec<[DomainId; 4]>;

/// All topologies that anybody asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Topologies {
    all: Interned<Text, Topology>,
    /// Those that are coarse.
    coarse: Vec<TopologyId>,
    parts: Interned<Domains, Domains>,
    /// Counts how often the parts were drawn anew: what was sorted into parts before is void.
    pub(super) layout: u32,
}

impl std::ops::Index<TopologyId> for Topologies {
    type Output = Topology;

    fn index(&self, id: TopologyId) -> &Topology {
        self.all.get(id.0)
    }
}

impl Topologies {
    /// The topology of a label, made if need be.
    pub(super) fn register(&mut self, key: &Text, nodes: &mut Nodes) -> TopologyId {
        if let Some(id) = self.all.find(key) {
            return TopologyId(id);
        }
        let mut topology = Topology::new(key.clone());
        for id in nodes.ids() {
            topology.enter(id, nodes[id].node.meta.labels.get(key));
        }
        // Every node its own domain is the rule for host names, however few nodes there are.
        topology.is_coarse = !topology.is_hostname && topology.inhabited <= COARSE_MAX;
        let is_coarse = topology.is_coarse;
        let id = TopologyId(self.all.insert(key.clone(), topology));
        if is_coarse {
            self.coarse.push(id);
            self.draw_parts(nodes);
        }
        id
    }

    /// The domain of a part in a coarse topology.
    pub(super) fn domain_of_part(&self, part: PartId, topology: TopologyId) -> DomainId {
        let place = self.coarse.iter().position(|known| *known == topology);
        place.map_or(DomainId::MISSING, |place| self.parts.get(part.0)[place])
    }

    /// A node appears, or has other labels.
    pub(super) fn enter(&mut self, id: NodeId, nodes: &mut Nodes) {
        let labels = nodes[id].node.meta.labels.clone();
        let mut is_redrawn = false;
        for topology in self.all.values_mut() {
            topology.enter(id, labels.get(&topology.key));
            if topology.is_coarse && topology.inhabited > COARSE_LIMIT {
                topology.is_coarse = false;
                is_redrawn = true;
            }
        }
        if is_redrawn {
            self.coarse.retain(|id| self.all.get(id.0).is_coarse);
            self.draw_parts(nodes);
        } else {
            nodes[id].part = self.part(id);
            if self.parts.len() > PARTS_MAX {
                self.draw_parts(nodes);
            }
        }
    }

    /// A node goes, or is about to have other labels.
    pub(super) fn leave(&mut self, id: NodeId) {
        for topology in self.all.values_mut() {
            topology.leave(id);
        }
    }

    fn part(&mut self, node: NodeId) -> PartId {
        let domains: Domains = self.coarse.iter().map(|id| self.all.get(id.0).domain(node)).collect();
        match self.parts.find(&domains) {
            Some(part) => PartId(part),
            None => PartId(self.parts.insert(domains.clone(), domains)),
        }
    }

    /// Sorts all nodes into parts, with fewer coarse topologies if there would be too many.
    fn draw_parts(&mut self, nodes: &mut Nodes) {
        let ids: Vec<NodeId> = nodes.ids().collect();
        loop {
            self.layout += 1;
            self.parts = Interned::default();
            for id in &ids {
                nodes[*id].part = self.part(*id);
            }
            if self.parts.len() <= PARTS_MAX {
                return;
            }
            let finest = self.coarse.iter().max_by_key(|id| (self.all.get(id.0).inhabited, **id)).copied();
            let finest = finest.expect("without coarse topologies there is one part");
            self.all.get_mut(finest.0).is_coarse = false;
            self.coarse.retain(|id| *id != finest);
        }
    }
}
