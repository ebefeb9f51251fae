//! Pods that run on spot capacity only: it may be gone at the moment when new nodes are launched.

use std::collections::BTreeSet;

use replank_model::object::node::Node;
use replank_model::object::pod::Pod;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::Survey;
use crate::audit::is_spot;
use replank_facts::daemon;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (workload, subject, count) in survey.services() {
        let on_spot = subject
            .pod
            .node
            .as_ref()
            .and_then(|name| survey.view.node(name))
            .is_some_and(|node| is_spot(node));
        if !on_spot || may_run_elsewhere(survey, &subject.pod) {
            continue;
        }
        findings.push(Finding {
            rule: Rule::SpotOnly,
            severity: Severity::Info,
            object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            reason: format!("without spot capacity, {} cannot move: no other nodes fit", pods(count)),
            remedy: format!(
                "kubectl -n {} get {} -o yaml   # let some replicas run on On-Demand nodes, or {}",
                workload.key.namespace,
                workload.argument(),
                if spot_groups(survey, &subject.pod) > 1 {
                    "roll the spot groups one after the other"
                } else {
                    "add a spot node group with other instance types"
                }
            )
            .into(),
        });
    }
    findings
}

fn may_run_elsewhere(survey: &Survey<'_>, pod: &Pod) -> bool {
    let mut others = survey.view.nodes.unordered().filter(|(_, node)| !is_spot(node));
    others.any(|(_, node)| daemon::is_eligible(&pod.spec, node))
}

/// In how many groups there are spot nodes that a pod fits on.
fn spot_groups(survey: &Survey<'_>, pod: &Pod) -> usize {
    let fits = |node: &Node| is_spot(node) && daemon::is_eligible(&pod.spec, node);
    let nodes = survey.view.nodes.unordered().map(|(_, node)| node).filter(|node| fits(node));
    nodes.filter_map(|node| survey.group_of(node)).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, node, remedies, service};
    use super::*;

    fn with(selector: &Value) -> Vec<String> {
        let mut spot = node("s", "a");
        spot["metadata"]["labels"]["eks.amazonaws.com/capacityType"] = json!("SPOT");
        found(
            Rule::SpotOnly,
            [
                vec![node("n", "a"), spot],
                service("web", &["s", "s"], &json!({"spec": {"nodeSelector": selector}})),
            ]
            .concat(),
        )
    }

    #[test]
    fn pods_that_ask_for_spot_are_found_and_those_that_happen_to_be_there_are_not() {
        assert_eq!(
            with(&json!({"eks.amazonaws.com/capacityType": "SPOT"})),
            [
                "info spot-only Deployment shop/web: without spot capacity, 2 pods cannot move: no other nodes fit"
            ]
        );
        assert_eq!(with(&json!({})), [""; 0]);
    }

    #[test]
    fn several_spot_groups_can_be_rolled_one_after_the_other() {
        let spot = |name: &str, group: &str| {
            let mut spot = node(name, "a");
            spot["metadata"]["labels"]["eks.amazonaws.com/capacityType"] = json!("SPOT");
            spot["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = json!(group);
            spot
        };
        let web = || {
            let selector = json!({"eks.amazonaws.com/capacityType": "SPOT"});
            service("web", &["s"], &json!({"spec": {"nodeSelector": selector}}))
        };
        let of = |nodes: Vec<Value>| remedies(Rule::SpotOnly, [nodes, web()].concat()).concat();
        let one = of(vec![spot("s", "spot"), spot("t", "spot")]);
        assert!(one.contains("add a spot node group") && !one.contains("one after the other"), "{one}");
        let two = of(vec![spot("s", "spot"), spot("t", "spot-b")]);
        assert!(two.contains("one after the other") && !two.contains("add a spot node group"), "{two}");
    }
}
