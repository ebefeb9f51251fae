//! Labels of nodes that kubelets refuse to set: a new node has them only when somebody has set them, and pods that select them wait for that.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::meta::Key;
use replank_model::text::{GroupName, Text};

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::Survey;
use replank_facts::groups::labels_by_hand;
use replank_facts::node_labels::asks;
use replank_facts::workload::Workload;

/// Groups and workloads that are named.
const NAMED_MAX: usize = 5;

/// What has to do with one label.
#[derive(Default)]
struct Use<'a> {
    groups: BTreeSet<GroupName>,
    pods: usize,
    workloads: BTreeSet<&'a Workload>,
}

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let by_group = labels_by_hand(survey.view, &survey.options.group_by);
    if by_group.is_empty() {
        return Vec::new();
    }
    let mut uses: BTreeMap<Text, Use<'_>> = BTreeMap::new();
    for subject in &survey.subjects {
        let node = subject.pod.node.as_ref().and_then(|name| survey.view.node(name));
        let Some(group) = node.and_then(|node| survey.group_of(node)) else { continue };
        let labels = by_group.get(&group).into_iter().flatten();
        for label in labels.filter(|label| asks(&subject.pod.spec, label)) {
            let found = uses.entry(label.clone()).or_default();
            found.groups.insert(group.clone());
            found.pods += 1;
            found.workloads.extend(&subject.workload);
        }
    }
    uses.into_iter().map(|(label, found)| finding(&label, &found)).collect()
}

fn finding(label: &Text, found: &Use<'_>) -> Finding {
    let group = if found.groups.len() == 1 { "group" } else { "groups" };
    Finding {
        rule: Rule::LabelByHand,
        severity: Severity::Warning,
        object: ObjectName::new("Label", Key::cluster(&**label)),
        reason: format!(
            "every node of {group} {} has it, and kubelets refuse to set it: a new node lacks it until somebody sets it, and {} of {} cannot be scheduled there before",
            named(&found.groups),
            pods(found.pods),
            named(&found.workloads),
        ),
        remedy: format!(
            "make sure that whatever labels these nodes labels new ones at once, or select a label that the group can set itself (replank explain label-refused)\nkubectl get nodes -L {label}"
        )
        .into(),
    }
}

/// `gateway, infra and 3 more`.
fn named<T: ToString>(all: &BTreeSet<T>) -> String {
    let named: Vec<String> = all.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    match all.len().saturating_sub(NAMED_MAX) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
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
                "warning label-by-hand Label node-role.kubernetes.io/web: every node of group web has it, and kubelets refuse to set it: a new node lacks it until somebody sets it, and 1 pod of Deployment shop/web cannot be scheduled there before"
            ]
        );
        assert_eq!(with("example.com/role", true), [""; 0]);
        assert_eq!(with("node-role.kubernetes.io/web", false), [""; 0], "not the group's");
    }
}
