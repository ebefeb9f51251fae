//! RuntimeClasses: `v1alpha1` had them in a `spec` (`pkg/apis/node/v1alpha1/conversion.go`).

use super::Hold;
use crate::table::Gvk;
use crate::tree::{Entry, Tree};

const FIELDS: [(&str, &str); 3] =
    [("runtimeHandler", "handler"), ("overhead", "overhead"), ("scheduling", "scheduling")];

pub(super) fn up(object: &mut Tree, from: &Gvk) -> Result<(), Hold> {
    if from.version != "v1alpha1" {
        return Ok(());
    }
    let Some((at, spec)) = object.take_at("spec") else { return Ok(()) };
    let mut spec = spec.value;
    for (behind, (old, new)) in
        FIELDS.iter().filter_map(|(old, new)| Some((spec.take(old)?, *new))).enumerate()
    {
        object.insert_at(at + behind, old.under(new));
    }
    match spec.entries().first() {
        None => Ok(()),
        Some(entry) => Err(Hold::NoCounterpart {
            path: format!("spec.{}", entry.key),
            says: "there".to_owned(),
            needed: "no version has this field",
        }),
    }
}

pub(super) fn down(object: &mut Tree, to: &Gvk) -> Result<(), Hold> {
    if to.version == "v1alpha1" {
        let mut spec = Tree::map([]);
        for (old, new) in FIELDS {
            if let Some(entry) = object.take(new) {
                spec.insert_behind(entry.under(old), &[]);
            }
        }
        object.insert_behind(Entry::new("spec", spec), &["metadata"]);
    }
    Ok(())
}
