//! Structural schemas: a type for every value, outside of `allOf` and its like (KEP-20180731; apiextensions-apiserver,
//! `pkg/apiserver/schema/{validation,complete}.go`).

use super::pattern;
use super::place::Place;
use super::problem::Problems;
use super::props::{Items, Props, SchemaOrBool};

/// Where a schema stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Whether a schema can be taken for a structural one at all: it has nothing in it that these have no place for
/// (`NewStructural`).
pub(super) fn has_form(of: &Props<'_>) -> bool {
    let unsupported = of.id
        || of.schema
        || of.reference.as_ref().is_some_and(|to| !to.is_empty())
        || of.pattern_properties.as_ref().is_some_and(|of| !of.is_empty())
        || of.dependencies.as_ref().is_some_and(|of| !of.is_empty())
        || of.additional_items
        || of.definitions.as_ref().is_some_and(|of| !of.is_empty())
        || matches!(of.items, Some(Items::Each(_)))
        || of.preserves == Some(false);
    !unsupported && parts(of).all(has_form)
}

/// The schemas within a schema that structural ones have a place for.
fn parts<'p, 'v>(of: &'p Props<'v>) -> impl Iterator<Item = &'p Props<'v>> {
    let lists = [&of.all_of, &of.any_of, &of.one_of];
    let lists = lists.into_iter().flat_map(|list| list.iter().flatten());
    let additional = of.additional_properties.as_ref().and_then(SchemaOrBool::schema);
    lists.chain(of.not.as_deref()).chain(of.item()).chain(additional).chain(of.properties.values())
}

/// Says where a schema is not structural.
pub(super) fn check(of: &Props<'_>, at: &Place, problems: &mut Problems) {
    invariants(of, Level::Root, at, problems);
    logic(of, &mut |within, place| complete(within, Some(of), at, &place, problems), at);
}

fn invariants(of: &Props<'_>, level: Level, at: &Place, problems: &mut Problems) {
    if of.of == "array" && of.item().is_none() {
        problems.refuse(at.child("items"), "a list needs a schema of its items");
    }
    if let Some(item) = of.item() {
        invariants(item, Level::Item, &at.child("items"), problems);
    }
    for (name, property) in &of.properties {
        invariants(property, Level::Field, &at.child("properties").key(name), problems);
    }
    if let Some(additional) = &of.additional_properties {
        let at = at.child("additionalProperties");
        if level == Level::Root {
            problems.refuse(at.clone(), "not allowed at the root");
        }
        if let Some(schema) = additional.schema() {
            invariants(schema, Level::Field, &at, problems);
        }
    }
    if of.int_or_string && of.is_preserving() {
        problems.refuse(
            at.child("x-kubernetes-preserve-unknown-fields"),
            "not allowed with x-kubernetes-int-or-string",
        );
    }
    if of.int_or_string && of.embedded {
        problems.refuse(
            at.child("x-kubernetes-embedded-resource"),
            "not allowed with x-kubernetes-int-or-string",
        );
    }
    values(of, at, problems);
    types(of, level, at, problems);
    metadata(of, level, at, problems);
    if of.embedded && !of.is_preserving() && of.properties.is_empty() {
        problems.refuse(
            at.child("properties"),
            "required with x-kubernetes-embedded-resource, unless unknown fields are preserved",
        );
    }
}

fn types(of: &Props<'_>, level: Level, at: &Place, problems: &mut Problems) {
    if of.embedded && of.of != "object" {
        problems.refuse(at.child("type"), "has to be object with x-kubernetes-embedded-resource");
    } else if of.of.is_empty() && !of.int_or_string && !of.is_preserving() {
        problems.refuse(at.child("type"), "a type is missing");
    }
    if of.embedded && of.additional_properties.is_some() {
        problems.refuse(at.child("additionalProperties"), "not allowed with x-kubernetes-embedded-resource");
    }
    if level == Level::Root && !of.of.is_empty() && of.of != "object" {
        problems.refuse(at.child("type"), "has to be object at the root");
    }
}

/// What every object has is known: its schema may say little of it.
fn metadata(of: &Props<'_>, level: Level, at: &Place, problems: &mut Problems) {
    let is_object = level == Level::Root || of.embedded;
    for name in ["kind", "apiVersion"] {
        if is_object && of.properties.get(name).is_some_and(|of| of.of != "string") {
            problems.refuse(at.child("properties").key(name).child("type"), "has to be string");
        }
    }
    let Some(metadata) = of.properties.get("metadata") else { return };
    let at = at.child("properties").key("metadata");
    if is_object && metadata.of != "object" {
        problems.refuse(at.child("type"), "has to be object");
    }
    if level == Level::Root {
        let mut rest = in_form(metadata);
        if rest.properties.keys().all(|name| matches!(name, "name" | "generateName")) {
            rest.properties.clear();
        }
        rest.of = "";
        (rest.default, rest.has_properties) = (None, false);
        if rest != Props::default() {
            problems
                .refuse(at, "only name and generateName may be restricted: the rest of metadata is fixed");
        }
    }
}

/// A schema without what has no place in a structural one, and what says nothing there.
fn in_form<'v>(of: &Props<'v>) -> Props<'v> {
    let mut of = of.clone();
    of.items = of.items.filter(|items| items.one().is_some());
    for list in [&mut of.all_of, &mut of.any_of, &mut of.one_of] {
        *list = list.take().filter(|list| !list.is_empty());
    }
    of.one_of_values = of.one_of_values.filter(|values| !values.is_empty());
    (of.pattern_properties, of.dependencies, of.definitions, of.reference) = (None, None, None, None);
    (of.id, of.schema, of.additional_items) = (false, false, false);
    of
}

/// Values that may be a number or text are spelled out as these two.
fn is_int_or_string(any_of: Option<&Vec<Props<'_>>>) -> bool {
    let only = |of: &Props<'_>, name: &str| {
        let mut of = in_form(of);
        of.additional_properties = of.additional_properties.filter(|of| *of != SchemaOrBool::Bool(false));
        of == Props { of: name, ..Props::default() }
    };
    matches!(any_of.map(Vec::as_slice), Some([a, b]) if only(a, "integer") && only(b, "string"))
}

/// What limits values.
fn values(of: &Props<'_>, at: &Place, problems: &mut Problems) {
    let skips_any_of = is_int_or_string(of.any_of.as_ref());
    let first = of.all_of.as_ref().and_then(|all| all.first());
    let skips_in_first = first.is_some_and(|first| is_int_or_string(first.any_of.as_ref()));
    values_but(of, skips_any_of, skips_in_first, at, problems);
}

fn values_but(of: &Props<'_>, skips_any_of: bool, skips_in_first: bool, at: &Place, problems: &mut Problems) {
    if !skips_any_of {
        for (index, within) in of.any_of.iter().flatten().enumerate() {
            narrowed(within, false, &at.child("anyOf").item(index), problems);
        }
    }
    for (index, within) in of.all_of.iter().flatten().enumerate() {
        narrowed(within, skips_in_first && index == 0, &at.child("allOf").item(index), problems);
    }
    for (index, within) in of.one_of.iter().flatten().enumerate() {
        narrowed(within, false, &at.child("oneOf").item(index), problems);
    }
    if let Some(within) = &of.not {
        narrowed(within, false, &at.child("not"), problems);
    }
    if let Some(why) = (!of.pattern.is_empty()).then(|| pattern::wrong(of.pattern)).flatten() {
        problems.refuse(at.child("pattern"), format!("not a regular expression of Go: {why}"));
    }
}

/// What stands within `allOf` and its like only narrows what the schema around it says.
fn narrowed(of: &Props<'_>, skips_any_of: bool, at: &Place, problems: &mut Problems) {
    values_but(of, skips_any_of, false, at, problems);
    if let Some(item) = of.item() {
        narrowed(item, false, &at.child("items"), problems);
    }
    for (name, property) in &of.properties {
        narrowed(property, false, &at.child("properties").key(name), problems);
    }
    let has_additional = match &of.additional_properties {
        Some(SchemaOrBool::Schema(_) | SchemaOrBool::Bool(true)) => true,
        Some(SchemaOrBool::Bool(false)) | None => false,
    };
    for (key, is_there) in [
        ("type", !of.of.is_empty()),
        ("additionalProperties", has_additional),
        ("default", of.default.is_some()),
        ("title", of.title),
        ("description", of.description),
        ("nullable", of.nullable),
        ("x-kubernetes-preserve-unknown-fields", of.is_preserving()),
        ("x-kubernetes-embedded-resource", of.embedded),
        ("x-kubernetes-int-or-string", of.int_or_string),
        ("x-kubernetes-list-map-keys", of.list_map_keys.as_ref().is_some_and(|keys| !keys.is_empty())),
        ("x-kubernetes-list-type", of.list_type.is_some()),
        ("x-kubernetes-map-type", of.map_type.is_some()),
        ("x-kubernetes-validations", of.rules),
    ] {
        if is_there {
            problems.refuse(at.child(key), "not allowed within allOf, anyOf, oneOf and not");
        }
    }
    if of.properties.contains_key("metadata") {
        problems
            .refuse(at.child("properties").key("metadata"), "not allowed within allOf, anyOf, oneOf and not");
    }
}

/// Hands on what stands within `allOf` and its like.
fn logic<'p, 'v>(of: &'p Props<'v>, each: &mut dyn FnMut(&'p Props<'v>, Place), at: &Place) {
    if let Some(within) = &of.not {
        each(within, at.child("not"));
    }
    for (key, list) in [("allOf", &of.all_of), ("anyOf", &of.any_of), ("oneOf", &of.one_of)] {
        for (index, within) in list.iter().flatten().enumerate() {
            each(within, at.child(key).item(index));
        }
    }
}

/// Whatever is narrowed has to be in the schema around it.
fn complete(
    within: &Props<'_>,
    around: Option<&Props<'_>>,
    around_at: &Place,
    at: &Place,
    problems: &mut Problems,
) {
    let Some(around) = around else {
        problems.refuse(around_at.clone(), format!("required by {}", at.clone().into_text()));
        return;
    };
    logic(within, &mut |of, place| complete(of, Some(around), around_at, &place, problems), at);
    if let Some(item) = within.item() {
        complete(item, around.item(), &around_at.child("items"), &at.child("items"), problems);
    }
    for (name, property) in &within.properties {
        let (around_at, at) = (around_at.child("properties").key(name), at.child("properties").key(name));
        complete(property, around.properties.get(name), &around_at, &at, problems);
    }
}
