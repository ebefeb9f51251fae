//! The finalizers of claims and volumes come back when somebody takes them away (pkg/controller/volume/{pvcprotection,pvprotection}). Admission adds them first,
//! and the volume controllers remove them when the object may go.

use replank_apiserver::Api;
use replank_model::object::meta::Key;
use replank_model::object::volume::{PersistentVolume, PersistentVolumeClaim};
use replank_model::object::{Kind, Object};

const CLAIM: &str = "kubernetes.io/pvc-protection";
const VOLUME: &str = "kubernetes.io/pv-protection";

/// Whether an object lacks its finalizer.
pub(super) fn is_missing(object: &Object) -> bool {
    let name = if object.kind() == Kind::PersistentVolume { VOLUME } else { CLAIM };
    let meta = object.meta();
    !meta.is_terminating() && !meta.finalizers.iter().any(|one| &**one == name)
}

/// Adds the finalizer.
pub(super) fn protect(api: &mut Api, kind: Kind, key: &Key) {
    let is_there = api.view().object(kind, key).is_some_and(|object| is_missing(&object));
    if !is_there {
        return;
    }
    if kind == Kind::PersistentVolume {
        drop(api.modify::<PersistentVolume>(key, |volume| volume.meta.finalizers.push(VOLUME.into())));
    } else {
        drop(api.modify::<PersistentVolumeClaim>(key, |claim| claim.meta.finalizers.push(CLAIM.into())));
    }
}
