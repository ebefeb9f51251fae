//! Reading and writing objects that are held as JSON.

use replank_apiserver::Api;
use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use serde_json::Value;

/// An object of an untyped kind, as JSON.
pub(crate) fn read(api: &Api, group: &str, kind: &str, key: &Key) -> Option<Value> {
    api.view().other(group, kind, key).map(|other| render(&Object::Other(other.clone())))
}

/// Stores a new object. Somebody else may have been faster, or the namespace may be on its way out: the next change tells.
pub(crate) fn create(api: &mut Api, value: Value) {
    if let Ok(object) = Object::from_json(value) {
        drop(api.create_object(object));
    }
}

/// Stores a changed object.
pub(crate) fn update(api: &mut Api, value: Value) {
    if let Ok(object) = Object::from_json(value) {
        drop(api.update_object(object));
    }
}

/// A text in an object; empty for none.
pub(crate) fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}
