//! Between JSON and values.

use std::sync::Arc;

use serde_json::{Map, Number, Value};

use crate::time;
use crate::types::Type;
use crate::value::{Identity, Key, List, Val};

/// JSON as a value, without a schema.
#[must_use]
pub fn from_json(value: &Value) -> Val {
    match value {
        Value::Null => Val::Null,
        Value::Bool(flag) => Val::Bool(*flag),
        Value::Number(number) => from_number(number),
        Value::String(text) => Val::text(text),
        Value::Array(items) => Val::list(items.iter().map(from_json).collect()),
        Value::Object(members) => {
            Val::object(members.iter().map(|(name, value)| (name.clone(), from_json(value))))
        }
    }
}

/// A number as a value.
#[must_use]
pub fn from_number(number: &Number) -> Val {
    match (number.as_i64(), number.as_u64()) {
        (Some(number), _) => Val::Int(number),
        (None, Some(number)) => Val::Uint(number),
        (None, None) => Val::Double(number.as_f64().unwrap_or_default()),
    }
}

/// A value as JSON; `None` for what has no form there.
#[must_use]
pub fn to_json(value: &Val) -> Option<Value> {
    Some(match value {
        Val::Null => Value::Null,
        Val::Bool(flag) => Value::Bool(*flag),
        Val::Int(number) => (*number).into(),
        Val::Uint(number) => (*number).into(),
        Val::Double(number) => Number::from_f64(*number).map(Value::Number)?,
        Val::Text(text) => Value::String(text.to_string()),
        Val::Bytes(bytes) => Value::String(base64(bytes)),
        Val::List(list) => Value::Array(list.items.iter().map(to_json).collect::<Option<_>>()?),
        Val::Map(map) => {
            let member = |(key, value): (&Key, &Val)| {
                let name = match key {
                    Key::Text(text) => text.to_string(),
                    Key::Bool(flag) => flag.to_string(),
                    Key::Int(number) => number.to_string(),
                    Key::Uint(number) => number.to_string(),
                };
                Some((name, to_json(value)?))
            };
            Value::Object(map.iter().map(member).collect::<Option<Map<_, _>>>()?)
        }
        Val::Duration(nanos) => Value::String(time::duration_text(*nanos)),
        Val::Timestamp(nanos) => Value::String(time::timestamp_text(*nanos)),
        Val::Quantity(quantity) => Value::String(quantity.to_string()),
        Val::Optional(of) => to_json(of.as_deref()?)?,
        Val::Type(_) | Val::Url(_) | Val::Ip(_) | Val::Cidr(..) | Val::Format(_) | Val::Semver(_) => {
            return None;
        }
    })
}

/// JSON as a value of a type. Where it is of another, it is taken as it is.
#[must_use]
pub fn typed(value: &Value, of: &Type) -> Val {
    match (of, value) {
        (Type::Object(object), Value::Object(members)) => {
            let member = |(name, value): (&String, &Value)| {
                let name = escape(name)?;
                let of = object.fields.get(&name)?;
                Some((name, typed(value, of)))
            };
            Val::object(members.iter().filter_map(member))
        }
        (Type::Map(_, of), Value::Object(members)) => {
            Val::object(members.iter().map(|(name, value)| (name.clone(), typed(value, of))))
        }
        (Type::List(of), Value::Array(items)) => {
            Val::list(items.iter().map(|item| typed(item, of)).collect())
        }
        (Type::Double, Value::Number(number)) => Val::Double(number.as_f64().unwrap_or_default()),
        #[expect(clippy::cast_possible_truncation, reason = "it is whole, and its size has been checked")]
        (Type::Int, Value::Number(number)) if number.is_f64() => {
            Val::Int(number.as_f64().unwrap_or_default() as i64)
        }
        (Type::Timestamp, Value::String(text)) => {
            time::timestamp(text).map_or_else(|| Val::text(text), Val::Timestamp)
        }
        (Type::Duration, Value::String(text)) => {
            time::duration(text).map_or_else(|| Val::text(text), Val::Duration)
        }
        (Type::Bytes, Value::String(text)) => {
            unbase64(text).map_or_else(|| Val::text(text), |bytes| Val::Bytes(bytes.into()))
        }
        (_, value) => from_json(value),
    }
}

/// A list whose items are told apart otherwise than by their place.
#[must_use]
pub fn identified(value: Val, kind: Identity) -> Val {
    match value {
        Val::List(list) => Val::List(Arc::new(List { items: list.items.clone(), kind })),
        other => other,
    }
}

/// The name by which expressions reach a property (apiserver `pkg/cel/escaping.go`); `None` where none can.
#[must_use]
pub fn escape(name: &str) -> Option<String> {
    const KEPT: [&str; 20] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
    ];
    if KEPT.contains(&name) || name == "while" {
        return Some(format!("__{name}__"));
    }
    let first = name.chars().next()?;
    if !(first.is_ascii_alphabetic() || first == '_') {
        return None;
    }
    let is_known = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '.' | '-' | '/');
    if !name.chars().all(is_known) {
        return None;
    }
    let escaped = name.replace("__", "__underscores__");
    Some(escaped.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__"))
}

/// Bytes in base64.
#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            if place <= chunk.len() {
                let letter = (word >> (18 - 6 * place)) & 63;
                text.push(char::from(LETTERS[usize::try_from(letter).unwrap_or(0)]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

/// Bytes from base64; `None` where it is none.
#[must_use]
pub fn unbase64(text: &str) -> Option<Vec<u8>> {
    let (mut word, mut bits, mut bytes) = (0u32, 0u32, Vec::new());
    for letter in text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')) {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => continue,
            _ => return None,
        };
        word = word << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((word >> bits) & 0xff).unwrap_or(0));
        }
    }
    Some(bytes)
}
