//! What strategic patches say where their outcome is no object of its type: they are laid over Go's structs directly
//! (apimachinery `runtime/converter.go`).

use replank_schema::{GoForm, GoId, go_types};
use serde_json::Value;

/// Why a value cannot be taken into a Go type; `None` where it can.
pub(in crate::json) fn restored(of: GoId, value: &Value) -> Option<String> {
    let types = go_types();
    if value.is_null() {
        return None;
    }
    match (&types.get(of).form, value) {
        (GoForm::Pointer(inner), _) => restored(*inner, value),
        (GoForm::Struct(of), Value::Object(members)) => members
            .iter()
            .filter_map(|(name, value)| Some((of.member(name)?, value)))
            .find_map(|(member, value)| restored(member.of, value)),
        (GoForm::Map(item), Value::Object(members)) => {
            members.values().find_map(|value| restored(*item, value))
        }
        (GoForm::List(item), Value::Array(items)) => items.iter().find_map(|value| restored(*item, value)),
        (GoForm::Own(_), _)
        | (GoForm::Text | GoForm::Bytes, Value::String(_))
        | (GoForm::Bool, Value::Bool(_))
        | (GoForm::Int(_) | GoForm::Float, Value::Number(_)) => None,
        (GoForm::Struct(_), _) => Some(format!("cannot restore struct from: {}", go_kind(value))),
        (GoForm::Map(_), _) => Some(format!("cannot restore map from {}", go_kind(value))),
        (GoForm::List(_), _) => Some(format!("cannot restore slice from {}", go_kind(value))),
        (GoForm::Bytes, _) => Some(format!("cannot restore slice from {}", go_kind(value))),
        // Of plain types Go converts numbers to texts only, and says so where it does not.
        (GoForm::Text, Value::Number(number)) if !number.is_f64() => {
            Some(format!("cannot convert int64 to {}", types.get(of).shown))
        }
        (GoForm::Text, _) => Some("unrecognized type: string".to_owned()),
        (GoForm::Bool, _) => Some("unrecognized type: bool".to_owned()),
        (GoForm::Int(bits), _) => Some(format!("unrecognized type: int{bits}")),
        (GoForm::Float, _) => Some("unrecognized type: float64".to_owned()),
    }
}

fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}

/// A value as Go prints it: `map[a:1 b:[x y]]`.
pub(in crate::json) fn go_map(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(" ");
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(go_map).collect())),
        Value::Object(members) => {
            let pairs = members.iter().map(|(name, value)| format!("{name}:{}", go_map(value)));
            format!("map[{}]", joined(pairs.collect()))
        }
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_is_told_as_go_does() {
        let of = go_types().of_kind("", "v1", "ConfigMap").expect("it is served");
        let why = |value: &Value| restored(of, value);
        assert_eq!(why(&json!({"metadata": []})).as_deref(), Some("cannot restore struct from: slice"));
        assert_eq!(why(&json!({"data": {"x": 1}})).as_deref(), Some("cannot convert int64 to string"));
        assert_eq!(why(&json!({"immutable": "x"})).as_deref(), Some("unrecognized type: bool"));
        assert_eq!(why(&json!({"data": {"x": "1"}})), None);
        assert_eq!(go_map(&json!({"data": {"x": [1, "y"]}})), "map[data:map[x:[1 y]]]");
    }
}
