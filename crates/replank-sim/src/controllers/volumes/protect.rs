//! Claims and volumes that are in use do not go (pkg/controller/volume/{pvcprotection,pvprotection}).

use replank_model::object::volume::{PersistentVolume, PersistentVolumeClaim, VolumePhase};

use super::users::Users;
use crate::controllers::Ctx;

const CLAIM: &str = "kubernetes.io/pvc-protection";
const VOLUME: &str = "kubernetes.io/pv-protection";

/// Lets a claim go that is on its way out, once no bound pod names it; whether it did.
pub(super) fn release_claim(ctx: &mut Ctx<'_>, claim: &PersistentVolumeClaim, users: &Users) -> bool {
    let is_held = claim.meta.finalizers.iter().any(|name| &**name == CLAIM);
    if !claim.meta.is_terminating() || !is_held || users.is_used(&claim.meta.key()) {
        return false;
    }
    let written = ctx.api.modify::<PersistentVolumeClaim>(&claim.meta.key(), |claim| {
        claim.meta.finalizers.retain(|name| &**name != CLAIM);
    });
    debug_assert!(written.is_ok(), "the claim was just read");
    true
}

/// Lets a volume go that is on its way out, once it is not bound; whether it did.
pub(super) fn release_volume(ctx: &mut Ctx<'_>, volume: &PersistentVolume) -> bool {
    let is_held = volume.meta.finalizers.iter().any(|name| &**name == VOLUME);
    if !volume.meta.is_terminating() || !is_held || volume.status.phase == Some(VolumePhase::Bound) {
        return false;
    }
    let written = ctx.api.modify::<PersistentVolume>(&volume.meta.key(), |volume| {
        volume.meta.finalizers.retain(|name| &**name != VOLUME);
    });
    debug_assert!(written.is_ok(), "the volume was just read");
    true
}
