//! The class of a claim.

use std::sync::Arc;

use replank_model::object::meta::Key;
use replank_model::object::volume::{PersistentVolumeClaim, StorageClass};
use replank_model::view::View;

/// The node that the scheduler chose for the first pod that uses a claim.
pub(super) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// The class of a claim, if there is one of that name.
pub(super) fn class_of<'a>(view: &'a View, claim: &PersistentVolumeClaim) -> Option<&'a Arc<StorageClass>> {
    let name = claim.spec.storage_class_name.as_ref().filter(|name| !name.is_empty())?;
    view.storage_classes.by_key(&Key::cluster(name.clone()))
}
