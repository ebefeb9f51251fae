//! One object.

use std::sync::Arc;

use replank_apiserver::ApiError;

use crate::mirror::{Mirror, StorageId, Stored};
use crate::route::Target;

/// One object.
///
/// # Errors
/// 404.
pub fn get(mirror: &Mirror, target: &Target) -> Result<Arc<Stored>, ApiError> {
    let key = target.key().unwrap_or_default();
    let snapshot = mirror.snapshot();
    let found = snapshot.get(&StorageId::of_resource(&target.resource), &key);
    found.cloned().ok_or_else(|| ApiError::not_found(target.resource.name.clone(), &key))
}
