//! A budget that could let pods go, and does not now because some are not ready.

use replank_model::object::policy::UnhealthyPodEvictionPolicy;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use crate::budget::uncounted;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (ix, pods) in &survey.budgets {
        let budget = &survey.view.pod_disruption_budgets[*ix];
        let status = &budget.status;
        let has_slack = status.desired_healthy < status.expected_pods;
        if !has_slack || status.disruptions_allowed > 0 || uncounted(budget).is_some() {
            continue;
        }
        let mut unready: Vec<String> = survey
            .view
            .pods_of_budget(*ix)
            .map(|ix| &survey.view.pods[ix])
            .filter(|pod| pod.is_active() && !pod.is_ready())
            .map(|pod| pod.meta.name.to_string())
            .collect();
        unready.sort();
        let shown = unready.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        let always =
            budget.spec.unhealthy_pod_eviction_policy == Some(UnhealthyPodEvictionPolicy::AlwaysAllow);
        let (namespace, name) = (&budget.meta.namespace, &budget.meta.name);
        let policy = format!(
            "kubectl -n {namespace} patch pdb {name} --type merge -p '{{\"spec\":{{\"unhealthyPodEvictionPolicy\":\"AlwaysAllow\"}}}}'"
        );
        let inspect =
            format!("kubectl -n {namespace} describe pod {}", unready.first().map_or("", String::as_str));
        findings.push(Finding {
            rule: Rule::PdbUnready,
            severity: Severity::Warning,
            object: ObjectName::new("PodDisruptionBudget", budget.meta.key()),
            reason: format!(
                "{} of {} pods are healthy and {} must be, so none of {} may go; not ready: {}{}",
                status.current_healthy,
                status.expected_pods,
                status.desired_healthy,
                if always { "the ready ones".to_owned() } else { pods.len().to_string() },
                if shown.is_empty() { "pods that are still to be made" } else { &shown },
                if unready.len() > 3 { format!(" and {} more", unready.len() - 3) } else { String::new() },
            ),
            remedy: if always {
                inspect
            } else {
                format!("{inspect}   # or let the unready ones go: {policy}")
            },
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
    fn unready_pods_that_use_up_a_budget_are_named() {
        let pods = |ready: &str| {
            let mut pods = service("web", &["n", "n", "n"], &json!({}));
            pods[4]["status"]["conditions"] = json!([{"type": "Ready", "status": ready}]);
            pods
        };
        let objects =
            [vec![node("n", "a"), budget("web", &json!({"minAvailable": 2}), (2, 2, 3))], pods("False")]
                .concat();
        assert_eq!(
            found(Rule::PdbUnready, objects),
            [
                "warning pdb-unready PodDisruptionBudget shop/web: 2 of 3 pods are healthy and 2 must be, so none of 3 may go; \
              not ready: web-c"
            ]
        );
        let objects =
            [vec![node("n", "a"), budget("web", &json!({"minAvailable": 2}), (3, 2, 3))], pods("True")]
                .concat();
        assert_eq!(found(Rule::PdbUnready, objects), [""; 0]);
    }
}
