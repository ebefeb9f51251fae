//! One object.

use replank_apiserver::ApiError;
use replank_apiserver::json::served_at;
use serde_json::Value;

use crate::mirror::{Mirror, StorageId};
use crate::route::Target;

/// One object as it is served.
///
/// # Errors
/// 404.
pub fn get(mirror: &Mirror, target: &Target) -> Result<Value, ApiError> {
    let key = target.key().unwrap_or_default();
    let snapshot = mirror.snapshot();
    let found = snapshot.get(&StorageId::of_resource(&target.resource), &key);
    let stored = found.ok_or_else(|| ApiError::not_found(target.resource.name.clone(), &key))?;
    Ok(served_at(&target.resource, &stored.object))
}
