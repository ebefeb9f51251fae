//! What a YAML scalar means: go-yaml 2's rules (resolve.go), which are those of YAML 1.1 with exceptions.

use serde_json::{Number, Value};

/// A resolved scalar. Text is what was written, and is left with the caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// Beyond the signed range.
    Unsigned(u64),
    Float(f64),
    Text,
}

/// What an explicit tag asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Null,
    Bool,
    Int,
    Float,
    /// `!!str`, `!!timestamp`, `!`, and everything unknown: the text as it is.
    Text,
}

/// Resolves a plain scalar without a tag.
pub(crate) fn plain(text: &str) -> Scalar {
    let Some(first) = text.bytes().next() else { return Scalar::Null };
    match first {
        b'0'..=b'9' | b'+' | b'-' => number(text),
        b'.' => dotted(text),
        b'~' if text.len() == 1 => Scalar::Null,
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' => word(text),
        _ => Scalar::Text,
    }
}

fn word(text: &str) -> Scalar {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "null" | "Null" | "NULL" => Scalar::Null,
        _ => Scalar::Text,
    }
}

fn dotted(text: &str) -> Scalar {
    match text {
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" => Scalar::Float(f64::INFINITY),
        _ => float(text),
    }
}

fn number(text: &str) -> Scalar {
    match text {
        "+.inf" | "+.Inf" | "+.INF" => return Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    // Most scalars that begin like a number are none: addresses, timestamps, quantities, digests.
    let is_part = |byte: u8| {
        byte.is_ascii_hexdigit() || matches!(byte, b'_' | b'.' | b'+' | b'-' | b'x' | b'X' | b'o' | b'O')
    };
    if !text.bytes().all(is_part) {
        return Scalar::Text;
    }
    let without: String;
    let text = if text.contains('_') {
        without = text.replace('_', "");
        &without
    } else {
        text
    };
    match integer(text) {
        Some(scalar) => scalar,
        None => float(text),
    }
}

/// Go's integer literals (`strconv.ParseInt` with base 0): a sign, a prefix that says the base, digits. `None`
/// also for what 64 bits cannot hold; in decimal digits that is a float then.
fn integer(text: &str) -> Option<Scalar> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (base, digits) = match digits {
        [b'0', b'x' | b'X', rest @ ..] => (16, rest),
        [b'0', b'o' | b'O', rest @ ..] => (8, rest),
        [b'0', b'b' | b'B', rest @ ..] => (2, rest),
        [b'0', rest @ ..] if !rest.is_empty() => (8, rest),
        rest => (10, rest),
    };
    if digits.is_empty() {
        return None;
    }
    let mut magnitude = 0u64;
    for &byte in digits {
        let digit = char::from(byte).to_digit(base)?;
        magnitude = magnitude.checked_mul(base.into())?.checked_add(digit.into())?;
    }
    if negative {
        return 0i64.checked_sub_unsigned(magnitude).map(Scalar::Int);
    }
    Some(i64::try_from(magnitude).map_or(Scalar::Unsigned(magnitude), Scalar::Int))
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, if a float can hold it.
fn float(text: &str) -> Scalar {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = digits(sign);
    let mut at = sign + whole;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if whole == 0 && fraction == 0 {
            return Scalar::Text;
        }
        at += 1 + fraction;
    } else if whole == 0 {
        return Scalar::Text;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at);
        if exponent == 0 {
            return Scalar::Text;
        }
        at += exponent;
    }
    if at != bytes.len() {
        return Scalar::Text;
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Scalar::Float(number),
        _ => Scalar::Text,
    }
}

/// Resolves a scalar with a tag, or says what stands in its place.
pub(crate) fn tagged(tag: Tag, text: &str) -> Result<Scalar, &'static str> {
    let resolved = plain(text);
    match (tag, resolved) {
        (Tag::Text, _) => Ok(Scalar::Text),
        (Tag::Null, Scalar::Null) => Ok(Scalar::Null),
        (Tag::Bool, Scalar::Bool(value)) => Ok(Scalar::Bool(value)),
        (Tag::Int, Scalar::Int(_) | Scalar::Unsigned(_)) => Ok(resolved),
        (Tag::Float, Scalar::Float(_)) => Ok(resolved),
        (Tag::Float, Scalar::Int(value)) => Ok(Scalar::Float(value as f64)),
        (Tag::Float, Scalar::Unsigned(value)) => Ok(Scalar::Float(value as f64)),
        (Tag::Null, _) => Err("null"),
        (Tag::Bool, _) => Err("a boolean"),
        (Tag::Int, _) => Err("an integer"),
        (Tag::Float, _) => Err("a number"),
    }
}

impl Scalar {
    /// The JSON value; `None` for what JSON has not: NaN and the infinities.
    pub(crate) fn value(self, text: impl Into<String>) -> Option<Value> {
        Some(match self {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Int(value) => Value::Number(value.into()),
            Scalar::Unsigned(value) => Value::Number(value.into()),
            Scalar::Float(value) => Value::Number(json_number(value)?),
            Scalar::Text => Value::String(text.into()),
        })
    }

    /// The text of the scalar as a key (sigs.k8s.io/yaml, convertToJSONableObject); `None` for what cannot be
    /// one.
    pub(crate) fn key(self, text: impl Into<String>) -> Option<String> {
        match self {
            Scalar::Text => Some(text.into()),
            Scalar::Bool(value) => Some(value.to_string()),
            Scalar::Int(value) => Some(value.to_string()),
            Scalar::Float(value) => Some(short_float(value as f32)),
            Scalar::Null | Scalar::Unsigned(_) => None,
        }
    }
}

/// A float as JSON made by Go has it: without a fraction it is written as an integer, and read back as one.
fn json_number(value: f64) -> Option<Number> {
    // 2^63 as a float; all whole numbers below it fit.
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    if value.fract() == 0.0 && value.abs() < BOUND {
        return Some(Number::from(value as i64));
    }
    Number::from_f64(value)
}

/// Go's `strconv.FormatFloat(value, 'g', -1, 32)`: with an exponent, of two digits at least, from 1e6 up and
/// below 1e-4.
fn short_float(value: f32) -> String {
    if value.is_nan() {
        return ".nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf".into() } else { "-.inf".into() };
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value == 0.0 || (-4..EXPONENT_FROM).contains(&exponent) {
        return format!("{value}");
    }
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// The shortest form has an exponent from here on (strconv/ftoa.go).
const EXPONENT_FROM: i32 = 6;
