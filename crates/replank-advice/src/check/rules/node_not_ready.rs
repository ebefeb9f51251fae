//! Nodes that are not Ready: their kubelets may not end what is evicted from them.

use replank_model::object::condition::{self, ConditionStatus};

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::Survey;
use replank_facts::plan::DeadAction;
use replank_model::text::NodeName;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let dead = survey.terms.care.dead_nodes;
    let mut findings = Vec::new();
    for node in survey.node_objects() {
        // A node that says nothing of itself was written by hand.
        let Some(ready) = condition::find(&node.status.conditions, "Ready") else { continue };
        if ready.status == ConditionStatus::True {
            continue;
        }
        let name = node.name();
        let on_it = what_is_on_it(survey, &name);
        let since = ready.last_transition_time.map_or(String::new(), |since| format!(" since {since}"));
        let reason = if ready.reason.is_empty() { String::new() } else { format!(" ({})", ready.reason) };
        let (severity, then, look) = match dead.action {
            DeadAction::Leave => (
                Severity::Blocking,
                "the plan leaves dead nodes as they are".to_owned(),
                "if its instance is dead, terminate it: its pods are then recreated",
            ),
            DeadAction::Replace => (
                Severity::Warning,
                format!("the roll replaces it once it has been so for {}", dead.after),
                "is its instance dead? The roll terminates it when only pods are left on it that do not end",
            ),
        };
        findings.push(Finding {
            rule: Rule::NodeNotReady,
            severity,
            object: ObjectName::new("Node", node.meta.key()),
            reason: format!("not Ready{since}{reason}; {on_it}; {then}"),
            remedy: format!("kubectl describe node {name}   # {look}").into(),
        });
    }
    findings
}

/// The pods on a node that is not Ready: those that are to be gone, and those that will be.
fn what_is_on_it(survey: &Survey<'_>, name: &NodeName) -> String {
    const END: &str = "Terminating until its kubelet responds or its instance is gone";
    let leaving = survey.view.sorted_pods_on(name).into_iter().filter(|pod| pod.is_terminating()).count();
    let here = survey.subjects.iter().filter(|subject| subject.pod.node.as_ref() == Some(name)).count();
    match (here, leaving) {
        (0, 0) => "no pod on it has to move".to_owned(),
        (0, leaving) => format!("{} on it, {END}", pods(leaving)),
        (1, 0) => format!("1 pod on it: the control plane deletes it, and it is {END}"),
        (here, 0) => format!("{} on it: the control plane deletes them, and they are {END}", pods(here)),
        (here, leaving) => format!("{} on it, {leaving} of them {END}", pods(here + leaving)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{budget, found, found_under, merge, node, service};
    use super::*;
    use replank_facts::plan::Plan;

    #[test]
    fn nodes_that_are_not_ready_are_found() {
        let with = |conditions: Value| {
            let mut sick = node("n", "a");
            sick["status"]["conditions"] = conditions;
            found(Rule::NodeNotReady, [vec![sick], service("web", &["n", "n"], &json!({}))].concat())
        };
        let silent = json!([{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": "2026-01-01T11:00:00Z"}]);
        assert_eq!(
            with(silent),
            [
                "warning node-not-ready Node n: not Ready since 2026-01-01T11:00:00Z (NodeStatusUnknown); 2 pods on it: the control plane deletes them, and they are Terminating until its kubelet responds or its instance is gone; the roll replaces it once it has been so for 10m"
            ]
        );
        let mut silent_node = node("n", "a");
        silent_node["status"]["conditions"] = json!([{"type": "Ready", "status": "Unknown"}]);
        let one = found(Rule::NodeNotReady, [vec![silent_node], service("web", &["n"], &json!({}))].concat())
            .concat();
        assert!(one.contains("; 1 pod on it: the control plane deletes it, and it is Terminating"), "{one}");
        assert_eq!(with(json!([{"type": "Ready", "status": "True"}])), [""; 0]);
        assert_eq!(with(json!([])), [""; 0], "nothing is known");
    }

    #[test]
    fn what_is_on_such_a_node_is_told_as_it_is() {
        let with = |plan: fn(&mut Plan), leaving: usize| {
            let mut sick = node("n", "a");
            sick["status"]["conditions"] =
                json!([{"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T11:00:00Z"}]);
            let mut pods = service("web", &["n", "n"], &json!({}));
            let gone = json!({"metadata": {"deletionTimestamp": "2026-01-01T11:06:00Z", "deletionGracePeriodSeconds": 30}});
            pods[2..].iter_mut().take(leaving).for_each(|pod| merge(pod, gone.clone()));
            found_under(Rule::NodeNotReady, plan, [vec![sick], pods].concat()).concat()
        };
        let all = with(|_| {}, 2);
        assert!(all.contains("; 2 pods on it, Terminating until its kubelet responds"), "{all}");
        let some = with(|_| {}, 1);
        assert!(some.contains("; 2 pods on it, 1 of them Terminating until"), "{some}");
        let left = with(|plan| plan.care.dead_nodes.action = DeadAction::Leave, 2);
        assert!(
            left.starts_with("blocking") && left.ends_with("the plan leaves dead nodes as they are"),
            "{left}"
        );
        let mut empty = node("n", "a");
        empty["status"]["conditions"] = json!([{"type": "Ready", "status": "False"}]);
        let none = found(Rule::NodeNotReady, vec![empty]).concat();
        assert!(none.contains("not Ready; no pod on it has to move; "), "{none}");
    }

    #[test]
    fn what_is_on_a_dead_node_is_no_matter_of_budgets_or_replicas() {
        let with = |since: &str, extra: serde_json::Value| {
            let mut sick = node("n", "a");
            sick["status"]["conditions"] =
                json!([{"type": "Ready", "status": "Unknown", "lastTransitionTime": since}]);
            let budget = budget("web", &json!({"minAvailable": 1}), (0, 1, 1));
            let objects = [vec![sick, budget], service("web", &["n"], &extra)].concat();
            let told = |rule| found(rule, objects.clone()).len();
            (told(Rule::PdbNeverAllows), told(Rule::Singleton))
        };
        let long = "2026-01-01T11:00:00Z";
        assert_eq!(with(long, json!({})), (0, 0), "nobody asks its budget, and it serves nobody");
        assert_eq!(with("2026-01-01T11:55:00Z", json!({})).0, 1, "it may be Ready again in a moment");
        let bears = json!({"spec": {"tolerations": [{"operator": "Exists"}]}});
        assert_eq!(with(long, bears).0, 1, "nothing deletes it");
    }
}
