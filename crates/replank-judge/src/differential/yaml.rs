//! Bodies in YAML.

use serde_json::Value;

/// An object as YAML: maps and lists in blocks, what is in them as JSON has it.
pub(super) fn yaml(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

fn block(value: &Value, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                out.extend([indent.clone(), Value::from(name.as_str()).to_string(), ":".to_owned()]);
                below(member, depth, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                out.push_str(&indent);
                out.push('-');
                below(item, depth, out);
            }
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => out.extend([indent, value.to_string(), "\n".to_owned()]),
    }
}

fn below(value: &Value, depth: usize, out: &mut String) {
    let is_block = match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    if is_block {
        out.push('\n');
        block(value, depth + 1, out);
    } else {
        out.extend([" ".to_owned(), value.to_string(), "\n".to_owned()]);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_is_yaml() {
        let value = json!({"a": [{"b": 1, "c": []}, "x: y"], "d": {"e": null, "f": {}}});
        let read: Value = serde_saphyr::from_str(&yaml(&value)).expect("it is YAML");
        assert_eq!(read, value);
    }
}
