//! What may be written in a schema at all (apiextensions-apiserver, `ValidateCustomResourceDefinitionOpenAPISchema` and
//! `specStandardValidatorV3`).

use super::place::Place;
use super::problem::Problems;
use super::props::{Items, Props, SchemaOrBool};

/// What the schemas around one have decided.
#[derive(Clone, Copy)]
struct Around {
    is_root: bool,
    /// Within what every object has: `apiVersion`, `kind` and `metadata`.
    in_metadata: bool,
    /// Why a default may not stand here, if it may not.
    no_default: bool,
}

const TYPES: [&str; 6] = ["string", "number", "integer", "boolean", "array", "object"];

/// Says what is wrong with a schema.
pub(super) fn check(of: &Props<'_>, at: &Place, problems: &mut Problems) {
    schema(of, Around { is_root: true, in_metadata: false, no_default: false }, at, problems);
}

fn schema(of: &Props<'_>, around: Around, at: &Place, problems: &mut Problems) {
    single(of, around, at, problems);
    let below = Around { is_root: false, ..around };
    if of.unique_items {
        problems.refuse(at.child("uniqueItems"), "may not be true: comparing all items takes too long");
    }
    if let Some(additional) = &of.additional_properties {
        let at = at.child("additionalProperties");
        if !of.properties.is_empty() && *additional != SchemaOrBool::Bool(true) {
            problems.refuse(at.clone(), "not allowed beside properties");
        }
        if let Some(additional) = additional.schema() {
            let no_default = around.no_default || around.in_metadata;
            schema(additional, Around { no_default, ..below }, &at, problems);
        }
    }
    for (name, property) in &of.properties {
        let is_known = (around.is_root || of.embedded) && matches!(*name, "metadata" | "kind" | "apiVersion");
        let within = Around {
            in_metadata: below.in_metadata || is_known,
            no_default: below.no_default || (is_known && around.is_root),
            ..below
        };
        schema(property, within, &at.child("properties").key(name), problems);
    }
    if let Some(within) = &of.not {
        schema(within, below, &at.child("not"), problems);
    }
    for (key, list) in [("allOf", &of.all_of), ("oneOf", &of.one_of), ("anyOf", &of.any_of)] {
        for (index, within) in list.iter().flatten().enumerate() {
            schema(within, below, &at.child(key).item(index), problems);
        }
    }
    for (name, within) in of.definitions.iter().flatten() {
        schema(within, below, &at.child("definitions").key(name), problems);
    }
    match &of.items {
        Some(Items::One(item)) => schema(item, below, &at.child("items"), problems),
        Some(Items::Each(all)) => {
            for (index, item) in all.iter().enumerate() {
                schema(item, below, &at.child("items").item(index), problems);
            }
        }
        Some(Items::None) | None => {}
    }
    for (name, within) in of.dependencies.iter().flatten() {
        if let Some(within) = within {
            schema(within, below, &at.child("dependencies").key(name), problems);
        }
    }
    lists(of, at, problems);
    if of.rules {
        problems.unknown(at.child("x-kubernetes-validations"), "expressions are not checked here");
    }
}

/// What one schema may have.
fn single(of: &Props<'_>, around: Around, at: &Place, problems: &mut Problems) {
    if !of.of.is_empty() && !TYPES.contains(&of.of) {
        problems.refuse(at.child("type"), format!("`{}` is no type: {}", of.of, TYPES.join(", ")));
    }
    if of.default.is_some() && around.no_default {
        problems.refuse(at.child("default"), "not allowed within metadata");
    }
    for (key, is_there) in [
        ("id", of.id),
        ("additionalItems", of.additional_items),
        ("patternProperties", of.pattern_properties.as_ref().is_some_and(|of| !of.is_empty())),
        ("definitions", of.definitions.as_ref().is_some_and(|of| !of.is_empty())),
        ("dependencies", of.dependencies.is_some()),
        ("$ref", of.reference.is_some()),
    ] {
        if is_there {
            problems.refuse(at.child(key), "not supported");
        }
    }
    if of.of == "null" {
        problems.refuse(at.child("type"), "null is no type: write nullable");
    }
    if matches!(of.items, Some(Items::Each(_))) {
        problems.refuse(at.child("items"), "has to be one schema");
    }
    if around.in_metadata && of.embedded {
        problems.refuse(at.child("x-kubernetes-embedded-resource"), "not allowed within metadata");
    }
    if of.preserves == Some(false) {
        problems.refuse(at.child("x-kubernetes-preserve-unknown-fields"), "has to be true, or left out");
    }
}

/// How lists and maps are merged.
fn lists(of: &Props<'_>, at: &Place, problems: &mut Problems) {
    if let Some(map_type) = &of.map_type {
        if of.of != "object" {
            problems.refuse(at.child("type"), "has to be object with x-kubernetes-map-type");
        }
        if !matches!(*map_type, "atomic" | "granular") {
            problems.refuse(at.child("x-kubernetes-map-type"), "has to be atomic or granular");
        }
    }
    let list_type = of.list_type;
    let item = of.item();
    if list_type.is_some() && of.of != "array" {
        problems.refuse(at.child("type"), "has to be array with x-kubernetes-list-type");
    } else if list_type == Some("set")
        && let Some(item) = item
    {
        let items = at.child("items");
        if item.of == "array" && item.list_type.as_ref().is_some_and(|of| *of != "atomic") {
            problems.refuse(items.child("x-kubernetes-list-type"), "has to be atomic within a set");
        }
        if item.of == "object" && item.map_type != Some("atomic") {
            problems.refuse(items.child("x-kubernetes-map-type"), "has to be atomic within a set");
        }
    }
    if list_type.is_some_and(|of| !matches!(of, "atomic" | "set" | "map")) {
        problems.refuse(at.child("x-kubernetes-list-type"), "has to be atomic, set or map");
    }
    let keys = of.list_map_keys.as_deref().unwrap_or_default();
    if !keys.is_empty() && list_type != Some("map") {
        problems.refuse(at.child("x-kubernetes-list-type"), "has to be map with x-kubernetes-list-map-keys");
    }
    if list_type == Some("map") {
        map_of_keys(of, keys, at, problems);
    }
    if matches!(list_type, Some("set" | "map"))
        && let Some(item) = item
    {
        let items = at.child("items");
        if item.nullable {
            problems.refuse(items.child("nullable"), "items of a set or map may not be null");
        }
        if list_type == Some("map") {
            for key in keys {
                let Some(property) = item.properties.get(key) else { continue };
                let at = items.child("properties").key(key);
                let is_required = item.required.iter().flatten().any(|required| required == key);
                if !is_required && property.default.is_none() {
                    problems
                        .refuse(at.child("default"), "a key of a map has to be required, or have a default");
                }
                if property.nullable {
                    problems.refuse(at.child("nullable"), "a key of a map may not be null");
                }
            }
        }
    }
}

fn map_of_keys(of: &Props<'_>, keys: &[&str], at: &Place, problems: &mut Problems) {
    if keys.is_empty() {
        problems.refuse(at.child("x-kubernetes-list-map-keys"), "required where the list is a map");
    }
    let items = at.child("items");
    let item = match &of.items {
        None => return problems.refuse(items, "a map needs a schema of its items"),
        Some(Items::Each(_) | Items::None) => return problems.refuse(items, "has to be one schema"),
        Some(Items::One(item)) => item,
    };
    if item.of != "object" {
        return problems.refuse(items.child("type"), "has to be object where the list is a map");
    }
    for (index, key) in keys.iter().enumerate() {
        match item.properties.get(key).map(|property| property.of) {
            Some("array" | "object") => problems.refuse(
                items.child("properties").key(key).child("type"),
                "a key of a map may be no list and no object",
            ),
            Some(_) => {}
            None => problems
                .refuse(at.child("x-kubernetes-list-map-keys"), format!("items have no property `{key}`")),
        }
        if keys[..index].contains(key) {
            problems.refuse(at.child("x-kubernetes-list-map-keys"), format!("`{key}` stands there twice"));
        }
    }
}
