//! Nodes that are not Ready: their kubelets may not end what is evicted from them.

use replank_model::object::condition::{self, ConditionStatus};

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::Survey;
use replank_facts::plan::DeadAction;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let is_left = survey.plan.is_some_and(|plan| plan.care.dead_nodes.action == DeadAction::Leave);
    let mut findings = Vec::new();
    for node in survey.node_objects() {
        // A node that says nothing of itself was written by hand.
        let Some(ready) = condition::find(&node.status.conditions, "Ready") else { continue };
        if ready.status == ConditionStatus::True {
            continue;
        }
        let name = node.name();
        let here = survey.subjects.iter().filter(|subject| subject.pod.node.as_ref() == Some(&name)).count();
        let since = ready.last_transition_time.map_or(String::new(), |since| format!(" since {since}"));
        let reason = if ready.reason.is_empty() { String::new() } else { format!(" ({})", ready.reason) };
        findings.push(Finding {
            rule: Rule::NodeNotReady,
            severity: if is_left { Severity::Blocking } else { Severity::Warning },
            object: ObjectName::new("Node", node.meta.key()),
            reason: format!(
                "not Ready{since}{reason}; {} to move: they stay Terminating until its kubelet responds or the node is deleted{}",
                pods(here),
                if is_left { "; the plan leaves dead nodes as they are" } else { "" },
            ),
            remedy: format!("kubectl describe node {name}   # if its instance is dead, terminate it first: its pods are then recreated").into(),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, node, service};
    use super::*;

    #[test]
    fn nodes_that_are_not_ready_are_found() {
        let with = |conditions: Value| {
            let mut sick = node("n", "a");
            sick["status"]["conditions"] = conditions;
            found(Rule::NodeNotReady, [vec![sick], service("web", &["n", "n"], &json!({}))].concat())
        };
        let silent = json!([{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": "2026-01-01T11:00:00Z"}]);
        assert_eq!(
            with(silent),
            [
                "warning node-not-ready Node n: not Ready since 2026-01-01T11:00:00Z (NodeStatusUnknown); 2 pods to move: they stay Terminating until its kubelet responds or the node is deleted"
            ]
        );
        assert_eq!(with(json!([{"type": "Ready", "status": "True"}])), [""; 0]);
        assert_eq!(with(json!([])), [""; 0], "nothing is known");
    }
}
