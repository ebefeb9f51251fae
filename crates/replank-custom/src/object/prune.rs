//! What is taken out of an object because its schema does not know it (apiextensions `pkg/apiserver/schema/pruning`).

use serde_json::Value;

use crate::schema::{Additional, Schema};

/// Takes out of an object what its schema does not know. The paths of what was taken out, such as `spec.list[0].x`, sorted.
pub fn prune(value: &mut Value, schema: &Schema) -> Vec<String> {
    let mut pruned = Vec::new();
    // Every object has a kind, a version and metadata; whoever keeps all below a member keeps what is not said there too.
    node(value, Some(schema), true, "", &mut pruned);
    pruned.sort();
    pruned
}

fn at(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn node(value: &mut Value, schema: Option<&Schema>, is_object: bool, path: &str, pruned: &mut Vec<String>) {
    let preserves = schema.is_some_and(|schema| schema.preserves);
    match value {
        Value::Object(members) => {
            let of = |name: &str| -> Known<'_> {
                if is_object && matches!(name, "apiVersion" | "kind" | "metadata") {
                    return Known::Kept;
                }
                let Some(schema) = schema else { return Known::No };
                match (schema.properties.get(name), &schema.additional) {
                    (Some(property), _) => Known::As(property),
                    (None, Some(Additional::Of(additional))) => Known::As(additional),
                    (None, Some(Additional::Any(true))) => Known::Kept,
                    (None, Some(Additional::Any(false)) | None) if preserves => Known::Kept,
                    (None, Some(Additional::Any(false)) | None) => Known::No,
                }
            };
            let names: Vec<String> = members.keys().cloned().collect();
            for name in names {
                match of(&name) {
                    Known::No => {
                        members.remove(&name);
                        pruned.push(at(path, &name));
                    }
                    Known::Kept => {}
                    Known::As(below) => {
                        if let Some(member) = members.get_mut(&name) {
                            node(member, Some(below), below.is_embedded, &at(path, &name), pruned);
                        }
                    }
                }
            }
        }
        Value::Array(items) => {
            let below = schema.and_then(|schema| schema.items.as_deref());
            if below.is_none() && preserves {
                return;
            }
            for (index, item) in items.iter_mut().enumerate() {
                let is_embedded = below.is_some_and(|below| below.is_embedded);
                node(item, below, is_embedded, &format!("{path}[{index}]"), pruned);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a member is known.
enum Known<'s> {
    No,
    Kept,
    As(&'s Schema),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::read;

    #[test]
    fn what_is_unknown_goes_and_is_named() {
        let schema =
            read(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "kept": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "p": {"type": "object", "properties": {"q": {"type": "string"}}}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object"}}}}}}));
        let mut value = json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "other": 1,
            "spec": {"kept": {"x": 1, "p": {"q": "", "z": 1}}, "list": [{"a": "", "b": 1}], "map": {"k": {"l": 1}}}});
        let pruned = prune(&mut value, &schema);
        assert_eq!(pruned, ["other", "spec.kept.p.z", "spec.list[0].b", "spec.map.k.l"]);
        assert_eq!(
            value["spec"],
            json!({"kept": {"x": 1, "p": {"q": ""}}, "list": [{"a": ""}], "map": {"k": {}}})
        );
        assert_eq!(value["metadata"]["name"], "x");
    }
}
