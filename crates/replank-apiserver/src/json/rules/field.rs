//! Rules of single fields.

use std::net::{Ipv4Addr, Ipv6Addr};

use replank_custom::problem::{quoted, shown};
use replank_model::selector::LabelSelector;
use replank_model::selector::validate::{label_key_problems, label_value_problems};
use serde_json::Value;

use super::words;
use crate::server::Cause;

const PORT: &str = "must be between 1 and 65535, inclusive";
pub(super) const CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
pub(super) const IP: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

/// Looks at a field by a rule of the table.
pub(super) fn check(value: &Value, at: &str, rule: &str, detail: &str, causes: &mut Vec<Cause>) {
    let (rule, looks) = match rule.strip_suffix('0') {
        Some(rule) => (rule, Looks::Always),
        None => match rule.strip_suffix('1') {
            Some(rule) => (rule, Looks::Present),
            None => (rule, Looks::Set),
        },
    };
    let is_empty = match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    match rule {
        "required" if is_empty => causes.push(Cause::required(at, detail)),
        "there" if value.is_null() => causes.push(Cause::required(at, detail)),
        "required" | "there" => {}
        "words" | "segment" | "among" | "subdomain" | "label" | "label1035" | "qualified" | "host"
        | "lower" | "cidr" | "ip" => {
            let is_asked = match looks {
                Looks::Always => true,
                Looks::Present => !value.is_null(),
                Looks::Set => !is_empty,
            };
            if is_asked {
                text(value.as_str().unwrap_or_default(), at, rule, detail, causes);
            }
        }
        "port" | "min" | "max" | "within" => {
            let number = match value {
                Value::Null if looks == Looks::Always => Some(0),
                Value::Number(number) => number.as_i64(),
                Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
            };
            if let Some(number) = number {
                self::number(number, at, rule, detail, causes);
            }
        }
        "target" => match value {
            // Where nothing is said it is the port itself.
            Value::String(name) if name.is_empty() => {}
            Value::String(name) => refuse_all(name, at, words::port_name(name), causes),
            Value::Number(number) if number.as_i64() == Some(0) && at.ends_with("targetPort") => {}
            Value::Number(number) => self::number(number.as_i64().unwrap_or(0), at, "port", "", causes),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {}
        },
        "labels" => labels(value, at, causes),
        "selector" => selector(value, at, causes),
        "unique" | "unitem" | "uniqueitems" => unique(value, at, rule, detail, causes),
        "modes" => {
            modes(value, at, &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"], causes);
        }
        "modewords" => modes(value, at, &detail.split(',').collect::<Vec<_>>(), causes),
        "storage" => {
            if value.is_null() {
                causes.push(Cause::required(at.replace(".requests.storage", "[storage]"), ""));
            }
        }
        _ => unreachable!("the table has no other rules: {rule}"),
    }
}

/// When a field is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looks {
    /// Absent ones too.
    Always,
    /// Where it is there.
    Present,
    /// Where it is not empty.
    Set,
}

/// One cause for each problem of a text.
pub(super) fn refuse_all(
    text: &str,
    at: &str,
    problems: impl IntoIterator<Item = String>,
    causes: &mut Vec<Cause>,
) {
    causes.extend(problems.into_iter().map(|why| Cause::invalid(at, &quoted(text), &why)));
}

fn text(text: &str, at: &str, rule: &str, detail: &str, causes: &mut Vec<Cause>) {
    let problems = match rule {
        "words" => {
            let known: Vec<&str> = detail.split(',').collect();
            if !known.contains(&text) {
                causes.push(Cause::not_supported(at, text, &known));
            }
            return;
        }
        "among" => {
            let (known, why) = detail.split_once(' ').unwrap_or((detail, ""));
            if known.split(',').any(|one| one == text) { Vec::new() } else { vec![why.to_owned()] }
        }
        "subdomain" => words::subdomain(text),
        "segment" => words::path_segment(text),
        "label" => words::label(text),
        "label1035" => words::label_1035(text),
        "qualified" => label_key_problems(text),
        "host" => words::host(text),
        "lower" => {
            let lower = text.to_lowercase();
            return refuse_all(&lower, at, label_key_problems(&lower), causes);
        }
        "cidr" => {
            if is_cidr(text) {
                Vec::new()
            } else {
                vec![CIDR.to_owned()]
            }
        }
        _ => {
            if is_ip(text) {
                Vec::new()
            } else {
                vec![IP.to_owned()]
            }
        }
    };
    refuse_all(text, at, problems, causes);
}

pub(super) fn is_ip(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok() || text.parse::<Ipv6Addr>().is_ok()
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match (address.parse::<Ipv4Addr>(), address.parse::<Ipv6Addr>()) {
        (Ok(_), _) => 32,
        (Err(_), Ok(_)) => 128,
        (Err(_), Err(_)) => return false,
    };
    bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

fn number(number: i64, at: &str, rule: &str, detail: &str, causes: &mut Vec<Cause>) {
    let mut words = detail.splitn(if rule == "within" { 3 } else { 2 }, ' ');
    let mut bound = || words.next().and_then(|word| word.parse::<i64>().ok()).unwrap_or_default();
    let fits = match rule {
        "port" => (1..=65535).contains(&number),
        "min" => number >= bound(),
        "max" => number <= bound(),
        _ => {
            let least = bound();
            (least..=bound()).contains(&number)
        }
    };
    if !fits {
        let why = if rule == "port" { PORT } else { words.next().unwrap_or_default() };
        causes.push(Cause::invalid(at, &number.to_string(), why));
    }
}

/// Labels that a selector asks for.
pub(super) fn labels(value: &Value, at: &str, causes: &mut Vec<Cause>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        refuse_all(key, at, label_key_problems(key), causes);
        let value = value.as_str().unwrap_or_default();
        refuse_all(value, at, label_value_problems(value), causes);
    }
}

fn selector(value: &Value, at: &str, causes: &mut Vec<Cause>) {
    let Ok(selector) = serde_json::from_value::<LabelSelector>(value.clone()) else { return };
    causes.extend(selector.validate(at).into_iter().map(|error| {
        let error = replank_model::validation::FieldError::from(error);
        Cause { reason: error.kind.reason(), message: error.body(), field: Some(error.path) }
    }));
}

fn unique(value: &Value, at: &str, rule: &str, key: &str, causes: &mut Vec<Cause>) {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |item: &Value| match rule {
        "uniqueitems" => item.clone(),
        _ => item.get(key).cloned().unwrap_or_default(),
    };
    for (index, item) in items.iter().enumerate() {
        let one = of(item);
        if one.is_null() || !items[..index].iter().any(|before| of(before) == one) {
            continue;
        }
        let field = match rule {
            "unique" => format!("{at}[{index}].{key}"),
            _ => format!("{at}[{index}]"),
        };
        let message = format!("Duplicate value: {}", shown(&one));
        causes.push(Cause { reason: "FieldValueDuplicate", message, field: Some(field) });
    }
}

/// Words of a list that are told at the list.
fn modes(value: &Value, at: &str, known: &[&str], causes: &mut Vec<Cause>) {
    for word in value.as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !known.contains(&word) {
            causes.push(Cause::not_supported(at, word, known));
        }
    }
}
