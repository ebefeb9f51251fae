//! StatefulSets: `apps/v1beta1` took selector and labels from the template, and updated nothing by itself (`OnDelete`).

use super::{Hold, Work, daemon_set, workload};
use crate::table::Gvk;
use crate::tree::Tree;

pub(super) fn up(object: &mut Tree, from: &Gvk, work: &mut Work<'_>) -> Result<(), Hold> {
    if from.version == "v1beta1" {
        workload::write_selector(object, work)?;
        daemon_set::update_strategy(object, "OnDelete");
    }
    Ok(())
}

pub(super) fn down(object: &mut Tree, to: &Gvk) -> Result<(), Hold> {
    if to.version == "v1beta1" {
        daemon_set::update_strategy(object, "RollingUpdate");
    }
    Ok(())
}
