//! A budget that lets no pod go even when all of its pods are healthy.

use replank_model::int_or_string::IntOrString;
use replank_model::object::policy::PodDisruptionBudget;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use crate::budget::uncounted;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (ix, pods) in &survey.budgets {
        let budget = &survey.view.pod_disruption_budgets[*ix];
        let status = &budget.status;
        let has_slack = status.expected_pods == 0 || status.desired_healthy < status.expected_pods;
        // Pods that end by themselves are waited for: see `pdb-waits-for-batch`.
        let is_batch = survey.subjects_of(pods).all(super::super::survey::Subject::ends);
        if has_slack || is_batch || uncounted(budget).is_some() {
            continue;
        }
        findings.push(Finding {
            rule: Rule::PdbNeverAllows,
            severity: Severity::Blocking,
            object: ObjectName::new("PodDisruptionBudget", budget.meta.key()),
            reason: reason(budget, pods.len()),
            remedy: remedy(survey, budget, pods),
        });
    }
    findings
}

fn reason(budget: &PodDisruptionBudget, here: usize) -> String {
    let (expected, desired) = (budget.status.expected_pods, budget.status.desired_healthy);
    let rule = match (&budget.spec.max_unavailable, &budget.spec.min_available) {
        (Some(IntOrString::Int(0)), _) => format!("maxUnavailable 0 of {expected} pods"),
        (Some(share), _) => format!("maxUnavailable {share} of {expected} pods is 0"),
        (None, Some(IntOrString::Int(least))) => format!("minAvailable {least} of {expected} pods"),
        (None, Some(share)) => format!("minAvailable {share} of {expected} pods is {desired}"),
        (None, None) => format!("{desired} of {expected} pods must stay"),
    };
    format!("{rule}: none may go, ever; {here} of them must move")
}

fn remedy(survey: &Survey<'_>, budget: &PodDisruptionBudget, pods: &[usize]) -> String {
    let (namespace, name) = (&budget.meta.namespace, &budget.meta.name);
    let patch = format!(
        "kubectl -n {namespace} patch pdb {name} --type merge -p '{{\"spec\":{{\"minAvailable\":null,\"maxUnavailable\":1}}}}'"
    );
    let workload = survey.subjects_of(pods).find_map(|subject| subject.workload.as_ref());
    match workload.filter(|_| budget.status.expected_pods == 1) {
        Some(workload) => {
            format!(
                "kubectl -n {namespace} scale {} --replicas=2   # or, with a gap: {patch}",
                workload.argument()
            )
        }
        None => patch,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{budget, found, node, service};
    use super::*;

    fn with(spec: &Value, counts: (i32, i32, i32)) -> Vec<String> {
        let pods = service("web", &["n", "n", "n"], &json!({}));
        found(Rule::PdbNeverAllows, [vec![node("n", "a"), budget("web", spec, counts)], pods].concat())
    }

    #[test]
    fn budgets_without_slack_are_found_whatever_they_are_written_as() {
        let head = "blocking pdb-never-allows PodDisruptionBudget shop/web:";
        let tail = "none may go, ever; 3 of them must move";
        assert_eq!(
            with(&json!({"minAvailable": 3}), (3, 3, 3)),
            [format!("{head} minAvailable 3 of 3 pods: {tail}")]
        );
        assert_eq!(
            with(&json!({"minAvailable": "70%"}), (3, 3, 3)),
            [format!("{head} minAvailable 70% of 3 pods is 3: {tail}")]
        );
        assert_eq!(
            with(&json!({"maxUnavailable": 0}), (3, 3, 3)),
            [format!("{head} maxUnavailable 0 of 3 pods: {tail}")]
        );
        assert_eq!(
            with(&json!({"maxUnavailable": "0%"}), (2, 3, 3)),
            [format!("{head} maxUnavailable 0% of 3 pods is 0: {tail}")]
        );
    }

    #[test]
    fn a_budget_that_allows_nothing_only_now_is_another_matter() {
        assert_eq!(with(&json!({"minAvailable": 2}), (2, 2, 3)), [""; 0]);
        assert_eq!(with(&json!({"maxUnavailable": 1}), (3, 2, 3)), [""; 0]);
    }
}
