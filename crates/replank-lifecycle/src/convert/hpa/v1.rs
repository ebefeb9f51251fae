//! `autoscaling/v1`: one field for CPU; whatever else there is, in annotations of the API server's own making.

use super::super::Hold;
use crate::tree::{Entry, Tree};

const PREFIX: &str = "autoscaling.alpha.kubernetes.io/";
const FIELD: &str = "targetCPUUtilizationPercentage";

pub(super) fn up(object: &mut Tree) -> Result<(), Hold> {
    let annotations = object.path(&["metadata", "annotations"]);
    for key in ["metrics", "behavior", "conditions", "current-metrics"] {
        if annotations.is_some_and(|all| all.get(&format!("{PREFIX}{key}")).is_some()) {
            return Err(Hold::NoCounterpart {
                path: format!("metadata.annotations[{PREFIX}{key}]"),
                says: "there".to_owned(),
                needed: "an API server wrote it: write the object anew from its v2",
            });
        }
    }
    if let Some(status) = object.get_mut("status") {
        drop(status.take("currentCPUUtilizationPercentage"));
    }
    let Some(spec) = object.get_mut("spec") else { return Ok(()) };
    let taken = spec.take_at(FIELD);
    let at = taken.as_ref().map(|(at, _)| *at);
    let percent = taken.map_or_else(
        || Entry::new("averageUtilization", Tree::number(80)),
        |(_, entry)| entry.under("averageUtilization"),
    );
    let mut target = Tree::map([("type", Tree::text("Utilization"))]);
    target.insert_behind(percent, &[]);
    let resource = Tree::map([("name", Tree::text("cpu")), ("target", target)]);
    let metric = Tree::map([("type", Tree::text("Resource")), ("resource", resource)]);
    let entry = Entry::new("metrics", Tree::list(vec![metric]));
    match at {
        Some(at) => spec.insert_at(at, entry),
        None => spec.insert_behind(entry, &["maxReplicas", "minReplicas"]),
    }
    Ok(())
}

pub(super) fn down(object: &mut Tree) -> Result<(), Hold> {
    if let Some(status) = object.get_mut("status") {
        drop(status.take("currentMetrics"));
        drop(status.take("conditions"));
    }
    let Some(spec) = object.get_mut("spec") else { return Ok(()) };
    let cannot = |path: &str| Hold::NoCounterpart {
        path: path.to_owned(),
        says: "more than autoscaling/v1 can say".to_owned(),
        needed: "it has one field, for CPU",
    };
    if spec.get("behavior").is_some() {
        return Err(cannot("spec.behavior"));
    }
    let only_cpu = match spec.get("metrics").map(Tree::items) {
        None | Some([]) => None,
        Some([metric]) => Some(
            metric
                .path(&["resource", "target", "averageUtilization"])
                .filter(|_| metric.text_at(&["resource", "name"]) == Some("cpu"))
                .ok_or_else(|| cannot("spec.metrics"))?
                .copied(),
        ),
        Some(_) => return Err(cannot("spec.metrics")),
    };
    let at = spec.take_at("metrics").map(|(at, _)| at);
    let percent = Entry::new(FIELD, only_cpu.unwrap_or_else(|| Tree::number(80)));
    match at {
        Some(at) => spec.insert_at(at, percent),
        None => spec.insert_behind(percent, &[]),
    }
    Ok(())
}
