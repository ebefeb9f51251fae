//! Whether a schema is structural: every value has a type, and what narrows it names nothing new (apiextensions
//! `pkg/apiserver/schema/validation.go`).

use serde_json::Value;

use super::member::{is_true, list, text};
use crate::problem::{Problem, quoted};

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Field,
    Item,
}

pub(super) fn check(value: &Value, at: &str, problems: &mut Vec<Problem>) {
    node(value, Level::Root, at, problems);
    let empty = Value::Null;
    let metadata = value.pointer("/properties/metadata").unwrap_or(&empty);
    let has_other = metadata
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|of| of.keys().any(|name| name != "name" && name != "generateName"));
    if has_other {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        problems.push(Problem::forbidden(format!("{at}.properties[metadata]"), why));
    }
}

fn node(value: &Value, level: Level, at: &str, problems: &mut Vec<Problem>) {
    let of = text(value, "type");
    let is_free = is_true(value, "x-kubernetes-int-or-string")
        || is_true(value, "x-kubernetes-preserve-unknown-fields");
    if of.is_empty() && (!is_free || level == Level::Root) {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Field => "must not be empty for specified object fields",
            Level::Item => "must not be empty for specified array items",
        };
        problems.push(Problem::required(format!("{at}.type"), why));
    }
    if level == Level::Root && !of.is_empty() && of != "object" {
        problems.push(Problem::invalid(format!("{at}.type"), &quoted(of), "must be object at the root"));
    }
    if is_true(value, "x-kubernetes-embedded-resource") {
        let has_properties =
            value.get("properties").and_then(Value::as_object).is_some_and(|of| !of.is_empty());
        if !is_true(value, "x-kubernetes-preserve-unknown-fields") && !has_properties {
            let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                       x-kubernetes-preserve-unknown-fields";
            problems.push(Problem::required(format!("{at}.properties"), why));
        }
        if of != "object" {
            let why = "must be object if x-kubernetes-embedded-resource is true";
            problems.push(Problem::invalid(format!("{at}.type"), &quoted(of), why));
        }
    }
    if let Some(items) = value.get("items").filter(|of| of.is_object()) {
        node(items, Level::Item, &format!("{at}.items"), problems);
    }
    for (name, property) in value.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let is_metadata = level == Level::Root && name == "metadata";
        if is_metadata && !matches!(text(property, "type"), "object") {
            let why = "must be object";
            let field = format!("{at}.properties[metadata].type");
            problems.push(Problem::invalid(field, &quoted(text(property, "type")), why));
            continue;
        }
        node(property, Level::Field, &format!("{at}.properties[{name}]"), problems);
    }
    if let Some(of) = value.get("additionalProperties").filter(|of| of.is_object()) {
        node(of, Level::Field, &format!("{at}.additionalProperties"), problems);
    }
    narrowed(value, value, at, problems);
}

/// Hands on what stands within `allOf` and its like.
fn narrowed(value: &Value, around: &Value, at: &str, problems: &mut Vec<Problem>) {
    for key in ["allOf", "anyOf", "oneOf"] {
        for (index, within) in list(value, key).iter().enumerate() {
            let is_pair = is_true(around, "x-kubernetes-int-or-string") && key == "anyOf";
            narrowing(within, around, (at, &format!("{at}.{key}[{index}]")), is_pair, problems);
        }
    }
    if let Some(within) = value.get("not").filter(|of| of.is_object()) {
        narrowing(within, around, (at, &format!("{at}.not")), false, problems);
    }
}

/// What narrows a schema has no type of its own, and names only what is in the schema around it.
fn narrowing(
    within: &Value,
    around: &Value,
    (around_at, at): (&str, &str),
    is_pair: bool,
    problems: &mut Vec<Problem>,
) {
    let is_set = |key: &str| within.get(key).is_some_and(|one| !one.is_null());
    if is_set("type") && !is_pair {
        problems.push(Problem::forbidden(format!("{at}.type"), "must be empty to be structural"));
    }
    for key in ["default", "additionalProperties"] {
        if is_set(key) {
            problems.push(Problem::forbidden(format!("{at}.{key}"), "must be undefined to be structural"));
        }
    }
    for key in ["title", "description"] {
        if is_set(key) {
            problems.push(Problem::forbidden(format!("{at}.{key}"), "must be empty to be structural"));
        }
    }
    for key in [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ] {
        if is_true(within, key) {
            problems.push(Problem::forbidden(format!("{at}.{key}"), "must be false to be structural"));
        }
    }
    for (name, property) in within.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let below = format!("{at}.properties[{name}]");
        let place = format!("{around_at}.properties[{name}]");
        match around.get("properties").and_then(|of| of.get(name)) {
            Some(around) => narrowing(property, around, (&place, &below), false, problems),
            None => problems.push(Problem::required(place, &format!("because it is defined in {below}"))),
        }
    }
    if let Some(items) = within.get("items").filter(|of| of.is_object()) {
        let (below, place) = (format!("{at}.items"), format!("{around_at}.items"));
        match around.get("items") {
            Some(around) => narrowing(items, around, (&place, &below), false, problems),
            None => problems.push(Problem::required(place, &format!("because it is defined in {below}"))),
        }
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for (index, more) in list(within, key).iter().enumerate() {
            narrowing(more, around, (around_at, &format!("{at}.{key}[{index}]")), false, problems);
        }
    }
    if let Some(not) = within.get("not").filter(|of| of.is_object()) {
        narrowing(not, around, (around_at, &format!("{at}.not")), false, problems);
    }
}
