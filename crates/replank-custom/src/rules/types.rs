//! Types of expressions from schemas (apiserver `pkg/cel/common/schemas.go`).

use std::sync::Arc;

use replank_cel::convert::{escape, identified, typed};
use replank_cel::value::{Identity, Key, List};
use replank_cel::{ObjectType, Type, Val};
use serde_json::Value;

use crate::schema::{Additional, ListKind, Schema};

/// The type of what a schema is of; `None` for what expressions cannot reach.
#[must_use]
pub fn of_schema(schema: &Schema, is_root: bool) -> Option<Type> {
    if schema.is_int_or_string {
        return Some(Type::Dyn);
    }
    Some(match &*schema.basic {
        "array" => Type::list(schema.items.as_deref().and_then(|items| of_schema(items, false))?),
        "object" => match &schema.additional {
            Some(Additional::Of(values)) => Type::map(Type::Text, of_schema(values, false)?),
            Some(Additional::Any(_)) | None => Type::Object(Arc::new(object(schema, is_root))),
        },
        "boolean" => Type::Bool,
        "number" => Type::Double,
        "integer" => Type::Int,
        "string" => match &*schema.format {
            "byte" => Type::Bytes,
            "duration" => Type::Duration,
            "date" | "date-time" => Type::Timestamp,
            _ => Type::Text,
        },
        _ => return None,
    })
}

fn object(schema: &Schema, is_root: bool) -> ObjectType {
    let mut object = ObjectType { name: "object".to_owned(), ..ObjectType::default() };
    for (name, property) in &schema.properties {
        if let (Some(name), Some(of)) = (escape(name), of_schema(property, false)) {
            object.fields.insert(name, of);
        }
    }
    if is_root || schema.is_embedded {
        for name in ["apiVersion", "kind"] {
            object.fields.insert(name.to_owned(), Type::Text);
        }
        let fields = ["name", "generateName"].map(|name| (name.to_owned(), Type::Text));
        let metadata = ObjectType { name: "metadata".to_owned(), fields: fields.into_iter().collect() };
        object.fields.insert("metadata".to_owned(), Type::Object(Arc::new(metadata)));
    }
    object
}

/// A value of a schema, with what its lists tell their items apart by.
#[must_use]
pub fn of_value(value: &Value, schema: &Schema, is_root: bool) -> Val {
    let Some(of) = of_schema(schema, is_root) else { return replank_cel::convert::from_json(value) };
    told_apart(typed(value, &of), schema)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "only lists and what has members have items")]
fn told_apart(value: Val, schema: &Schema) -> Val {
    match value {
        Val::List(list) => {
            let items: Vec<Val> = match schema.items.as_deref() {
                Some(below) => list.items.iter().map(|item| told_apart(item.clone(), below)).collect(),
                None => list.items.clone(),
            };
            let kind = match schema.list_type {
                ListKind::Atomic => Identity::Place,
                ListKind::Set => Identity::Value,
                ListKind::Map => Identity::Keys(schema.list_map_keys.clone().into()),
            };
            identified(Val::List(Arc::new(List { items, kind: Identity::Place })), kind)
        }
        Val::Map(map) => {
            let below = |key: &Key| match key {
                Key::Text(name) => schema
                    .properties
                    .iter()
                    .find(|(one, _)| escape(one).as_deref() == Some(&**name))
                    .map(|(_, below)| below)
                    .or_else(|| schema.member(name)),
                Key::Bool(_) | Key::Int(_) | Key::Uint(_) => None,
            };
            let member = |(key, value): (&Key, &Val)| {
                let value = match below(key) {
                    Some(below) => told_apart(value.clone(), below),
                    None => value.clone(),
                };
                (key.clone(), value)
            };
            Val::Map(Arc::new(map.iter().map(member).collect()))
        }
        other => other,
    }
}
