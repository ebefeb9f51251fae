//! Pods that another scheduler places: when and where they come back is not rehearsed.

use std::collections::BTreeMap;

use replank_model::text::Text;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods, workload_or_pod};
use super::super::survey::{Subject, Survey};

/// kube-scheduler's own name, which the API server fills in.
const DEFAULT: &str = "default-scheduler";

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut found: BTreeMap<(ObjectName, Text), Vec<&Subject>> = BTreeMap::new();
    for subject in &survey.subjects {
        let scheduler = &subject.pod.spec.scheduler_name;
        if scheduler.is_empty() || &**scheduler == DEFAULT {
            continue;
        }
        let object = workload_or_pod(subject.workload.as_ref(), &subject.pod);
        found.entry((object, scheduler.clone())).or_default().push(subject);
    }
    let findings = found.into_iter().map(|((object, scheduler), subjects)| {
        let budget = subjects.iter().find_map(|subject| exhausted(survey, subject, subjects.len()));
        let more = budget.as_ref().map_or_else(String::new, |name| {
            format!("; disruption budget {name} allows no more evictions until they are back")
        });
        Finding {
            rule: Rule::OtherScheduler,
            severity: if budget.is_some() { Severity::Blocking } else { Severity::Warning },
            reason: format!(
                "{} to move, placed by {scheduler}: when and where they come back is not rehearsed, since only kube-scheduler is simulated{more}",
                pods(subjects.len())
            ),
            remedy: format!(
                "make sure that {scheduler} runs and has room on the new nodes: kubectl get events -n {} --field-selector=reason=FailedScheduling",
                object.key.namespace
            )
            .into(),
            object,
        }
    });
    findings.collect()
}

/// The budget that lets some of the pods go, and the others only once those are back.
fn exhausted(survey: &Survey<'_>, subject: &Subject, count: usize) -> Option<Text> {
    let [budget] = survey.view.budgets_of(subject.ix) else { return None };
    let budget = &survey.view.pod_disruption_budgets[*budget];
    let allowed = usize::try_from(budget.status.disruptions_allowed).unwrap_or(0);
    (allowed > 0 && allowed < count).then(|| budget.meta.name.as_str().into())
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
