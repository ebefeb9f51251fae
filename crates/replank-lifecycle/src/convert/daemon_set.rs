//! DaemonSets: `extensions/v1beta1` took selector and labels from the template, and updated nothing by itself (`OnDelete`).

use super::{Hold, Work, default, map_of, workload};
use crate::table::Gvk;
use crate::tree::Tree;

pub(super) fn up(object: &mut Tree, from: &Gvk, work: &mut Work<'_>) -> Result<(), Hold> {
    if from.group == "extensions" {
        workload::write_selector(object, work)?;
        update_strategy(object, "OnDelete");
    }
    workload::drop_field(
        object,
        "templateGeneration",
        "the controller maintains the generation itself",
        work,
    );
    Ok(())
}

pub(super) fn down(object: &mut Tree, to: &Gvk) -> Result<(), Hold> {
    if to.group == "extensions" {
        update_strategy(object, "RollingUpdate");
    }
    Ok(())
}

/// Writes the type of the update strategy down.
pub(super) fn update_strategy(object: &mut Tree, of_default: &str) {
    let Some(spec) = object.get_mut("spec") else { return };
    let behind = ["replicas", "minReadySeconds", "revisionHistoryLimit"];
    let Some(strategy) = map_of(spec, "updateStrategy", &behind) else { return };
    match strategy.get("type") {
        Some(of) if of.as_text().is_some() => {}
        Some(_) => strategy.set("type", Tree::text(of_default)),
        None => default(strategy, "type", Tree::text(of_default), &[]),
    }
}
