//! Pods that another scheduler places: when and where they come back is not rehearsed.

use std::collections::BTreeMap;

use replank_model::text::Text;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods, workload_or_pod};
use super::super::survey::Survey;

/// kube-scheduler's own name, which the API server fills in.
const DEFAULT: &str = "default-scheduler";

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut found: BTreeMap<(ObjectName, Text), usize> = BTreeMap::new();
    for subject in &survey.subjects {
        let scheduler = &subject.pod.spec.scheduler_name;
        if scheduler.is_empty() || &**scheduler == DEFAULT {
            continue;
        }
        let object = workload_or_pod(subject.workload.as_ref(), &subject.pod);
        *found.entry((object, scheduler.clone())).or_default() += 1;
    }
    let findings = found.into_iter().map(|((object, scheduler), count)| Finding {
        rule: Rule::OtherScheduler,
        severity: Severity::Warning,
        reason: format!(
            "{} to move, placed by {scheduler}: when and where they come back is not rehearsed, since only kube-scheduler is simulated",
            pods(count)
        ),
        remedy: format!(
            "make sure that {scheduler} runs and has room on the new nodes: kubectl get events -n {} --field-selector=reason=FailedScheduling",
            object.key.namespace
        ).into(),
        object,
    });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, node, service};
    use super::*;

    #[test]
    fn pods_of_another_scheduler_are_found_once_for_each_workload() {
        let with = |scheduler: &str| {
            let spec = json!({"spec": {"schedulerName": scheduler}});
            found(Rule::OtherScheduler, [vec![node("n", "a")], service("web", &["n", "n"], &spec)].concat())
        };
        assert_eq!(
            with("volcano"),
            [
                "warning other-scheduler Deployment shop/web: 2 pods to move, placed by volcano: when and where they come back is not rehearsed, since only kube-scheduler is simulated"
            ]
        );
        assert_eq!(with("default-scheduler"), [""; 0]);
    }
}
