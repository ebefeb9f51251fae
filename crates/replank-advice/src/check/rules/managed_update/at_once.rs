//! Nodes that EKS drains at once share what a budget lets go: the pods of one wait for the replacements of the other's.
//!
//! EKS replaces as many nodes at a time as `updateConfig` says (EKS API reference, `NodegroupUpdateConfig`: "Nodes are updated in parallel").

use std::collections::BTreeMap;

use replank_facts::cluster_name::{TAG_CLUSTER, cluster_name};
use replank_facts::remedy::{ManagedBy, update_config};
use replank_model::int_or_string::Rounding;
use replank_model::object::cloud::NodeGroup;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::Span;

use super::super::super::survey::{Subject, Survey};
use super::super::pdb_slow::{DRAIN_MAX, longest_wait, ready_after};
use super::hold::{Hold, Sure, named};

/// A budget under which one node after the other is drained in time, and not as many as EKS drains at once.
pub(super) fn crowded(
    survey: &Survey<'_>,
    node: &Node,
    (budget, slack): (&Key, usize),
    subjects: &[&Subject],
    pods: &[&Pod],
) -> Option<Hold> {
    let group = survey.groups.get(&survey.group_of(node)?)?;
    let at_once = at_once(group);
    if at_once < 2 || subjects.len() <= slack {
        return None;
    }
    let ready = ready_after(subjects)?;
    let others = others(survey, node, group, subjects);
    let wait = |nodes: usize| -> Span {
        let all = pods.len() + others.iter().take(nodes - 1).sum::<usize>();
        longest_wait(ready, (all, subjects.len()), slack)
    };
    let longest = wait(at_once);
    if longest <= DRAIN_MAX {
        return None;
    }
    let fewer = (1..at_once).rev().find(|nodes| wait(*nodes) <= DRAIN_MAX)?;
    let what = format!(
        "{}: disruption budget {budget} lets {slack} go at a time, and the next when its replacement is Ready, which took {ready}; EKS drains {at_once} nodes of group {} at \
         once (updateConfig): up to {longest} in all",
        named(survey, pods),
        group.name
    );
    let facts = survey.facts.iter().find(|facts| facts.name == group.name);
    let cluster =
        facts.and_then(|facts| facts.tag(TAG_CLUSTER)).cloned().or_else(|| cluster_name(survey.view));
    let managed_by = facts.and_then(|facts| ManagedBy::of(&facts.tags));
    let remedy = update_config(
        cluster.as_deref(),
        (group.name.as_str(), group.update_at_once.as_ref()),
        managed_by.as_ref(),
        fewer,
    );
    Some(Hold::new(Sure::Possible, what, remedy))
}

/// How many nodes EKS drains at once: one, if the group does not say.
fn at_once(group: &NodeGroup) -> usize {
    let told = group.update_at_once.as_ref();
    let told = told.and_then(|own| own.scaled(i64::from(group.size.desired), Rounding::Down).ok());
    // As many as there are, and no more than 100 (EKS API reference).
    let most = i64::from(group.size.desired).clamp(1, 100);
    usize::try_from(told.unwrap_or(1).clamp(1, most)).unwrap_or(1)
}

/// How many pods the other nodes of a group have, the most first.
fn others(survey: &Survey<'_>, own: &Node, group: &NodeGroup, subjects: &[&Subject]) -> Vec<usize> {
    let mut by_node: BTreeMap<&NodeName, usize> = BTreeMap::new();
    for name in subjects.iter().filter_map(|subject| subject.pod.node.as_ref()) {
        *by_node.entry(name).or_default() += 1;
    }
    by_node.remove(&own.name());
    let is_here = |name: &NodeName| {
        survey.view.node(name).and_then(|node| survey.group_of(node)).is_some_and(|of| of == group.name)
    };
    let mut others: Vec<usize> =
        by_node.into_iter().filter(|(name, _)| is_here(name)).map(|(_, count)| count).collect();
    others.sort_unstable_by(|a, b| b.cmp(a));
    others
}

#[cfg(test)]
mod tests {
    use replank_facts::group_facts::Facts;
    use replank_facts::groups::{GroupBy, from_nodes};
    use replank_model::delta::Delta;
    use replank_model::int_or_string::IntOrString;
    use replank_model::view::View;
    use serde_json::json;

    use super::super::super::stage::{budget, node, options, service, view};

    /// What is found of pods on three nodes that were Ready after so many minutes, where EKS drains so many nodes at once, and the group has tags.
    fn with(at_once: &IntOrString, minutes: u64, tags: &[(&str, &str)]) -> Vec<(String, String)> {
        let ready = format!("2026-01-01T10:{minutes:02}:00Z");
        let status = json!({"status": {"startTime": "2026-01-01T10:00:00Z", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ready}]}});
        let own = budget("web", &json!({"maxUnavailable": 1}), (3, 2, 3));
        let nodes = vec![node("n", "a"), node("m", "b"), node("o", "c"), own];
        let mut view: View = view([nodes, service("web", &["n", "m", "o"], &status)].concat());
        let mut facts = Vec::new();
        for learnt in from_nodes(&view, &GroupBy::default()) {
            let mut group = learnt.group.managed_by_eks();
            group.update_at_once = Some(at_once.clone());
            let tags = tags.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
            facts.push(Facts { name: group.name.clone(), tags, ..Facts::default() });
            view.apply(Delta::Group(group.into()));
        }
        let found = super::super::super::super::managed_update(&view, None, &options(), &facts);
        found.into_iter().map(|finding| (finding.to_string(), finding.remedy.text())).collect()
    }

    #[test]
    fn nodes_that_are_drained_at_once_share_what_a_budget_lets_go() {
        let three = with(&IntOrString::Int(3), 8, &[]);
        assert_eq!(three.len(), 3, "{three:?}");
        assert!(
            three[0].0.starts_with(
                "warning managed-update Node m: EKS's own update may give up on it after 15m: pod shop/web-b"
            ) && three[0].0.ends_with(
                "which took 8m; EKS drains 3 nodes of group web at once (updateConfig): up to 16m in all"
            ),
            "{three:?}"
        );
        assert_eq!(three[0].1, "set maxUnavailable of node group web to 1 (aws eks update-nodegroup-config)");
        assert_eq!(with(&IntOrString::Int(3), 7, &[]), [], "14 minutes");
        assert_eq!(with(&IntOrString::Int(1), 8, &[]), [], "one at a time");
        assert_eq!(with(&IntOrString::String("34%".into()), 8, &[]), [], "1 of 3");
        assert_eq!(with(&IntOrString::String("100%".into()), 8, &[]).len(), 3);
    }

    #[test]
    fn the_change_is_told_for_who_manages_the_group() {
        let stack = [("eks:cluster-name", "shop"), ("aws:cloudformation:stack-name", "nodes")];
        let told = with(&IntOrString::Int(3), 8, &stack).remove(0).1;
        assert!(
            told.starts_with("aws eks update-nodegroup-config --cluster-name shop --nodegroup-name web "),
            "{told}"
        );
        assert!(told.ends_with("UpdateConfig:\n  MaxUnavailable: 1"), "{told}");
    }
}
