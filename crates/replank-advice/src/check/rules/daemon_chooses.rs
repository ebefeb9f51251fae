//! Agents that choose their nodes by a label which says nothing of what a node is for: the name of a node group, or a label that only some nodes of one group have.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::daemon::{is_eligible, is_selected, is_tolerated};
use replank_facts::groups::GroupBy;
use replank_model::object::node::Node;
use replank_model::object::pod::PodSpec;
use replank_model::object::workload::DaemonSet;
use replank_model::text::{GroupName, NodeName};

use super::super::finding::{Finding, ObjectName, Rule, Severity, counted};
use super::super::survey::Survey;
use super::daemon_missing::{is_agent, named, takes_agents};
use super::pinned_to_group::named_group;

/// Labels that tell machines apart. Nodes of one group that differ in these are not alike.
const TELLING: [&str; 5] = ["kubernetes.io/", "k8s.io/", "k8s.aws/", "eks.amazonaws.com/", "karpenter."];
/// What a node of another operating system or architecture cannot run.
const MACHINE: [&str; 2] = ["kubernetes.io/os", "kubernetes.io/arch"];

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let all = survey.view.nodes.sorted();
    let nodes: Vec<&Node> =
        all.iter().map(|(_, node)| &***node).filter(|node| takes_agents(survey, node)).collect();
    let sets = survey.view.daemon_sets.sorted().into_iter().map(|(_, set)| &**set);
    let agents = sets.filter(|set| is_agent(&set.spec.template.spec) && set.status.number_ready > 0);
    agents
        .filter_map(|set| {
            left_behind(survey, set, &nodes)
                .or_else(|| by_group(survey, set, &nodes))
                .or_else(|| by_label(survey, set, &nodes))
        })
        .collect()
}

fn finding(set: &DaemonSet, severity: Severity, reason: String) -> Finding {
    Finding {
        rule: Rule::DaemonMissing,
        severity,
        object: ObjectName::new("DaemonSet", set.meta.key()),
        reason,
        remedy: format!(
            "kubectl -n {} get daemonset/{} -o jsonpath='{{.spec.template.spec.nodeSelector}}{{.spec.template.spec.affinity}}'   # select no node group, or a label \
             for the nodes' purpose, if it is meant to run on all of them",
            set.meta.namespace, set.meta.name
        )
        .into(),
    }
}

/// The label of groups, and the groups that an agent names by it.
fn names(survey: &Survey<'_>, spec: &PodSpec) -> Option<(String, BTreeSet<GroupName>)> {
    let GroupBy::Label(key) = &survey.options.group_by else { return None };
    let values = named_group(spec, key)?;
    Some((format!("{key}={values}"), values.split('|').map(GroupName::from).collect()))
}

/// One that runs on the nodes that move, and not where they move to.
fn left_behind(survey: &Survey<'_>, set: &DaemonSet, nodes: &[&Node]) -> Option<Finding> {
    let landing = survey.plan?.target.group.as_ref()?;
    let spec = &set.spec.template.spec;
    let (words, groups) = names(survey, spec)?;
    let runs_here = survey.node_objects().any(|node| is_eligible(spec, node));
    let runs_there = groups.contains(landing)
        || nodes
            .iter()
            .any(|node| survey.group_of(node).as_ref() == Some(landing) && is_eligible(spec, node));
    (runs_here && !runs_there).then(|| {
        let reason = format!(
            "selects {words}: nodes of group {landing}, which the plan moves them into, come without it"
        );
        finding(set, Severity::Warning, reason)
    })
}

/// One that most nodes have, and that the other groups lack only because it does not name them.
fn by_group(survey: &Survey<'_>, set: &DaemonSet, nodes: &[&Node]) -> Option<Finding> {
    let spec = &set.spec.template.spec;
    let (words, groups) = names(survey, spec)?;
    let (with, without): (Vec<&Node>, Vec<&Node>) =
        nodes.iter().copied().partition(|node| is_selected(spec, node));
    let is_left = |node: &&Node| {
        let is_named = survey.group_of(node).is_some_and(|group| groups.contains(&group));
        !is_named && is_tolerated(spec, node) && with.iter().any(|one| is_like(one, node, &MACHINE))
    };
    let left: BTreeMap<NodeName, Option<GroupName>> =
        without.into_iter().filter(is_left).map(|node| (node.name(), survey.group_of(node))).collect();
    // One for a few nodes, such as those with a GPU, is not meant for the others.
    if left.is_empty() || left.len() > with.len() {
        return None;
    }
    let others: BTreeSet<&str> = left.values().flatten().map(GroupName::as_str).collect();
    let of = match others.len() {
        0 => "of no group".to_owned(),
        1 => format!("of group {}", others.iter().copied().collect::<String>()),
        _ => format!("of groups {}", others.into_iter().collect::<Vec<_>>().join(", ")),
    };
    let reason = format!(
        "looks at its node and selects {words}, {}: {} {of} without it: {}",
        counted(with.len(), "node"),
        counted(left.len(), "node"),
        named(left.keys())
    );
    Some(finding(set, Severity::Info, reason))
}

/// One that some nodes of a group have and others do not, for a label that tells no machines apart.
fn by_label(survey: &Survey<'_>, set: &DaemonSet, nodes: &[&Node]) -> Option<Finding> {
    let spec = &set.spec.template.spec;
    let keys = keys(spec);
    let with: Vec<(&Node, GroupName)> = nodes
        .iter()
        .filter(|node| is_eligible(spec, node))
        .filter_map(|node| Some((*node, survey.group_of(node)?)))
        .collect();
    let telling: Vec<&str> = keys.iter().copied().filter(|key| is_telling(key)).collect();
    let own: Vec<&str> = keys.iter().copied().filter(|key| !is_telling(key)).collect();
    let is_left = |node: &&&Node| {
        let Some(group) = survey.group_of(node) else { return false };
        let is_alike = |(one, of): &(&Node, GroupName)| *of == group && is_like(one, node, &telling);
        !is_selected(spec, node) && is_tolerated(spec, node) && with.iter().any(is_alike)
    };
    let left: BTreeMap<NodeName, GroupName> =
        nodes.iter().filter(is_left).filter_map(|node| Some((node.name(), survey.group_of(node)?))).collect();
    if left.is_empty() || own.is_empty() {
        return None;
    }
    let groups: BTreeSet<&str> = left.values().map(GroupName::as_str).collect();
    let reason = format!(
        "looks at its node and selects by {}, which only some nodes of {} {} have: {} there without it: {}",
        own.join(", "),
        if groups.len() == 1 { "group" } else { "groups" },
        groups.into_iter().collect::<Vec<_>>().join(", "),
        counted(left.len(), "node"),
        named(left.keys())
    );
    Some(finding(set, Severity::Info, reason))
}

/// The labels that a pod chooses its nodes by.
fn keys(spec: &PodSpec) -> BTreeSet<&str> {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required.as_ref());
    let terms = required.into_iter().flat_map(|required| &required.node_selector_terms);
    let expressions = terms.flat_map(|term| &term.match_expressions).map(|one| &*one.key);
    spec.node_selector.iter().map(|(key, _)| key).chain(expressions).collect()
}

fn is_telling(key: &str) -> bool {
    TELLING.iter().any(|part| key.contains(part))
}

/// Whether two nodes have the same values of some labels.
fn is_like(one: &Node, other: &Node, keys: &[&str]) -> bool {
    keys.iter().all(|key| one.meta.labels.value(key) == other.meta.labels.value(key))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, found_under, merge, node, pod};
    use super::*;

    fn agent(extra: Value) -> Vec<Value> {
        let mut spec =
            json!({"containers": [], "volumes": [{"name": "log", "hostPath": {"path": "/var/log"}}]});
        merge(&mut spec, extra);
        let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "shop", "uid": "agent"},
            "spec": {"template": {"spec": spec}}, "status": {"desiredNumberScheduled": 1, "numberReady": 1}});
        vec![set, pod("agent-n", "n", Some(("apps/v1", "DaemonSet", "agent")), json!({}))]
    }

    fn of(name: &str, labels: &Value) -> Value {
        let mut node = node(name, "a");
        merge(&mut node, json!({"metadata": {"labels": labels}}));
        node
    }

    #[test]
    fn an_agent_that_names_groups_leaves_out_the_others() {
        let by = json!({"nodeSelector": {"eks.amazonaws.com/nodegroup": "web"}});
        let other = json!({"eks.amazonaws.com/nodegroup": "batch"});
        let with = |extra: Value, more: Vec<Value>| {
            found(Rule::DaemonMissing, [vec![node("n", "a")], more, agent(extra)].concat())
        };
        assert_eq!(
            with(by.clone(), vec![of("m", &other)]),
            [
                "info daemon-missing DaemonSet shop/agent: looks at its node and selects eks.amazonaws.com/nodegroup=web, 1 node: 1 node of group batch without it: m"
            ]
        );
        let many = vec![of("m", &other), of("o", &other)];
        assert_eq!(with(by.clone(), many), [""; 0], "it is meant for a few nodes");
        let mut arm = other.clone();
        merge(&mut arm, json!({"kubernetes.io/arch": "arm64"}));
        assert_eq!(with(by.clone(), vec![of("m", &arm)]), [""; 0], "other machines");
        let mut tainted = of("m", &other);
        merge(&mut tainted, json!({"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}}));
        assert_eq!(with(by, vec![tainted]), [""; 0], "kept apart by a taint as well");
    }

    #[test]
    fn an_agent_that_names_its_group_does_not_move_with_the_nodes() {
        let with = |names: Value| {
            let terms = json!([{"matchExpressions": [{"key": "eks.amazonaws.com/nodegroup", "operator": "In", "values": names}]}]);
            let affinity = json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}});
            found_under(
                Rule::DaemonMissing,
                |plan| plan.target.group = Some("web-new".into()),
                [vec![node("n", "a")], agent(affinity)].concat(),
            )
        };
        assert_eq!(
            with(json!(["web"])),
            [
                "warning daemon-missing DaemonSet shop/agent: selects eks.amazonaws.com/nodegroup=web: nodes of group web-new, which the plan moves them into, come without it"
            ]
        );
        assert_eq!(with(json!(["web", "web-new"])), [""; 0]);
    }

    #[test]
    fn a_label_that_some_nodes_of_a_group_lack_is_found_and_one_that_tells_machines_apart_is_not() {
        let with = |selector: Value, other: Value| {
            let nodes = vec![of("n", &json!({"logs": "on", "disk.k8s.io/kind": "ssd"})), of("m", &other)];
            found(Rule::DaemonMissing, [nodes, agent(json!({"nodeSelector": selector}))].concat())
        };
        assert_eq!(
            with(json!({"logs": "on"}), json!({"disk.k8s.io/kind": "ssd"})),
            [
                "info daemon-missing DaemonSet shop/agent: looks at its node and selects by logs, which only some nodes of group web have: 1 node there without it: m"
            ]
        );
        let telling = json!({"disk.k8s.io/kind": "ssd"});
        assert_eq!(with(telling, json!({"disk.k8s.io/kind": "hdd"})), [""; 0], "another kind of node");
        let other = json!({"eks.amazonaws.com/nodegroup": "batch"});
        assert_eq!(with(json!({"logs": "on"}), other), [""; 0], "another group");
    }
}
