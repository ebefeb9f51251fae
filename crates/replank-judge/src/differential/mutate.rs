//! Objects that are wrong somewhere, or at least unusual.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::draw::Draw;

/// How deep a made-up value goes.
const DEPTH: usize = 3;

/// Changes an object in one to three places: members that go, get another value or another type, are unknown, or are ones that the schema knows.
pub(super) fn change(
    object: &mut Value,
    schema: Option<&Value>,
    schemas: &BTreeMap<String, Value>,
    draw: &mut Draw,
) {
    for _ in 0..=draw.below(3) {
        change_once(object, schema, schemas, draw);
    }
}

fn change_once(
    object: &mut Value,
    schema: Option<&Value>,
    schemas: &BTreeMap<String, Value>,
    draw: &mut Draw,
) {
    let schema = schema.map(|schema| resolve(schema, schemas));
    match object {
        Value::Object(members) => {
            // What lies deeper is more often the one: there is more of it.
            let keys: Vec<String> = members
                .keys()
                .filter(|key| !matches!(key.as_str(), "apiVersion" | "kind"))
                .cloned()
                .collect();
            let nested: Vec<&String> =
                keys.iter().filter(|key| members[*key].is_object() || members[*key].is_array()).collect();
            if !nested.is_empty() && draw.percent(65) {
                let key = (*draw.pick(&nested)).clone();
                let below = schema.and_then(|schema| member(schema, &key));
                if let Some(value) = members.get_mut(&key) {
                    change_once(value, below, schemas, draw);
                }
                return;
            }
            change_member(members, &keys, schema, schemas, draw);
        }
        Value::Array(items) => {
            if items.is_empty() || draw.percent(15) {
                let copy = items.first().cloned().unwrap_or_else(|| odd(draw));
                items.push(copy);
            } else if draw.percent(8) {
                items.remove(draw.below(items.len()));
            } else {
                let index = draw.below(items.len());
                change_once(&mut items[index], schema.map(|schema| &schema["items"]), schemas, draw);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => *object = unusual(object, draw),
    }
}

fn change_member(
    members: &mut Map<String, Value>,
    keys: &[String],
    schema: Option<&Value>,
    schemas: &BTreeMap<String, Value>,
    draw: &mut Draw,
) {
    let known: Vec<&String> = schema
        .and_then(|schema| schema["properties"].as_object())
        .map(|properties| properties.keys().filter(|key| !members.contains_key(*key)).collect())
        .unwrap_or_default();
    match draw.below(10) {
        0..=4 if !known.is_empty() => {
            let key = (*draw.pick(&known)).clone();
            let below = schema.and_then(|schema| member(schema, &key));
            let value = below.map_or(Value::Null, |below| made_up(below, schemas, DEPTH, draw));
            members.insert(key, value);
        }
        0 | 5 => {
            members.insert(draw.text(&["unknown", "Name", "x-y", "specc"]), odd(draw));
        }
        6 if !keys.is_empty() => {
            members.remove(draw.pick(keys));
        }
        _ if !keys.is_empty() => {
            let key = draw.pick(keys);
            let value = unusual(&members[key], draw);
            members.insert(key.clone(), value);
        }
        _ => {
            members.insert("unknown".to_owned(), odd(draw));
        }
    }
}

/// Another value in place of one, most often of its type.
fn unusual(value: &Value, draw: &mut Draw) -> Value {
    if draw.percent(20) {
        return odd(draw);
    }
    match value {
        Value::String(text) => match draw.below(8) {
            0 => json!(""),
            1 => json!(text.to_uppercase()),
            2 => json!(format!("{text}-")),
            3 => json!(format!("{text}.x")),
            4 => json!("a".repeat(260)),
            5 => json!("ü b"),
            6 => json!(format!("{text}1")),
            _ => json!("64"),
        },
        Value::Number(number) => {
            let number = number.as_i64().unwrap_or_default();
            draw.pick(&[
                json!(-1),
                json!(0),
                json!(number + 1),
                json!(70000),
                json!(5_000_000_000_i64),
                json!(1.5),
            ])
            .clone()
        }
        Value::Bool(truth) => json!(!truth),
        Value::Array(_) => json!([]),
        Value::Object(_) => json!({}),
        Value::Null => odd(draw),
    }
}

fn odd(draw: &mut Draw) -> Value {
    let all = [
        json!(null),
        json!(7),
        json!("x"),
        json!(true),
        json!([]),
        json!({}),
        json!(["x"]),
        json!({"x": "y"}),
    ];
    draw.pick(&all).clone()
}

/// A value that a schema allows, as far as the schema tells.
fn made_up(schema: &Value, schemas: &BTreeMap<String, Value>, depth: usize, draw: &mut Draw) -> Value {
    let schema = resolve(schema, schemas);
    if let Some(choices) = schema["enum"].as_array().filter(|choices| !choices.is_empty()) {
        return draw.pick(choices).clone();
    }
    match schema["type"].as_str() {
        Some("string") if schema["format"] == "date-time" => json!("2026-01-02T03:04:05Z"),
        Some("string") => {
            json!(draw.text(&[
                "x",
                "a.b",
                "Always",
                "1",
                "10%",
                "/p",
                "a-b",
                "example.com/x",
                "TCP",
                "100m",
                "IPv4"
            ]))
        }
        Some("integer" | "number") => {
            draw.pick(&[json!(0), json!(1), json!(5), json!(-3), json!(100)]).clone()
        }
        Some("boolean") => json!(draw.percent(50)),
        Some("array") => match draw.below(3) {
            0 => json!([]),
            length => (0..length).map(|_| made_up(&schema["items"], schemas, depth, draw)).collect(),
        },
        Some("object") | None => {
            let properties = schema["properties"].as_object();
            if let (None, true) = (properties, schema["additionalProperties"].is_object()) {
                return json!({"k": made_up(&schema["additionalProperties"], schemas, depth, draw)});
            }
            let mut members = Map::new();
            let required: Vec<&str> =
                schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            for (key, below) in properties.into_iter().flatten() {
                let wanted = if required.contains(&key.as_str()) { 95 } else { 15 };
                if depth > 0 && draw.percent(wanted) {
                    members.insert(key.clone(), made_up(below, schemas, depth - 1, draw));
                }
            }
            Value::Object(members)
        }
        Some(_) => Value::Null,
    }
}

fn member<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    schema["properties"].get(key).or_else(|| schema.get("additionalProperties"))
}

/// What a schema refers to.
fn resolve<'a>(schema: &'a Value, schemas: &'a BTreeMap<String, Value>) -> &'a Value {
    let named = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
    let name = named.and_then(|reference| reference.rsplit('/').next());
    name.and_then(|name| schemas.get(name)).unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_changes_something_and_never_the_type() {
        let object = json!({"apiVersion": "v1", "kind": "X", "spec": {"a": 1, "b": [{"c": "d"}]}});
        let schemas = BTreeMap::new();
        let mut changed = 0;
        for story in 0..100 {
            let mut copy = object.clone();
            change(&mut copy, None, &schemas, &mut Draw::new(1, story));
            assert_eq!((&copy["apiVersion"], &copy["kind"]), (&object["apiVersion"], &object["kind"]));
            changed += usize::from(copy != object);
        }
        assert!(changed > 85, "{changed}");
    }
}
