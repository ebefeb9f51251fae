//! Nodes that somebody has asked autoscalers to keep.

use replank_model::object::node::Node;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::remedy::{Edit, Remedy, Target};

/// Annotations with the value `true` that keep autoscalers from removing a node, and whose they are.
const KEPT: [(&str, &str); 2] = [
    ("cluster-autoscaler.kubernetes.io/scale-down-disabled", "Cluster Autoscaler"),
    ("karpenter.sh/do-not-disrupt", "Karpenter"),
];

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    survey.node_objects().filter_map(|node| finding(node)).collect()
}

fn finding(node: &Node) -> Option<Finding> {
    let is_set = |key: &str| node.meta.annotations.value(key) == Some("true");
    let (key, who) = KEPT.iter().find(|(key, _)| is_set(key))?;
    Some(Finding {
        rule: Rule::KeptNode,
        severity: Severity::Warning,
        object: ObjectName::new("Node", node.meta.key()),
        reason: format!(
            "annotated {key}=true: somebody asked {who} to keep this node, and the roll replaces it"
        ),
        remedy: Remedy::edit(Edit::Annotate {
            of: vec![Target::node(&node.name())],
            annotation: (*key).into(),
            value: None,
        })
        .note("if whoever set it agrees; its replacement does not have it"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, node};
    use super::*;

    #[test]
    fn nodes_that_autoscalers_keep_are_found() {
        let with = |value: &str| {
            let mut kept = node("n", "a");
            kept["metadata"]["annotations"] =
                json!({"cluster-autoscaler.kubernetes.io/scale-down-disabled": value});
            found(Rule::KeptNode, vec![kept])
        };
        assert_eq!(
            with("true"),
            [
                "warning kept-node Node n: annotated cluster-autoscaler.kubernetes.io/scale-down-disabled=true: somebody asked Cluster Autoscaler to keep this node, and the roll replaces it"
            ]
        );
        assert_eq!(with("false"), [""; 0]);
    }
}
