//! Labels of nodes that kubelets refuse to set: a new node has them only when somebody has set them, and pods that select them wait for that.

use std::collections::BTreeSet;

use replank_model::object::meta::Key;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::Survey;
use replank_facts::groups::labels_by_hand;
use replank_facts::node_labels::asks;
use replank_facts::workload::Workload;

/// Workloads that are named.
const NAMED_MAX: usize = 3;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let touched = survey.groups_touched();
    for (group, labels) in labels_by_hand(survey.view, &survey.options.group_by) {
        if !touched.contains(&group) {
            continue;
        }
        for label in labels {
            let asking: Vec<_> = survey
                .subjects
                .iter()
                .filter(|subject| asks(&subject.pod.spec, &label) && is_in(survey, &subject.pod, &group))
                .collect();
            let workloads: BTreeSet<&Workload> =
                asking.iter().filter_map(|subject| subject.workload.as_ref()).collect();
            if asking.is_empty() {
                continue;
            }
            let named: Vec<String> = workloads.iter().take(NAMED_MAX).map(ToString::to_string).collect();
            let more = workloads.len().saturating_sub(NAMED_MAX);
            let more = if more > 0 { format!(" and {more} more workloads") } else { String::new() };
            let whose =
                if named.is_empty() { String::new() } else { format!(" of {}{more}", named.join(", ")) };
            findings.push(Finding {
                rule: Rule::LabelByHand,
                severity: Severity::Warning,
                object: ObjectName::new("NodeGroup", Key::cluster(group.as_str())),
                reason: format!(
                    "all its nodes have the label {label}, which kubelets refuse to set: a new node lacks it until somebody sets it, and {}{whose} cannot be scheduled there before",
                    pods(asking.len()),
                ),
                remedy: format!(
                    "make sure that what labels these nodes labels new ones at once, or select a label that the group can set itself: replank explain label-refused; kubectl get nodes -L {label}"
                )
                .into(),
            });
        }
    }
    findings
}

fn is_in(
    survey: &Survey<'_>,
    pod: &replank_model::object::pod::Pod,
    group: &replank_model::text::GroupName,
) -> bool {
    let node = pod.node.as_ref().and_then(|name| survey.view.node(name));
    node.and_then(|node| survey.group_of(node)).as_ref() == Some(group)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, node, service};
    use super::*;

    #[test]
    fn a_label_that_no_kubelet_sets_and_pods_need_is_found() {
        let with = |key: &str, on_both: bool| {
            let labelled = |name: &str, is: bool| {
                let mut node = node(name, name);
                if is {
                    node["metadata"]["labels"][key] = json!("web");
                }
                node
            };
            let nodes = vec![labelled("n", true), labelled("m", on_both)];
            let spec = json!({"spec": {"nodeSelector": {(key): "web"}}});
            found(
                Rule::LabelByHand,
                [nodes, service("web", &["n"], &spec), service("other", &["m"], &json!({}))].concat(),
            )
        };
        assert_eq!(
            with("node-role.kubernetes.io/web", true),
            [
                "warning label-by-hand NodeGroup web: all its nodes have the label node-role.kubernetes.io/web, which kubelets refuse to set: a new node lacks it until somebody sets it, and 1 pod of Deployment shop/web cannot be scheduled there before"
            ]
        );
        assert_eq!(with("example.com/role", true), [""; 0]);
        assert_eq!(with("node-role.kubernetes.io/web", false), [""; 0], "not the group's");
    }
}
