//! HorizontalPodAutoscalers (`pkg/apis/autoscaling/v2beta1/conversion.go`, `v1/conversion.go`). `v2beta2` has the fields of `v2`.

mod annotation;
mod behavior;
mod metric;
mod v1;

use super::{Hold, default};
use crate::table::Gvk;
use crate::tree::Tree;

use annotation::{BEHAVIOR, annotate, annotation, unannotate};

pub(super) fn up(object: &mut Tree, from: &Gvk) -> Result<(), Hold> {
    match &*from.version {
        "v1" => v1::up(object),
        "v2beta1" => v2beta1_up(object),
        _ => Ok(()),
    }
}

pub(super) fn down(object: &mut Tree, to: &Gvk) -> Result<(), Hold> {
    match &*to.version {
        "v1" => v1::down(object),
        "v2beta1" => v2beta1_down(object),
        _ => Ok(()),
    }
}

fn v2beta1_up(object: &mut Tree) -> Result<(), Hold> {
    if let Some(spec) = object.get_mut("spec") {
        write_default(spec);
        if let Some(metrics) = spec.get_mut("metrics") {
            for (at, metric) in metrics.items_mut().iter_mut().enumerate() {
                metric::up(metric, metric::Side::Target, &format!("spec.metrics[{at}]"))?;
            }
        }
    }
    if let Some(metrics) = object.path_mut(&["status", "currentMetrics"]) {
        for (at, metric) in metrics.items_mut().iter_mut().enumerate() {
            metric::up(metric, metric::Side::Current, &format!("status.currentMetrics[{at}]"))?;
        }
    }
    behavior::from_annotation(object);
    Ok(())
}

/// No metrics are CPU at 80% of what is requested.
fn write_default(spec: &mut Tree) {
    let cpu = || {
        Tree::list(vec![Tree::map([
            ("type", Tree::text("Resource")),
            (
                "resource",
                Tree::map([("name", Tree::text("cpu")), ("targetAverageUtilization", Tree::number(80))]),
            ),
        ])])
    };
    default(spec, "metrics", cpu(), &["maxReplicas", "minReplicas"]);
    if spec.get("metrics").is_some_and(Tree::is_empty) {
        spec.set("metrics", cpu());
    }
}

fn v2beta1_down(object: &mut Tree) -> Result<(), Hold> {
    if let Some(metrics) = object.path_mut(&["spec", "metrics"]) {
        for (at, metric) in metrics.items_mut().iter_mut().enumerate() {
            metric::down(metric, metric::Side::Target, &format!("spec.metrics[{at}]"))?;
        }
    }
    if let Some(metrics) = object.path_mut(&["status", "currentMetrics"]) {
        for (at, metric) in metrics.items_mut().iter_mut().enumerate() {
            metric::down(metric, metric::Side::Current, &format!("status.currentMetrics[{at}]"))?;
        }
    }
    behavior::to_annotation(object);
    Ok(())
}
