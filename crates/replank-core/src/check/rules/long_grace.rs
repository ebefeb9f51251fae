//! Pods that may take long to stop.

use replank_model::time::Span;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::Survey;

/// Cluster Autoscaler and eksctl cut a pod's grace at 10 minutes.
const LONG: Span = Span::from_minutes(10);
/// A managed node group's own update gives up on a node after 15 minutes.
const TOO_LONG: Span = Span::from_minutes(15);

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (workload, subject, count) in survey.services() {
        let grace = Span::from_secs(subject.pod.grace_seconds());
        if grace < LONG {
            continue;
        }
        let limit =
            if grace > TOO_LONG { "; a managed node group's own update gives up after 15m" } else { "" };
        findings.push(Finding {
            rule: Rule::LongGrace,
            severity: if grace > TOO_LONG { Severity::Warning } else { Severity::Info },
            object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            reason: format!("{} with a grace of {grace}{limit}", pods(count)),
            remedy: format!(
                "kubectl -n {} get {} -o jsonpath='{{.spec.template.spec.terminationGracePeriodSeconds}}'   # shorten it if that is more \
                 than it needs",
                workload.key.namespace,
                workload.argument()
            ),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, node, service};
    use super::*;

    #[test]
    fn a_grace_of_ten_minutes_is_long_and_one_of_five_is_not() {
        let with = |seconds: i64| {
            let extra = json!({"spec": {"terminationGracePeriodSeconds": seconds}});
            found(Rule::LongGrace, [vec![node("n", "a")], service("db", &["n"], &extra)].concat())
        };
        assert_eq!(with(600), ["info long-grace Deployment shop/db: 1 pod with a grace of 10m0s"]);
        assert_eq!(
            with(1800),
            [
                "warning long-grace Deployment shop/db: 1 pod with a grace of 30m0s; a managed node group's own update \
              gives up after 15m"
            ]
        );
        assert_eq!(with(300), [""; 0]);
    }
}
