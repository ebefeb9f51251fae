//! Pods that the scheduler finds no node for as things are: not the roll's doing.

use std::collections::BTreeMap;

use replank_model::object::condition::{self, ConditionStatus};

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::Survey;
use super::super::workload::workload_of;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut found: BTreeMap<(ObjectName, String), usize> = BTreeMap::new();
    for (_, pod) in survey.view.pods.sorted() {
        let scheduled = condition::find(&pod.status.conditions, "PodScheduled");
        let refused =
            scheduled.filter(|c| c.status == ConditionStatus::False && &*c.reason == "Unschedulable");
        let Some(refused) = refused.filter(|_| pod.node.is_none() && pod.is_active()) else { continue };
        let object = match workload_of(survey.view, pod) {
            Some(workload) => ObjectName { kind: workload.kind, key: workload.key },
            None => ObjectName::new("Pod", pod.meta.key()),
        };
        *found.entry((object, refused.message.to_string())).or_default() += 1;
    }
    let findings = found.into_iter().map(|((object, message), count)| Finding {
        rule: Rule::PendingBefore,
        severity: Severity::Info,
        reason: format!("{} without a node before the roll: {message}", pods(count)),
        remedy: format!("kubectl -n {} get pods --field-selector=status.phase=Pending", object.key.namespace),
        object,
    });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, node, service};
    use super::*;

    #[test]
    fn pods_without_a_node_are_found_and_gated_ones_are_not() {
        let with = |reason: &str| {
            let mut pods = service("web", &["n", "n"], &json!({}));
            for pod in &mut pods[2..] {
                pod["spec"]["nodeName"] = Value::Null;
                pod["status"] = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
                    "reason": reason, "message": "0/1 nodes are available: 1 Insufficient cpu."}]});
            }
            found(Rule::PendingBefore, [vec![node("n", "a")], pods].concat())
        };
        assert_eq!(
            with("Unschedulable"),
            [
                "info pending-before Deployment shop/web: 2 pods without a node before the roll: 0/1 nodes are available: 1 \
              Insufficient cpu."
            ]
        );
        assert_eq!(with("SchedulingGated"), [""; 0]);
    }
}
