//! Binding claims and volumes (pkg/controller/volume/persistentvolume `syncClaim`, `syncVolume`; the scheduler's part:
//! plugin VolumeBinding).

use std::sync::Arc;

use replank_model::labels::Annotations;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::volume::{
    AccessMode, ClaimPhase, ClaimRef, PersistentVolume, PersistentVolumeClaim, ReclaimPolicy,
    VolumeBindingMode, VolumePhase,
};
use replank_model::quantity::Quantity;
use replank_model::text::{Name, NodeName, Text};
use replank_model::view::{Ix, View};
use replank_schedule::VolumeDecisions;

use super::provision;
use super::reach::reaches;
use super::users::claims_of;
use crate::controllers::Ctx;
use replank_apiserver::ApiError;

pub(super) use super::class::{SELECTED_NODE, class_of};
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// What a look at a claim asks for.
pub(super) enum ClaimNeeds {
    /// Nothing.
    Nothing,
    /// A volume is to be made for it.
    Provisioning,
    /// It is to be looked at again after the time of a write.
    More,
}

/// What a look at a volume asks for.
pub(super) enum VolumeNeeds {
    /// Nothing.
    Nothing,
    /// Its claim is to be looked at.
    Claim(Ix<PersistentVolumeClaim>),
    /// It is free: claims that wait are to be looked at.
    Offering,
    /// Its storage is to be deleted.
    Reclaiming,
}

/// The slot of a volume.
pub(super) fn volume_named(view: &View, name: &Name) -> Option<Ix<PersistentVolume>> {
    if name.is_empty() { None } else { view.persistent_volumes.find(&Key::cluster(name.clone())) }
}

/// Brings a claim nearer to being bound.
pub(super) fn sync_claim(ctx: &mut Ctx<'_>, claim: &PersistentVolumeClaim) -> ClaimNeeds {
    if claim.spec.volume_name.is_empty() {
        return sync_unbound(ctx, claim);
    }
    let volume =
        volume_named(ctx.view(), &claim.spec.volume_name).map(|ix| ctx.view().persistent_volumes[ix].clone());
    match volume {
        Some(volume) if is_free_for(&volume, claim) => return bind(ctx, &volume, claim),
        Some(_) => set_phase(ctx, claim, ClaimPhase::Lost),
        None if claim.meta.annotations.contains_key(BIND_COMPLETED) => {
            set_phase(ctx, claim, ClaimPhase::Lost);
        }
        None => set_phase(ctx, claim, ClaimPhase::Pending),
    }
    ClaimNeeds::Nothing
}

fn sync_unbound(ctx: &mut Ctx<'_>, claim: &PersistentVolumeClaim) -> ClaimNeeds {
    let class = class_of(ctx.view(), claim).cloned();
    let waits = class.as_ref().and_then(|class| class.volume_binding_mode)
        == Some(VolumeBindingMode::WaitForFirstConsumer)
        && !claim.meta.annotations.contains_key(SELECTED_NODE);
    if let Some(volume) = best_match(ctx.view(), claim, if waits { Only::Kept } else { Only::Free }) {
        return bind(ctx, &volume, claim);
    }
    set_phase(ctx, claim, ClaimPhase::Pending);
    let is_made = class.is_some_and(|class| provision::makes_volumes(&class.provisioner));
    if is_made && !waits && !claim.meta.is_terminating() {
        ClaimNeeds::Provisioning
    } else {
        ClaimNeeds::Nothing
    }
}

/// Which volumes are looked at for a claim.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Only {
    /// Those that are kept for it.
    Kept,
    /// Those, and free ones.
    Free,
}

/// The volume that is kept for a claim, else the smallest that suffices, the first by name among equals
/// (component-helpers `FindMatchingVolume`).
fn best_match(view: &View, claim: &PersistentVolumeClaim, only: Only) -> Option<Arc<PersistentVolume>> {
    let volumes = || view.persistent_volumes.unordered().map(|(_, volume)| volume);
    let kept = volumes().filter(|volume| {
        volume.spec.claim_ref.is_some() && is_free_for(volume, claim) && suffices(volume, claim)
    });
    if let Some(kept) = kept.min_by(|a, b| a.meta.name.cmp(&b.meta.name)) {
        return Some(Arc::clone(kept));
    }
    match only {
        Only::Kept => None,
        Only::Free => {
            let free = volumes().filter(|volume| {
                volume.spec.claim_ref.is_none()
                    && suffices(volume, claim)
                    && is_reachable(view, volume, claim)
            });
            free.min_by(|a, b| size(a).cmp(&size(b)).then_with(|| a.meta.name.cmp(&b.meta.name))).cloned()
        }
    }
}

fn size(volume: &PersistentVolume) -> Quantity {
    volume.spec.capacity.get("storage").cloned().unwrap_or_default()
}

/// Whether a volume matches a claim, bound or not.
fn suffices(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let wanted = claim.spec.resources.requests.get("storage").cloned().unwrap_or_default();
    let class = claim.spec.storage_class_name.clone().unwrap_or_default();
    let mode = |mode: &Option<Text>| mode.clone().unwrap_or_else(|| "Filesystem".into());
    let selected = claim.spec.selector.as_ref().is_none_or(|selector| {
        selector.compile().is_ok_and(|selector| selector.matches(|key| volume.meta.labels.value(key)))
    });
    volume.spec.storage_class_name == class
        && !volume.meta.is_terminating()
        && claim.spec.access_modes.iter().all(|mode| volume.spec.access_modes.contains(mode))
        && mode(&volume.spec.volume_mode) == mode(&claim.spec.volume_mode)
        && selected
        && size(volume) >= wanted
}

/// A claim for which the scheduler chose a node takes only volumes that the node reaches.
fn is_reachable(view: &View, volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let node = claim.meta.annotations.value(SELECTED_NODE).and_then(|name| view.node(&NodeName::from(name)));
    node.is_none_or(|node| reaches(node, volume))
}

fn is_free_for(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    match &volume.spec.claim_ref {
        None => true,
        Some(kept) => {
            *kept.namespace == *claim.meta.namespace.as_str()
                && kept.name == claim.meta.name
                && (kept.uid.is_empty() || kept.uid == claim.meta.uid)
        }
    }
}

/// The next of the four writes that bind a claim and a volume to each other (`bind`).
fn bind(ctx: &mut Ctx<'_>, volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> ClaimNeeds {
    let (volume_key, claim_key) = (volume.meta.key(), claim.meta.key());
    let is_kept = volume.spec.claim_ref.as_ref().is_some_and(|kept| kept.uid == claim.meta.uid);
    let written = if !is_kept {
        keep(ctx, &volume.meta.name, claim)
    } else if volume.status.phase != Some(VolumePhase::Bound) {
        ctx.api
            .modify::<PersistentVolume>(&volume_key, |volume| volume.status.phase = Some(VolumePhase::Bound))
            .map(|_| ())
    } else if !is_fully_bound(claim) {
        ctx.api
            .modify::<PersistentVolumeClaim>(&claim_key, |claim| {
                if claim.spec.volume_name.is_empty() {
                    mark(&mut claim.meta.annotations, BOUND_BY_CONTROLLER);
                }
                claim.spec.volume_name = volume.meta.name.clone();
                mark(&mut claim.meta.annotations, BIND_COMPLETED);
            })
            .map(|_| ())
    } else if is_told(claim, volume) {
        return ClaimNeeds::Nothing;
    } else {
        let written = ctx.api.modify::<PersistentVolumeClaim>(&claim_key, |claim| {
            claim.status.phase = Some(ClaimPhase::Bound);
            claim.status.access_modes.clone_from(&volume.spec.access_modes);
            claim.status.capacity = volume.spec.capacity.clone();
        });
        debug_assert!(written.is_ok(), "the claim was just read");
        return ClaimNeeds::Nothing;
    };
    debug_assert!(written.is_ok(), "claim and volume were just read");
    ClaimNeeds::More
}

/// Whether a claim says of its volume what there is to say.
fn is_told(claim: &PersistentVolumeClaim, volume: &PersistentVolume) -> bool {
    claim.status.phase == Some(ClaimPhase::Bound)
        && claim.status.access_modes == volume.spec.access_modes
        && claim.status.capacity == volume.spec.capacity
}

/// Whether a claim is the volume's, and the volume the claim's (`IsPVCFullyBound`).
fn is_fully_bound(claim: &PersistentVolumeClaim) -> bool {
    !claim.spec.volume_name.is_empty() && claim.meta.annotations.contains_key(BIND_COMPLETED)
}

fn mark(annotations: &mut Annotations, name: &str) {
    *annotations = annotations.with(name, "yes");
}

fn set_phase(ctx: &mut Ctx<'_>, claim: &PersistentVolumeClaim, phase: ClaimPhase) {
    let written =
        ctx.api.modify::<PersistentVolumeClaim>(&claim.meta.key(), |claim| claim.status.phase = Some(phase));
    debug_assert!(written.is_ok(), "the claim was just read");
}

/// Sets a volume's phase by its claim.
pub(super) fn sync_volume(ctx: &mut Ctx<'_>, volume: &PersistentVolume) -> VolumeNeeds {
    let (phase, needs) = judge_volume(ctx.view(), volume);
    if volume.status.phase != Some(phase) && volume.status.phase != Some(VolumePhase::Failed) {
        let written = ctx.api.modify::<PersistentVolume>(&volume.meta.key(), |volume| {
            volume.status.phase = Some(phase);
        });
        debug_assert!(written.is_ok(), "the volume was just read");
    }
    needs
}

fn judge_volume(view: &View, volume: &PersistentVolume) -> (VolumePhase, VolumeNeeds) {
    let Some(kept) = &volume.spec.claim_ref else { return (VolumePhase::Available, VolumeNeeds::Offering) };
    let key = Key::new(kept.namespace.clone(), kept.name.clone());
    let ix = view.persistent_volume_claims.find(&key);
    let claim = ix.map(|ix| &view.persistent_volume_claims[ix]);
    match (ix, claim) {
        (Some(ix), Some(claim)) if kept.uid.is_empty() || claim.meta.uid == kept.uid => {
            if claim.spec.volume_name == volume.meta.name {
                (VolumePhase::Bound, VolumeNeeds::Nothing)
            } else if claim.spec.volume_name.is_empty() {
                (volume.status.phase.unwrap_or(VolumePhase::Available), VolumeNeeds::Claim(ix))
            } else {
                (VolumePhase::Available, VolumeNeeds::Nothing)
            }
        }
        _ if kept.uid.is_empty() => (VolumePhase::Available, VolumeNeeds::Nothing),
        _ => {
            let deletes = volume.spec.persistent_volume_reclaim_policy == Some(ReclaimPolicy::Delete)
                && !volume.meta.is_terminating();
            let needs = if deletes { VolumeNeeds::Reclaiming } else { VolumeNeeds::Nothing };
            (VolumePhase::Released, needs)
        }
    }
}

/// Whether all claims of a pod are bound.
pub(crate) fn are_bound(view: &View, pod: &Pod) -> bool {
    claims_of(pod).iter().all(|key| {
        let claim = view.persistent_volume_claims.by_key(key);
        claim.is_some_and(|claim| is_fully_bound(claim))
    })
}

/// Asks for what a pod's claims need on the node that it is to get: volumes that were chosen are kept for them, others
/// are asked for (plugin VolumeBinding, `PreBind`).
pub(crate) fn ask(ctx: &mut Ctx<'_>, pod: &Pod, node: &NodeName, decisions: &VolumeDecisions) {
    for key in claims_of(pod) {
        let Some(claim) = ctx.view().persistent_volume_claims.by_key(&key).cloned() else { continue };
        if is_fully_bound(&claim) {
            continue;
        }
        let chosen = decisions.bindings.iter().find(|(of, _)| *of == key).map(|(_, volume)| volume);
        let written = match chosen {
            Some(volume) => keep(ctx, volume, &claim),
            None => ctx
                .api
                .modify::<PersistentVolumeClaim>(&key, |claim| {
                    claim.meta.annotations = claim.meta.annotations.with(SELECTED_NODE, node.text().clone());
                })
                .map(|_| ()),
        };
        debug_assert!(written.is_ok(), "claim and volume were just read");
    }
}

/// Keeps a volume for a claim.
fn keep(ctx: &mut Ctx<'_>, volume: &Name, claim: &PersistentVolumeClaim) -> Result<(), ApiError> {
    let owner = owner(claim);
    ctx.api
        .modify::<PersistentVolume>(&Key::cluster(volume.clone()), |volume| {
            if volume.spec.claim_ref.is_none() {
                mark(&mut volume.meta.annotations, BOUND_BY_CONTROLLER);
            }
            volume.spec.claim_ref = Some(owner);
        })
        .map(|_| ())
}

fn owner(claim: &PersistentVolumeClaim) -> ClaimRef {
    ClaimRef {
        namespace: claim.meta.namespace.text().clone(),
        name: claim.meta.name.clone(),
        uid: claim.meta.uid.clone(),
    }
}

/// Whether a volume may be attached to one node only.
pub(super) fn is_exclusive(volume: &PersistentVolume) -> bool {
    volume
        .spec
        .access_modes
        .iter()
        .all(|mode| matches!(mode, AccessMode::ReadWriteOnce | AccessMode::ReadWriteOncePod))
}
