//! PriorityLevelConfigurations: `assuredConcurrencyShares` is `nominalConcurrencyShares`, and 0 stood for 30 before `v1`, unless
//! an annotation of `v1beta3` said otherwise (`pkg/apis/flowcontrol/v1beta*/{defaults,conversion}.go`).

use super::Hold;
use crate::table::Gvk;
use crate::tree::{Entry, Tree};

const KEEPS_ZERO: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
const ASSURED: &str = "assuredConcurrencyShares";
const NOMINAL: &str = "nominalConcurrencyShares";

pub(super) fn up(object: &mut Tree, from: &Gvk) -> Result<(), Hold> {
    let zero_is_meant = match &*from.version {
        "v1" => return Ok(()),
        "v1beta3" => take_annotation(object),
        _ => false,
    };
    let Some(limited) = object.path_mut(&["spec", "limited"]) else { return Ok(()) };
    if matches!(&*from.version, "v1alpha1" | "v1beta1" | "v1beta2") {
        limited.rename(ASSURED, NOMINAL);
    }
    if !zero_is_meant && limited.get(NOMINAL).and_then(Tree::as_integer) == Some(0) {
        limited.set(NOMINAL, Tree::number(30));
    }
    Ok(())
}

pub(super) fn down(object: &mut Tree, to: &Gvk) -> Result<(), Hold> {
    if to.version == "v1" {
        return Ok(());
    }
    let zero = object.path(&["spec", "limited", NOMINAL]).and_then(Tree::as_integer) == Some(0);
    if zero && to.version != "v1beta3" {
        return Err(Hold::NoCounterpart {
            path: format!("spec.limited.{NOMINAL}"),
            says: "0".to_owned(),
            needed: "that version reads it as 30",
        });
    }
    if zero
        && let Some(metadata) = object.map_of("metadata", &["kind"])
        && let Some(annotations) = metadata.map_of("annotations", &["name"])
    {
        annotations.insert_behind(Entry::new(KEEPS_ZERO, Tree::text("")), &[]);
    }
    if to.version != "v1beta3"
        && let Some(limited) = object.path_mut(&["spec", "limited"])
    {
        limited.rename(NOMINAL, ASSURED);
    }
    Ok(())
}

/// Whether the annotation is there; it goes.
fn take_annotation(object: &mut Tree) -> bool {
    let Some(metadata) = object.get_mut("metadata") else { return false };
    let Some(annotations) = metadata.get_mut("annotations") else { return false };
    let there = annotations.entries().iter().any(|entry| &*entry.key == KEEPS_ZERO);
    drop(annotations.take(KEEPS_ZERO));
    if annotations.is_empty() {
        drop(metadata.take("annotations"));
    }
    there
}
