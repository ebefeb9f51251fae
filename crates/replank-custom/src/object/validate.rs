//! Whether an object is of its schema (kube-openapi `pkg/validation/validate`, with the causes that apiextensions makes of it).
//!
//! What has not changed since the stored state is not looked at: what was wrong before may stay (KEP-4008).

use serde_json::Value;

use super::correlate::old_item;
use super::found::Found;
use super::place::{at, place};
use super::{compose, format, scalar};
use crate::problem::{Problem, shown};
use crate::schema::{Additional, Schema};

/// Everything that is wrong with an object; `old` is its stored state.
#[must_use]
pub fn validate(value: &Value, old: Option<&Value>, schema: &Schema) -> Vec<Problem> {
    node(value, old, schema, "").problems
}

/// Greater numbers with a fraction's form are no integers: a float tells them from their neighbours no more.
const WHOLE_MAX: f64 = 9_007_199_254_740_991.0;

/// The kind of a value, as JSON schema calls it.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn node(value: &Value, old: Option<&Value>, schema: &Schema, path: &str) -> Found {
    let mut found = Found { problems: Vec::new(), looked_at: 1 };
    if old == Some(value) {
        return found;
    }
    of_type(value, schema, path, &mut found.problems);
    if value.is_null() {
        words(value, schema, path, &mut found.problems);
        return found;
    }
    found.merge(compose::check(value, old, schema, path, node));
    match value {
        Value::String(text) => {
            scalar::text(text, schema, path, &mut found.problems);
            format::check(text, schema, path, &mut found.problems);
        }
        Value::Number(number) => scalar::number(number, schema, path, &mut found.problems),
        Value::Array(items) => list(items, old, schema, path, &mut found),
        Value::Null | Value::Bool(_) | Value::Object(_) => {}
    }
    words(value, schema, path, &mut found.problems);
    if let Value::Object(members) = value {
        object(members, old, schema, path, &mut found);
    }
    found
}

fn of_type(value: &Value, schema: &Schema, path: &str, problems: &mut Vec<Problem>) {
    let wanted = if schema.is_int_or_string { "integer,string" } else { &schema.basic };
    if wanted.is_empty() {
        return;
    }
    let is = kind_of(value);
    let is_whole = || value.as_f64().is_some_and(|number| number.fract() == 0.0 && number.abs() <= WHOLE_MAX);
    let fits = wanted.split(',').any(|one| match (one, is) {
        ("number", "integer") => true,
        ("integer", "number") => is_whole(),
        (one, is) => one == is,
    });
    if fits || (value.is_null() && schema.nullable) {
        return;
    }
    // Of what is neither text nor list, the format is told where there is one.
    let is_text_or_list = value.is_string() || value.is_array();
    let (wanted, is) = match (&*schema.format, is) {
        ("", _) => (wanted, is),
        _ if is_text_or_list || value.is_null() => (wanted, is),
        (format, "number") => (format, "float64"),
        (format, "integer") => (format, "int64"),
        (format, _) => (format, ""),
    };
    let why = format!("{path} in body must be of type {wanted}: \"{is}\"");
    problems.push(Problem::of_type(place(path), &format!("\"{is}\""), &why));
}

fn words(value: &Value, schema: &Schema, path: &str, problems: &mut Vec<Problem>) {
    if schema.words.is_empty() || schema.words.iter().any(|word| same(word, value)) {
        return;
    }
    let text = |word: &Value| word.as_str().map_or_else(|| word.to_string(), str::to_owned);
    let known: Vec<String> = schema.words.iter().map(text).collect();
    problems.push(Problem::not_supported(place(path), &shown(value), &known));
}

/// Equal, whichever way a number is written.
fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        (Some(_), None) | (None, Some(_)) => false,
        (None, None) => one == other,
    }
}

fn list(items: &[Value], old: Option<&Value>, schema: &Schema, path: &str, found: &mut Found) {
    if let Some(below) = &schema.items {
        for (index, item) in items.iter().enumerate() {
            let was = old_item(item, old, schema);
            found.merge(node(item, was, below, &format!("{path}[{index}]")));
        }
    }
    let limits = &schema.limits;
    let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
    if let Some(least) = limits.min_items.filter(|least| count < *least) {
        let why = format!("{path} in body should have at least {least} items");
        found.problems.push(Problem::invalid(place(path), &count.to_string(), &why));
    }
    if let Some(most) = limits.max_items.filter(|most| count > *most) {
        found.problems.push(Problem::too_many(place(path), items.len(), most));
    }
    let is_twice = |(index, item): (usize, &Value)| items[..index].iter().any(|one| same(one, item));
    if limits.unique_items && items.iter().enumerate().any(is_twice) {
        let why = format!("{path} in body shouldn't contain duplicates");
        found.problems.push(Problem::invalid(place(path), "\"\"", &why));
    }
}

fn object(
    members: &serde_json::Map<String, Value>,
    old: Option<&Value>,
    schema: &Schema,
    path: &str,
    found: &mut Found,
) {
    let limits = &schema.limits;
    let count = u64::try_from(members.len()).unwrap_or(u64::MAX);
    if let Some(least) = limits.min_properties.filter(|least| count < *least) {
        let why = format!("{path} in body should have at least {least} properties");
        found.problems.push(Problem::invalid(place(path), &count.to_string(), &why));
    }
    if let Some(most) = limits.max_properties.filter(|most| count > *most) {
        found.problems.push(Problem::too_many(place(path), members.len(), most));
    }
    for name in schema.required.iter().filter(|name| !members.contains_key(*name)) {
        found.problems.push(Problem::required(at(path, name), ""));
    }
    for (name, member) in members {
        let was = old.and_then(|old| old.get(name));
        let below = match (schema.properties.get(name), &schema.additional) {
            (Some(property), _) => property,
            (None, Some(Additional::Of(additional))) => additional,
            (None, Some(Additional::Any(false))) => {
                let why = format!("{path}.{name} in body is a forbidden property");
                found.problems.push(Problem::invalid(at(path, name), "\"\"", &why));
                continue;
            }
            (None, Some(Additional::Any(true)) | None) => continue,
        };
        found.merge(node(member, was, below, &at(path, name)));
    }
}

#[cfg(test)]
mod tests;
