//! The components of the control plane: asked for each time, kept nowhere (`registry/core/componentstatus`).

use std::sync::Arc;

use replank_apiserver::json::Selection;
use replank_apiserver::{ApiError, ResourceName};
use replank_model::object::Object;
use serde_json::json;

use super::list::Listed;
use super::options;
use crate::mirror::Stored;
use crate::query::Query;
use crate::route::Target;

/// The components, and what they say of themselves.
const COMPONENTS: [&str; 3] = ["controller-manager", "scheduler", "etcd-0"];

/// Whether a target is about components.
#[must_use]
pub fn are_components(target: &Target) -> bool {
    target.resource.name.group.is_empty() && &*target.resource.name.plural == "componentstatuses"
}

/// Those that are asked for.
///
/// # Errors
/// 400 and 422 for options that cannot be read or do not go together.
pub fn components(target: &Target, query: &Query) -> Result<Listed, ApiError> {
    let (labels, fields) = (query.get("labelSelector"), query.get("fieldSelector"));
    let selection = Selection::read(&target.resource, labels, fields)?;
    options::check_list(query)?;
    let mut items: Vec<Arc<Stored>> = COMPONENTS.iter().filter_map(|name| named(name)).collect();
    items.retain(|stored| selection.matches(&stored.object));
    Ok(Listed { metadata: json!({}), items })
}

/// One.
///
/// # Errors
/// 404.
pub fn component(target: &Target) -> Result<Arc<Stored>, ApiError> {
    let key = target.key().unwrap_or_default();
    let known = COMPONENTS.iter().find(|name| **name == key.name.as_str());
    known.and_then(|name| named(name)).ok_or_else(|| {
        // Its registry names the singular.
        let name = ResourceName {
            group: "".into(),
            plural: "componentstatus".into(),
            kind: "ComponentStatus".into(),
        };
        ApiError::not_found(name, &key)
    })
}

fn named(name: &str) -> Option<Arc<Stored>> {
    let object = json!({"apiVersion": "v1", "kind": "ComponentStatus", "metadata": {"name": name},
        "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}]});
    Object::from_json(object).ok().map(|object| Arc::new(Stored::new(object)))
}

/// Refuses a watch: nothing is kept that could change.
#[must_use]
pub fn not_watched() -> ApiError {
    let mut error = ApiError::method_not_allowed();
    error.message = "watch is not supported on resources of kind \"componentstatuses\"".to_owned();
    error.about = Some(Box::new(replank_apiserver::About {
        group: "".into(),
        kind: "componentstatuses".into(),
        name: "".into(),
    }));
    error
}
