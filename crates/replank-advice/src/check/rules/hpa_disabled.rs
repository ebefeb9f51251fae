//! Autoscalers that may not scale in one direction (`selectPolicy: Disabled`): a number of replicas that only a person brings back.

use replank_model::object::autoscaling::HpaScalingRules;

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
        let Some(behavior) = hpa.spec.behavior.as_ref().filter(|_| is_touched) else { continue };
        for (rules, member, never, so) in [
            (&behavior.scale_up, "scaleUp", "adds", "no replica is added while pods move, whatever the load"),
            (
                &behavior.scale_down,
                "scaleDown",
                "removes",
                "what a peak has added stays, and takes room on new nodes",
            ),
        ] {
            if !rules.as_ref().is_some_and(is_disabled) {
                continue;
            }
            findings.push(Finding {
                rule: Rule::HpaDisabled,
                severity: Severity::Info,
                object: ObjectName::new("HorizontalPodAutoscaler", hpa.meta.key()),
                reason: format!(
                    "behavior.{member}.selectPolicy is Disabled: it never {never} replicas of {} {}, so that {so}",
                    target.kind, target.name
                ),
                remedy: Remedy::edit(Edit::Patch {
                    of: Target::new(TargetKind::HorizontalPodAutoscaler, hpa.meta.key()),
                    patch: json!({"spec": {"behavior": {member: {"selectPolicy": "Max"}}}}),
                })
                .note("unless it is meant"),
            });
        }
    }
    findings
}

fn is_disabled(rules: &HpaScalingRules) -> bool {
    rules.select_policy.as_deref() == Some("Disabled")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, node, service};
    use super::*;

    #[test]
    fn a_direction_that_is_disabled_is_named() {
        let with = |behavior: Value| {
            let hpa = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": "shop"},
                "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 10, "behavior": behavior}});
            found(Rule::HpaDisabled, [vec![node("n", "a"), hpa], service("web", &["n"], &json!({}))].concat())
        };
        assert_eq!(
            with(json!({"scaleDown": {"selectPolicy": "Disabled"}})),
            [
                "info hpa-disabled HorizontalPodAutoscaler shop/web: behavior.scaleDown.selectPolicy is Disabled: it never removes replicas of Deployment web, so that what a peak has added stays, and takes room on new nodes"
            ]
        );
        assert_eq!(
            with(json!({"scaleUp": {"selectPolicy": "Disabled"}, "scaleDown": {"selectPolicy": "Disabled"}}))
                .len(),
            2
        );
        assert_eq!(with(json!({"scaleDown": {"selectPolicy": "Min"}})), [""; 0]);
    }
}
