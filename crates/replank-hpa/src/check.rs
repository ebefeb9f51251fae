//! Whether the API server would take an autoscaler (`pkg/apis/autoscaling/validation/validation.go`): what a manifest may
//! say wrongly, with where it stands.

use replank_model::object::autoscaling::{
    HorizontalPodAutoscaler, HpaScalingRules, MetricIdentifier, MetricSpec, MetricTarget,
};
use replank_model::quantity::Quantity;

/// Longest window of recommendations, in seconds.
const WINDOW_MAX: i32 = 3_600;
/// Longest period of a policy, in seconds.
const PERIOD_MAX: i32 = 1_800;

/// Every field that is not right; none if the autoscaler would be taken.
#[must_use]
pub fn problems(hpa: &HorizontalPodAutoscaler) -> Vec<String> {
    let spec = &hpa.spec;
    let mut found = Vec::new();
    if spec.scale_target_ref.kind.is_empty() {
        found.push("spec.scaleTargetRef.kind: Required value".to_owned());
    }
    if spec.scale_target_ref.name.is_empty() {
        found.push("spec.scaleTargetRef.name: Required value".to_owned());
    }
    let min = spec.min_replicas.unwrap_or(1);
    // Zero is taken where the feature gate HPAScaleToZero is on, and then only beside a metric that needs no pod.
    if min < 0
        || (min == 0 && !spec.metrics.iter().any(|metric| matches!(&*metric.r#type, "Object" | "External")))
    {
        found.push(format!("spec.minReplicas: Invalid value: {min}: must be greater than or equal to 1"));
    }
    if spec.max_replicas < 1 {
        found.push(format!("spec.maxReplicas: Invalid value: {}: must be greater than 0", spec.max_replicas));
    } else if spec.max_replicas < min {
        found.push(format!(
            "spec.maxReplicas: Invalid value: {}: must be greater than or equal to `minReplicas`",
            spec.max_replicas
        ));
    }
    for (index, metric) in spec.metrics.iter().enumerate() {
        check_metric(metric, &format!("spec.metrics[{index}]"), &mut found);
    }
    if let Some(behavior) = &spec.behavior {
        for (rules, path) in [(&behavior.scale_up, "scaleUp"), (&behavior.scale_down, "scaleDown")] {
            if let Some(rules) = rules {
                check_rules(rules, &format!("spec.behavior.{path}"), &mut found);
            }
        }
    }
    found
}

fn check_metric(metric: &MetricSpec, path: &str, found: &mut Vec<String>) {
    let utilization = Allowed { utilization: true, average: true, value: false };
    let average = Allowed { utilization: false, average: true, value: false };
    let whole = Allowed { utilization: false, average: true, value: true };
    let mut missing = |name: &str| {
        found.push(format!(
            "{path}.{name}: Required value: must populate information for the given metric source"
        ));
    };
    match &*metric.r#type {
        "Resource" => match &metric.resource {
            Some(source) => check_target(&source.target, utilization, &format!("{path}.resource.target"), found),
            None => missing("resource"),
        },
        "ContainerResource" => match &metric.container_resource {
            Some(source) => {
                if source.container.is_empty() {
                    found.push(format!("{path}.containerResource.container: Required value: must specify a container"));
                }
                check_target(&source.target, utilization, &format!("{path}.containerResource.target"), found);
            }
            None => missing("containerResource"),
        },
        "Pods" => match &metric.pods {
            Some(source) => {
                check_name(&source.metric, &format!("{path}.pods"), found);
                check_target(&source.target, average, &format!("{path}.pods.target"), found);
            }
            None => missing("pods"),
        },
        "Object" => match &metric.object {
            Some(source) => {
                check_name(&source.metric, &format!("{path}.object"), found);
                check_target(&source.target, whole, &format!("{path}.object.target"), found);
            }
            None => missing("object"),
        },
        "External" => match &metric.external {
            Some(source) => {
                check_name(&source.metric, &format!("{path}.external"), found);
                check_target(&source.target, whole, &format!("{path}.external.target"), found);
            }
            None => missing("external"),
        },
        other => found.push(format!(
            "{path}.type: Unsupported value: \"{other}\": supported values: \"ContainerResource\", \"External\", \"Object\", \
             \"Pods\", \"Resource\""
        )),
    }
}

fn check_name(metric: &MetricIdentifier, path: &str, found: &mut Vec<String>) {
    if metric.name.is_empty() {
        found.push(format!("{path}.metric.name: Required value: must specify a metric name"));
    }
}

#[derive(Clone, Copy)]
struct Allowed {
    utilization: bool,
    average: bool,
    value: bool,
}

fn check_target(target: &MetricTarget, allowed: Allowed, path: &str, found: &mut Vec<String>) {
    let kinds = [
        ("averageUtilization", target.average_utilization.is_some(), allowed.utilization),
        ("averageValue", target.average_value.is_some(), allowed.average),
        ("value", target.value.is_some(), allowed.value),
    ];
    let given: Vec<&str> =
        kinds.iter().filter(|(_, given, may)| *given && *may).map(|(name, _, _)| *name).collect();
    let may: Vec<&str> = kinds.iter().filter(|(_, _, may)| *may).map(|(name, _, _)| *name).collect();
    if given.len() != 1 {
        found.push(format!("{path}: Required value: must set exactly one of {}", may.join(", ")));
    }
    if target.average_utilization.is_some_and(|percent| percent < 1) {
        found.push(format!("{path}.averageUtilization: must be greater than 0"));
    }
    for (name, amount) in [("averageValue", &target.average_value), ("value", &target.value)] {
        if amount.as_ref().is_some_and(|amount| amount.signum() <= 0) {
            found.push(format!("{path}.{name}: must be positive"));
        }
    }
}

fn check_rules(rules: &HpaScalingRules, path: &str, found: &mut Vec<String>) {
    if let Some(window) =
        rules.stabilization_window_seconds.filter(|window| !(0..=WINDOW_MAX).contains(window))
    {
        found.push(format!(
            "{path}.stabilizationWindowSeconds: Invalid value: {window}: must be between 0 and {WINDOW_MAX}"
        ));
    }
    let select = rules.select_policy.as_deref();
    if select.is_some_and(|select| !matches!(select, "Max" | "Min" | "Disabled")) {
        found.push(format!("{path}.selectPolicy: Unsupported value: \"{}\": supported values: \"Disabled\", \"Max\", \"Min\"", select.unwrap_or_default()));
    }
    if rules.tolerance.as_ref().map(Quantity::signum).is_some_and(|sign| sign < 0) {
        found.push(format!("{path}.tolerance: must be greater than or equal to 0"));
    }
    let Some(policies) = &rules.policies else { return };
    if policies.is_empty() {
        found.push(format!("{path}.policies: Required value: must specify at least one Policy"));
    }
    for (index, policy) in policies.iter().enumerate() {
        let path = format!("{path}.policies[{index}]");
        if !matches!(&*policy.r#type, "Pods" | "Percent") {
            found.push(format!(
                "{path}.type: Unsupported value: \"{}\": supported values: \"Percent\", \"Pods\"",
                policy.r#type
            ));
        }
        if policy.value < 1 {
            found.push(format!("{path}.value: Invalid value: {}: must be greater than zero", policy.value));
        }
        if !(1..=PERIOD_MAX).contains(&policy.period_seconds) {
            found.push(format!(
                "{path}.periodSeconds: Invalid value: {}: must be between 1 and {PERIOD_MAX}",
                policy.period_seconds
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::Object;
    use serde_json::{Value, json};

    use super::*;

    fn found(spec: &Value) -> Vec<String> {
        let mut object = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 3}});
        for (key, value) in spec.as_object().into_iter().flatten() {
            object["spec"][key] = value.clone();
        }
        let Object::HorizontalPodAutoscaler(hpa) = Object::from_json(object).unwrap() else {
            return Vec::new();
        };
        problems(&hpa)
    }

    #[test]
    fn what_is_right_is_taken() {
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}});
        let rules = json!({"stabilizationWindowSeconds": 3600, "selectPolicy": "Min",
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 1800}]});
        assert_eq!(found(&json!({"metrics": [cpu], "behavior": {"scaleDown": rules}})), Vec::<String>::new());
    }

    #[test]
    fn each_field_that_is_not_right_is_named() {
        let metric = json!({"type": "Pods", "pods": {"metric": {"name": ""}, "target": {"type": "Value", "value": "1"}}});
        let rules = json!({"stabilizationWindowSeconds": 3601, "selectPolicy": "Most",
            "policies": [{"type": "Share", "value": 0, "periodSeconds": 0}]});
        let found = found(
            &json!({"minReplicas": 4, "metrics": [metric, {"type": "Resource"}], "behavior": {"scaleUp": rules}}),
        );
        let fields: Vec<&str> =
            found.iter().filter_map(|line| line.split_once(": ").map(|(field, _)| field)).collect();
        assert_eq!(
            fields,
            [
                "spec.maxReplicas",
                "spec.metrics[0].pods.metric.name",
                "spec.metrics[0].pods.target",
                "spec.metrics[1].resource",
                "spec.behavior.scaleUp.stabilizationWindowSeconds",
                "spec.behavior.scaleUp.selectPolicy",
                "spec.behavior.scaleUp.policies[0].type",
                "spec.behavior.scaleUp.policies[0].value",
                "spec.behavior.scaleUp.policies[0].periodSeconds",
            ]
        );
    }
}
