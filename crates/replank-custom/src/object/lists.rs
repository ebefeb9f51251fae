//! Lists whose items are told apart have none twice (apiextensions `pkg/apiserver/schema/listtype`).

use serde_json::{Map, Value};

use super::correlate::key_of;
use super::place::at;
use crate::problem::{Problem, shown};
use crate::schema::{ListKind, Schema};

/// Items that are there twice.
#[must_use]
pub fn check(value: &Value, schema: &Schema) -> Vec<Problem> {
    let mut problems = Vec::new();
    node(value, schema, "", &mut problems);
    problems
}

fn node(value: &Value, schema: &Schema, path: &str, problems: &mut Vec<Problem>) {
    match value {
        Value::Array(items) => {
            match schema.list_type {
                ListKind::Atomic => {}
                ListKind::Set => twice(items, path, problems, Clone::clone),
                ListKind::Map => {
                    let below = schema.items.as_deref();
                    let keys = |item: &Value| -> Value {
                        let key = |name: &String| Some((name.clone(), key_of(item, name, below)?.clone()));
                        Value::Object(schema.list_map_keys.iter().filter_map(key).collect::<Map<_, _>>())
                    };
                    twice(items, path, problems, keys);
                }
            }
            if let Some(below) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    node(item, below, &format!("{path}[{index}]"), problems);
                }
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                if let Some(below) = schema.member(name) {
                    let is_named = schema.properties.contains_key(name);
                    let path = if is_named { at(path, name) } else { format!("{path}[{name}]") };
                    node(member, below, &path, problems);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn twice(items: &[Value], path: &str, problems: &mut Vec<Problem>, by: impl Fn(&Value) -> Value) {
    let keys: Vec<Value> = items.iter().map(by).collect();
    for (index, key) in keys.iter().enumerate() {
        if keys[..index].contains(key) {
            problems.push(Problem::duplicate(format!("{path}[{index}]"), &shown(key)));
        }
    }
}
