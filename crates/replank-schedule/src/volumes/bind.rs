//! Finding volumes for claims that are bound when their pod is placed.

use std::sync::Arc;

use replank_model::labels::Labels;
use replank_model::object::meta::Key;
use replank_model::object::resources::Resources;
use replank_model::object::volume::{
    CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass, TopologySelectorTerm,
    VolumePhase,
};
use replank_model::quantity::Quantity;
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::Name;
use replank_model::view::View;

use super::attach::class_of;
use super::plan::{UnboundClaim, VolumePlan, affinity_of, selected_node};
use crate::ids::{AffinityId, NodeId};
use crate::world::World;

pub(super) use super::candidate::Candidate;

/// A provisioner that makes no volumes.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// What placing a pod on a node decides about its claims: what must be written before the pod is bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolumeDecisions {
    /// Claims and the volumes they are bound to.
    pub bindings: Vec<(Key, Name)>,
    /// Claims for which a volume is made on the node (annotation `volume.kubernetes.io/selected-node`).
    pub provisions: Vec<Key>,
}

/// Why the claims cannot be bound on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unbindable {
    /// There is no volume, and none can be made.
    NoVolume,
    /// There is too little room to make one.
    NoRoom,
}

impl UnboundClaim {
    pub(super) fn of(
        world: &mut World,
        view: &View,
        claim: &PersistentVolumeClaim,
        class: &Arc<StorageClass>,
    ) -> Self {
        let key = claim.meta.key();
        let bytes = storage(&claim.spec.resources.requests).map(Quantity::value);
        Self {
            selected: selected_node(world, claim, &key),
            candidates: candidates(world, view, claim),
            capacity: bytes.and_then(|bytes| room(view, class, bytes)),
            class: class.clone(),
            bytes,
            key,
        }
    }
}

fn storage(list: &Resources) -> Option<&Quantity> {
    list.get("storage")
}

/// The volumes that a claim could be bound to wherever they can be reached from, best first (`FindMatchingVolume`, all
/// but node affinity). Of volumes of one size upstream takes whichever it finds first; here it is the first by name.
fn candidates(world: &mut World, view: &View, claim: &PersistentVolumeClaim) -> Vec<Candidate> {
    let class = class_of(&claim.meta, claim.spec.storage_class_name.as_ref());
    let zero = Quantity::ZERO;
    let wanted = storage(&claim.spec.resources.requests).unwrap_or(&zero);
    let selector = match &claim.spec.selector {
        None => Selector::everything(),
        Some(selector) => selector.compile().unwrap_or(Selector::Nothing),
    };
    let mode = |mode: &Option<replank_model::text::Text>| mode.as_deref().unwrap_or("Filesystem").to_owned();
    let mut found: Vec<(bool, Quantity, Name, Option<AffinityId>)> = Vec::new();
    for (_, volume) in view.persistent_volumes.unordered() {
        let size = storage(&volume.spec.capacity).unwrap_or(&zero);
        let holder = claim_of(world, volume);
        let is_reserved = holder.as_ref().is_some_and(|holder| holder.is(claim));
        let fits = class_of(&volume.meta, Some(&volume.spec.storage_class_name)) == class
            && (holder.is_none() || is_reserved)
            && size >= wanted
            && mode(&claim.spec.volume_mode) == mode(&volume.spec.volume_mode)
            && claim.spec.volume_attributes_class_name.clone().unwrap_or_default()
                == volume.spec.volume_attributes_class_name.clone().unwrap_or_default()
            && !volume.meta.is_terminating();
        let is_free = volume.status.phase == Some(VolumePhase::Available)
            && selector.matches(|key| volume.meta.labels.value(key))
            && claim.spec.access_modes.iter().all(|mode| volume.spec.access_modes.contains(mode));
        if fits && (is_reserved || is_free) {
            let affinity = affinity_of(world, volume);
            found.push((is_reserved, size.clone(), volume.meta.name.clone(), affinity));
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)).then_with(|| a.2.cmp(&b.2)));
    found
        .into_iter()
        .map(|(is_reserved, _, name, affinity)| Candidate { name, affinity, is_reserved })
        .collect()
}

/// The claim that a volume is bound to, kept for, or promised to.
struct Holder {
    key: Key,
    uid: Option<replank_model::text::Uid>,
}

impl Holder {
    fn is(&self, claim: &PersistentVolumeClaim) -> bool {
        self.key == claim.meta.key() && self.uid.as_ref().is_none_or(|uid| *uid == claim.meta.uid)
    }
}

fn claim_of(world: &World, volume: &PersistentVolume) -> Option<Holder> {
    if let Some(key) = world.volumes.promised.get(&volume.meta.name) {
        return Some(Holder { key: key.clone(), uid: None });
    }
    let claim = volume.spec.claim_ref.as_ref()?;
    let key = Key::new(claim.namespace.clone(), claim.name.clone());
    Some(Holder { key, uid: (!claim.uid.is_empty()).then(|| claim.uid.clone()) })
}

/// Where there is room for a volume of a class; `None` if its provisioner does not tell (`hasEnoughCapacity`).
fn room(view: &View, class: &StorageClass, bytes: i64) -> Option<Vec<Selector>> {
    let driver = view.csi_drivers.by_key(&Key::cluster(class.provisioner.clone()))?;
    if driver.spec.storage_capacity != Some(true) {
        return None;
    }
    let is_enough = |capacity: &CsiStorageCapacity| {
        let limit = capacity.maximum_volume_size.as_ref().or(capacity.capacity.as_ref());
        capacity.storage_class_name == class.meta.name && limit.is_some_and(|limit| limit.value() >= bytes)
    };
    let capacities = view.csi_storage_capacities.unordered().map(|(_, capacity)| capacity);
    let selectors = capacities
        .filter(|capacity| is_enough(capacity))
        .filter_map(|capacity| capacity.node_topology.as_ref().map(LabelSelector::compile)?.ok());
    Some(selectors.collect())
}

impl VolumePlan {
    /// What binding the unbound claims on a node takes (`FindPodVolumes`).
    pub(super) fn decide(&self, world: &World, node: NodeId) -> Result<VolumeDecisions, Unbindable> {
        let entry = &world.nodes[node];
        let mut decided = VolumeDecisions::default();
        let mut to_make: Vec<&UnboundClaim> = Vec::new();
        let mut to_find: Vec<&UnboundClaim> = Vec::new();
        for claim in &self.unbound {
            match &claim.selected {
                Some(selected) if *selected != *entry.name.text() => return Err(Unbindable::NoVolume),
                Some(_) => to_make.push(claim),
                None => to_find.push(claim),
            }
        }
        to_find.sort_by_key(|claim| claim.bytes.unwrap_or(0));
        for claim in to_find {
            match self.find_volume(world, claim, node, &decided) {
                Some(volume) => decided.bindings.push((claim.key.clone(), volume)),
                None => to_make.push(claim),
            }
        }
        for claim in to_make {
            claim.can_be_made(&entry.node.meta.labels)?;
            decided.provisions.push(claim.key.clone());
        }
        Ok(decided)
    }

    fn find_volume(
        &self,
        world: &World,
        claim: &UnboundClaim,
        node: NodeId,
        decided: &VolumeDecisions,
    ) -> Option<Name> {
        for candidate in &claim.candidates {
            if decided.bindings.iter().any(|(_, taken)| *taken == candidate.name) {
                continue;
            }
            let reaches = candidate.affinity.is_none_or(|affinity| world.eligibles.matches(affinity, node));
            if candidate.is_reserved {
                // Kept for this claim: it is this one or none.
                return reaches.then(|| candidate.name.clone());
            }
            if reaches {
                return Some(candidate.name.clone());
            }
        }
        None
    }
}

impl UnboundClaim {
    /// Whether a volume can be made for the claim on a node (`checkVolumeProvisions`).
    fn can_be_made(&self, labels: &Labels) -> Result<(), Unbindable> {
        if self.class.provisioner.is_empty() || &*self.class.provisioner == NO_PROVISIONER {
            return Err(Unbindable::NoVolume);
        }
        if !topology_matches(&self.class.allowed_topologies, labels) {
            return Err(Unbindable::NoVolume);
        }
        match &self.capacity {
            Some(places) if !places.iter().any(|place| place.matches(|key| labels.value(key))) => {
                Err(Unbindable::NoRoom)
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Whether a node is among the topologies that a class allows (`MatchTopologySelectorTerms`).
fn topology_matches(terms: &[TopologySelectorTerm], labels: &Labels) -> bool {
    terms.is_empty()
        || terms.iter().any(|term| {
            !term.match_label_expressions.is_empty()
                && term
                    .match_label_expressions
                    .iter()
                    .all(|wanted| labels.get(&wanted.key).is_some_and(|value| wanted.values.contains(value)))
        })
}
