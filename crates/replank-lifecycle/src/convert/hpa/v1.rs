//! `autoscaling/v1`: one field for CPU; whatever else there is, in annotations of the API server's own making. Their metrics
//! are written as `v2beta1` has them, and come before the one of the field.

use serde_json::Value;

use super::super::Hold;
use super::{annotation, behavior, metric, unannotate};
use crate::tree::{Entry, Tree};

const FIELD: &str = "targetCPUUtilizationPercentage";
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";

pub(super) fn up(object: &mut Tree) -> Result<(), Hold> {
    behavior::from_annotation(object);
    status_up(object)?;
    let others = listed(object, METRICS, metric::Side::Target)?;
    let Some(spec) = object.get_mut("spec") else { return Ok(()) };
    let taken = spec.take_at(FIELD);
    let at = taken.as_ref().map(|(at, _)| *at);
    // 80% is the default only if there is no other metric.
    let percent = match taken {
        Some((_, entry)) => Some(entry.under("averageUtilization")),
        None if others.is_empty() => Some(Entry::new("averageUtilization", Tree::number(80))),
        None => None,
    };
    let entry = Entry::new("metrics", Tree::list(others.into_iter().chain(percent.map(cpu)).collect()));
    match at {
        Some(at) => spec.insert_at(at, entry),
        None => spec.insert_behind(entry, &["maxReplicas", "minReplicas"]),
    }
    Ok(())
}

fn cpu(percent: Entry) -> Tree {
    let mut target = Tree::map([("type", Tree::text("Utilization"))]);
    target.insert_behind(percent, &[]);
    let resource = Tree::map([("name", Tree::text("cpu")), ("target", target)]);
    Tree::map([("type", Tree::text("Resource")), ("resource", resource)])
}

/// What the annotations say of the status.
fn status_up(object: &mut Tree) -> Result<(), Hold> {
    let metrics = listed(object, CURRENT, metric::Side::Current)?;
    let conditions = taken(object, CONDITIONS);
    let found = [("currentMetrics", metrics), ("conditions", conditions)];
    if let Some(status) = object.get_mut("status") {
        drop(status.take("currentCPUUtilizationPercentage"));
        for (key, items) in found.into_iter().filter(|(_, items)| !items.is_empty()) {
            status.set(key, Tree::list(items));
        }
    }
    Ok(())
}

/// The metrics of an annotation, as `v2` has them; it is taken off.
fn listed(object: &mut Tree, key: &str, side: metric::Side) -> Result<Vec<Tree>, Hold> {
    let mut metrics = taken(object, key);
    for (at, one) in metrics.iter_mut().enumerate() {
        metric::up(one, side, &format!("metadata.annotations[{key}][{at}]"))?;
    }
    Ok(metrics)
}

/// The items of an annotation that is a list; it is taken off. What is none the API server passes over, and it stays.
fn taken(object: &mut Tree, key: &str) -> Vec<Tree> {
    let read = annotation(object, key).map(serde_json::from_str::<Value>);
    let Some(Ok(Value::Array(items))) = read else { return Vec::new() };
    unannotate(object, key);
    items.iter().map(Tree::from_value).collect()
}

pub(super) fn down(object: &mut Tree) -> Result<(), Hold> {
    if let Some(status) = object.get_mut("status") {
        drop(status.take("currentMetrics"));
        drop(status.take("conditions"));
    }
    let Some(spec) = object.get_mut("spec") else { return Ok(()) };
    let cannot = |path: &str| Hold::NoCounterpart {
        path: path.to_owned(),
        says: "autoscaling/v1 cannot express it".to_owned(),
        needed: "it has a CPU target only",
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
