//! Formats of texts (kube-openapi `pkg/validation/strfmt`): those that the server knows; others are not looked at.

use std::net::{Ipv4Addr, Ipv6Addr};

use regex_lite::Regex;

use super::place::place;
use crate::problem::{Problem, quoted};
use crate::schema::Schema;

pub(super) fn check(text: &str, schema: &Schema, path: &str, problems: &mut Vec<Problem>) {
    let format = &*schema.format;
    if format.is_empty() || fits(format, text) {
        return;
    }
    let shown = quoted(text);
    let why = format!("{path} in body must be of type {format}: {shown}");
    problems.push(Problem::of_type(place(path), &shown, &why));
}

/// Whether a text has a format.
#[must_use]
pub fn fits(format: &str, text: &str) -> bool {
    let matches = |pattern: &str| Regex::new(pattern).is_ok_and(|regex| regex.is_match(text));
    match format {
        "date" => is_date(text),
        "date-time" | "datetime" => is_date_time(text),
        "duration" => is_duration(text),
        "byte" => is_base64(text),
        "ipv4" | "ip" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => matches("^([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$|^([0-9a-fA-F]{4}\\.){2}[0-9a-fA-F]{4}$"),
        "uuid" => matches("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"),
        "uuid3" => matches("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$"),
        "uuid4" => matches("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"),
        "uuid5" => matches("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"),
        "uri" => is_uri(text),
        "email" => matches("^[^@\\s<>]+@[^@\\s<>]+$"),
        "hostname" => {
            text.len() <= 255
                && matches(
                    "^([a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)(\\.[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)*\\.?$",
                )
        }
        "hexcolor" => matches("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
        "rgbcolor" => matches(
            "^rgb\\(\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*,\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*,\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*\\)$",
        ),
        "ssn" => matches("^\\d{3}[- ]?\\d{2}[- ]?\\d{4}$"),
        "bsonobjectid" => matches("^[0-9a-fA-F]{24}$"),
        "isbn10" => matches("^(?:\\d[- ]?){9}[\\dX]$"),
        "isbn13" => matches("^(?:\\d[- ]?){13}$"),
        "isbn" => matches("^(?:\\d[- ]?){9}[\\dX]$|^(?:\\d[- ]?){13}$"),
        "creditcard" => matches("^(?:\\d[- ]?){13,16}$"),
        "k8s-short-name" => text.len() <= 63 && matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
        "k8s-long-name" => {
            text.len() <= 253 && matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
        }
        _ => true,
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    let has_zone = Regex::new(
        "^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2}|[+-]\\d{4})?$",
    )
    .is_ok_and(|regex| regex.is_match(text));
    let day = text.get(..10).is_some_and(is_date);
    let in_range = |range: std::ops::Range<usize>, most: u32| {
        text.get(range).and_then(|digits| digits.parse::<u32>().ok()).is_some_and(|number| number <= most)
    };
    has_zone && day && in_range(11..13, 23) && in_range(14..16, 59) && in_range(17..19, 59)
}

/// Go's durations, and words for units behind numbers.
fn is_duration(text: &str) -> bool {
    let matches = |pattern: &str| Regex::new(pattern).is_ok_and(|regex| regex.is_match(text));
    text == "0"
        || matches("^[-+]?((\\d+(\\.\\d*)?|\\.\\d+)(ns|us|µs|μs|ms|s|m|h))+$")
        || matches(
            "^\\s*((\\d+)\\s*(ns|nanoseconds?|nano|us|µs|microseconds?|micros?|ms|milliseconds?|millis?|milli|s|seconds?|secs?|m|minutes?|mins?|h|hours?|hrs?|d|days?|w|weeks?|wks?)\\s*)+$",
        )
}

fn is_base64(text: &str) -> bool {
    let body: Vec<u8> = text.bytes().filter(|byte| *byte != b'\n' && *byte != b'\r').collect();
    let padding = body.iter().rev().take_while(|byte| **byte == b'=').count();
    body.len().is_multiple_of(4)
        && padding <= 2
        && body[..body.len() - padding]
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match (address.parse::<Ipv4Addr>(), address.parse::<Ipv6Addr>()) {
        (Ok(_), _) => 32,
        (Err(_), Ok(_)) => 128,
        (Err(_), Err(_)) => return false,
    };
    bits.len() <= 3
        && bits.bytes().all(|byte| byte.is_ascii_digit())
        && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

/// A URI with a scheme or a path from the root (Go's `url.ParseRequestURI`).
fn is_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return false;
    }
    if text.starts_with('/') {
        return true;
    }
    text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}
