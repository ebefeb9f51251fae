//! Pods that were to be gone before the roll and are not: their nodes never become empty by waiting.

use replank_model::object::pod::Pod;
use replank_model::time::{Span, Time};

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::plan::DeadAction;
use replank_protocol::policy::StuckAction;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let stuck = survey.terms.care.stuck;
    let mut findings = Vec::new();
    for name in &survey.nodes {
        for pod in survey.view.sorted_pods_on(name) {
            let Some(due) = pod.meta.deletion_timestamp else { continue };
            let late = survey.now() - due;
            if late < stuck.after {
                continue;
            }
            findings.push(finding(survey, pod, due, late, stuck.action));
        }
    }
    findings
}

fn finding(survey: &Survey<'_>, pod: &Pod, due: Time, late: Span, action: StuckAction) -> Finding {
    let (namespace, name) = (&pod.meta.namespace, &pod.meta.name);
    let finalizers: Vec<&str> = pod.meta.finalizers.iter().map(|one| &**one).collect();
    let node = pod.node.as_ref().and_then(|node| survey.view.node(node));
    let (why, remedy) = if !finalizers.is_empty() {
        (
            format!("finalizers {} block its deletion", finalizers.join(", ")),
            format!(
                "kubectl -n {namespace} get pod {name} -o jsonpath='{{.metadata.finalizers}}'   # their controller must remove them"
            ),
        )
    } else if node.is_some_and(|node| !node.is_ready()) {
        (
            format!("its node {} is not Ready", pod.node.as_ref().map_or("", |node| node.as_str())),
            format!(
                "kubectl describe node {}   # if its instance is dead, terminate it first",
                pod.node.as_ref().map_or("", |node| node.as_str())
            ),
        )
    } else {
        (
            "its node is Ready, but the kubelet does not terminate it".to_owned(),
            match action {
                StuckAction::Report => {
                    "set stuckTerminating: {action: replaceNode} in the plan: the instance is terminated when only stuck pods are left on it".to_owned()
                }
                StuckAction::ReplaceNode | StuckAction::ForceDelete => {
                    format!("kubectl -n {namespace} describe pod {name}   # the plan terminates its instance once only stuck pods are left on it")
                }
            },
        )
    };
    // A dead node is replaced with what is stuck on it, and so is one whose stuck pods the plan does not wait for.
    let dead = survey.terms.care.dead_nodes.action;
    let is_dead = node.is_some_and(|node| !node.is_ready());
    let severity = match (action, dead) {
        (StuckAction::ReplaceNode | StuckAction::ForceDelete, DeadAction::Replace | DeadAction::Leave) => {
            Severity::Warning
        }
        (StuckAction::Report, DeadAction::Replace) if is_dead => Severity::Warning,
        (StuckAction::Report, DeadAction::Replace | DeadAction::Leave) => Severity::Blocking,
    };
    Finding {
        rule: Rule::StuckBefore,
        severity,
        object: ObjectName::new("Pod", pod.meta.key()),
        reason: format!(
            "stuck in Terminating, deletion was due at {due}, {late} ago: {why}; a drain waits for it"
        ),
        remedy: remedy.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, found_under, merge, node, pod};
    use super::*;

    fn leaving(due: &str, extra: Value) -> Value {
        let mut meta = json!({"metadata": {"deletionTimestamp": due, "deletionGracePeriodSeconds": 30}});
        merge(&mut meta, extra);
        pod("p", "n", Some(("apps/v1", "ReplicaSet", "web-1")), meta)
    }

    #[test]
    fn a_pod_past_its_grace_is_found_with_what_holds_it() {
        let with = |pod| found(Rule::StuckBefore, vec![node("n", "a"), pod]);
        assert_eq!(
            with(leaving("2026-01-01T11:00:00Z", json!({}))),
            [
                "blocking stuck-before Pod shop/p: stuck in Terminating, deletion was due at 2026-01-01T11:00:00Z, 1h ago: its node is Ready, but the kubelet does not terminate it; a drain waits for it"
            ]
        );
        let held = leaving("2026-01-01T11:00:00Z", json!({"metadata": {"finalizers": ["example.com/hold"]}}));
        assert!(with(held)[0].contains("finalizers example.com/hold block its deletion"));
        let mut dead = node("n", "a");
        dead["status"]["conditions"][0]["status"] = json!("Unknown");
        let told = found(Rule::StuckBefore, vec![dead, leaving("2026-01-01T11:00:00Z", json!({}))]);
        assert!(told[0].starts_with("warning") && told[0].contains("its node n is not Ready"), "{told:?}");
        let left = |plan: &mut replank_facts::plan::Plan| plan.care.dead_nodes.action = DeadAction::Leave;
        let mut dead = node("n", "a");
        dead["status"]["conditions"][0]["status"] = json!("Unknown");
        let told =
            found_under(Rule::StuckBefore, left, vec![dead, leaving("2026-01-01T11:00:00Z", json!({}))]);
        assert!(told[0].starts_with("blocking"), "{told:?}");
        let replaced =
            |plan: &mut replank_facts::plan::Plan| plan.care.stuck.action = StuckAction::ReplaceNode;
        let told = found_under(
            Rule::StuckBefore,
            replaced,
            vec![node("n", "a"), leaving("2026-01-01T11:00:00Z", json!({}))],
        );
        assert!(told[0].starts_with("warning"), "the plan ends the instance: {told:?}");
    }

    #[test]
    fn one_that_is_merely_on_its_way_out_is_not() {
        let young = vec![node("n", "a"), leaving("2026-01-01T11:58:00Z", json!({}))];
        assert_eq!(found(Rule::StuckBefore, young.clone()), [""; 0]);
        let strict =
            found_under(Rule::StuckBefore, |plan| plan.care.stuck.after = Span::from_minutes(1), young);
        assert_eq!(strict.len(), 1, "the plan says from when on");
    }
}
