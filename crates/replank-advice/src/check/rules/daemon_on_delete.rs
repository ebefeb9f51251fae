//! DaemonSets whose pods are replaced only when somebody deletes them: a new node has the current template, old ones may not.

use replank_model::object::workload::UpdateStrategyType;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::Survey;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let sets = survey.view.daemon_sets.sorted().into_iter().map(|(_, set)| set);
    let mut findings = Vec::new();
    for set in sets.filter(|set| set.spec.update_strategy.r#type == Some(UpdateStrategyType::OnDelete)) {
        let status = &set.status;
        let stale = status.current_number_scheduled - status.updated_number_scheduled;
        // Without a status nothing is known of its pods.
        if stale <= 0 || status.observed_generation == 0 {
            continue;
        }
        findings.push(Finding {
            rule: Rule::DaemonOnDelete,
            severity: Severity::Warning,
            object: ObjectName::new("DaemonSet", set.meta.key()),
            reason: format!(
                "updateStrategy OnDelete, and {stale} of {} {} an older template: on new nodes its pods start with the current one, which may not have run here yet",
                pods(usize::try_from(status.current_number_scheduled).unwrap_or(0)),
                if stale == 1 { "has" } else { "have" },
            ),
            remedy: format!(
                "kubectl -n {} rollout history daemonset/{}   # test the current template on one node: delete its pod there",
                set.meta.namespace, set.meta.name
            ).into(),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, node};
    use super::*;

    #[test]
    fn stale_pods_that_only_a_deletion_replaces_are_found() {
        let with = |kind: &str, updated: i32| {
            let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "kube-system", "uid": "d"},
                "spec": {"updateStrategy": {"type": kind}},
                "status": {"currentNumberScheduled": 3, "desiredNumberScheduled": 3, "updatedNumberScheduled": updated, "observedGeneration": 2}});
            found(Rule::DaemonOnDelete, vec![node("n", "a"), set])
        };
        assert_eq!(
            with("OnDelete", 1),
            [
                "warning daemon-on-delete DaemonSet kube-system/agent: updateStrategy OnDelete, and 2 of 3 pods have an older template: on new nodes its pods start with the current one, which may not have run here yet"
            ]
        );
        assert_eq!(with("OnDelete", 3), [""; 0]);
        assert_eq!(with("RollingUpdate", 1), [""; 0]);
    }
}
