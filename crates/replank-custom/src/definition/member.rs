//! Members of a JSON object, where absent ones are as good as empty.

use serde_json::Value;

/// A text of a member; empty where there is none.
pub(super) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The items of a list; none where it is absent.
pub(super) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn is_true(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or(false)
}
