//! Pods that wait for their scheduling gates: whoever holds these decides when they take room.

use std::collections::BTreeMap;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods, workload_or_pod};
use super::super::survey::Survey;
use replank_facts::workload::workload_of;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut found: BTreeMap<(ObjectName, String), usize> = BTreeMap::new();
    for (_, pod) in survey.view.pods.sorted() {
        let gates: Vec<&str> = pod.spec.scheduling_gates.iter().map(|gate| &*gate.name).collect();
        if gates.is_empty() || pod.node.is_some() || !pod.is_active() {
            continue;
        }
        let object = workload_or_pod(workload_of(survey.view, pod).as_ref(), pod);
        *found.entry((object, gates.join(", "))).or_default() += 1;
    }
    let findings = found.into_iter().map(|((object, gates), count)| Finding {
        rule: Rule::Gated,
        severity: Severity::Info,
        reason: format!(
            "{} not scheduled until the scheduling gates {gates} are removed: if that happens during the roll, they take room that was counted as free",
            pods(count)
        ),
        remedy: format!(
            "kubectl -n {} get pods --field-selector=status.phase=Pending   # ask the owner of the gates",
            object.key.namespace
        ).into(),
        object,
    });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, merge, node, pod};
    use super::*;

    #[test]
    fn pods_with_gates_are_found_until_they_are_scheduled() {
        let mut gated =
            pod("p", "n", None, json!({"spec": {"schedulingGates": [{"name": "example.com/quota"}]}}));
        let bound = gated.clone();
        gated["spec"].as_object_mut().expect("a spec").remove("nodeName");
        merge(&mut gated["status"], json!({"phase": "Pending"}));
        assert_eq!(
            found(Rule::Gated, vec![node("n", "a"), gated]),
            [
                "info gated Pod shop/p: 1 pod not scheduled until the scheduling gates example.com/quota are removed: if that happens during the roll, they take room that was counted as free"
            ]
        );
        assert_eq!(found(Rule::Gated, vec![node("n", "a"), bound]), [""; 0]);
    }
}
