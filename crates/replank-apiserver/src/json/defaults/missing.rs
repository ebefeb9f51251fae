//! Fields that are missing, and items of lists.

use serde_json::Value;

/// Sets a member that is not there.
pub(super) fn absent(value: &mut Value, name: &str, default: impl Into<Value>) {
    if let Value::Object(members) = value
        && members.get(name).is_none_or(Value::is_null)
    {
        members.insert(name.to_owned(), default.into());
    }
}

/// The items of a member that is a list.
pub(super) fn items<'a>(value: &'a mut Value, name: &str) -> impl Iterator<Item = &'a mut Value> {
    value.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten()
}
