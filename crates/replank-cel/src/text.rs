//! Values as texts.

use crate::convert::to_json;
use crate::time;
use crate::value::Val;

/// A value as a text, as messages and `string()` have it.
pub(crate) fn text_of(value: &Val) -> String {
    match value {
        Val::Text(text) => text.to_string(),
        Val::Null => "null".to_owned(),
        Val::Bool(flag) => flag.to_string(),
        Val::Int(number) => number.to_string(),
        Val::Uint(number) => number.to_string(),
        Val::Double(number) => double(*number),
        Val::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Val::Duration(nanos) => time::duration_text(*nanos),
        Val::Timestamp(nanos) => time::timestamp_text(*nanos),
        Val::Type(name) => name.to_string(),
        Val::Quantity(quantity) => quantity.to_string(),
        Val::Url(url) => url.text.clone(),
        Val::Ip(ip) => ip.to_string(),
        Val::Cidr(ip, bits) => format!("{ip}/{bits}"),
        Val::Format(name) => (*name).to_owned(),
        Val::Optional(Some(of)) => format!("optional({})", text_of(of)),
        Val::Optional(None) => "optional.none()".to_owned(),
        Val::List(list) => format!("[{}]", list.items.iter().map(text_of).collect::<Vec<_>>().join(", ")),
        Val::Map(_) | Val::Semver(_) => to_json(value).map_or_else(String::new, |json| json.to_string()),
    }
}

/// A double as Go's `%g` with the fewest digits.
fn double(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let power: i32 = exponent.parse().unwrap_or(0);
    if number == 0.0 || (-4..21).contains(&power) {
        return number.to_string();
    }
    format!("{digits}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
}
