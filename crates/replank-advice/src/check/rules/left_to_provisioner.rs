//! Nodes that the plan selects (all, without a plan), but that are left to their provisioner.

use std::collections::BTreeMap;

use replank_model::object::meta::Key;
use replank_model::object::node::Node;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::finding::counted;
use replank_protocol::provisioner::Provisioner;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut provisioners: BTreeMap<Provisioner, Vec<&Node>> = BTreeMap::new();
    for (_, node) in survey.view.nodes.sorted() {
        let provisioner = Provisioner::of(node);
        if provisioner.keeps_its_nodes()
            && survey.plan.is_none_or(|plan| plan.nodes.has(node, survey.group_of(node).as_ref()))
        {
            provisioners.entry(provisioner).or_default().push(node);
        }
    }
    provisioners.into_iter().map(|(provisioner, nodes)| finding(survey, &provisioner, &nodes)).collect()
}

fn finding(survey: &Survey<'_>, provisioner: &Provisioner, nodes: &[&Node]) -> Finding {
    let object = match (provisioner, nodes) {
        (Provisioner::Karpenter(Some(pool)), _) => ObjectName::new("NodePool", Key::cluster(&**pool)),
        (_, [only]) => ObjectName::new("Node", only.meta.key()),
        (_, [first, ..]) => ObjectName::new("Node", first.meta.key()),
        (_, []) => ObjectName::new("Node", Key::cluster("none")),
    };
    let is_meant = survey.plan.is_some();
    Finding {
        rule: Rule::LeftToProvisioner,
        severity: if is_meant { Severity::Warning } else { Severity::Info },
        object,
        reason: format!(
            "{} managed by {provisioner}: left alone{}, because their provisioner would work against a roll",
            counted(nodes.len(), "node"),
            if is_meant { ", although the plan selects them" } else { "" }
        ),
        remedy: provisioner.way().to_owned().into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, found_under, merge, node, service};
    use super::*;
    use replank_facts::plan::Plan;

    fn made(name: &str, labels: &Value) -> Value {
        let mut made = node(name, "a");
        merge(&mut made, json!({"metadata": {"labels": labels}}));
        made
    }

    #[test]
    fn nodes_of_karpenter_are_found_once_for_each_pool() {
        let pool = json!({"karpenter.sh/nodepool": "default"});
        let all = vec![made("n", &pool), made("m", &pool)];
        assert_eq!(
            found_under(Rule::LeftToProvisioner, |_| {}, all.clone()),
            [
                "warning left-to-provisioner NodePool default: 2 nodes managed by Karpenter (node pool default): left alone, although the plan selects them, because their provisioner would work against a roll"
            ]
        );
        assert!(
            found(Rule::LeftToProvisioner, all)[0].starts_with("info left-to-provisioner NodePool default")
        );
    }

    #[test]
    fn nodes_that_the_plan_does_not_choose_are_nobodys_business() {
        let narrowed = |bound: &'static str| {
            let mut made = made("n", &json!({"karpenter.sh/nodepool": "default"}));
            merge(&mut made, json!({"status": {"nodeInfo": {"kubeletVersion": "v1.35.2"}}}));
            let narrow = |plan: &mut Plan| plan.nodes.kubelet_version = Some(bound.parse().expect("a bound"));
            found_under(Rule::LeftToProvisioner, narrow, vec![made]).len()
        };
        assert_eq!((narrowed("<1.36"), narrowed("<1.35")), (1, 0));
    }

    #[test]
    fn auto_mode_fargate_and_hybrid_nodes_are_known() {
        for (kind, word) in
            [("auto", "EKS Auto Mode"), ("fargate", "Fargate"), ("hybrid", "an EKS hybrid node")]
        {
            let told = found(
                Rule::LeftToProvisioner,
                vec![made("n", &json!({"eks.amazonaws.com/compute-type": kind}))],
            );
            assert!(told.len() == 1 && told[0].contains(&format!("1 node managed by {word}")), "{told:?}");
        }
    }

    #[test]
    fn nodes_of_groups_are_not_and_what_others_keep_is_not_looked_at() {
        assert_eq!(found(Rule::LeftToProvisioner, vec![node("n", "a")]), [""; 0]);
        let fargate = made("n", &json!({"eks.amazonaws.com/compute-type": "fargate"}));
        let objects = [vec![fargate], service("web", &["n"], &json!({}))].concat();
        assert_eq!(found(Rule::Singleton, objects), [""; 0], "its pod is not moved");
    }
}
