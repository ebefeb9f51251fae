//! What a pod's volumes ask for, before any node is looked at.

use std::sync::Arc;

use replank_model::object::meta::Key;
use replank_model::object::node::{LABEL_REGION, LABEL_ZONE};
use replank_model::object::pod::Pod;
use replank_model::object::volume::{
    AccessMode, ClaimPhase, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeBindingMode,
};
use replank_model::text::{Name, Text};
use replank_model::view::View;

use super::attach::{Handle, class_of, sorted_handles};
use super::bind::Candidate;
use super::check::is_restricted;
use super::translate::{BETA_REGION, BETA_ZONE, Kind, ZONES_SEPARATOR, is_migratable, translated_affinity};
use crate::eligible::AffinityKey;
use crate::ids::AffinityId;
use crate::plugin::{Plugin, Reason};
use crate::world::World;

pub(super) use super::claim_name::{BETA_STORAGE_CLASS, claim_name};
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// A pod is refused as a whole; removing pods does not help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Refusal {
    pub(in super::super) plugin: Plugin,
    pub(in super::super) reason: Reason,
}

/// What a pod's volumes ask for. Its default is a pod without any.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct VolumePlan {
    /// Whether it has disks that conflict with others' on the same node.
    pub(super) has_disks: bool,
    /// Claims that only one pod may use.
    pub(in super::super) exclusive: Vec<Name>,
    /// How many of those are in use.
    pub(in super::super) taken: i64,
    /// Whether limits of attachment are looked at.
    pub(super) may_attach: bool,
    /// A claim that could not be looked up.
    pub(super) missing: Option<Key>,
    pub(super) handles: Vec<Handle>,
    /// Whether there are claims.
    has_claims: bool,
    pub(super) bound: Vec<BoundClaim>,
    pub(super) unbound: Vec<UnboundClaim>,
    /// Zone labels that a node must have, with the values allowed.
    pub(super) zones: Vec<(&'static str, Vec<Text>)>,
    /// Whether it has claims that are named after the pod.
    has_own: bool,
}

/// A claim that is bound.
#[derive(Clone, Debug)]
pub(super) enum BoundClaim {
    /// Its volume does not exist.
    Gone,
    /// Its volume has this node affinity.
    Volume {
        affinity: Option<AffinityId>,
        /// On nodes where this old kind of disk is served by its CSI driver, this node affinity.
        migrated: Option<(Kind, Option<AffinityId>)>,
    },
}

/// A claim that is bound when its pod is placed.
#[derive(Clone, Debug)]
pub(super) struct UnboundClaim {
    pub(super) key: Key,
    /// The node that was chosen for it before.
    pub(super) selected: Option<Text>,
    pub(super) class: Arc<StorageClass>,
    pub(super) bytes: Option<i64>,
    /// Volumes that could be bound, smallest first.
    pub(super) candidates: Vec<Candidate>,
    /// Whether the provisioner tells where there is room, and where there is enough.
    pub(super) capacity: Option<Vec<replank_model::selector::Selector>>,
}

impl VolumePlan {
    /// What VolumeRestrictions, NodeVolumeLimits, VolumeBinding and VolumeZone do before nodes are filtered, up to the
    /// first that refuses the pod as a whole.
    pub(in super::super) fn of(world: &mut World, view: &View, pod: &Pod) -> (Self, Option<Refusal>) {
        let mut plan = Self::default();
        if pod.spec.volumes.is_empty() {
            return (plan, None);
        }
        let refused = plan.fill(world, view, pod).err();
        (plan, refused)
    }

    fn fill(&mut self, world: &mut World, view: &View, pod: &Pod) -> Result<(), Refusal> {
        self.has_own = pod.spec.volumes.iter().any(|volume| volume.source.ephemeral.is_some());
        self.restrictions(world, view, pod)?;
        self.limits(view, pod);
        self.binding(world, view, pod)?;
        self.zones(view, pod)
    }

    /// Whether VolumeRestrictions has nothing to look at.
    pub(in super::super) fn skips_restrictions(&self) -> bool {
        !self.has_disks && self.taken == 0
    }

    /// Whether NodeVolumeLimits has nothing to look at.
    pub(in super::super) fn skips_limits(&self) -> bool {
        !self.may_attach
    }

    /// Whether VolumeBinding has nothing to look at.
    pub(in super::super) fn skips_binding(&self) -> bool {
        !self.has_claims
    }

    /// Whether VolumeZone has nothing to look at.
    pub(in super::super) fn skips_zones(&self) -> bool {
        self.zones.is_empty()
    }

    /// Whether no node is refused for its volumes.
    pub(in super::super) fn is_nothing(&self) -> bool {
        self.skips_restrictions() && self.skips_limits() && self.skips_binding() && self.skips_zones()
    }

    /// Whether the claims and volumes that are there say all of it, for each pod that names the same ones: no other pods, and nothing that is still to be chosen.
    pub(super) fn lasts(&self) -> bool {
        !self.has_own && self.exclusive.is_empty() && self.unbound.is_empty()
    }

    /// Whether a node decides by what it is and how much is attached to it, whichever pods those are of.
    pub(in super::super) fn decides_by_node(&self) -> bool {
        self.lasts() && !self.has_disks && self.missing.is_none()
    }

    /// How many volumes are attached to the pod's node for it.
    pub(in super::super) fn attached(&self) -> usize {
        self.handles.len()
    }

    fn restrictions(&mut self, world: &World, view: &View, pod: &Pod) -> Result<(), Refusal> {
        self.has_disks = pod.spec.volumes.iter().any(|volume| is_restricted(&volume.source));
        for source in pod.spec.volumes.iter().filter_map(|v| v.source.persistent_volume_claim.as_ref()) {
            let name = &source.claim_name;
            let key = Key::new(pod.meta.namespace.clone(), name.clone());
            let Some(claim) = view.persistent_volume_claims.by_key(&key) else {
                let reason = Reason::ClaimNotFound(name.clone());
                return Err(Refusal { plugin: Plugin::VolumeRestrictions, reason });
            };
            if claim.spec.access_modes.contains(&AccessMode::ReadWriteOncePod)
                && !self.exclusive.contains(name)
            {
                self.exclusive.push(name.clone());
                self.taken += i64::from(world.volumes.is_used(&pod.meta.namespace, name));
            }
        }
        Ok(())
    }

    fn limits(&mut self, view: &View, pod: &Pod) {
        self.may_attach = pod.spec.volumes.iter().any(|volume| {
            let source = &volume.source;
            source.persistent_volume_claim.is_some() || source.ephemeral.is_some() || is_migratable(source)
        });
        if self.may_attach {
            let names = pod.spec.volumes.iter().filter_map(|volume| claim_name(pod, volume));
            let mut keys = names.map(|name| Key::new(pod.meta.namespace.clone(), name));
            self.missing = keys.find(|key| view.persistent_volume_claims.find(key).is_none());
            self.handles = sorted_handles(view, pod);
        }
    }

    fn binding(&mut self, world: &mut World, view: &View, pod: &Pod) -> Result<(), Refusal> {
        let refuse = |reason| Refusal { plugin: Plugin::VolumeBinding, reason };
        let claims = claims_of(view, pod).map_err(refuse)?;
        self.has_claims = !claims.is_empty();
        let mut unbound = Vec::new();
        let mut is_immediate = false;
        for claim in claims {
            let is_named = !claim.spec.volume_name.is_empty();
            if is_named && claim.meta.annotations.contains_key(BIND_COMPLETED) {
                self.bound.push(bound_claim(world, view, &claim));
                continue;
            }
            let class = class_of(&claim.meta, claim.spec.storage_class_name.as_ref());
            let class = class.and_then(|class| view.storage_classes.by_key(&Key::cluster(class)));
            match class {
                Some(class)
                    if !is_named
                        && class.volume_binding_mode == Some(VolumeBindingMode::WaitForFirstConsumer) =>
                {
                    unbound.push((claim, class.clone()));
                }
                Some(_) | None => is_immediate = true,
            }
        }
        if is_immediate {
            return Err(refuse(Reason::UnboundImmediateClaims));
        }
        for (claim, class) in unbound {
            self.unbound.push(UnboundClaim::of(world, view, &claim, &class));
        }
        Ok(())
    }

    fn zones(&mut self, view: &View, pod: &Pod) -> Result<(), Refusal> {
        let refuse = |reason| Refusal { plugin: Plugin::VolumeZone, reason };
        for source in pod.spec.volumes.iter().filter_map(|v| v.source.persistent_volume_claim.as_ref()) {
            let key = Key::new(pod.meta.namespace.clone(), source.claim_name.clone());
            let Some(claim) = view.persistent_volume_claims.by_key(&key) else { continue };
            let name = &claim.spec.volume_name;
            if name.is_empty() {
                let class = class_of(&claim.meta, claim.spec.storage_class_name.as_ref());
                let class = class.ok_or_else(|| refuse(Reason::ClaimWithoutClass))?;
                let known = view.storage_classes.by_key(&Key::cluster(class.clone()));
                let known = known.ok_or_else(|| refuse(Reason::StorageClassNotFound(class)))?;
                if known.volume_binding_mode != Some(VolumeBindingMode::WaitForFirstConsumer) {
                    return Err(refuse(Reason::ClaimWithoutVolume));
                }
                continue;
            }
            let volume = view.persistent_volumes.by_key(&Key::cluster(name.clone()));
            let volume = volume.ok_or_else(|| refuse(Reason::VolumeNotFound(name.clone())))?;
            for key in [BETA_ZONE, BETA_REGION, LABEL_ZONE, LABEL_REGION] {
                let values = volume.meta.labels.value(key).map(zones_of);
                self.zones.extend(values.filter(|values| !values.is_empty()).map(|values| (key, values)));
            }
        }
        Ok(())
    }
}

/// The zones of a label; none if one of them is empty (`LabelZonesToSet`).
fn zones_of(label: &str) -> Vec<Text> {
    let zones: Vec<Text> = label.split(ZONES_SEPARATOR).map(|zone| Text::from(zone.trim())).collect();
    if zones.iter().any(|zone| zone.is_empty()) { Vec::new() } else { zones }
}

/// The claims of a pod (`podHasPVCs`).
fn claims_of(view: &View, pod: &Pod) -> Result<Vec<Arc<PersistentVolumeClaim>>, Reason> {
    let mut claims = Vec::new();
    for volume in &pod.spec.volumes {
        let Some(name) = claim_name(pod, volume) else { continue };
        let is_ephemeral = volume.source.persistent_volume_claim.is_none();
        let key = Key::new(pod.meta.namespace.clone(), name.clone());
        let claim = match view.persistent_volume_claims.by_key(&key) {
            Some(claim) => claim,
            None if is_ephemeral => return Err(Reason::EphemeralClaimMissing(name)),
            None => return Err(Reason::ClaimNotFound(name)),
        };
        if claim.status.phase == Some(ClaimPhase::Lost) {
            return Err(Reason::ClaimLost { claim: name, volume: claim.spec.volume_name.clone() });
        }
        if claim.meta.is_terminating() {
            return Err(Reason::ClaimDeleted(name));
        }
        let is_own = claim.meta.controller().is_some_and(|owner| owner.uid == pod.meta.uid);
        if is_ephemeral && !is_own {
            let (namespace, pod) = (pod.meta.namespace.clone(), pod.meta.name.clone());
            return Err(Reason::ClaimOfAnother { namespace, claim: name, pod });
        }
        claims.push(claim.clone());
    }
    Ok(claims)
}

fn bound_claim(world: &mut World, view: &View, claim: &PersistentVolumeClaim) -> BoundClaim {
    let name = claim.spec.volume_name.clone();
    let Some(volume) = view.persistent_volumes.by_key(&Key::cluster(name)) else { return BoundClaim::Gone };
    let migrated = Kind::of_volume(volume).filter(|kind| kind.driver().is_some()).map(|kind| {
        let affinity = translated_affinity(volume, kind);
        (kind, affinity.map(|required| world.eligibles.affinity(AffinityKey::Volume(required), &world.nodes)))
    });
    BoundClaim::Volume { affinity: affinity_of(world, volume), migrated }
}

pub(super) fn affinity_of(world: &mut World, volume: &PersistentVolume) -> Option<AffinityId> {
    let required = volume.spec.node_affinity.as_ref()?.required.clone()?;
    Some(world.eligibles.affinity(AffinityKey::Volume(required), &world.nodes))
}

/// The node that was chosen for a claim: written on it, or promised.
pub(super) fn selected_node(world: &World, claim: &PersistentVolumeClaim, key: &Key) -> Option<Text> {
    match world.volumes.selected.get(key) {
        Some(node) => Some(node.text().clone()),
        None => claim.meta.annotations.get(SELECTED_NODE).cloned(),
    }
}
