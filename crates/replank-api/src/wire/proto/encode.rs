//! JSON to messages, with the bytes that Go writes: fields that are no pointers are there with their zero values.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::shape::{Field, Kind, Many, Shape, Special, shape};
use super::text;
use super::wire::{put_bytes, put_double, put_number};

/// Appends a message; `None` where there is none of that name.
pub(super) fn message(name: &str, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    let shape = shape(name)?;
    match shape.special {
        Some(special) => special_value(special, shape, value, out),
        None => {
            for field in &shape.fields {
                // Members of what is inlined stand beside it.
                let value =
                    if field.is_inline { value } else { value.get(field.name).unwrap_or(&Value::Null) };
                self::field(field, value, out)?;
            }
            Some(())
        }
    }
}

fn field(field: &Field, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    match (field.many, value) {
        (Many::Maybe, Value::Null) | (Many::List | Many::Map, Value::Null) => Some(()),
        (Many::One, Value::Null) if field.kind == Kind::Bytes => Some(()),
        (Many::One | Many::Maybe, value) => one(field.kind, field.number, value, out),
        (Many::List, value) => {
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            items.iter().try_for_each(|item| one(field.kind, field.number, item, out))
        }
        (Many::Map, value) => {
            let mut entry = Vec::new();
            for (key, item) in value.as_object().into_iter().flatten() {
                entry.clear();
                put_bytes(&mut entry, 1, key.as_bytes());
                one(field.kind, 2, item, &mut entry)?;
                put_bytes(out, field.number, &entry);
            }
            Some(())
        }
    }
}

fn one(kind: Kind, number: u32, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    match kind {
        Kind::Text => put_bytes(out, number, value.as_str().unwrap_or_default().as_bytes()),
        Kind::Bytes => {
            let bytes = STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default();
            put_bytes(out, number, &bytes);
        }
        Kind::Bool => put_number(out, number, value.as_bool().unwrap_or_default().into()),
        Kind::Int => put_number(out, number, whole(value)),
        Kind::Double => put_double(out, number, value.as_f64().unwrap_or_default()),
        Kind::Message(name) => {
            let mut inner = Vec::new();
            message(name, value, &mut inner)?;
            put_bytes(out, number, &inner);
        }
    }
    Some(())
}

/// A whole number, even where it was written as `3.0`.
fn whole(value: &Value) -> i64 {
    // The cast saturates.
    value.as_i64().or_else(|| value.as_f64().map(|number| number as i64)).unwrap_or_default()
}

fn special_value(special: Special, shape: &Shape, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    let word = value.as_str().unwrap_or_default();
    let part = |number: u32, value: &Value, out: &mut Vec<u8>| {
        let field = shape.fields.iter().find(|field| field.number == number)?;
        one(field.kind, number, value, out)
    };
    match special {
        Special::Quantity => {
            let text = match value {
                Value::Number(number) => number.to_string(),
                Value::Null => "0".to_owned(),
                Value::String(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_) => word.to_owned(),
            };
            put_bytes(out, 1, text.as_bytes());
        }
        // A zero time is an empty message.
        Special::Time | Special::MicroTime => {
            if let Some((seconds, nanos)) = text::time(word) {
                put_number(out, 1, seconds);
                put_number(out, 2, if special == Special::Time { 0 } else { nanos.into() });
            }
        }
        Special::Duration => put_number(out, 1, text::duration(word).unwrap_or_default()),
        Special::IntOrString => {
            put_number(out, 1, value.is_string().into());
            put_number(out, 2, if value.is_string() { 0 } else { whole(value) });
            put_bytes(out, 3, word.as_bytes());
        }
        Special::Json if value.is_null() => {}
        Special::Json => put_bytes(out, 1, value.to_string().as_bytes()),
        Special::SchemaOrBool => {
            put_number(out, 1, value.as_bool().unwrap_or(true).into());
            if value.is_object() {
                part(2, value, out)?;
            }
        }
        Special::SchemaOrList => match value.as_array() {
            Some(items) => items.iter().try_for_each(|item| part(2, item, out))?,
            None => part(1, value, out)?,
        },
        Special::SchemaOrNames => match value.as_array() {
            Some(items) => items.iter().try_for_each(|item| part(2, item, out))?,
            None => part(1, value, out)?,
        },
        Special::Items => {
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            items.iter().for_each(|item| put_bytes(out, 1, item.as_str().unwrap_or_default().as_bytes()));
        }
    }
    Some(())
}
