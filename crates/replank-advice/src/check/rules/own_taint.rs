//! Taints that a node has and its group has not: somebody put them there, and new nodes will not have them.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::affinity::Taint;
use replank_model::object::node::Node;
use replank_model::text::GroupName;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::remedy::{Edit, Remedy};
use serde_json::json;

/// Taints that components put on single nodes and take off again; other rules tell of those that matter.
const PASSING: [&str; 9] = [
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "karpenter.sh/",
    "aws-node-termination-handler/",
    "ebs.csi.aws.com/",
    "replank.dev/",
    "eks.amazonaws.com/",
];

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut groups: BTreeMap<GroupName, Vec<&Arc<Node>>> = BTreeMap::new();
    for (_, node) in survey.view.nodes.sorted() {
        if let Some(group) = survey.group_of(node) {
            groups.entry(group).or_default().push(node);
        }
    }
    let mut findings = Vec::new();
    for (group, nodes) in &groups {
        for node in nodes.iter().filter(|node| survey.nodes.contains(&node.name())) {
            findings.extend(node.spec.taints.iter().filter_map(|taint| finding(group, nodes, node, taint)));
        }
    }
    findings
}

fn finding(group: &GroupName, nodes: &[&Arc<Node>], node: &Node, taint: &Taint) -> Option<Finding> {
    let is_same =
        |other: &Taint| (&other.key, &other.value, other.effect) == (&taint.key, &taint.value, taint.effect);
    let with = nodes.iter().filter(|node| node.spec.taints.iter().any(is_same)).count();
    // What most nodes of a group have is the group's.
    if PASSING.iter().any(|prefix| taint.key.starts_with(prefix)) || with * 2 > nodes.len() {
        return None;
    }
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    let shown = format!("{}{value}:{}", taint.key, taint.effect.as_str());
    Some(Finding {
        rule: Rule::OwnTaint,
        severity: Severity::Warning,
        object: ObjectName::new("Node", node.meta.key()),
        reason: format!(
            "tainted {shown}, as {with} of {} nodes of group {group}: somebody put it on the node, and its replacement does not have it",
            nodes.len()
        ),
        remedy: Remedy::edit(Edit::Untaint {
            node: node.name(),
            key: taint.key.clone(),
            effect: taint.effect.as_str().into(),
            kept: node.spec.taints.iter().filter(|one| !is_same(one)).map(|one| json!(one)).collect(),
        })
        .note("if nobody needs it any more; else add it to the group's launch template"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, node};
    use super::*;

    fn with(taints: &[Value]) -> Vec<String> {
        let nodes = taints.iter().enumerate().map(|(number, taint)| {
            let mut one = node(&format!("n{number}"), "a");
            one["spec"]["taints"] = json!([taint]);
            one
        });
        found(Rule::OwnTaint, nodes.collect())
    }

    #[test]
    fn a_taint_of_few_nodes_is_found_and_one_of_the_group_is_not() {
        let (own, of_group) = (
            json!({"key": "debug", "value": "yes", "effect": "NoSchedule"}),
            json!({"key": "dedicated", "value": "web", "effect": "NoSchedule"}),
        );
        assert_eq!(
            with(&[own, of_group.clone(), of_group]),
            [
                "warning own-taint Node n0: tainted debug=yes:NoSchedule, as 1 of 3 nodes of group web: somebody put it on the node, and its replacement does not have it"
            ]
        );
    }

    #[test]
    fn taints_that_pass_are_not() {
        let passing = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"});
        let group = json!({"key": "dedicated", "value": "web", "effect": "NoSchedule"});
        assert_eq!(with(&[passing, group.clone(), group]), [""; 0]);
    }
}
