//! Objects within objects (`x-kubernetes-embedded-resource`): kind, version and metadata (apiextensions `pkg/apiserver/schema/objectmeta`).

use serde_json::Value;

use super::place::at;
use crate::problem::{Problem, quoted};
use crate::schema::Schema;

/// Members of `metadata`.
const META: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Calls for each object within an object, with its path.
fn each(value: &mut Value, schema: &Schema, path: &str, call: &mut dyn FnMut(&mut Value, &str)) {
    if schema.is_embedded {
        call(value, path);
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if let Some(below) = schema.member(name) {
                    each(member, below, &at(path, name), call);
                }
            }
        }
        Value::Array(items) => {
            if let Some(below) = &schema.items {
                for (index, item) in items.iter_mut().enumerate() {
                    each(item, below, &format!("{path}[{index}]"), call);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Takes out what metadata of objects within an object does not have. The paths of what was taken out, sorted.
///
/// # Errors
/// What is said of metadata that cannot be read.
pub fn coerce(value: &mut Value, schema: &Schema) -> Result<Vec<String>, String> {
    let (mut dropped, mut error) = (Vec::new(), None);
    each(value, schema, "", &mut |object, path| {
        let Some(metadata) = object.get_mut("metadata") else { return };
        let path = at(path, "metadata");
        if let Some(why) = unreadable(metadata) {
            error.get_or_insert(format!("{path}: Invalid value: {metadata}: {why}"));
            return;
        }
        dropped.extend(drop_unknown(metadata).into_iter().map(|name| at(&path, &name)));
    });
    dropped.sort();
    match error {
        Some(error) => Err(error),
        None => Ok(dropped),
    }
}

/// Takes out of metadata what it does not have; the names of what was taken out.
pub fn drop_unknown(metadata: &mut Value) -> Vec<String> {
    let Value::Object(members) = metadata else { return Vec::new() };
    let unknown: Vec<String> =
        members.keys().filter(|name| !META.contains(&name.as_str())).cloned().collect();
    for name in &unknown {
        members.remove(name);
    }
    unknown
}

/// Takes out of metadata what Go leaves out when it writes it: what is empty. An empty list of managers stays, it says something.
pub fn drop_empty(metadata: &mut Value) {
    let is_empty = |name: &str, value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty() && name != "managedFields",
        Value::Object(members) => members.is_empty(),
        Value::Number(number) => name == "generation" && number.as_i64() == Some(0),
        Value::Bool(_) => false,
    };
    if let Value::Object(members) = metadata {
        members.retain(|name, value| !is_empty(name, value));
    }
}

/// Why metadata cannot be read, in Go's words.
#[must_use]
pub fn unreadable(metadata: &Value) -> Option<String> {
    let word = |value: &Value| match value {
        Value::Null => None,
        Value::Bool(_) => Some("bool"),
        Value::Number(_) => Some("number"),
        Value::String(_) => Some("string"),
        Value::Array(_) => Some("array"),
        Value::Object(_) => Some("object"),
    };
    let Value::Object(members) = metadata else {
        return Some(format!(
            "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
            word(metadata)?
        ));
    };
    let wrong = |value: &Value, name: &str, of: &str| {
        let word = word(value)?;
        Some(format!("json: cannot unmarshal {word} into Go struct field ObjectMeta.{name} of type {of}"))
    };
    for (name, member) in members {
        let found = match (name.as_str(), member) {
            ("labels" | "annotations", Value::Object(map)) => {
                map.values().find(|one| !one.is_string()).and_then(|one| wrong(one, name, "string"))
            }
            ("labels" | "annotations", other) => wrong(other, name, "map[string]string"),
            ("finalizers", Value::Array(items)) => {
                items.iter().find(|one| !one.is_string()).and_then(|one| wrong(one, name, "string"))
            }
            ("finalizers", other) => wrong(other, name, "[]string"),
            ("name" | "namespace" | "generateName" | "selfLink" | "resourceVersion", other)
                if !other.is_string() =>
            {
                wrong(other, name, "string")
            }
            ("uid", other) if !other.is_string() => wrong(other, name, "types.UID"),
            ("generation" | "deletionGracePeriodSeconds", other) if !other.is_i64() => {
                wrong(other, name, "int64")
            }
            ("ownerReferences", other) if !other.is_array() => wrong(other, name, "[]v1.OwnerReference"),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// What is wrong with objects within an object.
#[must_use]
pub fn check(value: &Value, schema: &Schema) -> Vec<Problem> {
    let mut problems = Vec::new();
    each(&mut value.clone(), schema, "", &mut |object, path| {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        // The schema asks for them; that they are not empty is asked here.
        if object.get("apiVersion").is_some() && version.is_empty() {
            problems.push(Problem::required(at(path, "apiVersion"), "must not be empty"));
        } else if version.matches('/').count() > 1 {
            let why = format!("unexpected GroupVersion string: {version}");
            problems.push(Problem::invalid(at(path, "apiVersion"), &quoted(version), &why));
        }
        if object.get("kind").is_some() && kind.is_empty() {
            problems.push(Problem::required(at(path, "kind"), "must not be empty"));
        } else if !kind.is_empty() && !is_label_1035(&kind.to_lowercase()) {
            let why = "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case \
                       alphanumeric characters or '-', start with an alphabetic character, and end with an \
                       alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
                       '[a-z]([-a-z0-9]*[a-z0-9])?')";
            problems.push(Problem::invalid(at(path, "kind"), &quoted(kind), why));
        }
        for name in ["apiVersion", "kind"] {
            if object.is_object() && object.get(name).is_none() {
                problems.push(Problem::required(at(path, name), ""));
            }
        }
    });
    problems
}

/// Whether a text is a DNS label of RFC 1035.
#[must_use]
pub fn is_label_1035(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.last().is_some_and(alphanumeric)
        && bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
        && bytes.len() <= 63
}
