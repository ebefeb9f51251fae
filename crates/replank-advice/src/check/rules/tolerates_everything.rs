//! Pods that tolerate every taint, or a cordon: evicted from a node that is drained, they may be put back onto it.

use std::collections::BTreeSet;

use replank_model::object::affinity::{Taint, Toleration, TolerationOperator};
use serde_json::{Value, json};

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods as counted};
use super::super::survey::Survey;
use replank_facts::remedy::{Edit, Remedy, Target};
use replank_facts::workload::Workload;
use replank_schedule::predicate;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (workload, subject, count) in survey.services() {
        let tolerations = &subject.pod.spec.tolerations;
        if !predicate::tolerates_cordon(tolerations, false) {
            continue;
        }
        let what = match tolerations.iter().any(is_for_everything) {
            true => "every taint (operator: Exists without a key)",
            false => "the cordon taint, node.kubernetes.io/unschedulable",
        };
        let (verb, them) = if count == 1 { ("tolerates", "it") } else { ("tolerate", "them") };
        findings.push(Finding {
            rule: Rule::ToleratesEverything,
            severity: Severity::Warning,
            object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            reason: format!(
                "{} {verb} {what}: no cordon keeps {them} away, so the scheduler may place an evicted pod on the draining node again and again",
                counted(count)
            ),
            remedy: remedy(survey, workload),
        });
    }
    findings
}

fn is_for_everything(toleration: &Toleration) -> bool {
    toleration.key.is_empty()
        && toleration.operator == Some(TolerationOperator::Exists)
        && toleration.effect.is_none()
}

/// Tolerations of the taints that its nodes have, and no other.
fn remedy(survey: &Survey<'_>, workload: &Workload) -> Remedy {
    let pods = survey.workloads.get(workload).map_or(&[][..], Vec::as_slice);
    let nodes = survey.subjects_of(pods).filter_map(|subject| survey.view.node(subject.pod.node.as_ref()?));
    let own = |taint: &&Taint| !taint.key.starts_with("node.kubernetes.io/");
    let taints: BTreeSet<(String, String, String)> = nodes
        .flat_map(|node| node.spec.taints.iter().filter(own))
        .map(|taint| (taint.key.to_string(), taint.value.to_string(), taint.effect.as_str().to_owned()))
        .collect();
    let tolerations: Vec<Value> = taints
        .into_iter()
        .map(
            |(key, value, effect)| json!({"key": key, "operator": "Equal", "value": value, "effect": effect}),
        )
        .collect();
    let patch = json!({"spec": {"template": {"spec": {"tolerations": tolerations}}}});
    match Target::workload(workload) {
        Some(of) => Remedy::edit(Edit::Patch { of, patch }).note("the taints of its nodes only; a rollout"),
        None => format!("in {workload}, tolerate only the taints of its nodes: {patch}").into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, node, pod, remedies, service};
    use super::*;

    fn with(tolerations: &Value) -> Vec<Value> {
        let mut tainted = node("n", "a");
        tainted["spec"]["taints"] = json!([{"key": "role", "value": "web", "effect": "NoSchedule"}]);
        let extra = json!({"spec": {"tolerations": tolerations}});
        [vec![tainted], service("agent", &["n", "n"], &extra)].concat()
    }

    #[test]
    fn what_bears_a_cordon_is_found() {
        let all = with(&json!([{"operator": "Exists"}]));
        assert_eq!(
            found(Rule::ToleratesEverything, all.clone()),
            [
                "warning tolerates-everything Deployment shop/agent: 2 pods tolerate every taint (operator: Exists without a key): no cordon keeps them away, so the scheduler may place an evicted pod on the draining node again and again"
            ]
        );
        assert!(remedies(Rule::ToleratesEverything, all)[0].contains(
            r#""tolerations":[{"effect":"NoSchedule","key":"role","operator":"Equal","value":"web"}]"#
        ));
        let cordon = with(
            &json!([{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}]),
        );
        assert!(found(Rule::ToleratesEverything, cordon)[0].contains("tolerate the cordon taint"));
    }

    #[test]
    fn tolerations_of_other_taints_evictions_only_and_daemon_sets_are_not() {
        let role = with(&json!([{"key": "role", "operator": "Exists"}]));
        assert_eq!(found(Rule::ToleratesEverything, role), [""; 0]);
        let evictions =
            with(&json!([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]));
        assert_eq!(found(Rule::ToleratesEverything, evictions), [""; 0]);
        let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d", "namespace": "shop", "uid": "d"}});
        let everything = json!({"spec": {"tolerations": [{"operator": "Exists"}]}});
        let daemon =
            vec![node("n", "a"), set, pod("d-1", "n", Some(("apps/v1", "DaemonSet", "d")), everything)];
        assert_eq!(found(Rule::ToleratesEverything, daemon), [""; 0]);
    }
}
