//! Pods under several budgets: the eviction API answers 500, always.

use std::collections::BTreeSet;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for subject in &survey.subjects {
        let budgets = survey.view.budgets_of(subject.ix);
        if budgets.len() < 2 {
            continue;
        }
        let mut names: Vec<String> =
            budgets.iter().map(|ix| survey.view.pod_disruption_budgets[*ix].meta.name.to_string()).collect();
        names.sort();
        let object = match &subject.workload {
            Some(workload) => ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            None => ObjectName::new("Pod", subject.pod.meta.key()),
        };
        if !seen.insert((object.clone(), names.clone())) {
            continue;
        }
        findings.push(Finding {
            rule: Rule::PdbSeveral,
            severity: Severity::Blocking,
            reason: format!(
                "its pods are under {} disruption budgets ({}); the eviction API always refuses such pods",
                names.len(),
                names.join(", ")
            ),
            remedy: format!(
                "kubectl -n {} delete pdb {}   # keep one, or narrow the selectors until they do not overlap",
                subject.pod.meta.namespace,
                names[1..].join(" ")
            ),
            object,
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{budget, found, node, service};
    use super::*;

    #[test]
    fn overlapping_budgets_are_found_once_for_each_workload() {
        let mut other = budget("web", &json!({"minAvailable": 1}), (2, 1, 2));
        other["metadata"]["name"] = json!("also");
        let pods = service("web", &["n", "n"], &json!({}));
        let mine = budget("web", &json!({"minAvailable": 1}), (2, 1, 2));
        assert_eq!(
            found(Rule::PdbSeveral, [vec![node("n", "a"), mine.clone(), other], pods.clone()].concat()),
            [
                "blocking pdb-several Deployment shop/web: its pods are under 2 disruption budgets (also, web); the eviction API always refuses such pods"
            ]
        );
        let elsewhere = budget("elsewhere", &json!({"minAvailable": 1}), (2, 1, 2));
        assert_eq!(found(Rule::PdbSeveral, [vec![node("n", "a"), mine, elsewhere], pods].concat()), [""; 0]);
    }
}
