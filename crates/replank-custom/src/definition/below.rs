//! The schemas within a schema.

use serde_json::Value;

use super::member::list;

/// Hands on every schema within a schema, with its place, and its name where it is that of a member.
pub(super) fn each_below(value: &Value, at: &str, call: &mut dyn FnMut(&Value, &str, Option<&str>)) {
    if let Some(of) = value.get("additionalProperties").filter(|of| of.is_object()) {
        call(of, &format!("{at}.additionalProperties"), None);
    }
    for (name, of) in value.get("properties").and_then(Value::as_object).into_iter().flatten() {
        call(of, &format!("{at}.properties[{name}]"), Some(name));
    }
    for key in ["not", "items"] {
        if let Some(of) = value.get(key).filter(|of| of.is_object()) {
            call(of, &format!("{at}.{key}"), None);
        }
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        for (index, of) in list(value, key).iter().enumerate() {
            call(of, &format!("{at}.{key}[{index}]"), None);
        }
    }
}
