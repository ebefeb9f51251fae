//! Nodes that somebody else has cordoned: room that is not there, and a cordon that stays.

use replank_model::object::node::Node;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::Survey;
use replank_facts::remedy::{Edit, Remedy};
use replank_protocol::mark;

/// What others leave on a node that they have cordoned: a key of a taint, a label or an annotation begins so.
const OTHERS: [(&str, &str); 7] = [
    ("karpenter.sh/disrupted", "Karpenter"),
    ("karpenter.sh/disruption", "Karpenter"),
    ("ToBeDeletedByClusterAutoscaler", "cluster-autoscaler"),
    ("DeletionCandidateOfClusterAutoscaler", "cluster-autoscaler"),
    ("aws-node-termination-handler/", "aws-node-termination-handler"),
    ("weave.works/kured", "kured"),
    ("bottlerocket.aws/", "the Bottlerocket update operator"),
];

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let nodes = survey.view.nodes.sorted();
    let cordoned = nodes.iter().map(|(_, node)| *node).filter(|node| node.spec.unschedulable);
    cordoned.filter(|node| !is_ours(node)).map(|node| finding(survey, node)).collect()
}

/// Whether a run of ours cordoned it: `leftover` tells of those.
fn is_ours(node: &Node) -> bool {
    let is_told = mark::of(node).is_some() || mark::newer_on_node(node).is_some();
    is_told && node.meta.annotations.value(mark::CORDON) != Some(mark::FOREIGN)
}

fn finding(survey: &Survey<'_>, node: &Node) -> Finding {
    let name = node.name();
    let here = survey.view.sorted_pods_on(&name).into_iter().filter(|pod| pod.is_active()).count();
    let is_replaced = survey.nodes.contains(&name);
    let then = match is_replaced {
        true => "it is replaced like the other nodes",
        false => "it stays cordoned and takes none of the moved pods",
    };
    let by = by(node).map_or("somebody else", |who| who);
    let since = node.cordoned_since().map_or(String::new(), |since| format!(" since {since}"));
    Finding {
        rule: Rule::CordonLeft,
        severity: if is_replaced { Severity::Info } else { Severity::Warning },
        object: ObjectName::new("Node", node.meta.key()),
        reason: format!("cordoned by {by}{since}, with {} on it: {then}", pods(here)),
        remedy: Remedy::edit(Edit::Uncordon { node: name }).note("if its owner no longer needs the cordon"),
    }
}

fn by(node: &Node) -> Option<&'static str> {
    let taints = node.spec.taints.iter().map(|taint| &*taint.key);
    let labels = node.meta.labels.iter().map(|(key, _)| key);
    let annotations = node.meta.annotations.iter().map(|(key, _)| key);
    let keys: Vec<&str> = taints.chain(labels).chain(annotations).collect();
    let is_there = |prefix: &str| keys.iter().any(|key| key.starts_with(prefix));
    OTHERS.iter().find(|(prefix, _)| is_there(prefix)).map(|(_, who)| *who)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, found_under, merge, node, service};
    use super::*;
    use replank_facts::plan::{ChosenBy, Plan};

    fn cordoned(extra: Value) -> Value {
        let mut cordoned = node("n", "a");
        cordoned["spec"]["unschedulable"] = json!(true);
        merge(&mut cordoned, extra);
        cordoned
    }

    #[test]
    fn a_cordon_of_somebody_else_is_found_with_who_and_since_when() {
        let taints = json!({"spec": {"taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": "2026-01-01T09:00:00Z"}]},
            "metadata": {"annotations": {"weave.works/kured-reboot-in-progress": "x"}}});
        let others = |plan: &mut Plan| plan.nodes.by = ChosenBy::Groups(vec!["other".into()]);
        let with = |extra| {
            let objects = [vec![cordoned(extra)], service("web", &["n"], &json!({}))].concat();
            found_under(Rule::CordonLeft, others, objects)
        };
        assert_eq!(
            with(taints),
            [
                "warning cordon-left Node n: cordoned by kured since 2026-01-01T09:00:00Z, with 1 pod on it: it stays cordoned and takes none of the moved pods"
            ]
        );
        assert!(with(json!({}))[0].contains("cordoned by somebody else, with 1 pod"));
        let replaced =
            "info cordon-left Node n: cordoned by somebody else, with 0 pods on it: it is replaced";
        let alone = vec![cordoned(json!({}))];
        assert!(found_under(Rule::CordonLeft, |_| {}, alone.clone())[0].starts_with(replaced));
        assert!(found(Rule::CordonLeft, alone)[0].starts_with(replaced), "without a plan all nodes are");
    }

    #[test]
    fn open_nodes_and_cordons_of_ours_are_not() {
        assert_eq!(found(Rule::CordonLeft, vec![node("n", "a")]), [""; 0]);
        let ours = json!({"metadata": {"annotations": {"replank.dev/run": "r", "replank.dev/role": "queued",
            "replank.dev/since": "2026-01-01T00:00:00Z", "replank.dev/expires": "2026-01-08T00:00:00Z"}}});
        assert_eq!(found(Rule::CordonLeft, vec![cordoned(ours.clone())]), [""; 0]);
        let mut over = ours;
        over["metadata"]["annotations"]["replank.dev/cordon"] = json!("foreign");
        assert_eq!(
            found(Rule::CordonLeft, vec![cordoned(over)]).len(),
            1,
            "it was cordoned before ours came"
        );
    }
}
