//! What autoscaling/v1 keeps in annotations.

use crate::tree::{Entry, Tree};

/// Annotation in which versions without a field for it keep `spec.behavior`.
pub(super) const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// The text of an annotation.
pub(super) fn annotation<'t>(object: &'t Tree, key: &str) -> Option<&'t str> {
    object.path(&["metadata", "annotations"])?.text_at(&[key])
}

/// Puts an annotation on.
pub(super) fn annotate(object: &mut Tree, key: &str, text: &str) {
    if let Some(metadata) = object.map_of("metadata", &["kind"])
        && let Some(annotations) = metadata.map_of("annotations", &["name", "namespace"])
    {
        drop(annotations.take(key));
        annotations.insert_behind(Entry::new(key, Tree::text(text)), &[]);
    }
}

/// Takes an annotation off, and the annotations if it was the only one.
pub(super) fn unannotate(object: &mut Tree, key: &str) {
    let Some(metadata) = object.get_mut("metadata") else { return };
    let Some(annotations) = metadata.get_mut("annotations") else { return };
    drop(annotations.take(key));
    if annotations.is_empty() {
        drop(metadata.take("annotations"));
    }
}
