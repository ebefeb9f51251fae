//! Sources of an autoscaler's metrics (`pkg/apis/autoscaling/validation`, `validateMetricSpec`).

use replank_custom::problem::{quoted, shown};
use replank_model::quantity::Quantity;
use serde_json::Value;

use super::field::refuse_all;
use super::words;
use crate::json::members::text;
use crate::server::Cause;

/// Kinds of sources, and the members that hold them, in the order in which they are looked at.
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];

/// What is wrong with a metric.
pub(super) fn metric(metric: &Value, at: &str, causes: &mut Vec<Cause>) {
    let kind = text(metric, "type");
    let present: Vec<&str> =
        SOURCES.iter().map(|(_, name)| *name).filter(|name| is_set(metric, name)).collect();
    if let Some(first) = present.first() {
        source(first, metric.get(*first).unwrap_or(&Value::Null), &format!("{at}.{first}"), causes);
    }
    let expected = SOURCES.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name);
    match expected {
        Some(name) if !is_set(metric, name) => {
            let why = "must populate information for the given metric source";
            causes.push(Cause::required(format!("{at}.{name}"), why));
        }
        Some(_) => {}
        None => {
            let known = ["ContainerResource", "External", "Object", "Pods", "Resource"];
            causes.push(Cause::not_supported(format!("{at}.type"), kind, &known));
        }
    }
    if present.len() != 1 {
        for other in present.into_iter().filter(|name| Some(*name) != expected) {
            causes.push(Cause::forbidden(
                format!("{at}.{other}"),
                "must populate the given metric source only",
            ));
        }
    }
}

fn source(name: &str, of: &Value, at: &str, causes: &mut Vec<Cause>) {
    let goal = of.get("target").unwrap_or(&Value::Null);
    match name {
        "resource" | "containerResource" => {
            if name == "containerResource" {
                match text(of, "container") {
                    "" => causes.push(Cause::required(format!("{at}.container"), "must specify a container")),
                    one => refuse_all(one, &format!("{at}.container"), words::label(one), causes),
                }
                if text(of, "name").is_empty() {
                    causes.push(Cause::required(format!("{at}.name"), "must specify a resource name"));
                }
                target(goal, &format!("{at}.target"), causes);
            } else {
                amounts(goal, &format!("{at}.target"), causes);
            }
            let (share, value) = (is_set(goal, "averageUtilization"), is_set(goal, "averageValue"));
            if !share && !value {
                let why = "must set either a target raw value or a target utilization";
                causes.push(Cause::required(format!("{at}.target.averageUtilization"), why));
            } else if share && value {
                let why = "may not set both a target raw value and a target utilization";
                causes.push(Cause::forbidden(format!("{at}.target.averageValue"), why));
            }
        }
        _ => {
            if name == "object" {
                described(
                    of.get("describedObject").unwrap_or(&Value::Null),
                    &format!("{at}.describedObject"),
                    causes,
                );
            }
            let id = of.get("metric").map(|metric| text(metric, "name")).unwrap_or_default();
            if id.is_empty() {
                causes.push(Cause::required(format!("{at}.metric.name"), "must specify a metric name"));
            } else {
                refuse_all(id, &format!("{at}.metric.name"), words::path_segment(id), causes);
            }
            target(goal, &format!("{at}.target"), causes);
            let (whole, average) = (is_set(goal, "value"), is_set(goal, "averageValue"));
            let why = match name {
                "pods" if !average => "must specify a positive target averageValue",
                "object" if !whole && !average => "must set either a target value or averageValue",
                "external" if !whole && !average => {
                    "must set either a target value for metric or a per-pod target"
                }
                "external" if whole && average => {
                    let why = "may not set both a target value for metric and a per-pod target";
                    causes.push(Cause::forbidden(format!("{at}.target.value"), why));
                    return;
                }
                _ => return,
            };
            causes.push(Cause::required(format!("{at}.target.averageValue"), why));
        }
    }
}

fn described(of: &Value, at: &str, causes: &mut Vec<Cause>) {
    for name in ["kind", "name"] {
        match text(of, name) {
            "" => causes.push(Cause::required(format!("{at}.{name}"), "")),
            word => refuse_all(word, &format!("{at}.{name}"), words::path_segment(word), causes),
        }
    }
}

fn target(goal: &Value, at: &str, causes: &mut Vec<Cause>) {
    let kind = text(goal, "type");
    if kind.is_empty() {
        causes.push(Cause::required(format!("{at}.type"), "must specify a metric target type"));
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let why = "must be either Utilization, Value, or AverageValue";
        causes.push(Cause::invalid(format!("{at}.type"), &quoted(kind), why));
    }
    amounts(goal, at, causes);
    if let Some(share) = goal.get("averageUtilization").and_then(Value::as_i64).filter(|share| *share < 1) {
        causes.push(Cause::invalid(
            format!("{at}.averageUtilization"),
            &share.to_string(),
            "must be greater than 0",
        ));
    }
}

/// Amounts are more than nothing.
fn amounts(goal: &Value, at: &str, causes: &mut Vec<Cause>) {
    for name in ["value", "averageValue"] {
        let Some(given) = goal.get(name).filter(|one| !one.is_null()) else { continue };
        let text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
        if text.parse::<Quantity>().is_ok_and(|amount| amount.milli_value() <= 0) {
            causes.push(Cause::invalid(format!("{at}.{name}"), &shown(&text.into()), "must be positive"));
        }
    }
}

fn is_set(value: &Value, name: &str) -> bool {
    value.get(name).is_some_and(|one| !one.is_null())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_metric_has_its_own_source_alone() {
        let mut causes = Vec::new();
        let given = json!({"type": "Resource", "pods": {"metric": {"name": "a"}, "target": {"type": "x"}},
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}});
        metric(&given, "m", &mut causes);
        let fields: Vec<&str> = causes.iter().filter_map(|cause| cause.field.as_deref()).collect();
        assert_eq!(fields, ["m.pods.target.type", "m.pods.target.averageValue", "m.pods"]);
    }
}
