//! The nodes of a cluster by kind: those that answer every pod of this cluster alike.
//!
//! A cluster of thousands of nodes has a few dozen kinds: what a node is called matters only where some pod or volume names it.
//! Each kind has a sample, a node as it is when it has just joined: without cordon and without the taints that come and go
//! by themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::affinity::{NodeSelectorOperator, NodeSelectorTerm, Taint, TaintEffect};
use replank_model::object::node::{LABEL_HOSTNAME, LABEL_REGION, LABEL_ZONE, Node};
use replank_model::object::pod::PodSpec;
use replank_model::object::resources::{CPU, MEMORY, Resources};
use replank_model::quantity::Quantity;
use replank_model::text::{GroupName, NodeName, Text};
use replank_model::view::View;

use super::capacity::{self, Scaler, Scalers};
use replank_facts::groups::{self, GroupBy};
use replank_facts::taints::is_passing;
use replank_protocol::provisioner::{LABEL_NODE_POOL, Provisioner};

/// Steps in which allocatable amounts are told apart: machines of one type differ by some kilobytes.
const MILLI_CPU_STEP: i64 = 100;
const MEMORY_STEP: i64 = 256 << 20;

/// Whether a taint keeps pods off.
pub(super) fn keeps_off(taint: &Taint) -> bool {
    match taint.effect {
        TaintEffect::NoSchedule | TaintEffect::NoExecute => true,
        TaintEffect::PreferNoSchedule => false,
    }
}

/// `dedicated=gpu:NoSchedule`, as kubectl writes it.
pub(super) fn taint_text(taint: &Taint) -> String {
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{}", taint.key, taint.effect)
}

/// What a node was bought as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Capacity {
    /// Stays until somebody ends it.
    OnDemand,
    /// May be taken back at any moment.
    Spot,
}

/// Number of a kind of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct KindId(pub(super) usize);

/// Nodes that answer alike.
#[derive(Clone, Debug)]
pub(super) struct NodeKind {
    /// The roomiest of them, as if it had just joined.
    pub(super) sample: Arc<Node>,
    /// All of them, sorted.
    pub(super) nodes: Vec<NodeName>,
    pub(super) group: Option<GroupName>,
    pub(super) capacity: Capacity,
    pub(super) scaler: Option<Scaler>,
}

impl NodeKind {
    pub(super) fn zone(&self) -> Option<&Text> {
        self.sample.zone()
    }

    pub(super) fn is_spot(&self) -> bool {
        self.capacity == Capacity::Spot
    }

    /// Taints that keep pods off.
    pub(super) fn taints(&self) -> impl Iterator<Item = &Taint> {
        self.sample.spec.taints.iter().filter(|taint| keeps_off(taint))
    }
}

/// All nodes but those of Fargate, on which no scheduler that is asked here puts anything.
#[derive(Clone, Debug, Default)]
pub(super) struct Ground {
    kinds: Vec<NodeKind>,
    of_node: BTreeMap<NodeName, KindId>,
}

impl Ground {
    pub(super) fn of(view: &View, mentions: &Mentions, by: &GroupBy, scalers: &mut Scalers) -> Self {
        let mut by_signature: BTreeMap<Signature, Vec<&Arc<Node>>> = BTreeMap::new();
        for (_, node) in
            view.nodes.sorted().into_iter().filter(|(_, node)| Provisioner::of(node) != Provisioner::Fargate)
        {
            by_signature.entry(Signature::of(node, mentions, by)).or_default().push(node);
        }
        let mut ground = Self::default();
        for (signature, nodes) in by_signature {
            let id = KindId(ground.kinds.len());
            let room = |node: &Node| node.status.allocatable.get(MEMORY).map_or(0, Quantity::value);
            let sample = nodes.iter().max_by_key(|node| (room(node), std::cmp::Reverse(&node.meta.name)));
            let sample = sample.expect("a kind has at least one node");
            ground.of_node.extend(nodes.iter().map(|node| (node.name(), id)));
            ground.kinds.push(NodeKind {
                sample: Arc::new(joined(sample)),
                nodes: nodes.iter().map(|node| node.name()).collect(),
                scaler: scalers.of(sample, signature.group.as_ref()),
                capacity: if signature.is_spot { Capacity::Spot } else { Capacity::OnDemand },
                group: signature.group,
            });
        }
        ground
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = (KindId, &NodeKind)> {
        self.kinds.iter().enumerate().map(|(at, kind)| (KindId(at), kind))
    }

    pub(super) fn kind(&self, id: KindId) -> &NodeKind {
        &self.kinds[id.0]
    }

    pub(super) fn kind_of(&self, node: &NodeName) -> Option<KindId> {
        self.of_node.get(node).copied()
    }

    /// How many nodes there are.
    pub(super) fn nodes(&self) -> usize {
        self.of_node.len()
    }

    /// How many nodes there are of some kinds.
    pub(super) fn nodes_of<'a>(&self, kinds: impl IntoIterator<Item = &'a KindId>) -> usize {
        kinds.into_iter().map(|id| self.kind(*id).nodes.len()).sum()
    }

    /// `group scaler-spot-a (14 nodes), node ip-10-0-0-1`: where nodes of these kinds are found.
    pub(super) fn places<'a>(&self, kinds: impl IntoIterator<Item = &'a KindId>) -> String {
        let mut groups: BTreeMap<&GroupName, usize> = BTreeMap::new();
        let mut single: Vec<&NodeName> = Vec::new();
        for id in kinds {
            let kind = self.kind(*id);
            match &kind.group {
                Some(group) => *groups.entry(group).or_default() += kind.nodes.len(),
                None => single.extend(&kind.nodes),
            }
        }
        let mut places: Vec<String> = groups
            .iter()
            .map(|(group, count)| {
                format!("group {group} ({})", replank_facts::finding::counted(*count, "node"))
            })
            .collect();
        match single.as_slice() {
            [] => {}
            [only] => places.push(format!("node {only}")),
            [first, rest @ ..] => places.push(format!("node {first} and {} more", rest.len())),
        }
        places.join(", ")
    }
}

/// A node as it is when it has just joined.
fn joined(node: &Node) -> Node {
    let mut node = node.clone();
    node.spec.unschedulable = false;
    node.spec.taints.retain(|taint| !is_passing(taint));
    node
}

/// The group of a node: as the caller names groups, else its node pool.
pub(super) fn group_of(node: &Node, by: &GroupBy) -> Option<GroupName> {
    groups::group_of(node, by)
        .or_else(|| node.meta.labels.get(LABEL_NODE_POOL).map(|pool| GroupName::new(pool.clone())))
}

/// What pods and volumes say of nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Mentions {
    labels: BTreeMap<Text, Mentioned>,
    names: BTreeSet<Text>,
}

/// How much of a label matters.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mentioned {
    /// Whether it is one of these values, or there at all.
    Values(BTreeSet<Text>),
    /// Every value for itself.
    Each,
}

impl Mentions {
    /// Zones and regions decide where volumes can be reached.
    pub(super) fn new() -> Self {
        let mut new = Self::default();
        for key in [LABEL_ZONE, LABEL_REGION] {
            new.labels.insert(Text::from(key), Mentioned::Each);
        }
        new
    }

    pub(super) fn add_spec(&mut self, spec: &PodSpec) {
        for (key, value) in spec.node_selector.pairs() {
            self.add_value(key, value);
        }
        let Some(affinity) = spec.affinity.as_deref() else { return };
        if let Some(node) = &affinity.node_affinity {
            self.add_terms(node.required.iter().flat_map(|required| &required.node_selector_terms));
        }
        let apart = [&affinity.pod_affinity, &affinity.pod_anti_affinity].into_iter().flatten();
        for term in apart.flat_map(|apart| &apart.required) {
            self.add_topology(&term.topology_key);
        }
        for constraint in &spec.topology_spread_constraints {
            self.add_topology(&constraint.topology_key);
        }
    }

    pub(super) fn add_volumes(&mut self, view: &View) {
        for (_, volume) in view.persistent_volumes.unordered() {
            let required = volume.spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
            self.add_terms(required.iter().flat_map(|required| &required.node_selector_terms));
        }
    }

    fn add_terms<'a>(&mut self, terms: impl Iterator<Item = &'a NodeSelectorTerm>) {
        for term in terms {
            for one in &term.match_expressions {
                match one.operator {
                    NodeSelectorOperator::In | NodeSelectorOperator::NotIn => {
                        for value in &one.values {
                            self.add_value(&one.key, value);
                        }
                    }
                    NodeSelectorOperator::Exists | NodeSelectorOperator::DoesNotExist => {
                        self.values_of(&one.key);
                    }
                    NodeSelectorOperator::Gt | NodeSelectorOperator::Lt => {
                        self.labels.insert(one.key.clone(), Mentioned::Each);
                    }
                }
            }
            self.names.extend(term.match_fields.iter().flat_map(|field| field.values.iter().cloned()));
        }
    }

    /// Every node is a domain of its own by its host name, and one stands for all.
    fn add_topology(&mut self, key: &Text) {
        if &**key == LABEL_HOSTNAME {
            self.values_of(key);
        } else {
            self.labels.insert(key.clone(), Mentioned::Each);
        }
    }

    fn add_value(&mut self, key: &Text, value: &Text) {
        if let Some(values) = self.values_of(key) {
            values.insert(value.clone());
        }
    }

    fn values_of(&mut self, key: &Text) -> Option<&mut BTreeSet<Text>> {
        match self.labels.entry(key.clone()).or_insert_with(|| Mentioned::Values(BTreeSet::new())) {
            Mentioned::Values(values) => Some(values),
            Mentioned::Each => None,
        }
    }
}

/// What two nodes share that are of one kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Signature {
    group: Option<GroupName>,
    is_spot: bool,
    /// Labels that somebody mentions: absent, of another value than any mentioned, or the value.
    labels: Vec<Option<Option<Text>>>,
    taints: Vec<(Text, Text, TaintEffect)>,
    amounts: Vec<(Text, i64)>,
    /// The name, where somebody mentions it.
    name: Option<Text>,
}

impl Signature {
    fn of(node: &Node, mentions: &Mentions, by: &GroupBy) -> Self {
        let labels = mentions.labels.iter().map(|(key, mentioned)| {
            let value = node.meta.labels.get(key)?;
            let matters = match mentioned {
                Mentioned::Each => true,
                Mentioned::Values(values) => values.contains(value),
            };
            Some(matters.then(|| value.clone()))
        });
        let taints = node.spec.taints.iter().filter(|taint| !is_passing(taint));
        let mut taints: Vec<_> =
            taints.map(|taint| (taint.key.clone(), taint.value.clone(), taint.effect)).collect();
        taints.sort();
        Self {
            group: group_of(node, by),
            is_spot: capacity::is_spot(node),
            labels: labels.collect(),
            taints,
            amounts: amounts(&node.status.allocatable),
            name: Some(node.meta.name.text().clone()).filter(|name| mentions.names.contains(name)),
        }
    }
}

fn amounts(allocatable: &Resources) -> Vec<(Text, i64)> {
    let rounded = |name: &str, quantity: &Quantity| match name {
        CPU => quantity.milli_value() / MILLI_CPU_STEP,
        MEMORY => quantity.value() / MEMORY_STEP,
        // Disks and counts of pods keep pods off rarely; accelerators and the like do.
        "ephemeral-storage" | "pods" => 0,
        _ => quantity.value(),
    };
    allocatable.iter().map(|(name, quantity)| (name.clone(), rounded(name, quantity))).collect()
}
