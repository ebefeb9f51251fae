//! Defaults have to be of their schema, and to have nothing in them that the schema does not know (apiextensions-apiserver,
//! `pkg/apiserver/schema/defaulting/validation.go` and `pruning/algorithm.go`).

use crate::tree::Plain;

use super::place::Place;
use super::problem::Problems;
use super::props::{Props, SchemaOrBool};
use super::value::{Fits, fits};

/// Says what is wrong with the defaults of a structural schema.
pub(super) fn check(of: &Props<'_>, at: &Place, problems: &mut Problems) {
    if has_defaults(of) {
        let root = Props { embedded: true, ..of.clone() };
        schema(&root, false, at, problems);
    }
}

/// Whether there are any where they are looked at; most schemas have none.
fn has_defaults(of: &Props<'_>) -> bool {
    of.default.is_some() || of.item().into_iter().chain(of.properties.values()).any(has_defaults)
}

fn schema(of: &Props<'_>, in_metadata: bool, at: &Place, problems: &mut Problems) {
    let in_metadata = in_metadata && !of.embedded;
    if let Some(value) = &of.default {
        let at = at.child("default");
        if in_metadata || (value.is_map() && has_embedded(of)) {
            problems.unknown(at, "a default of metadata is not checked here");
        } else {
            if is_pruned(value, Some(of)) {
                problems.refuse(at.clone(), "it has fields that the schema does not know");
            }
            match fits(value, of) {
                Fits::Yes => {}
                Fits::No => problems.refuse(at, "it is not of its schema"),
                Fits::Unknown => {
                    problems.unknown(at, "whether it matches its pattern or format is not checked here");
                }
            }
        }
    }
    // There are none within `additionalProperties`.
    if let Some(item) = of.item() {
        schema(item, in_metadata, &at.child("items"), problems);
    }
    for (name, property) in &of.properties {
        let is_known = of.embedded && matches!(*name, "metadata" | "apiVersion" | "kind");
        schema(property, in_metadata || is_known, &at.child("properties").key(name), problems);
    }
}

fn has_embedded(of: &Props<'_>) -> bool {
    let additional = of.additional_properties.as_ref().and_then(SchemaOrBool::schema);
    of.embedded || of.item().into_iter().chain(additional).chain(of.properties.values()).any(has_embedded)
}

/// Whether the server would take something out of a value.
fn is_pruned(value: &Plain<'_>, of: Option<&Props<'_>>) -> bool {
    let Some(of) = of else {
        return match value {
            Plain::Map(map) => !map.is_empty(),
            Plain::List(items) => items.iter().any(|item| is_pruned(item, None)),
            Plain::Null | Plain::Bool(_) | Plain::Number(_) | Plain::Text(_) => false,
        };
    };
    let keeps = of.is_preserving();
    match value {
        Plain::Map(map) => {
            map.iter().any(|(key, value)| match (of.properties.get(key), &of.additional_properties) {
                (Some(property), _) => is_pruned(value, Some(property)),
                (None, Some(additional)) => is_pruned(value, additional.schema()),
                (None, None) => !keeps,
            })
        }
        Plain::List(items) if keeps => items.iter().any(|item| is_pruned_in_kept(item, of)),
        Plain::List(items) => items.iter().any(|item| is_pruned(item, of.item())),
        Plain::Null | Plain::Bool(_) | Plain::Number(_) | Plain::Text(_) => false,
    }
}

/// Items of a list that keeps what is unknown are looked at by the schema of the list itself; upstream goes on with that of the
/// items, of which nothing is taken out that is not named there.
fn is_pruned_in_kept(item: &Plain<'_>, of: &Props<'_>) -> bool {
    let Some(of) = of.item() else { return false };
    match item {
        Plain::Map(map) => {
            map.iter().any(|(key, value)| match (of.properties.get(key), &of.additional_properties) {
                (Some(property), _) => is_pruned(value, Some(property)),
                (None, Some(additional)) => is_pruned(value, additional.schema()),
                (None, None) => false,
            })
        }
        Plain::List(items) => items.iter().any(|item| is_pruned_in_kept(item, of)),
        Plain::Null | Plain::Bool(_) | Plain::Number(_) | Plain::Text(_) => false,
    }
}
