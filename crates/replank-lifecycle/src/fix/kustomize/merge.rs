//! Patches applied to objects, as far as it takes to see whether a patch still does the same once both have another version.

use serde_json::{Map, Value};

/// A strategic merge patch, of which lists take the place of lists: whoever compares the outcome of two such merges needs no
/// keys.
pub(super) fn merged(object: &Value, patch: &Value) -> Value {
    match (object, patch) {
        (Value::Object(object), Value::Object(patch)) => {
            let mut all = object.clone();
            for (key, value) in patch {
                if value.is_null() {
                    all.remove(key);
                } else {
                    let of = all.get(key).map_or_else(|| bare(value), |old| merged(old, value));
                    all.insert(key.clone(), of);
                }
            }
            Value::Object(all)
        }
        (_, patch) => bare(patch),
    }
}

/// A patch where nothing stands: `null` puts nothing there.
fn bare(patch: &Value) -> Value {
    match patch {
        Value::Object(map) => {
            let there = map.iter().filter(|(_, value)| !value.is_null());
            Value::Object(there.map(|(key, value)| (key.clone(), bare(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => patch.clone(),
    }
}

/// A JSON patch (RFC 6902). `None` where it cannot be followed.
pub(super) fn patched(object: &Value, operations: &[Value]) -> Option<Value> {
    let mut object = object.clone();
    for operation in operations {
        let text = |key: &str| operation.get(key).and_then(Value::as_str);
        let path = text("path")?;
        match text("op")? {
            "add" => add(&mut object, path, operation.get("value")?.clone())?,
            "remove" => drop(take(&mut object, path)?),
            "replace" => *object.pointer_mut(path)? = operation.get("value")?.clone(),
            "move" => {
                let value = take(&mut object, text("from")?)?;
                add(&mut object, path, value)?;
            }
            "copy" => {
                let value = object.pointer(text("from")?)?.clone();
                add(&mut object, path, value)?;
            }
            "test" => drop(object.pointer(path)?),
            _ => return None,
        }
    }
    Some(object)
}

fn split(path: &str) -> Option<(&str, String)> {
    let (parent, last) = path.rsplit_once('/')?;
    Some((parent, last.replace("~1", "/").replace("~0", "~")))
}

fn add(object: &mut Value, path: &str, value: Value) -> Option<()> {
    let (parent, key) = split(path)?;
    match object.pointer_mut(parent)? {
        Value::Object(map) => drop(map.insert(key, value)),
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let at: usize = key.parse().ok().filter(|at| *at <= items.len())?;
            items.insert(at, value);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    }
    Some(())
}

fn take(object: &mut Value, path: &str) -> Option<Value> {
    let (parent, key) = split(path)?;
    match object.pointer_mut(parent)? {
        Value::Object(map) => map.remove(&key),
        Value::Array(items) => {
            let at: usize = key.parse().ok().filter(|at| *at < items.len())?;
            Some(items.remove(at))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// A patch without what says whom it is about.
pub(super) fn without_head(patch: &Value) -> Value {
    let Value::Object(map) = patch else { return patch.clone() };
    let mut map: Map<String, Value> = map.clone();
    map.remove("apiVersion");
    map.remove("kind");
    if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
        metadata.remove("name");
        metadata.remove("namespace");
    }
    Value::Object(map)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn maps_are_merged_lists_replaced_and_null_removes() {
        let object = json!({"a": {"b": 1, "c": [1]}, "d": 2});
        assert_eq!(
            merged(&object, &json!({"a": {"c": [2], "e": {"f": null, "g": 1}}, "d": null})),
            json!({"a": {"b": 1, "c": [2], "e": {"g": 1}}})
        );
    }

    #[test]
    fn operations_are_followed_or_not_at_all() {
        let object = json!({"a": [1, 2], "b/c": {"d": 1}});
        let operations = json!([
            {"op": "add", "path": "/a/-", "value": 3}, {"op": "remove", "path": "/a/0"},
            {"op": "move", "from": "/b~1c/d", "path": "/e"}, {"op": "replace", "path": "/a/0", "value": 9},
        ]);
        assert_eq!(
            patched(&object, operations.as_array().unwrap()),
            Some(json!({"a": [9, 3], "b/c": {}, "e": 1}))
        );
        assert_eq!(patched(&object, &[json!({"op": "replace", "path": "/x/y", "value": 1})]), None);
    }
}
