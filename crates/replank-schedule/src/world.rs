//! What the engine knows of the cluster, and what it counts of it. Everything here follows from the objects observed and
//! the what-if changes made; nothing is decided.

use std::sync::Arc;

use replank_model::labels::Labels;
use replank_model::object::affinity::PodAffinity;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::object::volume::CsiNode;
use replank_model::text::{Namespace, NodeName, Text};
use rustc_hash::FxHashMap;

use super::amounts::{ResourceNames, Usage};
use super::counters::Counters;
use super::eligible::Eligibles;
use super::ids::{CounterId, EligibleId, LabelId, NodeId, PodId, SpecId, SumId, TopologyId};
use super::images::Images;
use super::labels::{Counting, LabelClasses, MatchKey, TermKind};
use super::nodes::{NodeEntry, Nodes, Touched};
use super::owners::Owners;
use super::pods::{Carried, PodEntry, Pods, Specs};
use super::scope::PodTerm;
use super::services::Services;
use super::topology::Topologies;
use super::volumes::VolumeTables;

/// Specs and label classes that may pile up before those in use are told from the others.
const SPARE_CLASSES: usize = 4096;

/// What is known and counted.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) resources: ResourceNames,
    pub(super) nodes: Nodes,
    pub(super) pods: Pods,
    pub(super) specs: Specs,
    pub(super) labels: LabelClasses,
    pub(super) topologies: Topologies,
    pub(super) eligibles: Eligibles,
    pub(super) counters: Counters,
    pub(super) images: Images,
    pub(super) services: Services,
    pub(super) owners: Owners,
    pub(super) volumes: VolumeTables,
    carried: FxHashMap<(SpecId, LabelId), Carried>,
    compare_numbers: bool,
    /// Counts how often everything was compiled anew: numbers given before are void.
    pub(super) epoch: u32,
    classes_max: usize,
}

impl World {
    pub(super) fn new(compare_numbers: bool) -> Self {
        Self {
            resources: ResourceNames::default(),
            nodes: Nodes::default(),
            pods: Pods::default(),
            specs: Specs::default(),
            labels: LabelClasses::default(),
            topologies: Topologies::default(),
            eligibles: Eligibles::new(compare_numbers),
            counters: Counters::default(),
            images: Images::default(),
            services: Services::default(),
            owners: Owners::default(),
            volumes: VolumeTables::default(),
            carried: FxHashMap::default(),
            compare_numbers,
            epoch: 0,
            classes_max: SPARE_CLASSES,
        }
    }

    pub(super) fn topology(&mut self, key: &Text) -> TopologyId {
        self.topologies.register(key, &mut self.nodes)
    }

    pub(super) fn counter(&mut self, key: MatchKey) -> CounterId {
        let mut with = Counting {
            counters: &mut self.counters,
            topologies: &self.topologies,
            eligibles: &self.eligibles,
        };
        self.labels.counter(key, &self.pods, &mut with)
    }

    pub(super) fn sum(&mut self, counter: CounterId, topology: TopologyId, eligible: EligibleId) -> SumId {
        self.counters.sum(counter, topology, eligible, &self.topologies, &self.eligibles)
    }

    // Nodes.

    /// A node is there and looks like this.
    pub(super) fn put_node(&mut self, node: Arc<Node>) -> NodeId {
        if let Some(id) = self.nodes.find(&node.name()) {
            self.change_node(id, node);
            return id;
        }
        let mut entry = NodeEntry::new(node, &mut self.resources);
        self.images.count(&entry.node, true);
        entry.images = self.images.of_node(&entry.node);
        let name = entry.name.clone();
        let id = self.nodes.insert(entry);
        self.topologies.enter(id, &mut self.nodes);
        self.eligibles.enter(id, &self.nodes, &self.topologies);
        self.volumes.forget_node(id);
        self.nodes.touch(id, Touched::Itself);
        for pod in self.pods.stray.remove(&name).unwrap_or_default() {
            self.settle(pod, id);
        }
        id
    }

    fn change_node(&mut self, id: NodeId, node: Arc<Node>) {
        let old = self.nodes[id].node.clone();
        if Arc::ptr_eq(&old, &node) {
            return;
        }
        let has_same_taints = old.spec.taints == node.spec.taints;
        let has_same_images = super::nodes::have_same_images(&old, &node);
        let is_as_large =
            old.status.allocatable == node.status.allocatable && old.status.capacity == node.status.capacity;
        let has_same_features = old.status.declared_features == node.status.declared_features;
        // Its pods count elsewhere where it is in other domains, or in or out of a set of nodes for its taints.
        let is_moved = old.meta.labels != node.meta.labels
            || !has_same_taints && self.eligibles.is_moved_by(id, &node.spec.taints);
        let is_same = !is_moved
            && has_same_taints
            && old.spec.unschedulable == node.spec.unschedulable
            && has_same_images
            && is_as_large
            && has_same_features;
        if is_moved {
            self.lift(id);
        }
        if !has_same_images {
            self.images.count(&old, false);
            self.images.count(&node, true);
            self.nodes[id].images = self.images.of_node(&node);
        }
        let entry = &mut self.nodes[id];
        if !is_as_large {
            entry.room = super::nodes::room(&node, &mut self.resources);
        }
        if !has_same_features {
            entry.features = super::nodes::features(&node.status.declared_features);
        }
        entry.node = node;
        if is_moved {
            self.put_down(id);
        } else if !has_same_taints {
            self.eligibles.change_taints(id, &self.nodes[id]);
        }
        if !is_same {
            self.nodes.touch(id, Touched::Itself);
        }
    }

    /// A node is gone. Its pods are still bound to its name.
    pub(super) fn remove_node(&mut self, id: NodeId) {
        let pods = self.nodes[id].pods.clone();
        for pod in &pods {
            self.unsettle(*pod);
        }
        self.topologies_leave(id);
        if let Some(entry) = self.nodes.remove(id) {
            self.images.count(&entry.node, false);
            self.pods.stray.entry(entry.name).or_default().extend(pods);
        }
        self.volumes.forget_node(id);
        self.nodes.touch(id, Touched::Itself);
    }

    /// Takes a node's pods out of all counts, and the node out of its domains.
    fn lift(&mut self, id: NodeId) {
        for pod in self.nodes[id].pods.clone() {
            self.count(pod, id, -1);
        }
        self.topologies_leave(id);
    }

    fn put_down(&mut self, id: NodeId) {
        self.topologies.enter(id, &mut self.nodes);
        self.eligibles.enter(id, &self.nodes, &self.topologies);
        for pod in self.nodes[id].pods.clone() {
            self.count(pod, id, 1);
        }
    }

    fn topologies_leave(&mut self, id: NodeId) {
        self.eligibles.leave(id, &self.topologies);
        self.topologies.leave(id);
    }

    // Pods.

    /// A pod takes room on a node, whether that is known or not. It has a slot if the View has it there.
    pub(super) fn add_pod(&mut self, pod: &Arc<Pod>, node: &NodeName, slot: Option<u32>) -> PodId {
        let entry = self.pod_entry(pod, node);
        self.put_in(entry, slot)
    }

    /// Puts a pod back that was taken out when the epoch was this.
    pub(super) fn put_back(&mut self, entry: PodEntry, epoch: u32, slot: Option<u32>) -> PodId {
        if epoch == self.epoch {
            self.put_in(entry, slot)
        } else {
            self.add_pod(&entry.pod, &entry.node_name, slot)
        }
    }

    fn put_in(&mut self, entry: PodEntry, slot: Option<u32>) -> PodId {
        let node = self.nodes.find(&entry.node_name);
        let name = node.is_none().then(|| entry.node_name.clone());
        let id = self.pods.insert(entry, slot);
        if let Some(node) = node {
            self.settle(id, node);
        }
        if let Some(name) = name {
            self.pods.stray.entry(name).or_default().push(id);
        }
        id
    }

    fn pod_entry(&mut self, pod: &Arc<Pod>, node: &NodeName) -> PodEntry {
        let spec = self.specs.id(&pod.spec, &mut self.resources);
        let labels = self.labels.id(&pod.meta.namespace, &pod.meta.labels);
        PodEntry {
            pod: pod.clone(),
            node_name: node.clone(),
            node: None,
            spec,
            labels,
            resized: self.resized(pod, spec),
            carried: self.carried(spec, labels),
            class: None,
        }
    }

    /// What a pod takes, where that is not what its spec says.
    pub(super) fn resized(&mut self, pod: &Pod, spec: SpecId) -> Option<Box<Usage>> {
        let usage = Usage::of_resized(pod, &mut self.resources)?;
        (usage != self.specs[spec].usage).then(|| Box::new(usage))
    }

    /// A pod is nominated to a node, or no longer to any.
    pub(super) fn nominate(&mut self, key: &Key, pod: Option<&Arc<Pod>>) {
        let nominated = pod.and_then(|pod| Some((pod, pod.status.nominated_node_name.clone()?)));
        let entry = nominated.map(|(pod, node)| self.pod_entry(pod, &node));
        self.pods.nominate(key, entry);
    }

    /// A pod that takes what it did has changed: whether it is on its way out is what may count.
    pub(super) fn change_pod(&mut self, id: PodId, pod: &Arc<Pod>) {
        let entry = &mut self.pods[id];
        let was_leaving = entry.pod.is_terminating();
        if !entry.pod.meta.owner_references.is_same(&pod.meta.owner_references) {
            entry.class = None;
        }
        entry.pod = pod.clone();
        let Some(node) = entry.node.filter(|_| was_leaving != pod.is_terminating()) else { return };
        let mut with = Counting {
            counters: &mut self.counters,
            topologies: &self.topologies,
            eligibles: &self.eligibles,
        };
        let sign = if was_leaving { 1 } else { -1 };
        self.labels.count_staying(self.pods[id].labels, node, sign, &mut with);
        if self.specs[self.pods[id].spec].has_volumes {
            self.volumes.forget_node(node);
        }
        self.nodes.touch(node, Touched::Pods);
    }

    /// A pod takes no room any more.
    pub(super) fn remove_pod(&mut self, id: PodId) -> PodEntry {
        let entry = &self.pods[id];
        if entry.node.is_some() {
            self.unsettle(id);
        } else if let Some(list) = self.pods.stray.get_mut(&entry.node_name.clone()) {
            list.retain(|pod| *pod != id);
        }
        self.pods.remove(id)
    }

    /// Puts a pod onto a known node.
    fn settle(&mut self, id: PodId, node: NodeId) {
        self.pods[id].node = Some(node);
        let entry = &self.pods[id];
        let spec = &self.specs[entry.spec];
        let on = &mut self.nodes[node];
        on.take(entry.resized.as_deref().unwrap_or(&spec.usage), 1);
        on.ports.extend(spec.ports.iter().cloned());
        on.pods.push(id);
        let priority = spec.priority;
        on.priorities.add(priority);
        self.volumes.use_claims(&entry.pod.meta.namespace, &spec.claims, 1);
        if spec.has_volumes {
            self.volumes.forget_node(node);
        }
        let labels = entry.labels;
        self.pods.priorities.add(priority);
        self.labels.enter(labels, id, &mut self.pods);
        self.count(id, node, 1);
        self.nodes.touch(node, Touched::Pods);
    }

    fn unsettle(&mut self, id: PodId) {
        let Some(node) = self.pods[id].node else { return };
        self.count(id, node, -1);
        self.pods[id].node = None;
        let labels = self.pods[id].labels;
        self.labels.leave(labels, id, &mut self.pods);
        let entry = &self.pods[id];
        let spec = &self.specs[entry.spec];
        let on = &mut self.nodes[node];
        on.take(entry.resized.as_deref().unwrap_or(&spec.usage), -1);
        for port in &spec.ports {
            if let Some(at) = on.ports.iter().position(|known| known == port) {
                on.ports.swap_remove(at);
            }
        }
        if let Some(at) = on.pods.iter().position(|pod| *pod == id) {
            on.pods.swap_remove(at);
        }
        let priority = spec.priority;
        on.priorities.remove(priority);
        self.volumes.use_claims(&entry.pod.meta.namespace, &spec.claims, -1);
        if spec.has_volumes {
            self.volumes.forget_node(node);
        }
        self.pods.priorities.remove(priority);
        self.nodes.touch(node, Touched::Pods);
    }

    /// Counts a pod on a node wherever it counts, or with a negative sign no longer.
    fn count(&mut self, id: PodId, node: NodeId, sign: i64) {
        let entry = &self.pods[id];
        let mut with = Counting {
            counters: &mut self.counters,
            topologies: &self.topologies,
            eligibles: &self.eligibles,
        };
        self.labels.count(entry.labels, !entry.pod.is_terminating(), node, sign, &mut with);
        for (counter, weight) in entry.carried.iter().flat_map(|carried| carried.iter()) {
            with.counters.add(*counter, node, sign * weight, with.topologies, with.eligibles);
        }
    }

    /// The counters that pods of a spec and a label class add to by the affinity terms they carry. The class tells their namespace.
    pub(super) fn carried(&mut self, spec: SpecId, labels: LabelId) -> Option<Carried> {
        if !self.specs[spec].has_terms {
            return None;
        }
        let key = (spec, labels);
        if let Some(known) = self.carried.get(&key) {
            return Some(known.clone());
        }
        let namespace = &self.labels[labels].namespace;
        let affinity = self.specs[spec].spec.affinity.clone()?;
        let empty = PodAffinity::default();
        let toward = affinity.pod_affinity.as_ref().unwrap_or(&empty);
        let away = affinity.pod_anti_affinity.as_ref().unwrap_or(&empty);
        // A list with a term that cannot be read counts as empty, as upstream's does.
        let required = |affinity: &PodAffinity| {
            PodTerm::compile_all(affinity.required.iter(), namespace).unwrap_or_default()
        };
        let preferred = |affinity: &PodAffinity| {
            let terms = affinity.preferred.iter().map(|term| &term.pod_affinity_term);
            let terms = PodTerm::compile_all(terms, namespace).unwrap_or_default();
            let weights = affinity.preferred.iter().map(|term| term.weight);
            terms.into_iter().zip(weights).collect::<Vec<_>>()
        };
        let mut all: Vec<(TermKind, PodTerm, i64)> = Vec::new();
        all.extend(required(away).into_iter().map(|term| (TermKind::Repels, term, 1)));
        // InterPodAffinityArgs.hardPodAffinityWeight is 1.
        all.extend(required(toward).into_iter().map(|term| (TermKind::Attracts, term, 1)));
        all.extend(preferred(toward).into_iter().map(|(term, weight)| (TermKind::Attracts, term, weight)));
        all.extend(preferred(away).into_iter().map(|(term, weight)| (TermKind::Deters, term, weight)));
        let carried: Vec<(CounterId, i64)> = all
            .into_iter()
            .map(|(kind, term, weight)| {
                let topology = self.topology(&term.topology_key);
                let mut with = Counting {
                    counters: &mut self.counters,
                    topologies: &self.topologies,
                    eligibles: &self.eligibles,
                };
                let id = self.labels.term(kind, term, topology, &mut with);
                (self.labels[id].counter, weight)
            })
            .collect();
        let carried: Carried = carried.into();
        self.carried.insert(key, carried.clone());
        Some(carried)
    }

    // Everything else.

    /// Labels of a namespace, or that it is gone. Selectors that look at labels of namespaces are asked anew.
    pub(super) fn put_namespace(&mut self, name: &Namespace, labels: Option<&Labels>) {
        let is_same = self.labels.namespaces.get(name) == labels;
        match labels {
            Some(labels) => self.labels.namespaces.insert(name.clone(), labels.clone()),
            None => self.labels.namespaces.remove(name),
        };
        if !is_same && self.labels.looks_at_namespaces {
            self.compile_anew();
        }
    }

    /// Takes it that a node attaches this.
    pub(super) fn suppose_csi_node(&mut self, name: NodeName, csi: CsiNode) {
        if let Some(id) = self.nodes.find(&name) {
            self.volumes.forget_node(id);
        }
        self.volumes.suppose(name, csi);
    }

    /// Takes it that nothing is known of what a node attaches, the View aside.
    pub(super) fn suppose_no_csi_node(&mut self, name: &NodeName) {
        if let Some(id) = self.nodes.find(name) {
            self.volumes.forget_node(id);
        }
        self.volumes.suppose_no_longer(name);
    }

    /// Drops unused specs and classes once there are many.
    pub(super) fn tidy(&mut self) {
        if self.specs.len() + self.labels.len() > self.classes_max {
            self.compile_anew();
            self.note_classes_in_use();
        }
    }

    /// All specs and classes are in use: as many again may come before any of them are looked for that are not.
    pub(super) fn note_classes_in_use(&mut self) {
        self.classes_max = SPARE_CLASSES + 2 * (self.specs.len() + self.labels.len());
    }

    /// Compiles everything from the nodes and pods that are there.
    fn compile_anew(&mut self) {
        let mut fresh = Self::new(self.compare_numbers);
        fresh.epoch = self.epoch + 1;
        fresh.labels.namespaces = std::mem::take(&mut self.labels.namespaces);
        fresh.services = std::mem::take(&mut self.services);
        fresh.owners = std::mem::take(&mut self.owners);
        fresh.volumes = std::mem::take(&mut self.volumes);
        fresh.resources = std::mem::take(&mut self.resources);
        fresh.images = std::mem::take(&mut self.images);
        fresh.nodes = std::mem::take(&mut self.nodes);
        fresh.pods = std::mem::take(&mut self.pods);
        fresh.classes_max = self.classes_max;
        *self = fresh;
        let nodes: Vec<NodeId> = self.nodes.ids().collect();
        for id in &nodes {
            self.topologies.enter(*id, &mut self.nodes);
            self.eligibles.enter(*id, &self.nodes, &self.topologies);
        }
        for id in self.pods.ids() {
            let pod = self.pods[id].pod.clone();
            let spec = self.specs.id(&pod.spec, &mut self.resources);
            let labels = self.labels.id(&pod.meta.namespace, &pod.meta.labels);
            let carried = self.carried(spec, labels);
            let entry = &mut self.pods[id];
            (entry.spec, entry.labels, entry.carried, entry.class) = (spec, labels, carried, None);
            if let Some(node) = entry.node {
                self.labels.enter(labels, id, &mut self.pods);
                self.count(id, node, 1);
            }
        }
        for (key, entry) in self.pods.take_nominated() {
            self.nominate(&key, Some(&entry.pod));
        }
    }

    /// The priority of a pod that is known.
    pub(super) fn priority(&self, entry: &PodEntry) -> i32 {
        self.specs[entry.spec].priority
    }

    /// The pods nominated to a node that come before `pod`, or beside it.
    pub(super) fn nominated_before<'a>(
        &'a self,
        node: &'a NodeName,
        pod: &'a Pod,
    ) -> impl Iterator<Item = &'a PodEntry> {
        let priority = pod.spec.priority.unwrap_or(0);
        self.pods
            .nominees_of(node)
            .filter(move |entry| self.priority(entry) >= priority && entry.pod.meta.uid != pod.meta.uid)
    }
}
