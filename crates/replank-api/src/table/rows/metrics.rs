//! What an autoscaler looks at, and how much of it there is.

use serde_json::Value;

use crate::table::look::{Look, first, items, text, word_or};

/// The metrics of an autoscaler, two of them at the most.
pub(super) fn metrics(look: Look<'_>) -> String {
    let statuses = look.list("/status/currentMetrics");
    let mut told: Vec<String> = Vec::new();
    if let Some(target) = look.at("/spec/targetCPUUtilizationPercentage").as_i64() {
        // autoscaling/v1 has the one metric that most have, and the others in an annotation.
        let current = look.at("/status/currentCPUUtilizationPercentage").as_i64();
        told.push(format!("cpu: {}/{target}%", percent(current, "<unknown>")));
    }
    for (index, spec) in items(look.at("/spec/metrics")).iter().enumerate() {
        told.push(metric(spec, statuses.get(index).unwrap_or(&Value::Null)));
    }
    match told.len() {
        0 => "<none>".to_owned(),
        _ => first(&told, 2, ", ", "<none>"),
    }
}

fn metric(spec: &Value, status: &Value) -> String {
    let (member, has_average) = match text(&spec["type"]) {
        "External" => ("external", true),
        "Object" => ("object", true),
        "Pods" => ("pods", false),
        "Resource" => return resource(&spec["resource"], &status["resource"]),
        "ContainerResource" => return resource(&spec["containerResource"], &status["containerResource"]),
        _ => return "<unknown type>".to_owned(),
    };
    let (target, current) = (&spec[member]["target"], &status[member]["current"]);
    let value = |of: &Value| word_or(of, "0");
    let known = |of: &Value| if status[member].is_null() { "<unknown>".to_owned() } else { value(of) };
    if !has_average {
        return format!("{}/{}", known(&current["averageValue"]), value(&target["averageValue"]));
    }
    match target["averageValue"].is_null() {
        false => {
            let current = word_or(&current["averageValue"], "<unknown>");
            format!("{current}/{} (avg)", value(&target["averageValue"]))
        }
        true => format!("{}/{}", known(&current["value"]), value(&target["value"])),
    }
}

fn resource(spec: &Value, status: &Value) -> String {
    let (name, target, current) = (text(&spec["name"]), &spec["target"], &status["current"]);
    if target["averageValue"].is_null() {
        let current = percent(current["averageUtilization"].as_i64(), "<unknown>");
        return format!("{name}: {current}/{}", percent(target["averageUtilization"].as_i64(), "<auto>"));
    }
    let known = if status.is_null() { "<unknown>" } else { "0" };
    format!("{name}: {}/{}", word_or(&current["averageValue"], known), word_or(&target["averageValue"], "0"))
}

fn percent(value: Option<i64>, none: &str) -> String {
    value.map_or_else(|| none.to_owned(), |value| format!("{value}%"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn two_metrics_are_told_and_the_others_counted() {
        let cpu =
            json!({"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}});
        let pods = json!({"type": "Pods", "pods": {"target": {"averageValue": "10"}}});
        let object = json!({"spec": {"metrics": [cpu, pods, cpu]},
            "status": {"currentMetrics": [{"type": "Resource", "resource": {"current": {"averageUtilization": 12}}}]}});
        assert_eq!(
            metrics(Look { object: &object, now: crate::table::Moment::At(0) }),
            "cpu: 12%/80%, <unknown>/10 + 1 more..."
        );
    }
}
