//! Timestamps and durations, in nanoseconds.

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

const SECOND: i128 = 1_000_000_000;

/// A timestamp from RFC 3339, or from a date alone.
#[must_use]
pub fn timestamp(text: &str) -> Option<i128> {
    if text.len() == 10 {
        let date: jiff::civil::Date = text.parse().ok()?;
        return Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond());
    }
    text.parse::<Timestamp>().ok().map(Timestamp::as_nanosecond)
}

/// RFC 3339 in UTC.
#[must_use]
pub fn timestamp_text(nanos: i128) -> String {
    Timestamp::from_nanosecond(nanos).map_or_else(|_| String::new(), |at| at.to_string())
}

/// A duration as Go writes them, such as `1h30m`.
#[must_use]
pub fn duration(text: &str) -> Option<i128> {
    let (sign, mut rest) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total = 0.0_f64;
    let mut whole = 0_i128;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|one: char| !one.is_ascii_digit() && one != '.')?;
        let number = &rest[..digits];
        rest = &rest[digits..];
        let unit_length = rest.find(|one: char| one.is_ascii_digit() || one == '.').unwrap_or(rest.len());
        let unit = match &rest[..unit_length] {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => SECOND,
            "m" => 60 * SECOND,
            "h" => 3600 * SECOND,
            _ => return None,
        };
        rest = &rest[unit_length..];
        match number.parse::<i128>() {
            Ok(number) => whole += number * unit,
            #[expect(clippy::cast_precision_loss, reason = "units are far below what a double holds")]
            Err(_) => total += number.parse::<f64>().ok()? * unit as f64,
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "durations are bounded by their digits")]
    Some(sign * (whole + total.round() as i128))
}

/// A duration in seconds, as CEL writes them.
#[must_use]
pub fn duration_text(nanos: i128) -> String {
    let (seconds, rest) = (nanos / SECOND, (nanos % SECOND).abs());
    if rest == 0 {
        return format!("{seconds}s");
    }
    let sign = if nanos < 0 && seconds == 0 { "-" } else { "" };
    let fraction = format!("{rest:09}");
    format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
}

/// A part of a timestamp in a zone: `UTC`, or an offset such as `+02:00`.
#[must_use]
pub fn part(nanos: i128, function: &str, zone: Option<&str>) -> Option<i64> {
    let zone = match zone {
        None | Some("UTC" | "Z" | "") => TimeZone::UTC,
        Some(name) => offset(name)?,
    };
    let at = Timestamp::from_nanosecond(nanos).ok()?.to_zoned(zone);
    Some(i64::from(match function {
        "getFullYear" => i32::from(at.year()),
        "getMonth" => i32::from(at.month()) - 1,
        "getDate" => i32::from(at.day()),
        "getDayOfMonth" => i32::from(at.day()) - 1,
        "getDayOfWeek" => i32::from(at.weekday().to_sunday_zero_offset()),
        "getDayOfYear" => i32::from(at.day_of_year()) - 1,
        "getHours" => i32::from(at.hour()),
        "getMinutes" => i32::from(at.minute()),
        "getSeconds" => i32::from(at.second()),
        "getMilliseconds" => i32::from(at.millisecond()),
        _ => return None,
    }))
}

fn offset(name: &str) -> Option<TimeZone> {
    let (sign, digits) = match name.as_bytes().first()? {
        b'-' => (-1, &name[1..]),
        b'+' => (1, &name[1..]),
        _ => (1, name),
    };
    let (hours, minutes) = digits.split_once(':')?;
    let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
    Offset::from_seconds(sign * seconds).ok().map(TimeZone::fixed)
}

/// A part of a duration, as a whole number of units.
#[must_use]
pub fn length(nanos: i128, function: &str) -> Option<i64> {
    let unit = match function {
        "getHours" => 3600 * SECOND,
        "getMinutes" => 60 * SECOND,
        "getSeconds" => SECOND,
        "getMilliseconds" => return i64::try_from((nanos % SECOND) / 1_000_000).ok(),
        _ => return None,
    };
    i64::try_from(nanos / unit).ok()
}
