//! Several replicas and no budget: nothing keeps them from going together.

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (workload, subject, _) in survey.services() {
        let replicas = workload.replicas(survey.view).unwrap_or(0);
        if replicas < 2 || !survey.view.budgets_of(subject.ix).is_empty() {
            continue;
        }
        let crowd = survey.crowd(workload);
        let together = match crowd {
            0 | 1 => "each on a node of its own".to_owned(),
            crowd => format!("up to {crowd} of them on one node, which go together"),
        };
        findings.push(Finding {
            rule: Rule::NoBudget,
            severity: Severity::Warning,
            object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            reason: format!("{replicas} replicas and no disruption budget, {together}"),
            remedy: remedy(survey, workload, subject),
        });
    }
    findings
}

fn remedy(
    survey: &Survey<'_>,
    workload: &super::super::workload::Workload,
    subject: &super::super::survey::Subject,
) -> String {
    let selector = selector(survey, workload).unwrap_or_else(|| {
        let is_generated = |key: &str| GENERATED.contains(&key) || key.starts_with("topology.kubernetes.io/");
        let labels = subject.pod.meta.labels.iter().filter(|(key, _)| !is_generated(key));
        labels.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
    });
    format!(
        "kubectl -n {} create pdb {} --selector={selector} --max-unavailable=25%",
        workload.key.namespace, workload.key.name
    )
}

/// Labels that controllers put on pods: they change with every rollout, or from pod to pod.
const GENERATED: [&str; 5] = [
    "pod-template-hash",
    "controller-revision-hash",
    "rollouts-pod-template-hash",
    "statefulset.kubernetes.io/pod-name",
    "apps.kubernetes.io/pod-index",
];

fn selector(survey: &Survey<'_>, workload: &super::super::workload::Workload) -> Option<String> {
    if &*workload.kind == "ReplicationController" {
        let controller = survey.view.replication_controllers.by_key(&workload.key)?;
        let labels = controller.spec.selector.iter().map(|(key, value)| format!("{key}={value}"));
        return Some(format!("'{}'", labels.collect::<Vec<_>>().join(",")));
    }
    let selector = match &*workload.kind {
        "Deployment" => survey.view.deployments.by_key(&workload.key)?.spec.selector.clone(),
        "StatefulSet" => survey.view.stateful_sets.by_key(&workload.key)?.spec.selector.clone(),
        _ => None,
    }?;
    let text = selector.compile().ok()?.to_string();
    (!text.is_empty()).then(|| format!("'{text}'"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{budget, found, node, pod, service};
    use super::*;

    #[test]
    fn replicas_without_a_budget_are_found_with_how_many_go_together() {
        let nodes = vec![node("n", "a"), node("m", "b")];
        let pods = service("web", &["n", "n", "m"], &json!({}));
        assert_eq!(
            found(Rule::NoBudget, [nodes.clone(), pods.clone()].concat()),
            [
                "warning no-budget Deployment shop/web: 3 replicas and no disruption budget, up to 2 of them on one node, which \
              go together"
            ]
        );
        let covered =
            [nodes.clone(), pods, vec![budget("web", &json!({"minAvailable": 2}), (3, 2, 3))]].concat();
        assert_eq!(found(Rule::NoBudget, covered), [""; 0]);
        let single = [nodes.clone(), service("one", &["n"], &json!({}))].concat();
        assert_eq!(found(Rule::NoBudget, single), [""; 0], "another rule's matter");
        let job = [nodes, vec![pod("p", "n", Some(("batch/v1", "Job", "j")), json!({}))]].concat();
        assert_eq!(found(Rule::NoBudget, job), [""; 0]);
    }
}
