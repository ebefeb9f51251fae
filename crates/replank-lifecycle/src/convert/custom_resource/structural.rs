//! Structural schemas (KEP-20180731; apiextensions-apiserver, `pkg/apiserver/schema/validation.go`): what `v1` demands, and how a
//! definition goes on keeping fields that its schema does not know.

use crate::tree::{Entry, Tree, What};

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// Keys that say nothing about structure and are refused within `allOf`, `anyOf`, `oneOf` and `not`.
const NOT_WITHIN_LOGIC: [&str; 7] =
    ["description", "type", "default", "additionalProperties", "nullable", "title", PRESERVE];

fn is_true(schema: &Tree, key: &str) -> bool {
    schema.get(key).and_then(Tree::as_bool) == Some(true)
}

/// Lists the places where a schema is not structural: most often, a type is missing that only its author knows.
pub(super) fn check(schema: &Tree, path: &str, wrong: &mut Vec<String>) {
    let typed = schema.get("type").and_then(Tree::as_text).is_some();
    let int_or_string = is_true(schema, INT_OR_STRING);
    if !typed && !int_or_string && !is_true(schema, PRESERVE) {
        wrong.push(format!("{path} (no type)"));
    }
    if let Some(items) = schema.get("items") {
        if items.is_map() {
            check(items, &format!("{path}.items"), wrong);
        } else {
            wrong.push(format!("{path}.items (more than one schema)"));
        }
    }
    for entry in schema.get("properties").map(Tree::entries).unwrap_or_default() {
        check(&entry.value, &format!("{path}.properties.{}", entry.key), wrong);
    }
    if let Some(additional) = schema.get("additionalProperties").filter(|of| of.is_map()) {
        if schema.get("properties").is_some() {
            wrong.push(format!("{path}.additionalProperties (beside properties)"));
        }
        check(additional, &format!("{path}.additionalProperties"), wrong);
    }
    for key in ["$ref", "definitions", "dependencies", "patternProperties", "id"] {
        if schema.get(key).is_some() {
            wrong.push(format!("{path}.{key} (not allowed)"));
        }
    }
    logic(schema, schema, path, int_or_string, wrong);
}

/// What stands within `allOf` and its like only narrows what the schema around it says.
fn logic(schema: &Tree, around: &Tree, path: &str, int_or_string: bool, wrong: &mut Vec<String>) {
    let one = |key: &str| schema.get(key).map(|of| (key.to_owned(), of));
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|key| {
        let items = schema.get(key).map(Tree::items).unwrap_or_default();
        items.iter().enumerate().map(move |(at, of)| (format!("{key}[{at}]"), of))
    });
    for (key, within) in one("not").into_iter().chain(lists) {
        narrowed(within, around, &format!("{path}.{key}"), int_or_string, wrong);
    }
}

fn narrowed(within: &Tree, around: &Tree, path: &str, int_or_string: bool, wrong: &mut Vec<String>) {
    for key in NOT_WITHIN_LOGIC {
        // `anyOf: [{type: integer}, {type: string}]` is how int-or-string is spelled out.
        if within.get(key).is_some() && !(key == "type" && int_or_string) {
            wrong.push(format!("{path}.{key} (not allowed there)"));
        }
    }
    for entry in within.get("properties").map(Tree::entries).unwrap_or_default() {
        let path = format!("{path}.properties.{}", entry.key);
        match around.path(&["properties", &entry.key]) {
            Some(around) => narrowed(&entry.value, around, &path, is_true(around, INT_OR_STRING), wrong),
            None => wrong.push(format!("{path} (not in the schema around it)")),
        }
    }
    if let Some(items) = within.get("items") {
        match around.get("items") {
            Some(around) => {
                narrowed(items, around, &format!("{path}.items"), is_true(around, INT_OR_STRING), wrong);
            }
            None => wrong.push(format!("{path}.items (not in the schema around it)")),
        }
    }
    logic(within, around, path, int_or_string, wrong);
}

/// Marks every object of a schema so that it keeps what the schema does not know, as it did while `preserveUnknownFields` was
/// true. The mark is not inherited where properties are named (`pkg/apiserver/schema/pruning/algorithm.go`).
pub(super) fn preserve(schema: &mut Tree) {
    if let Some(items) = schema.get_mut("items") {
        preserve(items);
    }
    if let Some(additional) = schema.get_mut("additionalProperties").filter(|of| of.is_map()) {
        preserve(additional);
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Tree::entries_mut) {
        properties.iter_mut().for_each(|entry| preserve(&mut entry.value));
    }
    let is_object = schema.get("type").and_then(Tree::as_text) == Some("object");
    // Where any key may come, none is unknown.
    let takes_any = match schema.get("additionalProperties").map(|of| &of.what) {
        Some(What::Bool(value)) => *value,
        Some(What::Map(_)) => true,
        Some(What::Null | What::Number(_) | What::Text(_) | What::List(_)) | None => false,
    };
    if is_object && !takes_any && schema.get(PRESERVE).is_none() {
        schema.insert_behind(Entry::new(PRESERVE, Tree::of(What::Bool(true))), &["type"]);
    }
}
