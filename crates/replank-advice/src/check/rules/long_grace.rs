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
    let stuck = survey.terms.care.stuck.after;
    for (workload, subject, count) in survey.services() {
        let grace = Span::from_secs(subject.pod.grace_seconds());
        if grace < LONG {
            continue;
        }
        let mut limit = String::new();
        if grace > stuck {
            let told = grace + stuck;
            limit.push_str(&format!("; a pod that hangs counts as stuck only {told} after its deletion"));
        }
        if grace > TOO_LONG {
            limit.push_str("; a managed node group's own update gives up after 15m");
        }
        findings.push(Finding {
            rule: Rule::LongGrace,
            severity: if grace > TOO_LONG { Severity::Warning } else { Severity::Info },
            object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            reason: format!("{} with a grace period of {grace}{limit}", pods(count)),
            remedy: format!(
                "kubectl -n {} get {} -o jsonpath='{{.spec.template.spec.terminationGracePeriodSeconds}}'   # shorten it if that is more \
                 than it needs",
                workload.key.namespace,
                workload.argument()
            ).into(),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, found_under, node, service};
    use super::*;
    use replank_facts::plan::Plan;

    #[test]
    fn a_grace_of_ten_minutes_is_long_and_one_of_five_is_not() {
        let with = |seconds: i64| {
            let extra = json!({"spec": {"terminationGracePeriodSeconds": seconds}});
            found(Rule::LongGrace, [vec![node("n", "a")], service("db", &["n"], &extra)].concat())
        };
        assert_eq!(
            with(600),
            [
                "info long-grace Deployment shop/db: 1 pod with a grace period of 10m; a pod that hangs counts as stuck only 15m after its deletion"
            ]
        );
        assert_eq!(
            with(1800),
            [
                "warning long-grace Deployment shop/db: 1 pod with a grace period of 30m; a pod that hangs counts as stuck only 35m after its deletion; a managed node group's own update gives up after 15m"
            ]
        );
        assert_eq!(with(599), [""; 0]);
        assert!(with(900)[0].starts_with("info"), "as long as an update waits, and not longer");
    }

    #[test]
    fn when_it_counts_as_stuck_depends_on_the_plan() {
        let extra = json!({"spec": {"terminationGracePeriodSeconds": 660}});
        let all = [vec![node("n", "a")], service("db", &["n"], &extra)].concat();
        let patient = |plan: &mut Plan| plan.care.stuck.after = Span::from_minutes(12);
        let told = found_under(Rule::LongGrace, patient, all.clone());
        assert!(told[0].ends_with("1 pod with a grace period of 11m"), "{told:?}");
        // A pod within its grace period is not a stall.
        let hasty = |plan: &mut Plan| plan.progress_deadline = Span::from_minutes(6);
        let told = found_under(Rule::LongGrace, hasty, all);
        assert!(told[0].starts_with("info") && told[0].contains("only 16m after"), "{told:?}");
    }
}
