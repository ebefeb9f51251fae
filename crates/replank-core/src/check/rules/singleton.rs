//! One replica and no budget: it moves with a gap.

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use crate::drain;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (workload, subject, _) in survey.services() {
        let is_single = workload.replicas(survey.view) == Some(1);
        if !is_single || !survey.view.budgets_of(subject.ix).is_empty() {
            continue;
        }
        let data = if drain::has_local_storage(&subject.pod) { "; its emptyDir is lost" } else { "" };
        let unsafe_to_evict = subject.pod.meta.annotations.value(drain::SAFE_TO_EVICT) == Some("false");
        let unsafe_to_evict = if unsafe_to_evict { "; it says safe-to-evict=false" } else { "" };
        findings.push(Finding {
            rule: Rule::Singleton,
            severity: Severity::Warning,
            object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            reason: format!(
                "1 replica and no disruption budget: it is gone from its eviction (grace up to {}s) until its successor is \
                 Ready{data}{unsafe_to_evict}",
                subject.pod.grace_seconds()
            ),
            remedy: format!(
                "kubectl -n {} scale {} --replicas=2   # if it can run twice",
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

    use super::super::stage::{budget, found, node, service};
    use super::*;

    #[test]
    fn a_single_replica_is_found_unless_a_budget_speaks_for_it() {
        let extra = json!({"spec": {"terminationGracePeriodSeconds": 45, "volumes": [{"name": "d", "emptyDir": {}}]}});
        let one = service("one", &["n"], &extra);
        assert_eq!(
            found(Rule::Singleton, [vec![node("n", "a")], one.clone()].concat()),
            [
                "warning singleton Deployment shop/one: 1 replica and no disruption budget: it is gone from its eviction (grace up \
              to 45s) until its successor is Ready; its emptyDir is lost"
            ]
        );
        let covered =
            [vec![node("n", "a"), budget("one", &json!({"minAvailable": 1}), (1, 1, 1))], one].concat();
        assert_eq!(found(Rule::Singleton, covered), [""; 0]);
        let two = [vec![node("n", "a")], service("two", &["n", "n"], &json!({}))].concat();
        assert_eq!(found(Rule::Singleton, two), [""; 0]);
    }
}
