//! What Deployments, DaemonSets, StatefulSets and ReplicaSets have in common (`pkg/apis/extensions/v1beta1/defaults.go`,
//! `pkg/apis/apps/v1beta1/defaults.go`).

use super::{Hold, Note, Work};
use crate::table::Gvk;
use crate::tree::{Entry, Tree};

/// Versions in which selector and labels were taken from the template.
pub(super) fn takes_from_template(from: &Gvk) -> bool {
    matches!((&*from.group, &*from.version), ("extensions", _) | ("apps", "v1beta1"))
}

/// Writes the selector and the object's own labels where they were taken from the template.
pub(super) fn write_selector(object: &mut Tree, work: &mut Work<'_>) -> Result<(), Hold> {
    let labels = object.path(&["spec", "template", "metadata", "labels"]).map(Tree::copied);
    let labels = labels.filter(|labels| !labels.is_empty());
    let has_selector = object.path(&["spec", "selector"]).is_some();
    match (labels, has_selector) {
        (None, true) => {}
        (None, false) => {
            return Err(Hold::Absent {
                path: "spec.selector".to_owned(),
                why: "the template has no labels to take it from",
            });
        }
        (Some(labels), has_selector) => {
            if !has_selector && let Some(spec) = object.get_mut("spec") {
                // A key without a value would be there twice.
                let _nothing = spec.take("selector");
                let selector = Tree::map([("matchLabels", labels.copied())]);
                insert_before_template(spec, Entry::new("selector", selector));
                work.note(Note::SelectorWritten);
            }
            write_labels(object, labels);
        }
    }
    Ok(())
}

fn insert_before_template(spec: &mut Tree, entry: Entry) {
    match spec.entries().iter().position(|entry| &*entry.key == "template") {
        // What stands first keeps its place: the text before it is not disturbed.
        Some(0) | None => spec.insert_behind(entry, &[]),
        Some(at) => spec.insert_at(at, entry),
    }
}

fn write_labels(object: &mut Tree, labels: Tree) {
    let Some(metadata) = object.map_of("metadata", &["kind"]) else { return };
    if metadata.get("labels").is_none_or(Tree::is_empty) {
        let empty = metadata.get("labels").is_some();
        if empty {
            metadata.set("labels", labels);
        } else {
            metadata.set_default("labels", labels, &["name", "namespace"]);
        }
    }
}

/// Takes a field of the spec out that the newer version does not have.
pub(super) fn drop_field(object: &mut Tree, key: &str, why: &'static str, work: &mut Work<'_>) {
    if let Some(spec) = object.get_mut("spec")
        && spec.take(key).is_some()
    {
        work.note(Note::Dropped { path: format!("spec.{key}"), why });
    }
}

pub(super) fn replica_set_up(object: &mut Tree, from: &Gvk, work: &mut Work<'_>) -> Result<(), Hold> {
    if takes_from_template(from) { write_selector(object, work) } else { Ok(()) }
}
