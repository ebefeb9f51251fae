//! Messages to JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::shape::{Field, Kind, Many, Shape, Special, name_of, shape};
use super::text;
use super::unknown::{self, Unknown};
use super::wire::{Broken, Raw, Reader};

/// How deep messages may be nested; a schema in a definition is the deepest that there is.
const DEPTH_MAX: usize = 200;

/// A message as JSON has it.
pub(super) fn message(name: &str, bytes: &[u8], depth: usize) -> Result<Value, Broken> {
    if depth > DEPTH_MAX {
        return Err(Broken::Depth);
    }
    let Some(shape) = shape(name) else { return Ok(Value::Null) };
    match shape.special {
        Some(special) => special_value(special, shape, bytes, depth),
        None => members(shape, bytes, depth).map(Value::Object),
    }
}

/// The fields of a message, those that are not there with what Go writes for them.
fn members(shape: &Shape, bytes: &[u8], depth: usize) -> Result<Map<String, Value>, Broken> {
    let mut found: Vec<Option<Value>> = vec![None; shape.fields.len()];
    let mut reader = Reader(bytes);
    while let Some((number, raw)) = reader.next()? {
        let Ok(index) = shape.fields.binary_search_by_key(&number, |field| field.number) else { continue };
        let field = &shape.fields[index];
        let place = &mut found[index];
        match field.many {
            Many::One | Many::Maybe => *place = Some(value(field, raw, depth)?),
            Many::List => {
                let item = value(field, raw, depth)?;
                match place {
                    Some(Value::Array(items)) => items.push(item),
                    _ => *place = Some(Value::Array(vec![item])),
                }
            }
            Many::Map => {
                let (key, item) = entry(field, raw, depth)?;
                match place {
                    Some(Value::Object(items)) => drop(items.insert(key, item)),
                    _ => *place = Some(Value::Object([(key, item)].into_iter().collect())),
                }
            }
        }
    }
    let mut members = Map::new();
    for (field, found) in shape.fields.iter().zip(found) {
        match shown(field, found, depth)? {
            Some(Value::Object(inner)) if field.is_inline => members.extend(inner),
            Some(value) => drop(members.insert(field.name.to_owned(), value)),
            None => {}
        }
    }
    Ok(members)
}

/// What JSON has for a field; `None` where it leaves it out.
fn shown(field: &Field, found: Option<Value>, depth: usize) -> Result<Option<Value>, Broken> {
    let value = match (found, field.many) {
        (Some(value), _) => value,
        (None, Many::One) => match field.kind {
            Kind::Text => "".into(),
            Kind::Bytes => Value::Null,
            Kind::Bool => false.into(),
            Kind::Int => 0.into(),
            Kind::Double => 0.0.into(),
            Kind::Message(name) => message(name, &[], depth + 1)?,
        },
        (None, Many::Maybe | Many::List | Many::Map) => Value::Null,
    };
    let is_zero = match &value {
        Value::Null => true,
        // A pointer to a zero value is no empty value.
        _ if field.many == Many::Maybe => false,
        Value::Bool(yes) => !yes,
        Value::Number(number) => number.as_f64() == Some(0.0) && !matches!(field.kind, Kind::Message(_)),
        Value::String(text) => text.is_empty() && !matches!(field.kind, Kind::Message(_)),
        Value::Array(items) => items.is_empty(),
        Value::Object(_) => false,
    };
    let is_null_time = value.is_null() && field.is_zero_omitted;
    let is_omitted = match (field.many, field.kind) {
        // A struct is never empty to Go; a zero time is null.
        (Many::One, Kind::Message(_)) => is_null_time,
        _ => is_zero && field.is_omitted,
    };
    Ok((!is_omitted).then_some(value))
}

fn value(field: &Field, raw: Raw<'_>, depth: usize) -> Result<Value, Broken> {
    match (field.kind, raw) {
        (Kind::Text, Raw::Bytes(bytes)) => Ok(String::from_utf8_lossy(bytes).into_owned().into()),
        (Kind::Bytes, Raw::Bytes(bytes)) => Ok(STANDARD.encode(bytes).into()),
        (Kind::Bool, Raw::Varint(number)) => Ok((number != 0).into()),
        (Kind::Int, Raw::Varint(number)) => Ok(number.cast_signed().into()),
        (Kind::Double, Raw::Fixed64(bits)) => Ok(f64::from_bits(bits).into()),
        (Kind::Message(name), Raw::Bytes(bytes)) => message(name, bytes, depth + 1),
        (Kind::Text | Kind::Bytes | Kind::Bool | Kind::Int | Kind::Double | Kind::Message(_), raw) => {
            Err(Broken::WireType { wire: raw.wire(), field: capitalised(field.name) })
        }
    }
}

/// A field's name in Go.
fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

fn entry(field: &Field, raw: Raw<'_>, depth: usize) -> Result<(String, Value), Broken> {
    let Raw::Bytes(bytes) = raw else {
        return Err(Broken::WireType { wire: raw.wire(), field: capitalised(field.name) });
    };
    let (mut key, mut item) = (String::new(), None);
    let mut reader = Reader(bytes);
    while let Some((number, raw)) = reader.next()? {
        match (number, raw) {
            (1, Raw::Bytes(bytes)) => key = String::from_utf8_lossy(bytes).into_owned(),
            (2, raw) => item = Some(value(field, raw, depth)?),
            _ => {}
        }
    }
    let item = match (item, field.kind) {
        (Some(item), _) => item,
        (None, Kind::Message(name)) => message(name, &[], depth + 1)?,
        (None, Kind::Text | Kind::Bytes) => "".into(),
        (None, Kind::Bool | Kind::Int | Kind::Double) => 0.into(),
    };
    Ok((key, item))
}

fn special_value(special: Special, shape: &Shape, bytes: &[u8], depth: usize) -> Result<Value, Broken> {
    if matches!(special, Special::Time | Special::MicroTime) && bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut numbers, mut parts) = ([0_i64; 4], [None; 4]);
    let mut items = Vec::new();
    let mut reader = Reader(bytes);
    while let Some((number, raw)) = reader.next()? {
        let Some(place) = usize::try_from(number).ok().filter(|place| *place < 4) else { continue };
        match raw {
            Raw::Varint(value) => numbers[place] = value.cast_signed(),
            Raw::Bytes(bytes) => {
                parts[place] = Some(bytes);
                items.push((place, bytes));
            }
            Raw::Fixed64(_) | Raw::Fixed32 => {
                let field = shape.fields.first().map_or_else(String::new, |field| capitalised(field.name));
                return Err(Broken::WireType { wire: raw.wire(), field });
            }
        }
    }
    let words = |place: usize| -> Vec<Value> {
        let at = items.iter().filter(|(at, _)| *at == place);
        at.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned().into()).collect()
    };
    let text = |place: usize| parts[place].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let nanos = i32::try_from(numbers[2]).unwrap_or(0);
    let schema = |bytes: &[u8]| {
        let field = shape.fields.iter().find_map(|field| match field.kind {
            Kind::Message(name) => Some(name),
            Kind::Text | Kind::Bytes | Kind::Bool | Kind::Int | Kind::Double => None,
        });
        message(field.unwrap_or_default(), bytes, depth + 1)
    };
    Ok(match special {
        Special::Quantity => text(1).filter(|text| !text.is_empty()).unwrap_or_else(|| "0".to_owned()).into(),
        Special::Time => text::time_text(numbers[1], 0, 0).into(),
        Special::MicroTime => text::time_text(numbers[1], nanos, 6).into(),
        Special::Duration => text::duration_text(numbers[1]).into(),
        Special::IntOrString if numbers[1] == 0 => numbers[2].into(),
        Special::IntOrString => text(3).unwrap_or_default().into(),
        Special::Json => json(parts[1].unwrap_or_default(), depth)?,
        Special::SchemaOrBool => match parts[2] {
            Some(bytes) => schema(bytes)?,
            None => (numbers[1] != 0).into(),
        },
        Special::SchemaOrList => match parts[1] {
            Some(bytes) => schema(bytes)?,
            None => {
                let all = items.iter().filter(|(at, _)| *at == 2);
                Value::Array(all.map(|(_, bytes)| schema(bytes)).collect::<Result<_, _>>()?)
            }
        },
        Special::SchemaOrNames => match parts[1] {
            Some(bytes) => schema(bytes)?,
            None => words(2).into(),
        },
        Special::Items => words(1).into(),
    })
}

/// JSON in bytes, or an object in an envelope of its own.
fn json(bytes: &[u8], depth: usize) -> Result<Value, Broken> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    match bytes.strip_prefix(unknown::MAGIC) {
        Some(rest) => object(&unknown::open(rest)?, depth + 1),
        None => serde_json::from_slice(bytes).map_err(|error| Broken::Json(error.to_string())),
    }
}

/// What is in an envelope, with its kind.
pub(super) fn object(unknown: &Unknown<'_>, depth: usize) -> Result<Value, Broken> {
    if unknown.content_type.starts_with("application/json") {
        return serde_json::from_slice(unknown.raw).map_err(|error| Broken::Json(error.to_string()));
    }
    let (group, version) = unknown::group_version(&unknown.api_version);
    let Some(name) = name_of(group, version, &unknown.kind) else {
        return Err(Broken::NoKind { kind: unknown.kind.clone(), api_version: unknown.api_version.clone() });
    };
    let mut value = message(&name, unknown.raw, depth)?;
    if let Value::Object(members) = &mut value {
        members.insert("kind".to_owned(), unknown.kind.as_str().into());
        members.insert("apiVersion".to_owned(), unknown.api_version.as_str().into());
    }
    Ok(value)
}
