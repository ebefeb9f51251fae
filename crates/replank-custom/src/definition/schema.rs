//! What may be written in a schema (`ValidateCustomResourceDefinitionOpenAPISchema` and `specStandardValidatorV3`).

use regex_lite::Regex;
use serde_json::Value;

use super::below::each_below;
use super::member::{is_true, list, text};
use super::{rules, structural};
use crate::object::{prune, validate};
use crate::problem::{Problem, quoted, shown};
use crate::schema::read;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Says what is wrong with the schema of a version.
pub(super) fn check(value: &Value, has_status: bool, at: &str, problems: &mut Vec<Problem>) {
    let before = problems.len();
    if has_status && !matches!(text(value, "type"), "" | "object") {
        let shown = quoted(text(value, "type"));
        let why = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        problems.push(Problem::invalid(format!("{at}.type"), &shown, why));
    }
    if is_true(value, "nullable") {
        problems.push(Problem::forbidden(format!("{at}.nullable"), "nullable cannot be true at the root"));
    }
    structural::check(value, at, problems);
    node(value, Around { is_root: true, in_metadata: false }, at, problems);
    if problems.len() == before {
        rules::check(value, at, problems);
        defaults(value, at, problems);
    }
}

/// What the schemas around one have decided.
#[derive(Clone, Copy)]
struct Around {
    is_root: bool,
    in_metadata: bool,
}

fn node(value: &Value, around: Around, at: &str, problems: &mut Vec<Problem>) {
    single(value, around, at, problems);
    let below = Around { is_root: false, ..around };
    each_below(value, at, &mut |schema, at, name| {
        let is_known = around.is_root && name.is_some_and(|name| name == "metadata");
        node(schema, Around { in_metadata: below.in_metadata || is_known, ..below }, at, problems);
    });
}

fn single(value: &Value, around: Around, at: &str, problems: &mut Vec<Problem>) {
    let of = text(value, "type");
    if !of.is_empty() && !TYPES.contains(&of) {
        let known: Vec<String> = TYPES.iter().map(|one| (*one).to_owned()).collect();
        problems.push(Problem::not_supported(format!("{at}.type"), &quoted(of), &known));
    }
    if value.get("default").is_some_and(|one| !one.is_null()) && around.in_metadata {
        problems.push(Problem::forbidden(format!("{at}.default"), "must not be set in metadata"));
    }
    for (key, why) in [
        ("$ref", "$ref is not supported"),
        ("definitions", "definitions is not supported"),
        ("dependencies", "dependencies is not supported"),
        ("patternProperties", "patternProperties is not supported"),
        ("additionalItems", "additionalItems is not supported"),
        ("id", "id is not supported"),
    ] {
        if value.get(key).is_some_and(|one| !one.is_null()) {
            problems.push(Problem::forbidden(format!("{at}.{key}"), why));
        }
    }
    if is_true(value, "uniqueItems") {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        problems.push(Problem::forbidden(format!("{at}.uniqueItems"), why));
    }
    let has_properties = value.get("properties").and_then(Value::as_object).is_some_and(|of| !of.is_empty());
    let additional = value.get("additionalProperties").filter(|one| !one.is_null());
    if has_properties && additional.is_some_and(|one| *one != Value::Bool(true)) {
        let why = "additionalProperties and properties are mutual exclusive";
        problems.push(Problem::forbidden(format!("{at}.additionalProperties"), why));
    }
    let pattern = text(value, "pattern");
    if let Err(error) = Regex::new(pattern) {
        let why = format!("must be a valid regular expression, but isn't: error parsing regexp: {error}");
        problems.push(Problem::invalid(format!("{at}.pattern"), &quoted(pattern), &why));
    }
    if of == "array" && !value.get("items").is_some_and(Value::is_object) {
        problems.push(Problem::required(format!("{at}.items"), "must be specified"));
    }
    if value.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let field = format!("{at}.x-kubernetes-preserve-unknown-fields");
        problems.push(Problem::invalid(field, "false", "must be true or undefined"));
    }
    lists(value, at, problems);
}

/// How lists and maps are merged.
fn lists(value: &Value, at: &str, problems: &mut Vec<Problem>) {
    let (of, list_type) = (text(value, "type"), text(value, "x-kubernetes-list-type"));
    let map_type = text(value, "x-kubernetes-map-type");
    if !map_type.is_empty() && of != "object" {
        problems.push(Problem::invalid(
            format!("{at}.type"),
            &quoted(of),
            "must be object if x-kubernetes-map-type is specified",
        ));
    }
    if !map_type.is_empty() && !matches!(map_type, "atomic" | "granular") {
        let known = ["atomic".to_owned(), "granular".to_owned()];
        problems.push(Problem::not_supported(
            format!("{at}.x-kubernetes-map-type"),
            &quoted(map_type),
            &known,
        ));
    }
    if list_type.is_empty() {
        return;
    }
    if of != "array" {
        problems.push(Problem::invalid(
            format!("{at}.type"),
            &quoted(of),
            "must be array if x-kubernetes-list-type is specified",
        ));
        return;
    }
    let empty = Value::Null;
    let item = value.get("items").unwrap_or(&empty);
    if !matches!(list_type, "atomic" | "set" | "map") {
        let known = ["atomic", "map", "set"].map(str::to_owned);
        problems.push(Problem::not_supported(
            format!("{at}.x-kubernetes-list-type"),
            &quoted(list_type),
            &known,
        ));
    }
    if list_type == "set" && text(item, "type") == "object" && text(item, "x-kubernetes-map-type") != "atomic"
    {
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let shown = item.get("x-kubernetes-map-type").map_or_else(|| "null".to_owned(), shown);
        problems.push(Problem::invalid(format!("{at}.items.x-kubernetes-map-type"), &shown, why));
    }
    if list_type == "map" {
        keys(value, item, at, problems);
    }
}

fn keys(value: &Value, item: &Value, at: &str, problems: &mut Vec<Problem>) {
    let keys = list(value, "x-kubernetes-list-map-keys");
    let place = format!("{at}.x-kubernetes-list-map-keys");
    if keys.is_empty() {
        problems.push(Problem::required(place, "must not be empty if x-kubernetes-list-type is map"));
        return;
    }
    let shown = Value::Array(keys.to_vec()).to_string();
    for key in keys.iter().filter_map(Value::as_str) {
        let Some(property) = item.get("properties").and_then(|of| of.get(key)) else {
            let why = "entries must all be names of item properties";
            problems.push(Problem::invalid(place.clone(), &shown, why));
            continue;
        };
        let is_required = list(item, "required").iter().any(|one| one == key);
        if !is_required && property.get("default").is_none() {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            problems.push(Problem::required(format!("{at}.items.properties[{key}].default"), why));
        }
        if is_true(property, "nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            problems.push(Problem::forbidden(format!("{at}.items.properties[{key}].nullable"), why));
        }
    }
}

/// Defaults are of their schema, and have nothing that it does not know.
fn defaults(value: &Value, at: &str, problems: &mut Vec<Problem>) {
    if let Some(default) = value.get("default").filter(|one| !one.is_null()) {
        let schema = read(value);
        let mut pruned = serde_json::json!({"d": default});
        let holder = read(&serde_json::json!({"type": "object", "properties": {"d": value}}));
        let place = format!("{at}.default");
        if prune(&mut pruned, &holder).is_empty() {
            for problem in validate(default, None, &schema) {
                let field = match problem.field.as_str() {
                    "<nil>" => place.clone(),
                    field => format!("{place}.{field}"),
                };
                problems.push(Problem { field, ..problem });
            }
        } else {
            problems.push(Problem::invalid(place, &shown(default), "must not have unknown fields"));
        }
    }
    each_below(value, at, &mut |schema, at, _| defaults(schema, at, problems));
}
