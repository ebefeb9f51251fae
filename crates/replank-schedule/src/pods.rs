//! Pods as the engine keeps them: those that take room on a node, and those that are nominated to one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::object::volume::ClaimSource;
use replank_model::text::{Name, NodeName};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::amounts::{ResourceNames, Usage};
use super::ids::{CounterId, LabelId, NodeId, PodId, PodPlace, SpecId};
use super::intern::Interned;
use super::ports::{self, Port};
use super::trial::Assumed;

/// A pod spec, as far as a pod that is on a node needs it compiled.
#[derive(Clone, Debug)]
pub(super) struct SpecEntry {
    /// Keeps the spec alive, so that its address stays its own.
    pub(super) spec: Arc<PodSpec>,
    pub(super) usage: Usage,
    pub(super) ports: Box<[Port]>,
    /// Whether it has terms of attraction or repulsion.
    pub(super) has_terms: bool,
    /// Whether it keeps other pods away.
    pub(super) repels: bool,
    pub(super) priority: i32,
    /// Claims that it uses by name.
    pub(super) claims: Box<[Name]>,
    /// Whether it has volumes that may be attached: claims, generic ephemeral ones, disks.
    pub(super) has_volumes: bool,
}

impl SpecEntry {
    fn new(spec: &Arc<PodSpec>, names: &mut ResourceNames) -> Self {
        let sources = || spec.volumes.iter().map(|volume| &volume.source);
        let claims = || sources().filter_map(|source| source.persistent_volume_claim.as_ref());
        let affinity = spec.affinity.as_deref();
        Self {
            usage: Usage::of_spec(spec, names),
            ports: ports::of(spec),
            has_terms: affinity.is_some_and(|a| a.pod_affinity.is_some() || a.pod_anti_affinity.is_some()),
            repels: affinity
                .and_then(|affinity| affinity.pod_anti_affinity.as_ref())
                .is_some_and(|away| !away.required.is_empty()),
            priority: spec.priority.unwrap_or(0),
            claims: claims().map(|claim: &ClaimSource| claim.claim_name.clone()).collect(),
            has_volumes: sources().any(|source| {
                source.persistent_volume_claim.is_some()
                    || source.ephemeral.is_some()
                    || super::volumes::is_disk(source)
            }),
            spec: spec.clone(),
        }
    }
}

/// Compiled specs. Equal specs in different places are compiled each, and what is costly to keep twice is shared by
/// what it says.
#[derive(Clone, Debug, Default)]
pub(super) struct Specs {
    entries: Interned<usize, SpecEntry>,
}

impl std::ops::Index<SpecId> for Specs {
    type Output = SpecEntry;

    fn index(&self, id: SpecId) -> &SpecEntry {
        self.entries.get(id.0)
    }
}

impl Specs {
    pub(super) fn id(&mut self, spec: &Arc<PodSpec>, names: &mut ResourceNames) -> SpecId {
        let address = Arc::as_ptr(spec) as usize;
        match self.entries.find(&address) {
            Some(id) => SpecId(id),
            None => SpecId(self.entries.insert(address, SpecEntry::new(spec, names))),
        }
    }

    /// Whether a pod of one of them keeps others away.
    pub(super) fn any_repels(&self) -> bool {
        self.entries.values().iter().any(|entry| entry.repels)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// Counters that a pod adds to by the terms it carries, with how much.
pub(super) type Carried = Arc<[(CounterId, i64)]>;

/// A pod that is bound to a node, or taken to be.
#[derive(Clone, Debug)]
pub(super) struct PodEntry {
    pub(super) pod: Arc<Pod>,
    pub(super) node_name: NodeName,
    /// `None` while no such node is known.
    pub(super) node: Option<NodeId>,
    pub(super) spec: SpecId,
    pub(super) labels: LabelId,
    /// What it takes, where that is not what its spec says.
    pub(super) resized: Option<Box<Usage>>,
    pub(super) carried: Option<Carried>,
    /// The class of its plan, once somebody has asked where it could go; void when everything is compiled anew.
    pub(super) class: Option<u32>,
}

/// How many pods have each priority, the lowest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Priorities(SmallVec<[(i32, u32); 2]>);

impl Priorities {
    /// The lowest that some pod has.
    pub(super) fn lowest(&self) -> Option<i32> {
        self.0.first().map(|(priority, _)| *priority)
    }

    pub(super) fn add(&mut self, priority: i32) {
        match self.0.binary_search_by_key(&priority, |(known, _)| *known) {
            Ok(at) => self.0[at].1 += 1,
            Err(at) => self.0.insert(at, (priority, 1)),
        }
    }

    pub(super) fn remove(&mut self, priority: i32) {
        if let Ok(at) = self.0.binary_search_by_key(&priority, |(known, _)| *known) {
            self.0[at].1 -= 1;
            if self.0[at].1 == 0 {
                self.0.remove(at);
            }
        }
    }
}

/// All pods that matter.
#[derive(Clone, Debug, Default)]
pub(super) struct Pods {
    /// Those of the View by their slots there: nothing tells where they are.
    observed: Numbered,
    /// Those that are only taken to be somewhere.
    supposed: Numbered,
    free: Vec<PodId>,
    /// Pods that are taken to be on a node and were not yet observed there.
    pub(super) assumed: FxHashMap<Key, Assumed>,
    /// Pods on nodes that are not known.
    pub(super) stray: FxHashMap<NodeName, Vec<PodId>>,
    /// Pods that are nominated to a node and not bound, by name.
    nominated: BTreeMap<Key, PodEntry>,
    /// Those of each node.
    nominated_to: FxHashMap<NodeName, BTreeSet<Key>>,
    /// Of the pods on known nodes.
    pub(super) priorities: Priorities,
}

/// Pods by the positions in their numbers.
#[derive(Clone, Debug, Default)]
struct Numbered {
    entries: Vec<Option<PodEntry>>,
    /// The position of each in the list of its label class.
    label_places: Vec<u32>,
}

impl Numbered {
    fn put(&mut self, at: usize, entry: PodEntry) {
        if self.entries.len() <= at {
            self.entries.resize(at + 1, None);
            self.label_places.resize(at + 1, 0);
        }
        self.entries[at] = Some(entry);
    }

    fn places(&self) -> impl Iterator<Item = usize> {
        self.entries.iter().enumerate().filter(|(_, entry)| entry.is_some()).map(|(at, _)| at)
    }
}

impl std::ops::Index<PodId> for Pods {
    type Output = PodEntry;

    fn index(&self, id: PodId) -> &PodEntry {
        let entry = match id.place() {
            PodPlace::Observed(at) => &self.observed.entries[at],
            PodPlace::Supposed(at) => &self.supposed.entries[at],
        };
        entry.as_ref().expect("a pod's number is used only while the pod is there")
    }
}

impl std::ops::IndexMut<PodId> for Pods {
    fn index_mut(&mut self, id: PodId) -> &mut PodEntry {
        self.entry(id).as_mut().expect("a pod's number is used only while the pod is there")
    }
}

impl Pods {
    fn entry(&mut self, id: PodId) -> &mut Option<PodEntry> {
        match id.place() {
            PodPlace::Observed(at) => &mut self.observed.entries[at],
            PodPlace::Supposed(at) => &mut self.supposed.entries[at],
        }
    }

    /// The position of a pod in the list of its label class.
    pub(super) fn label_place(&mut self, id: PodId) -> &mut u32 {
        match id.place() {
            PodPlace::Observed(at) => &mut self.observed.label_places[at],
            PodPlace::Supposed(at) => &mut self.supposed.label_places[at],
        }
    }

    /// Puts in a pod of the View with its slot there, or one that is only taken to be somewhere.
    pub(super) fn insert(&mut self, entry: PodEntry, slot: Option<u32>) -> PodId {
        if let Some(slot) = slot {
            let at = slot as usize;
            self.observed.put(at, entry);
            return PodId::new(PodPlace::Observed(at));
        }
        let next = || PodId::new(PodPlace::Supposed(self.supposed.entries.len()));
        let id = self.free.pop().unwrap_or_else(next);
        if let PodPlace::Supposed(at) = id.place() {
            self.supposed.put(at, entry);
        }
        id
    }

    pub(super) fn remove(&mut self, id: PodId) -> PodEntry {
        let entry = self.entry(id).take().expect("a pod is taken out once");
        if let PodPlace::Supposed(_) = id.place() {
            self.free.push(id);
        }
        entry
    }

    pub(super) fn ids(&self) -> Vec<PodId> {
        let observed = self.observed.places().map(PodPlace::Observed);
        observed.chain(self.supposed.places().map(PodPlace::Supposed)).map(PodId::new).collect()
    }

    /// Whether pods are nominated to nodes.
    pub(super) fn has_nominees(&self) -> bool {
        !self.nominated.is_empty()
    }

    /// Whether a pod is among those that are nominated to a node and not bound.
    pub(super) fn is_nominated(&self, pod: &Key) -> bool {
        self.nominated.contains_key(pod)
    }

    /// A pod is nominated to the node of its entry, or to none.
    pub(super) fn nominate(&mut self, key: &Key, entry: Option<PodEntry>) {
        if let Some(old) = self.nominated.remove(key)
            && let Some(keys) = self.nominated_to.get_mut(&old.node_name)
        {
            keys.remove(key);
            if keys.is_empty() {
                self.nominated_to.remove(&old.node_name);
            }
        }
        if let Some(entry) = entry {
            self.nominated_to.entry(entry.node_name.clone()).or_default().insert(key.clone());
            self.nominated.insert(key.clone(), entry);
        }
    }

    /// All pods that are nominated, taken out.
    pub(super) fn take_nominated(&mut self) -> BTreeMap<Key, PodEntry> {
        self.nominated_to.clear();
        std::mem::take(&mut self.nominated)
    }

    /// Pods that are nominated to a node and not taken to be on one.
    pub(super) fn nominees(&self) -> impl Iterator<Item = &PodEntry> {
        self.nominated.iter().filter(|(key, _)| !self.assumed.contains_key(*key)).map(|(_, entry)| entry)
    }

    /// Those of them that are nominated to one node.
    pub(super) fn nominees_of(&self, node: &NodeName) -> impl Iterator<Item = &PodEntry> {
        let keys = self.nominated_to.get(node).into_iter().flatten();
        keys.filter(|key| !self.assumed.contains_key(*key)).filter_map(|key| self.nominated.get(key))
    }

    /// The pod in a slot of the View, if it is known to be on a node.
    pub(super) fn at_slot(&self, slot: u32) -> Option<PodId> {
        let at = slot as usize;
        self.observed.entries.get(at)?.as_ref().map(|_| PodId::new(PodPlace::Observed(at)))
    }
}
