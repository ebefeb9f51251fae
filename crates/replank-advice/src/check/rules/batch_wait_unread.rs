//! Annotations that are to say how long a pod is waited for, and do not.

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::batch::wait::{self, BATCH_WAIT};
use replank_facts::remedy::{Edit, Remedy, Target, TargetKind};

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for subject in &survey.subjects {
        let meta = &subject.pod.meta;
        let (why, value) = match wait::annotated(&subject.pod) {
            Some(Err(text)) => (
                format!("{BATCH_WAIT}: {text:?} is not a duration: the plan's batch.wait applies"),
                Some("2h".into()),
            ),
            Some(Ok(_)) if subject.batch_kind().is_none() => {
                (format!("{BATCH_WAIT} on a pod that is not a batch pod: it is moved like any other"), None)
            }
            Some(Ok(_)) | None => continue,
        };
        findings.push(Finding {
            rule: Rule::BatchWaitUnread,
            severity: Severity::Warning,
            object: ObjectName::new("Pod", meta.key()),
            reason: why,
            remedy: Remedy::edit(Edit::Annotate {
                of: vec![Target::new(TargetKind::Pod, meta.key())],
                annotation: BATCH_WAIT.into(),
                value,
            })
            .note("and in its pod template"),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, node, pod, service};
    use super::*;

    fn with(text: &str) -> Vec<String> {
        let extra = json!({"metadata": {"annotations": {BATCH_WAIT: text}}});
        found(
            Rule::BatchWaitUnread,
            vec![node("n", "a"), pod("p", "n", Some(("batch/v1", "Job", "j")), extra)],
        )
    }

    #[test]
    fn what_is_no_duration_is_found_and_what_is_one_is_not() {
        assert_eq!(
            with("2 hours"),
            [
                "warning batch-wait-unread Pod shop/p: replank.dev/batch-wait: \"2 hours\" is not a duration: the plan's batch.wait applies"
            ]
        );
        assert_eq!(with("-5m").len(), 1);
        assert_eq!(with("2h"), [""; 0]);
        assert_eq!(with("0s"), [""; 0]);
    }

    #[test]
    fn on_a_pod_that_is_moved_it_means_nothing() {
        let extra = json!({"metadata": {"annotations": {BATCH_WAIT: "2h"}}});
        let found =
            found(Rule::BatchWaitUnread, [vec![node("n", "a")], service("web", &["n"], &extra)].concat());
        assert!(found[0].contains("not a batch pod"), "{found:?}");
    }
}
