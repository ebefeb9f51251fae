//! Values in messages as Go's `encoding/json` writes them. What upstream holds in an internal type stands there under
//! that type's own names, every member present: `{"Type":"x","RollingUpdate":null}`.
//!
//! `shown.txt` is made from Kubernetes 1.36.2 by reflection (`peers/kube-validation shown`).

use serde_json::Value;

use super::error::Shown;
use crate::go::JsonString;

const TEXT: &str = include_str!("shown.txt");

/// A struct.
pub(super) fn shown(of: &str, value: &Value) -> Shown {
    let mut text = String::new();
    write(of, value, &mut text);
    Shown::json(text)
}

/// A map of texts; one that is not there is `null`.
pub(super) fn map(value: &Value) -> Shown {
    let mut text = String::new();
    write("map[string]string", value, &mut text);
    Shown::json(text)
}

/// A list of owners.
pub(super) fn owners(value: &Value) -> Shown {
    let mut text = String::new();
    write("[]v1.OwnerReference", value, &mut text);
    Shown::json(text)
}

/// A list of numbers.
pub(super) fn numbers(value: &Value) -> Shown {
    let mut text = String::new();
    write("[]int32", value, &mut text);
    Shown::json(text)
}

/// A list of texts.
pub(super) fn texts(value: &Value) -> Shown {
    let mut text = String::new();
    write("[]string", value, &mut text);
    Shown::json(text)
}

/// A number or a text, as it is.
pub(super) fn int_or_string(value: &Value) -> Shown {
    let mut text = String::new();
    write("intstr.IntOrString", value, &mut text);
    Shown::json(text)
}

/// The lines of a struct's members.
fn members(of: &str) -> impl Iterator<Item = &'static str> {
    let mut lines = TEXT.lines();
    let of = of.to_owned();
    lines.by_ref().find(|line| **line == *of);
    lines.map_while(|line| line.strip_prefix(' '))
}

fn write(of: &str, value: &Value, text: &mut String) {
    if let Some(item) = of.strip_prefix("[]") {
        return if let Value::Array(items) = value { list(item, items, text) } else { text.push_str("null") };
    }
    if let Some(inner) = of.strip_prefix('*') {
        return if value.is_null() { text.push_str("null") } else { write(inner, value, text) };
    }
    match (of, value) {
        ("map[string]string", Value::Object(pairs)) => {
            text.push('{');
            for (index, (key, value)) in pairs.iter().enumerate() {
                let comma = if index == 0 { "" } else { "," };
                text.push_str(&format!("{comma}{}:", JsonString(key)));
                write("string", value, text);
            }
            text.push('}');
        }
        ("map[string]string", _) => text.push_str("null"),
        ("string", value) => text.push_str(&JsonString(value.as_str().unwrap_or("")).to_string()),
        ("bool", value) => text.push_str(if value == &Value::Bool(true) { "true" } else { "false" }),
        ("intstr.IntOrString", Value::String(word)) => text.push_str(&JsonString(word).to_string()),
        ("int32" | "int64" | "intstr.IntOrString", value) => {
            text.push_str(&value.as_i64().unwrap_or(0).to_string());
        }
        (of, value) => structure(of, value, text),
    }
}

fn list(item: &str, items: &[Value], text: &mut String) {
    text.push('[');
    for (index, one) in items.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write(item, one, text);
    }
    text.push(']');
}

fn structure(of: &str, value: &Value, text: &mut String) {
    text.push('{');
    let mut comma = "";
    for line in members(of) {
        let mut words = line.split(' ');
        let (Some(name), Some(kind), Some(served)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let member = value.get(served).unwrap_or(&Value::Null);
        if words.next() == Some("omitempty") && is_empty(member) {
            continue;
        }
        text.push_str(&format!("{comma}\"{name}\":"));
        comma = ",";
        write(kind, member, text);
    }
    text.push('}');
}

/// What `omitempty` leaves out. (A pointer to `false` or `0` stays; none of the structs here has such a member without
/// one.)
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(of: &str, value: &Value) -> String {
        let mut text = String::new();
        write(of, value, &mut text);
        text
    }

    #[test]
    fn structs_stand_as_go_writes_them() {
        let selector =
            json!({"matchLabels": {"a": "<"}, "matchExpressions": [{"key": "k", "values": ["v"]}]});
        assert_eq!(
            text("v1.LabelSelector", &selector),
            r#"{"matchLabels":{"a":"\u003c"},"matchExpressions":[{"key":"k","operator":"","values":["v"]}]}"#
        );
        assert_eq!(text("v1.LabelSelector", &json!({})), "{}");
        assert_eq!(
            text("apps.DeploymentStrategy", &json!({"type": "x", "rollingUpdate": {"maxSurge": "1%"}})),
            r#"{"Type":"x","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":"1%"}}"#
        );
        assert_eq!(text("[]int32", &json!([1, 2])), "[1,2]");
        assert_eq!(text("map[string]string", &Value::Null), "null");
    }
}
