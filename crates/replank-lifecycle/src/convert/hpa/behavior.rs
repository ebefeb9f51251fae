//! `spec.behavior` in an annotation. It holds what Go makes of the internal type, whose fields begin with capitals; Go reads
//! them in either case.

use serde_json::{Map, Value};

use super::{BEHAVIOR, annotate, annotation, unannotate};
use crate::tree::{Entry, Tree};

const FIELDS: [&str; 9] = [
    "scaleUp",
    "scaleDown",
    "stabilizationWindowSeconds",
    "selectPolicy",
    "policies",
    "type",
    "value",
    "periodSeconds",
    "tolerance",
];

pub(super) fn from_annotation(object: &mut Tree) {
    // The API server ignores an annotation that is not a behavior; it stays as it is.
    let Some(Ok(value)) = annotation(object, BEHAVIOR).map(serde_json::from_str::<Value>) else { return };
    let Some(behavior) = named(&value) else { return };
    let has_own = object.path(&["spec", "behavior"]).is_some();
    unannotate(object, BEHAVIOR);
    if !has_own && let Some(spec) = object.get_mut("spec") {
        spec.insert_behind(Entry::new("behavior", Tree::from_value(&behavior)), &[]);
    }
}

/// With the fields' names of the API; `None` where there is a field that it has not. Nulls go.
fn named(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Object(map) => {
            let mut out = Map::new();
            for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
                let field = FIELDS.iter().find(|field| field.eq_ignore_ascii_case(key))?;
                out.insert((*field).to_owned(), named(value)?);
            }
            Value::Object(out)
        }
        Value::Array(items) => Value::Array(items.iter().map(named).collect::<Option<_>>()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    })
}

pub(super) fn to_annotation(object: &mut Tree) {
    let Some(spec) = object.get_mut("spec") else { return };
    let Some(behavior) = spec.take("behavior") else { return };
    let text = capitals(&behavior.value.value()).to_string();
    annotate(object, BEHAVIOR, &text);
}

fn capitals(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| {
                    let mut chars = key.chars();
                    let first = chars.next().map(|first| first.to_ascii_uppercase());
                    (first.into_iter().chain(chars).collect(), capitals(value))
                })
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(capitals).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
