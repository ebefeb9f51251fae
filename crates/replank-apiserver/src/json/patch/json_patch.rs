//! JSON patch (RFC 6902).

use serde_json::Value;

/// Applies the operations in turn; the first that cannot be done ends it, and says why.
pub(super) fn apply(value: &mut Value, patch: &Value) -> Result<(), String> {
    let operations = patch.as_array().ok_or("a JSON patch is a list of operations")?;
    let mut changed = value.clone();
    for operation in operations {
        step(&mut changed, operation)?;
    }
    *value = changed;
    Ok(())
}

fn step(value: &mut Value, operation: &Value) -> Result<(), String> {
    let text = |name: &str| {
        operation.get(name).and_then(Value::as_str).ok_or_else(|| format!("an operation lacks \"{name}\""))
    };
    let operand = || operation.get("value").cloned().ok_or_else(|| "an operation lacks \"value\"".to_owned());
    let path = text("path")?;
    match text("op")? {
        "add" => add(value, path, operand()?),
        "remove" => remove(value, path).map(|_| ()),
        "replace" => replace(value, path, operand()?),
        "move" => {
            let moved = remove(value, text("from")?)?;
            add(value, path, moved)
        }
        "copy" => {
            let from = text("from")?;
            let copied = value.pointer(from).cloned().ok_or_else(|| missing("copy", from))?;
            add(value, path, copied)
        }
        "test" => {
            let wanted = operand()?;
            let found = value.pointer(path).unwrap_or(&Value::Null);
            if *found == wanted { Ok(()) } else { Err(format!("testing value {path} failed")) }
        }
        other => Err(format!("unexpected kind: {other}")),
    }
}

fn add(value: &mut Value, path: &str, added: Value) -> Result<(), String> {
    let Some((parent, name)) = split(path) else {
        *value = added;
        return Ok(());
    };
    match value.pointer_mut(parent).ok_or_else(|| missing("add", path))? {
        Value::Object(members) => {
            members.insert(name, added);
            Ok(())
        }
        Value::Array(items) => {
            let at = if name == "-" { Some(items.len()) } else { name.parse().ok() };
            let at = at.filter(|at| *at <= items.len()).ok_or_else(|| missing("add", path))?;
            items.insert(at, added);
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(missing("add", path)),
    }
}

/// Puts a value in the place of another. A member need not be there, as in the library that upstream uses (evanphx/json-patch v4).
fn replace(value: &mut Value, path: &str, put: Value) -> Result<(), String> {
    let of_object = split(path).filter(|(parent, _)| value.pointer(parent).is_some_and(Value::is_object));
    match of_object {
        Some(_) => add(value, path, put),
        None => {
            *value.pointer_mut(path).ok_or_else(|| missing("replace", path))? = put;
            Ok(())
        }
    }
}

fn remove(value: &mut Value, path: &str) -> Result<Value, String> {
    let (parent, name) = split(path).ok_or_else(|| missing("remove", path))?;
    let removed = match value.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            let gone = || {
                format!(
                    "error in remove for path: '{path}': Unable to remove nonexistent key: {name}: missing value"
                )
            };
            return members.remove(&name).ok_or_else(gone);
        }
        Some(Value::Array(items)) => {
            name.parse().ok().filter(|at| *at < items.len()).map(|at: usize| items.remove(at))
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => None,
    };
    removed.ok_or_else(|| missing("remove", path))
}

/// The path of the parent, and the last name with its escapes undone.
fn split(path: &str) -> Option<(&str, String)> {
    let (parent, name) = path.rsplit_once('/')?;
    Some((parent, name.replace("~1", "/").replace("~0", "~")))
}

fn missing(operation: &str, path: &str) -> String {
    format!("{operation} operation does not apply: doc is missing path: {path}: missing value")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operations_apply_in_turn_or_not_at_all() {
        let mut value = json!({"a": {"x/y": 1}, "l": [1, 3]});
        let patch = json!([{"op": "add", "path": "/l/1", "value": 2}, {"op": "add", "path": "/l/-", "value": 4},
            {"op": "move", "from": "/a/x~1y", "path": "/b"}, {"op": "test", "path": "/b", "value": 1},
            {"op": "replace", "path": "/a", "value": {}}, {"op": "copy", "from": "/l/0", "path": "/c"}]);
        assert_eq!(apply(&mut value, &patch), Ok(()));
        assert_eq!(value, json!({"a": {}, "b": 1, "c": 1, "l": [1, 2, 3, 4]}));
        let patch = json!([{"op": "remove", "path": "/b"}, {"op": "remove", "path": "/nope"}]);
        assert!(apply(&mut value, &patch).unwrap_err().contains("/nope"));
        assert_eq!(value["b"], 1);
        // A zero that was left out is put in.
        assert_eq!(apply(&mut value, &json!([{"op": "replace", "path": "/a/n", "value": 0}])), Ok(()));
        assert_eq!(value["a"], json!({"n": 0}));
        assert!(apply(&mut value, &json!([{"op": "replace", "path": "/x/y", "value": 0}])).is_err());
        assert!(apply(&mut value, &json!([{"op": "replace", "path": "/l/9", "value": 0}])).is_err());
    }
}
