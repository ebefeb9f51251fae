//! Single replicas and system workloads on spot nodes: two minutes' notice, and they are gone.

use replank_model::object::affinity::NodeSelectorOperator;
use replank_model::object::pod::PodSpec;

use super::super::capacity::says_spot;
use super::super::engine::Engine;
use super::super::ground::NodeKind;
use super::super::rule::{Finding, Rule, Severity};
use super::super::survey::Survey;
use super::exposed::{Exposed, exposed};

const NO_OTHER: &str = "it fits on no on-demand node of this cluster: add a group of on-demand nodes without a taint, or with one that it tolerates";

pub(super) fn find(survey: &Survey<'_>, engine: &mut Engine) -> Vec<Finding> {
    let found = exposed(survey, NodeKind::is_spot);
    found.iter().map(|one| finding(survey, engine, one)).collect()
}

fn finding(survey: &Survey<'_>, engine: &mut Engine, one: &Exposed<'_>) -> Finding {
    let subject = one.subject;
    let told = one.told(survey, "spot nodes");
    if asks_for_spot(subject.spec()) {
        let remedy = match &subject.workload {
            Some(workload) if subject.replicas == 1 => format!(
                "run two replicas of {workload}, if it can run twice, or remove the selector for spot"
            ),
            Some(_) | None => "remove the selector for spot from its pod template".to_owned(),
        };
        return Finding {
            rule: Rule::OnSpot,
            severity: Severity::Info,
            object: subject.name.clone(),
            reason: format!("{told}; it selects spot itself"),
            remedy: remedy.into(),
        };
    }
    let is_all_there = one.sits > 0 && one.sits == one.placed;
    Finding {
        rule: Rule::OnSpot,
        severity: if is_all_there { Severity::Warning } else { Severity::Info },
        object: subject.name.clone(),
        reason: format!("{told}; {}", one.why(survey)),
        remedy: one
            .away(survey, engine)
            .unwrap_or_else(|| one.without_label().unwrap_or_else(|| NO_OTHER.into())),
    }
}

/// Whether the selector or the required affinity of a pod names spot.
fn asks_for_spot(spec: &PodSpec) -> bool {
    let names = |key: &str, value: &str| {
        says_spot(key, value)
            || (key == "eks.amazonaws.com/capacityType" && value == "SPOT")
            || (key == "karpenter.sh/capacity-type" && value == "spot")
    };
    let affinity = spec.affinity.as_deref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required.as_ref());
    let terms = required.map_or(&[][..], |required| &required.node_selector_terms);
    spec.node_selector.iter().any(|(key, value)| names(key, value))
        || (!terms.is_empty()
            && terms.iter().all(|term| {
                term.match_expressions.iter().any(|one| {
                    one.operator == NodeSelectorOperator::In
                        && !one.values.is_empty()
                        && one.values.iter().all(|value| names(&one.key, value))
                })
            }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, labelled, node, remedies, service, spot, tainted};
    use super::*;

    #[test]
    fn a_singleton_on_spot_is_found_and_sent_to_the_nodes_that_stay() {
        let objects = || {
            [vec![node("n", "web", "a"), spot("s", "cheap", "a")], service("cart", &["s"], &json!({}))]
                .concat()
        };
        assert_eq!(
            found(Rule::OnSpot, objects()),
            [
                "warning on-spot Deployment shop/cart: 1 replica: it runs on spot nodes now, in group cheap; nothing in its \
                 spec selects the 1 other node that it also fits on"
            ]
        );
        assert_eq!(
            remedies(Rule::OnSpot, objects()),
            [
                r#"kubectl -n shop patch deployment/cart --type merge -p '{"spec":{"template":{"spec":{"nodeSelector":{"eks.amazonaws.com/capacityType":"ON_DEMAND"}}}}}'"#
            ]
        );
    }

    #[test]
    fn a_label_that_not_all_good_nodes_have_or_that_a_spot_node_has_is_not_selected() {
        let own = |name: &str, label: (&str, &str)| {
            let mut node = labelled(node(name, "", "a"), label.0, label.1);
            let labels = node["metadata"]["labels"].as_object_mut().expect("labels");
            labels.retain(|key, _| !key.starts_with("eks."));
            node
        };
        let chosen = |labels: [(&str, &str); 3]| {
            let good = ["n", "m", "o"].into_iter().zip(labels).map(|(name, label)| own(name, label));
            let other = labelled(own("t", ("lifecycle", "spot")), "corp.example/team", "x");
            let bad = vec![own("s", ("lifecycle", "spot")), other];
            let objects = [good.collect(), bad, service("cart", &["s"], &json!({}))].concat();
            remedies(Rule::OnSpot, objects).remove(0)
        };
        let asset = "corp.example/asset";
        let team = "corp.example/team";
        assert!(!chosen([(asset, "Z7"), (asset, "Z8"), (asset, "Z9")]).contains(asset), "one node of three");
        assert!(
            !chosen([(team, "y"), (team, "y"), (asset, "Z9")]).contains("nodeSelector"),
            "two of one kind"
        );
        assert!(!chosen([(team, "x"); 3]).contains(team), "a spot node is of that team");
        assert!(chosen([(team, "y"); 3]).contains(r#"{"corp.example/team":"y"}"#));
        assert!(chosen([("lifecycle", "normal"); 3]).contains(r#"{"lifecycle":"normal"}"#));
    }

    #[test]
    fn two_replicas_batch_and_what_cannot_land_there_are_not_found() {
        let nodes = || vec![node("n", "web", "a"), spot("s", "cheap", "a")];
        assert_eq!(
            found(Rule::OnSpot, [nodes(), service("cart", &["s", "s"], &json!({}))].concat()),
            [""; 0]
        );
        let held = json!({"spec": {"nodeSelector": {"eks.amazonaws.com/capacityType": "ON_DEMAND"}}});
        assert_eq!(found(Rule::OnSpot, [nodes(), service("cart", &["n"], &held)].concat()), [""; 0]);
        let behind = vec![node("n", "web", "a"), tainted(spot("s", "cheap", "a"), &["spot=true:NoSchedule"])];
        assert_eq!(found(Rule::OnSpot, [behind, service("cart", &["n"], &json!({}))].concat()), [""; 0]);
    }

    #[test]
    fn a_taint_that_is_a_wish_keeps_nothing_off() {
        let wish = vec![
            node("n", "web", "a"),
            tainted(spot("s", "cheap", "a"), &["lifecycle=spot:PreferNoSchedule"]),
        ];
        let found = found(Rule::OnSpot, [wish, service("cart", &["n"], &json!({}))].concat());
        assert_eq!(
            found,
            [
                "info on-spot Deployment shop/cart: 1 replica: not on spot nodes now, but can be scheduled there when it is recreated, in \
                 group cheap (1 node); the taint lifecycle=spot:PreferNoSchedule is only a preference (PreferNoSchedule) and excludes no pod"
            ]
        );
    }

    #[test]
    fn coredns_that_has_nowhere_else_to_go_is_given_tolerations() {
        let named = |node| labelled(node, "alpha.eksctl.io/cluster-name", "shop");
        let nodes = vec![
            named(tainted(node("n", "master", "a"), &["role=master:NoSchedule"])),
            spot("s", "cheap", "a"),
        ];
        let dns = json!({"metadata": {"namespace": "kube-system"}, "spec": {"tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
            "containers": [{"name": "coredns", "image": "eks/coredns:v1.12.4"}]}});
        let mut objects = service("coredns", &["s", "s"], &dns);
        for object in &mut objects {
            object["metadata"]["namespace"] = json!("kube-system");
        }
        let objects = [nodes, objects].concat();
        assert_eq!(
            found(Rule::OnSpot, objects.clone()),
            [
                "warning on-spot Deployment kube-system/coredns: an add-on with 2 replicas: all of them run on spot nodes now, in \
                 group cheap; these are the only nodes without a taint; it fits on no other node: master (taint role=master:NoSchedule)"
            ]
        );
        let remedy = remedies(Rule::OnSpot, objects).remove(0);
        assert!(
            remedy.starts_with("aws eks update-addon --cluster-name shop --addon-name coredns "),
            "{remedy}"
        );
        assert!(
            remedy.contains(r#"{"effect":"NoSchedule","key":"role","operator":"Equal","value":"master"}"#)
                && remedy.contains(r#""key":"CriticalAddonsOnly""#)
                && remedy.contains(r#""nodeSelector":{"eks.amazonaws.com/capacityType":"ON_DEMAND"}"#)
                && remedy.contains("replaces all values of the add-on")
                && remedy.contains(
                    "in its aws_eks_addon:\nconfiguration_values = jsonencode({\n  nodeSelector = {"
                )
                && remedy.contains("in its AWS::EKS::Addon:\nConfigurationValues: '{\""),
            "{remedy}"
        );
        assert!(!remedy.contains("CLUSTER"), "{remedy}");
    }

    #[test]
    fn what_asks_for_spot_itself_is_only_told() {
        let asks = json!({"spec": {"nodeSelector": {"eks.amazonaws.com/capacityType": "SPOT"}}});
        let nodes = vec![node("n", "web", "a"), spot("s", "cheap", "a")];
        let found = found(Rule::OnSpot, [nodes, service("cart", &["s"], &asks)].concat());
        assert!(
            found.len() == 1 && found[0].starts_with("info") && found[0].ends_with("it selects spot itself"),
            "{found:?}"
        );
    }
}
