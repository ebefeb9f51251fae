//! A budget that lets most of its pods go at once.

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::remedy::{Edit, Remedy, Target, TargetKind};
use serde_json::json;

/// Fewer pods than this are not worth a word.
const PODS_MIN: i32 = 3;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for ix in survey.budgets.keys() {
        let budget = &survey.view.pod_disruption_budgets[*ix];
        let status = &budget.status;
        let slack = status.expected_pods.saturating_sub(status.desired_healthy);
        if status.expected_pods < PODS_MIN || slack.saturating_mul(2) <= status.expected_pods {
            continue;
        }
        findings.push(Finding {
            rule: Rule::PdbWeak,
            severity: Severity::Info,
            object: ObjectName::new("PodDisruptionBudget", budget.meta.key()),
            reason: format!(
                "only {} of {} pods must stay, so {slack} may be evicted at once",
                status.desired_healthy, status.expected_pods
            ),
            remedy: Remedy::edit(Edit::Patch {
                of: Target::new(TargetKind::PodDisruptionBudget, budget.meta.key()),
                patch: json!({"spec": {"minAvailable": null, "maxUnavailable": "25%"}}),
            }),
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
    fn more_than_half_is_weak_and_half_is_not() {
        let with = |desired| {
            let pods = service("web", &["n", "n", "n", "n"], &json!({}));
            found(
                Rule::PdbWeak,
                [
                    vec![node("n", "a"), budget("web", &json!({"minAvailable": desired}), (4, desired, 4))],
                    pods,
                ]
                .concat(),
            )
        };
        assert_eq!(
            with(1),
            [
                "info pdb-weak PodDisruptionBudget shop/web: only 1 of 4 pods must stay, so 3 may be evicted at once"
            ]
        );
        assert_eq!(with(2), [""; 0]);
    }
}
