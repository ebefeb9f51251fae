//! What is said of a CustomResourceDefinition: formats that mean nothing (apiextensions, `GetUnrecognizedFormats`).

use replank_custom::schema::is_known_format;
use serde_json::Value;

use crate::json::members::{list, text};

/// Formats that a definition has, that it had not before, and to which no value is held.
pub(super) fn warnings(old: Option<&Value>, new: &Value, told: &mut Vec<String>) {
    let before = old.map(unknown).unwrap_or_default();
    for format in unknown(new).into_iter().filter(|format| !before.contains(format)) {
        told.push(format!("unrecognized format {format:?}"));
    }
}

/// Each once: a client is told the same thing once.
fn unknown(definition: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    for version in list(definition.get("spec").unwrap_or(&Value::Null), "versions") {
        if let Some(schema) = version.pointer("/schema/openAPIV3Schema") {
            look(schema, &mut found);
        }
    }
    found
}

fn look<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
    let format = text(schema, "format");
    if !format.is_empty() && !found.contains(&format) && !is_known_format(text(schema, "type"), format) {
        found.push(format);
    }
    for (member, under) in schema.as_object().into_iter().flatten() {
        match member.as_str() {
            "items" | "not" | "additionalProperties" | "additionalItems" | "allOf" | "anyOf" | "oneOf" => {
                each(under, found);
            }
            "properties" | "patternProperties" | "definitions" => {
                under.as_object().into_iter().flatten().for_each(|(_, schema)| look(schema, found));
            }
            _ => {}
        }
    }
}

/// One schema, or a list of them; `true` is none.
fn each<'a>(under: &'a Value, found: &mut Vec<&'a str>) {
    match under {
        Value::Array(schemas) => schemas.iter().for_each(|schema| look(schema, found)),
        one => look(one, found),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(format: &str) -> Value {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "day": {"type": "string", "format": "date"}, "name": {"type": "string", "format": "k8s-short-name"},
                "size": {"type": "integer", "format": "int32"}, "many": {"type": "array", "items": {"type": "string", "format": format}},
                "any": {"type": "object", "additionalProperties": {"type": "string", "format": format}}}}}});
        json!({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}})
    }

    #[test]
    fn a_format_that_nothing_is_held_to_is_told_once() {
        let told = |old: Option<&Value>, new: &Value| {
            let mut told = Vec::new();
            warnings(old, new, &mut told);
            told
        };
        assert_eq!(told(None, &definition("uuid")), Vec::<String>::new());
        assert_eq!(told(None, &definition("int32")), ["unrecognized format \"int32\""]);
        assert_eq!(told(Some(&definition("int32")), &definition("int32")), Vec::<String>::new());
        assert_eq!(
            told(Some(&definition("int32")), &definition("semver")),
            ["unrecognized format \"semver\""]
        );
    }
}
