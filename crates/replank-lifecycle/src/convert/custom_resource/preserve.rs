//! How a definition goes on keeping fields that its schema does not know (apiextensions-apiserver,
//! `pkg/apiserver/schema/pruning/algorithm.go`). Whether a schema is structural otherwise, [`crate::definition`] says.

use crate::tree::{Entry, Tree, What};

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

/// Marks every object of a root schema so that it keeps what the schema does not know, as it did while `preserveUnknownFields`
/// was true. The mark is not inherited where properties are named. What every object has is not touched: nothing of it is ever
/// pruned, and its schema may say nothing of it but the name.
pub(super) fn mark(root: &mut Tree) {
    if let Some(properties) = root.get_mut("properties").and_then(Tree::entries_mut) {
        properties
            .iter_mut()
            .filter(|entry| &*entry.key != "metadata")
            .for_each(|entry| preserve(&mut entry.value));
    }
    own(root);
}

fn preserve(schema: &mut Tree) {
    if let Some(items) = schema.get_mut("items") {
        preserve(items);
    }
    if let Some(additional) = schema.get_mut("additionalProperties").filter(|of| of.is_map()) {
        preserve(additional);
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Tree::entries_mut) {
        properties.iter_mut().for_each(|entry| preserve(&mut entry.value));
    }
    own(schema);
}

fn own(schema: &mut Tree) {
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
