//! Small steps on JSON objects. A `null` member counts as absent, as it does to the API server.

use serde_json::{Map, Value};

/// The member, unless it is absent or `null`.
pub(super) fn member<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    object.get(key).filter(|value| !value.is_null())
}

/// Sets a member that is absent.
pub(super) fn default(object: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    if member(object, key).is_none() {
        object.insert(key.to_owned(), value.into());
    }
}

/// Sets a text that is absent or empty.
pub(super) fn default_text(object: &mut Map<String, Value>, key: &str, value: &str) {
    if member(object, key).is_none_or(|text| text == "") {
        object.insert(key.to_owned(), Value::from(value));
    }
}

/// Sets a number that is absent or 0.
pub(super) fn default_number(object: &mut Map<String, Value>, key: &str, value: i64) {
    if member(object, key).is_none_or(|number| number == 0) {
        object.insert(key.to_owned(), Value::from(value));
    }
}

/// Works on a member that is an object.
pub(super) fn nested(object: &mut Map<String, Value>, key: &str, work: impl FnOnce(&mut Map<String, Value>)) {
    if let Some(Value::Object(inner)) = object.get_mut(key) {
        work(inner);
    }
}

/// Works on each object in a member that is a list.
pub(super) fn each(
    object: &mut Map<String, Value>,
    key: &str,
    mut work: impl FnMut(&mut Map<String, Value>),
) {
    if let Some(Value::Array(items)) = object.get_mut(key) {
        items.iter_mut().filter_map(Value::as_object_mut).for_each(&mut work);
    }
}
