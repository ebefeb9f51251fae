//! Nodes as the engine keeps them, and the log of what changed on them.

use std::sync::Arc;

use replank_model::object::node::{ContainerImage, Node};
use replank_model::text::{self, NodeName, Text};
use rustc_hash::FxHashMap;

use super::amounts::{Amounts, ResourceNames, Room, Usage};
use super::ids::{ImageId, NodeId, PartId, PodId};
use super::pods::Priorities;
use super::ports::Port;

/// The part of a node's state that is read most: close together, so that many nodes fit into the processor's cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    /// Milli-cpu, bytes of memory and of ephemeral storage that are there.
    pub(super) room: [i64; 3],
    /// Milli-cpu, bytes of memory and of ephemeral storage that are taken.
    pub(super) used: [i64; 3],
    /// Milli-cpu and bytes that LeastAllocated reckons with.
    pub(super) assumed: [i64; 2],
    /// How many pods the node takes, and how many it has.
    pub(super) pods_max: i64,
    pub(super) pods: i64,
}

impl Load {
    fn of(entry: &NodeEntry) -> Self {
        let three = |amounts: &Amounts| [amounts.milli_cpu, amounts.memory, amounts.ephemeral];
        Self {
            room: three(&entry.room.amounts),
            used: three(&entry.used),
            assumed: [entry.assumed.0, entry.assumed.1],
            pods_max: entry.room.pods,
            pods: i64::try_from(entry.pods.len()).expect("a node has few pods"),
        }
    }
}

/// A node, what it offers and what of it is taken.
#[derive(Clone, Debug)]
pub(super) struct NodeEntry {
    pub(super) node: Arc<Node>,
    pub(super) name: NodeName,
    pub(super) room: Room,
    pub(super) used: Amounts,
    /// Milli-cpu and bytes that LeastAllocated reckons with.
    pub(super) assumed: (i64, i64),
    pub(super) pods: Vec<PodId>,
    /// Of the pods.
    pub(super) priorities: Priorities,
    /// Ports of the host in use, each as often as pods have it.
    pub(super) ports: Vec<Port>,
    /// Images on the node, sorted.
    pub(super) images: Vec<ImageId>,
    /// Declared abilities that pods can need, a bit each.
    pub(super) features: u8,
    /// A what-if question takes the node out.
    pub(super) is_excluded: bool,
    /// The node's domains in the coarse topologies.
    pub(super) part: PartId,
}

impl NodeEntry {
    pub(super) fn new(node: Arc<Node>, names: &mut ResourceNames) -> Self {
        let name = node.name();
        Self {
            room: room(&node, names),
            features: features(&node.status.declared_features),
            node,
            name,
            used: Amounts::default(),
            assumed: (0, 0),
            pods: Vec::new(),
            priorities: Priorities::default(),
            ports: Vec::new(),
            images: Vec::new(),
            is_excluded: false,
            part: PartId(0),
        }
    }

    pub(super) fn take(&mut self, usage: &Usage, sign: i64) {
        self.used.add(&usage.amounts, sign);
        let sum = |known: i64, amount: i64| known.wrapping_add(amount.wrapping_mul(sign));
        self.assumed.0 = sum(self.assumed.0, usage.assumed.0);
        self.assumed.1 = sum(self.assumed.1, usage.assumed.1);
    }
}

/// What a node offers; a node that does not say what is allocatable offers all it has (`SetDefaults_NodeStatus`).
pub(super) fn room(node: &Node, names: &mut ResourceNames) -> Room {
    let status = &node.status;
    Room::of(if status.allocatable.is_empty() { &status.capacity } else { &status.allocatable }, names)
}

/// Whether two states of a node name the same images, of which there are many: their texts are mostly the same ones.
pub(super) fn have_same_images(a: &Node, b: &Node) -> bool {
    let (a, b) = (&a.status.images, &b.status.images);
    let is_same = |(a, b): (&ContainerImage, &ContainerImage)| {
        a.size_bytes == b.size_bytes
            && a.names.len() == b.names.len()
            && a.names.iter().zip(&b.names).all(|(a, b)| text::same(a, b))
    };
    a.is_same(b) || a.len() == b.len() && a.iter().zip(b).all(is_same)
}

/// Abilities that a pod can need, sorted (component-helpers 1.36 `nodedeclaredfeatures/features/registry.go`).
pub(super) const FEATURES: [&str; 5] = [
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
];

/// The declared abilities that are known. The list is taken to be sorted, as upstream takes it: what stands out of
/// order may go unseen (`FeatureMapper.TryMap`).
pub(super) fn features(declared: &[Text]) -> u8 {
    let mut found = 0;
    let mut known = 0;
    let mut declared = declared.iter().peekable();
    while let (Some(name), Some(feature)) = (declared.peek(), FEATURES.get(known)) {
        match (***name).cmp(feature) {
            std::cmp::Ordering::Equal => {
                found |= 1 << known;
                known += 1;
                declared.next();
            }
            std::cmp::Ordering::Less => {
                declared.next();
            }
            std::cmp::Ordering::Greater => known += 1,
        }
    }
    found
}

/// FNV-1a of a name.
pub(super) fn hash_text(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Scatters a number (the output function of SplitMix64).
pub(super) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// All nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Nodes {
    entries: Vec<Option<NodeEntry>>,
    free: Vec<NodeId>,
    by_name: FxHashMap<NodeName, NodeId>,
    loads: Vec<Load>,
    /// Hash of each name: what ties are broken by.
    hashes: Vec<u64>,
    pub(super) log: Log,
}

impl Nodes {
    pub(super) fn find(&self, name: &NodeName) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    pub(super) fn get(&self, id: NodeId) -> Option<&NodeEntry> {
        self.entries.get(id.at()).and_then(Option::as_ref)
    }

    /// All ids, sorted by name.
    pub(super) fn sorted(&self) -> Vec<NodeId> {
        let mut all: Vec<NodeId> = self.ids().collect();
        all.sort_by(|a, b| self[*a].name.cmp(&self[*b].name));
        all
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = NodeId> + '_ {
        (0..self.entries.len()).filter(|at| self.entries[*at].is_some()).map(NodeId::new)
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// One more than the largest number ever given.
    pub(super) fn slots(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn insert(&mut self, entry: NodeEntry) -> NodeId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            NodeId::new(self.entries.len() - 1)
        });
        if self.loads.len() <= id.at() {
            self.loads.resize(id.at() + 1, Load::default());
            self.hashes.resize(id.at() + 1, 0);
        }
        self.hashes[id.at()] = hash_text(entry.name.as_str());
        self.by_name.insert(entry.name.clone(), id);
        self.entries[id.at()] = Some(entry);
        id
    }

    /// What is read most of a node.
    pub(super) fn load(&self, id: NodeId) -> &Load {
        &self.loads[id.at()]
    }

    /// The lot of a node in a draw. Two nodes have the same only if their names' hashes are the same.
    pub(super) fn lot(&self, id: NodeId, draw: u64) -> u64 {
        mix(draw ^ self.hashes[id.at()])
    }

    /// The one of some nodes that a draw decides for.
    pub(super) fn drawn(&self, nodes: &[NodeId], draw: u64) -> Option<NodeId> {
        let mut best: Option<(u64, NodeId)> = None;
        for &id in nodes {
            let lot = self.lot(id, draw);
            let is_better = best.is_none_or(|(least, known)| {
                lot < least || (lot == least && self[id].name < self[known].name)
            });
            if is_better {
                best = Some((lot, id));
            }
        }
        best.map(|(_, id)| id)
    }

    /// Notes that a node changed.
    pub(super) fn touch(&mut self, id: NodeId, what: Touched) {
        if let Some(entry) = &self.entries[id.at()] {
            self.loads[id.at()] = Load::of(entry);
        }
        self.log.push(id, what);
    }

    pub(super) fn remove(&mut self, id: NodeId) -> Option<NodeEntry> {
        let entry = self.entries.get_mut(id.at())?.take()?;
        self.by_name.remove(&entry.name);
        self.free.push(id);
        Some(entry)
    }
}

impl std::ops::Index<NodeId> for Nodes {
    type Output = NodeEntry;

    fn index(&self, id: NodeId) -> &NodeEntry {
        self.entries[id.at()].as_ref().expect("a node's number is used only while the node is there")
    }
}

impl std::ops::IndexMut<NodeId> for Nodes {
    fn index_mut(&mut self, id: NodeId) -> &mut NodeEntry {
        self.entries[id.at()].as_mut().expect("a node's number is used only while the node is there")
    }
}

/// Which nodes changed, in order: caches read on from where they were. The first entry is 1, so that a cache which has
/// read nothing stands at 0.
#[derive(Clone, Debug)]
pub(super) struct Log {
    /// Nodes, the first of them at `start`.
    changed: Vec<NodeId>,
    start: u64,
    /// Where each node was changed last.
    latest: Vec<u64>,
    /// The entries of nodes whose own object (not their pods) changed, with their places.
    of_themselves: Vec<(u64, NodeId)>,
}

/// What changed on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touched {
    /// Its pods.
    Pods,
    /// The node itself: labels, taints, room, or whether it is there.
    Itself,
}

impl Default for Log {
    fn default() -> Self {
        Self { changed: Vec::new(), start: 1, latest: Vec::new(), of_themselves: Vec::new() }
    }
}

impl Log {
    /// Where the next entry will be.
    pub(super) fn end(&self) -> u64 {
        self.start + self.changed.len() as u64
    }

    /// Notes a change.
    pub(super) fn push(&mut self, node: NodeId, what: Touched) {
        let at = self.end();
        if self.latest.len() <= node.at() {
            self.latest.resize(node.at() + 1, 0);
        }
        self.latest[node.at()] = at;
        match what {
            Touched::Pods => {}
            Touched::Itself => self.of_themselves.push((at, node)),
        }
        self.changed.push(node);
        // A reader that is further behind than twice the number of nodes starts over: that is cheaper.
        let keep = 2 * self.latest.len().max(512);
        if self.changed.len() > 2 * keep {
            let gone = self.changed.len() - keep;
            self.changed.drain(..gone);
            self.start += gone as u64;
            let gone = self.of_themselves.partition_point(|(at, _)| *at < self.start);
            self.of_themselves.drain(..gone);
        }
    }

    /// The nodes changed since `from`, each once; `None` if that is too long ago.
    pub(super) fn since(&self, from: u64) -> Option<impl Iterator<Item = NodeId> + '_> {
        let skip = usize::try_from(from.checked_sub(self.start)?).ok()?;
        let first = self.start + skip as u64;
        let entries = (first..).zip(self.changed.get(skip..)?);
        Some(entries.filter(|(at, node)| self.latest[node.at()] == *at).map(|(_, node)| *node))
    }

    /// The nodes whose own object changed since `from`, perhaps more than once; `None` if that is too long ago.
    pub(super) fn of_themselves_since(&self, from: u64) -> Option<impl Iterator<Item = NodeId> + '_> {
        let entries = &self.of_themselves[self.of_themselves.partition_point(|(at, _)| *at < from)..];
        (from >= self.start).then(|| entries.iter().map(|(_, node)| *node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_tells_each_changed_node_once() {
        let mut log = Log::default();
        for node in [1, 2, 1, 3] {
            log.push(NodeId(node), Touched::Pods);
        }
        let since =
            |log: &Log, from| log.since(from).map(|nodes| nodes.map(|node| node.0).collect::<Vec<_>>());
        assert_eq!(since(&log, 0), None);
        assert_eq!(since(&log, 1), Some(vec![2, 1, 3]));
        assert_eq!(since(&log, 4), Some(vec![3]));
        assert_eq!(since(&log, 5), Some(vec![]));
        for _ in 0..10_000 {
            log.push(NodeId(1), Touched::Itself);
        }
        assert_eq!(since(&log, 3), None);
        assert_eq!(since(&log, log.end() - 1), Some(vec![1]));
        let of_themselves = |from| log.of_themselves_since(from).map(Iterator::count);
        assert_eq!((of_themselves(3), of_themselves(log.end() - 1)), (None, Some(1)));
    }

    #[test]
    fn declared_features_are_read_as_a_sorted_list() {
        let texts = |names: &[&str]| names.iter().map(|name| Text::from(*name)).collect::<Vec<_>>();
        assert_eq!(features(&texts(&["A", FEATURES[3], FEATURES[4], "Z"])), 0b11000);
        assert_eq!(features(&texts(&[FEATURES[4], FEATURES[3]])), 0b10000);
    }
}
