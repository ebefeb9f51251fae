//! Pods that name the node group they run in: they fit under no other name.

use replank_model::object::affinity::NodeSelectorOperator;
use replank_model::object::pod::PodSpec;
use replank_model::text::Text;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods as count};
use super::super::survey::Survey;
use replank_facts::groups::GroupBy;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let GroupBy::Label(key) = &survey.options.group_by else { return Vec::new() };
    let landing = survey.plan.and_then(|plan| plan.target.group.as_ref());
    let elsewhere = match landing {
        Some(landing) => format!("group {landing}, which the plan moves their nodes into"),
        None => "a group of another name".to_owned(),
    };
    let mut findings = Vec::new();
    for (workload, pods) in &survey.workloads {
        let subject = &survey.subjects[pods[0]];
        let Some(group) = named_group(&subject.pod.spec, key) else { continue };
        // Nodes of the group that they name are what they will find.
        if landing.is_some_and(|landing| group.split('|').any(|name| name == landing.as_str())) {
            continue;
        }
        findings.push(Finding {
            rule: Rule::PinnedToGroup,
            severity: Severity::Info,
            object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            reason: format!("{} bound to {key}={group}: Pending in {elsewhere}", count(pods.len())),
            remedy: format!(
                "kubectl -n {} get {} -o yaml   # select a label for the nodes' purpose, not their group's name",
                workload.key.namespace,
                workload.argument()
            )
            .into(),
        });
    }
    findings
}

/// The groups that a pod names by their label, with `|` between them.
pub(super) fn named_group(spec: &PodSpec, key: &str) -> Option<Text> {
    if let Some(group) = spec.node_selector.get(key) {
        return Some(group.clone());
    }
    let required = spec.affinity.as_ref()?.node_affinity.as_ref()?.required.as_ref()?;
    let names = |term: &replank_model::object::affinity::NodeSelectorTerm| {
        let named = term
            .match_expressions
            .iter()
            .find(|one| *one.key == *key && one.operator == NodeSelectorOperator::In);
        named.map(|one| Text::from(one.values.join("|")))
    };
    let named: Vec<Option<Text>> = required.node_selector_terms.iter().map(names).collect();
    // One alternative that names no group is enough to get elsewhere.
    named.into_iter().collect::<Option<Vec<Text>>>()?.into_iter().next()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, found_under, node, service};
    use super::*;

    #[test]
    fn what_names_the_group_that_nodes_move_into_is_as_it_should_be() {
        let terms = json!([{"matchExpressions": [{"key": "eks.amazonaws.com/nodegroup", "operator": "In", "values": ["web", "web-new"]}]}]);
        let both = json!({"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}});
        let one = json!({"spec": {"nodeSelector": {"eks.amazonaws.com/nodegroup": "web"}}});
        let under = |spec| {
            let objects = [vec![node("n", "a")], service("web", &["n"], spec)].concat();
            found_under(Rule::PinnedToGroup, |plan| plan.target.group = Some("web-new".into()), objects)
        };
        assert_eq!(under(&both), [""; 0]);
        assert!(under(&one)[0].ends_with("Pending in group web-new, which the plan moves their nodes into"));
    }

    #[test]
    fn a_groups_name_in_a_selector_or_affinity_is_found() {
        let with = |spec| {
            found(
                Rule::PinnedToGroup,
                [vec![node("n", "a")], service("web", &["n"], &json!({"spec": spec}))].concat(),
            )
        };
        let expected = "info pinned-to-group Deployment shop/web: 1 pod bound to eks.amazonaws.com/nodegroup=web: Pending in a \
                        group of another name";
        assert_eq!(with(json!({"nodeSelector": {"eks.amazonaws.com/nodegroup": "web"}})), [expected]);
        let terms = |terms| json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}});
        let named = json!({"matchExpressions": [{"key": "eks.amazonaws.com/nodegroup", "operator": "In", "values": ["web"]}]});
        let other = json!({"matchExpressions": [{"key": "tier", "operator": "Exists"}]});
        assert_eq!(with(terms(json!([named]))), [expected]);
        assert_eq!(with(terms(json!([named, other]))), [""; 0], "it can go elsewhere");
        assert_eq!(with(json!({"nodeSelector": {"tier": "web"}})), [""; 0]);
    }
}
