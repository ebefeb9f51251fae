//! One object.

use std::sync::Arc;

use replank_apiserver::ApiError;

use super::{list, options};
use crate::mirror::{Mirror, StorageId, Stored};
use crate::query::Query;
use crate::route::Target;

/// One object, not older than the version that is asked for.
///
/// # Errors
/// 404; 500 for a version that is no number, 504 for one that does not come.
pub async fn get_at(mirror: &Mirror, target: &Target, query: &Query) -> Result<Arc<Stored>, ApiError> {
    if let Some(text) = query.text("resourceVersion") {
        let version = options::number(text).map_err(|why| ApiError::internal(&why))?;
        list::await_version(mirror, version).await?;
    }
    get(mirror, target)
}

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
