//! Workflow pods whose good end somebody else's drain may lose: a budget does not keep a pod that has ended.
//!
//! The eviction API ignores budgets for finished pods, so that a drain that retries deletes a pod seconds after its success; the
//! controller then finds nothing and notes `pod deleted` (argo-workflows #7466). A finalizer keeps the pod until it is recorded
//! (`ARGO_POD_STATUS_CAPTURE_FINALIZER`, 3.6 and later).

use std::collections::BTreeMap;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::Survey;
use replank_facts::batch::retry::{self, Retried, Stake};
use replank_facts::workload::Workload;
use replank_protocol::policy::BatchKind;

/// The finalizer of the controller.
const FINALIZER: &str = "workflows.argoproj.io/status";

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut bare: BTreeMap<&Workload, (usize, &'static str)> = BTreeMap::new();
    let mut workflows = retry::Reader::default();
    for (workload, subject) in survey.batch() {
        if subject.batch_kind() != Some(BatchKind::Workflow) {
            continue;
        }
        let is_kept = subject.pod.meta.finalizers.iter().any(|finalizer| &**finalizer == FINALIZER);
        if is_kept || survey.view.budgets_of(subject.ix).is_empty() {
            continue;
        }
        let Some(stake) = workflows.stake_of(survey.view, &subject.pod) else { continue };
        bare.entry(workload).or_insert((0, consequence(&stake))).0 += 1;
    }
    let finding = |(workload, (count, consequence)): (&Workload, (usize, &str))| Finding {
        rule: Rule::ResultUnrecorded,
        severity: Severity::Info,
        object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
        reason: format!(
            "{} under a budget and without the finalizer {FINALIZER}: a retrying drain may delete a pod that has just succeeded before its result is stored, and {consequence}; a roll waits until it is recorded",
            pods(count)
        ),
        remedy:
            "make the workflow controller keep pods until they are recorded, in its Deployment's env: {name: \
                 ARGO_POD_STATUS_CAPTURE_FINALIZER, value: \"true\"}"
                .to_owned()
                .into(),
    };
    bare.into_iter().map(finding).collect()
}

fn consequence(stake: &Stake) -> &'static str {
    match stake {
        Stake::Strategy { deleted: Retried::Yes, .. } => "the step is repeated (\"pod deleted\")",
        Stake::Strategy { deleted: Retried::Unknown, .. } => {
            "its retry expression decides whether the step is repeated (\"pod deleted\")"
        }
        Stake::Strategy { deleted: Retried::No, .. } | Stake::NoStrategy => "the run fails (\"pod deleted\")",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{budget, found, merge, node, pod};
    use super::*;

    fn with(strategy: &Value, extra: Value) -> Vec<String> {
        let mut all = json!({"metadata": {"labels": {"app": "w"}}});
        merge(&mut all, extra);
        let workflow = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "w", "namespace": "shop"},
            "spec": {"retryStrategy": strategy, "templates": []}});
        found(
            Rule::ResultUnrecorded,
            vec![
                node("n", "a"),
                budget("w", &json!({"minAvailable": 9999}), (1, 9999, 1)),
                workflow,
                pod("p", "n", Some(("argoproj.io/v1alpha1", "Workflow", "w")), all),
            ],
        )
    }

    #[test]
    fn what_is_lost_without_the_finalizer_is_said() {
        assert!(with(&json!({"retryPolicy": "Always"}), json!({}))[0].contains("the step is repeated"));
        assert_eq!(
            with(&json!({"retryPolicy": "OnFailure"}), json!({})),
            [
                "info result-unrecorded Workflow shop/w: 1 pod under a budget and without the finalizer workflows.argoproj.io/status: a \
                 retrying drain may delete a pod that has just succeeded before its result is stored, and the run fails (\"pod \
                 deleted\"); a roll waits until it is recorded"
            ]
        );
    }

    #[test]
    fn a_pod_with_the_finalizer_and_one_without_a_budget_are_not_found() {
        let kept = json!({"metadata": {"finalizers": [FINALIZER]}});
        assert_eq!(with(&json!({"retryPolicy": "OnFailure"}), kept), [""; 0]);
        let other = json!({"metadata": {"labels": {"app": "other"}}});
        assert_eq!(with(&json!({}), other), [""; 0]);
    }
}
