//! The finalizers of claims and volumes come back when somebody takes them away (pkg/controller/volume/{pvcprotection,pvprotection}). Admission adds them first,
//! and the volume controllers remove them when the object may go.

use replank_apiserver::Api;
use replank_model::object::meta::Key;
use replank_model::object::volume::{PersistentVolume, PersistentVolumeClaim};
use replank_model::object::{Kind, Object, render};
use serde_json::Value;

use super::edit;

const CLAIM: &str = "kubernetes.io/pvc-protection";
const VOLUME: &str = "kubernetes.io/pv-protection";

const CLASS: &str = "kubernetes.io/vac-protection";
/// The group of classes of volume attributes.
pub(super) const CLASS_GROUP: &str = "storage.k8s.io";
/// Their kind.
pub(super) const CLASS_KIND: &str = "VolumeAttributesClass";

/// Lets a class go that nobody uses, and keeps others (pkg/controller/volume/vacprotection).
pub(super) fn keep_class(api: &mut Api, key: &Key) {
    let Some(mut class) = edit::read(api, CLASS_GROUP, CLASS_KIND, key) else { return };
    let is_going = !edit::text(&class, "/metadata/deletionTimestamp").is_empty();
    let finalizers = class["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let is_held = finalizers.iter().any(|one| one == CLASS);
    if is_held == is_going && !(is_going && is_used(api, key)) {
        let mut left: Vec<Value> = finalizers.into_iter().filter(|one| one != CLASS).collect();
        if !is_going {
            left.push(CLASS.into());
        }
        class["metadata"]["finalizers"] = left.into();
        edit::update(api, class);
    }
}

/// Whether a claim or a volume names a class.
fn is_used(api: &Api, key: &Key) -> bool {
    let names = |object: Object| {
        let value = render(&object);
        ["/spec/volumeAttributesClassName", "/status/currentVolumeAttributesClassName"]
            .iter()
            .any(|path| edit::text(&value, path) == key.name.as_str())
    };
    let view = api.view();
    view.persistent_volumes.unordered().any(|(_, one)| names(Object::PersistentVolume(one.clone())))
        || view
            .persistent_volume_claims
            .unordered()
            .any(|(_, one)| names(Object::PersistentVolumeClaim(one.clone())))
}

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
