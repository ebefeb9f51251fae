//! Autoscalers at their maximum: no replica can be added while pods move.

use replank_model::object::condition;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::remedy::{Edit, Remedy, Target, TargetKind};
use serde_json::json;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (_, hpa) in survey.view.horizontal_pod_autoscalers.sorted() {
        let target = &hpa.spec.scale_target_ref;
        let is_touched = survey.workloads.keys().any(|workload| {
            workload.kind == target.kind
                && workload.key.name == target.name
                && workload.key.namespace == hpa.meta.namespace
        });
        let (maximum, wanted) = (hpa.spec.max_replicas, hpa.status.desired_replicas);
        if !is_touched || maximum < 1 || wanted < maximum {
            continue;
        }
        let limited = condition::find(&hpa.status.conditions, "ScalingLimited");
        let is_limited = limited.is_some_and(|limited| &*limited.reason == "TooManyReplicas");
        let more = if is_limited { ", and needs more" } else { "" };
        findings.push(Finding {
            rule: Rule::HpaAtMaximum,
            severity: if is_limited { Severity::Warning } else { Severity::Info },
            object: ObjectName::new("HorizontalPodAutoscaler", hpa.meta.key()),
            reason: format!(
                "{} {} is at its maximum of {maximum} replicas{more}: no headroom",
                target.kind, target.name
            ),
            remedy: Remedy::edit(Edit::Patch {
                of: Target::new(TargetKind::HorizontalPodAutoscaler, hpa.meta.key()),
                patch: json!({"spec": {"maxReplicas": maximum + (maximum + 3) / 4}}),
            })
            .or_look(format!("kubectl -n {} describe hpa {}", hpa.meta.namespace, hpa.meta.name)),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, node, service};
    use super::*;

    #[test]
    fn an_autoscaler_at_its_maximum_is_found_if_its_pods_move() {
        let hpa = |name: &str, wanted: i32| {
            json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name, "namespace": "shop"},
                "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}, "maxReplicas": 10},
                "status": {"desiredReplicas": wanted, "conditions": [{"type": "ScalingLimited", "status": "True", "reason": "TooManyReplicas"}]}})
        };
        let with = |hpa| {
            found(
                Rule::HpaAtMaximum,
                [vec![node("n", "a"), hpa], service("web", &["n"], &json!({}))].concat(),
            )
        };
        assert_eq!(
            with(hpa("web", 10)),
            [
                "warning hpa-at-maximum HorizontalPodAutoscaler shop/web: Deployment web is at its maximum of 10 replicas, and needs more: no headroom"
            ]
        );
        assert_eq!(with(hpa("web", 9)), [""; 0]);
        assert_eq!(with(hpa("elsewhere", 10)), [""; 0], "its pods are not touched");
    }
}
