//! Types that read themselves: quantities, times, and numbers that may be words.

use replank_model::quantity::Quantity;
use replank_model::time::Time;
use replank_schema::GoOwn;
use serde_json::Value;

/// Why a value is none of its type.
pub(super) enum Wrong {
    /// It has another type: what it is, and what it should be.
    Type(String, &'static str),
    /// It cannot be read; in Go's words.
    Text(String),
}

/// The value in normal form.
pub(super) fn read(of: GoOwn, value: &Value) -> Result<Value, Wrong> {
    match of {
        GoOwn::Quantity => quantity(value),
        GoOwn::IntOrString => int_or_string(value),
        GoOwn::Time => time(value, "2006-01-02T15:04:05Z07:00"),
        GoOwn::MicroTime => time(value, "2006-01-02T15:04:05.000000Z07:00"),
        GoOwn::Duration => match value {
            Value::String(_) => Ok(value.clone()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                Err(Wrong::Type(word_for(value).to_owned(), "string"))
            }
        },
        GoOwn::Any => Ok(value.clone()),
    }
}

/// What Go writes of one that nothing was said of.
pub(super) fn zero(of: GoOwn) -> Value {
    match of {
        GoOwn::Quantity => "0".into(),
        GoOwn::IntOrString => 0.into(),
        GoOwn::Duration => "0s".into(),
        GoOwn::Time | GoOwn::MicroTime | GoOwn::Any => Value::Null,
    }
}

/// JSON's word for a value.
pub(in crate::json) fn word_for(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn quantity(value: &Value) -> Result<Value, Wrong> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    };
    let quantity: Quantity = text.trim().parse().map_err(|error| Wrong::Text(format!("{error}")))?;
    Ok(quantity.to_string().into())
}

fn int_or_string(value: &Value) -> Result<Value, Wrong> {
    match value {
        Value::String(_) => Ok(value.clone()),
        Value::Number(number) if number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()) => {
            Ok(value.clone())
        }
        Value::Number(number) => Err(Wrong::Type(format!("number {number}"), "int32")),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            Err(Wrong::Type(word_for(value).to_owned(), "int32"))
        }
    }
}

/// A time in UTC. Seconds are whole; of a micro time six digits stay.
fn time(value: &Value, layout: &str) -> Result<Value, Wrong> {
    let Value::String(text) = value else {
        return Err(Wrong::Type(word_for(value).to_owned(), "string"));
    };
    let is_exact = !layout.contains('.') || fraction(text.get(SECONDS_LEN..).unwrap_or_default()).is_some();
    let Some(read) = text.parse::<Time>().ok().filter(|_| is_exact) else {
        return Err(Wrong::Text(unreadable(text, layout)));
    };
    let whole = read.floor_seconds().to_string();
    if !layout.contains('.') {
        return Ok(whole.into());
    }
    let digits = text.split_once(['.', ',']).map_or("", |(_, tail)| tail);
    let digits: String =
        digits.chars().take_while(char::is_ascii_digit).chain("000000".chars()).take(6).collect();
    Ok(format!("{}.{digits}Z", whole.trim_end_matches('Z')).into())
}

/// The length of `2006-01-02T15:04:05`.
const SECONDS_LEN: usize = 19;

/// What follows the six digits of a micro time's second.
fn fraction(text: &str) -> Option<&str> {
    let digits = text.strip_prefix(['.', ','])?.get(..6)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| &text[7..])
}

/// What Go's `time.Parse` says: the first part of the layout that the text does not go on with.
fn unreadable(text: &str, layout: &str) -> String {
    const PARTS: [(&str, usize); 11] = [
        ("2006", 4),
        ("-", 1),
        ("01", 2),
        ("-", 1),
        ("02", 2),
        ("T", 1),
        ("15", 2),
        (":", 1),
        ("04", 2),
        (":", 1),
        ("05", 2),
    ];
    let mut rest = text;
    let mut at = "Z07:00";
    let mut is_at_zone = true;
    for (part, length) in PARTS {
        let head = rest.get(..length);
        let fits = head.is_some_and(|head| {
            if part.starts_with(|first: char| first.is_ascii_digit()) {
                head.bytes().all(|byte| byte.is_ascii_digit())
            } else {
                head == part
            }
        });
        if !fits {
            at = part;
            is_at_zone = false;
            break;
        }
        rest = &rest[length..];
    }
    if is_at_zone && layout.contains('.') {
        match fraction(rest) {
            Some(after) => rest = after,
            None => (at, is_at_zone) = (".000000", false),
        }
    }
    if let Some(extra) = rest.strip_prefix('Z').filter(|extra| is_at_zone && !extra.is_empty()) {
        return format!("parsing time {text:?}: extra text: {extra:?}");
    }
    format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {at:?}")
}
