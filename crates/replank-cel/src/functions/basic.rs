//! Sizes, conversions, times, optionals.

use super::part::{Made, failed};
use crate::convert::base64;
use crate::text::text_of;
use crate::time;
use crate::value::{Failure, Val};

pub(super) fn call(function: &str, values: &[Val]) -> Made {
    let count = |count: usize| Ok(Val::Int(i64::try_from(count).unwrap_or(i64::MAX)));
    Some(match (function, values) {
        ("size", [Val::Text(text)]) => count(text.chars().count()),
        ("size", [Val::Bytes(bytes)]) => count(bytes.len()),
        ("size", [Val::List(list)]) => count(list.items.len()),
        ("size", [Val::Map(map)]) => count(map.len()),
        ("dyn", [value]) => Ok(value.clone()),
        ("type", [value]) => Ok(Val::Type(value.type_name().into())),
        ("int", [value]) => int(value),
        ("uint", [value]) => uint(value),
        ("double", [value]) => double(value),
        ("bool", [Val::Bool(flag)]) => Ok(Val::Bool(*flag)),
        ("bool", [Val::Text(text)]) => match &**text {
            "true" | "True" | "TRUE" | "t" | "1" => Ok(Val::Bool(true)),
            "false" | "False" | "FALSE" | "f" | "0" => Ok(Val::Bool(false)),
            _ => failed("type conversion error from 'string' to 'bool'"),
        },
        ("bytes", [Val::Text(text)]) => Ok(Val::Bytes(text.as_bytes().into())),
        ("bytes", [value @ Val::Bytes(_)]) => Ok(value.clone()),
        ("string", [Val::Map(_) | Val::List(_) | Val::Optional(_)]) => Err(Failure::no_overload()),
        ("string", [Val::Bytes(bytes)]) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Val::text(text)),
            Err(_) => failed("invalid UTF-8 in bytes, cannot convert to string"),
        },
        ("string", [value]) => Ok(Val::text(&text_of(value))),
        ("duration", [value @ Val::Duration(_)]) => Ok(value.clone()),
        ("duration", [Val::Text(text)]) => match time::duration(text) {
            Some(nanos) => Ok(Val::Duration(nanos)),
            None => failed("type conversion error from 'string' to 'duration'"),
        },
        ("timestamp", [value @ Val::Timestamp(_)]) => Ok(value.clone()),
        ("timestamp", [Val::Int(seconds)]) => Ok(Val::Timestamp(i128::from(*seconds) * 1_000_000_000)),
        ("timestamp", [Val::Text(text)]) => match time::timestamp(text).filter(|_| text.len() > 10) {
            Some(nanos) => Ok(Val::Timestamp(nanos)),
            None => failed("type conversion error from 'string' to 'timestamp'"),
        },
        (name, [Val::Timestamp(nanos), zone @ ..]) if name.starts_with("get") && zone.len() < 2 => {
            let zone = match zone {
                [Val::Text(zone)] => Some(&**zone),
                _ => None,
            };
            match time::part(*nanos, name, zone) {
                Some(part) => Ok(Val::Int(part)),
                None => failed(format!("unknown time zone {}", zone.unwrap_or_default())),
            }
        }
        (name, [Val::Duration(nanos)]) if name.starts_with("get") => {
            time::length(*nanos, name).map(Val::Int).ok_or_else(Failure::no_overload)
        }
        ("optional.of", [value]) => Ok(Val::some(value.clone())),
        ("optional.none", []) => Ok(Val::Optional(None)),
        ("optional.ofNonZeroValue", [value]) => {
            Ok(if value.is_zero() { Val::Optional(None) } else { Val::some(value.clone()) })
        }
        ("hasValue", [Val::Optional(of)]) => Ok(Val::Bool(of.is_some())),
        ("value", [Val::Optional(of)]) => match of {
            Some(value) => Ok(Val::clone(value)),
            None => failed("optional.none() dereference"),
        },
        ("optional.unwrap" | "unwrapOpt", [Val::List(list)]) => {
            let value = |item: &Val| match item {
                Val::Optional(of) => of.as_ref().map(|of| Val::clone(of)),
                other => Some(other.clone()),
            };
            Ok(Val::list(list.items.iter().filter_map(value).collect()))
        }
        ("base64.encode", [Val::Bytes(bytes)]) => Ok(Val::text(&base64(bytes))),
        _ => return None,
    })
}

fn int(value: &Val) -> Result<Val, Failure> {
    let range = || Failure("integer overflow".to_owned());
    match value {
        Val::Int(number) => Ok(Val::Int(*number)),
        Val::Uint(number) => i64::try_from(*number).map(Val::Int).map_err(|_| range()),
        #[expect(clippy::cast_possible_truncation, reason = "it is within the bounds")]
        Val::Double(number) if number.abs() < 9.2e18 => Ok(Val::Int(*number as i64)),
        Val::Double(_) => Err(range()),
        Val::Timestamp(nanos) => {
            i64::try_from(nanos.div_euclid(1_000_000_000)).map(Val::Int).map_err(|_| range())
        }
        Val::Text(text) => match text.parse() {
            Ok(number) => Ok(Val::Int(number)),
            Err(_) => failed("type conversion error from 'string' to 'int'"),
        },
        _ => Err(Failure::no_overload()),
    }
}

fn uint(value: &Val) -> Result<Val, Failure> {
    let range = || Failure("unsigned integer overflow".to_owned());
    match value {
        Val::Uint(number) => Ok(Val::Uint(*number)),
        Val::Int(number) => u64::try_from(*number).map(Val::Uint).map_err(|_| range()),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is within the bounds"
        )]
        Val::Double(number) if *number >= 0.0 && *number < 1.8e19 => Ok(Val::Uint(*number as u64)),
        Val::Double(_) => Err(range()),
        Val::Text(text) => match text.parse() {
            Ok(number) => Ok(Val::Uint(number)),
            Err(_) => failed("type conversion error from 'string' to 'uint'"),
        },
        _ => Err(Failure::no_overload()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "as the language has it")]
fn double(value: &Val) -> Result<Val, Failure> {
    match value {
        Val::Double(number) => Ok(Val::Double(*number)),
        Val::Int(number) => Ok(Val::Double(*number as f64)),
        Val::Uint(number) => Ok(Val::Double(*number as f64)),
        Val::Text(text) => match text.parse() {
            Ok(number) => Ok(Val::Double(number)),
            Err(_) => failed("type conversion error from 'string' to 'double'"),
        },
        _ => Err(Failure::no_overload()),
    }
}
