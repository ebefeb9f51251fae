//! What is filled in from a schema's defaults (apiextensions `pkg/apiserver/schema/defaulting`).

use serde_json::Value;

use crate::schema::{Additional, Schema};

/// Fills in what is left out, also where null stands and may not.
pub fn fill(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(members) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else { continue };
                let is_absent = members.get(name).is_none_or(|member| member.is_null() && !property.nullable);
                if is_absent {
                    members.insert(name.clone(), default.clone());
                }
            }
            for (name, member) in members.iter_mut() {
                if let Some(property) = schema.properties.get(name) {
                    fill(member, property);
                } else if let Some(Additional::Of(additional)) = &schema.additional {
                    fill_one(member, additional);
                }
            }
        }
        Value::Array(items) => {
            if let Some(below) = &schema.items {
                items.iter_mut().for_each(|item| fill_one(item, below));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fill_one(value: &mut Value, schema: &Schema) {
    if let (Value::Null, false, Some(default)) = (&*value, schema.nullable, &schema.default) {
        *value = default.clone();
    }
    fill(value, schema);
}

/// Takes out members that are null and may not be, and have no default.
pub fn drop_nulls(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(members) => {
            members.retain(|name, member| {
                !member.is_null()
                    || schema.properties.get(name).is_none_or(|of| of.nullable || of.default.is_some())
            });
            for (name, member) in members.iter_mut() {
                if let Some(below) = schema.member(name) {
                    drop_nulls(member, below);
                }
            }
        }
        Value::Array(items) => {
            if let Some(below) = &schema.items {
                items.iter_mut().for_each(|item| drop_nulls(item, below));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::read;

    #[test]
    fn defaults_stand_where_nothing_or_null_is() {
        let schema = read(&json!({"type": "object", "properties": {
            "a": {"type": "string", "default": "x"},
            "b": {"type": "string", "default": "x", "nullable": true},
            "c": {"type": "integer"},
            "o": {"type": "object", "default": {}, "properties": {"y": {"type": "integer", "default": 5}}},
            "l": {"type": "array", "items": {"type": "object", "properties": {"z": {"default": true}}}}}}));
        let mut value = json!({"a": null, "b": null, "c": null, "l": [{}]});
        drop_nulls(&mut value, &schema);
        fill(&mut value, &schema);
        assert_eq!(value, json!({"a": "x", "b": null, "o": {"y": 5}, "l": [{"z": true}]}));
    }
}
