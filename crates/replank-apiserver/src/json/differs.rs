//! Whether two states of an object differ: for whoever reads them, and in what is desired.

use replank_model::object::Object;
use serde_json::{Map, Value};

use super::answer::served_at;
use crate::server::resource::{ResourceType, StatusWrites};

/// Whether two states of an object are the same for whoever reads them.
pub(super) fn says_the_same(resource: &ResourceType, known: &Object, object: &Object) -> bool {
    let read = |object: &Object| {
        let mut value = served_at(resource, object);
        if let Some(Value::Object(meta)) = value.get_mut("metadata") {
            for own in ["resourceVersion", "generation"] {
                meta.remove(own);
            }
        }
        value
    };
    read(known) == read(object)
}

/// Whether two states differ in what is desired: all but metadata, and status where that is written apart.
/// A Deployment's annotations count too (apps/deployment `PrepareForUpdate`).
pub(super) fn counts(resource: &ResourceType, old: &Value, new: &Value) -> bool {
    let empty = Map::new();
    let members = |value: &Value| value.as_object().unwrap_or(&empty).clone();
    let (old_members, new_members) = (members(old), members(new));
    let skipped =
        |name: &str| name == "metadata" || (name == "status" && resource.status == StatusWrites::Apart);
    let differs = old_members
        .keys()
        .chain(new_members.keys())
        .any(|name| !skipped(name) && !alike(old_members.get(name), new_members.get(name)));
    let annotations = |value: &Value| value.pointer("/metadata/annotations").cloned();
    // So do an EndpointSlice's labels (discovery/endpointslice `PrepareForUpdate`).
    let labels = |value: &Value| value.pointer("/metadata/labels").cloned();
    if &*resource.name.plural == "endpointslices" && labels(old) != labels(new) {
        return true;
    }
    differs || (&*resource.name.plural == "deployments" && annotations(old) != annotations(new))
}

/// Equal, an empty member counting as an absent one.
fn alike(old: Option<&Value>, new: Option<&Value>) -> bool {
    fn is_empty(value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Object(members) => members.values().all(is_empty),
            Value::Array(items) => items.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
    match (old, new) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            old.keys().chain(new.keys()).all(|name| alike(old.get(name), new.get(name)))
        }
        (Some(old), Some(new)) => old == new || (is_empty(old) && is_empty(new)),
        (Some(one), None) | (None, Some(one)) => is_empty(one),
        (None, None) => true,
    }
}
