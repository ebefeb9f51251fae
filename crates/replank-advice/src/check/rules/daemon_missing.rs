//! Nodes without an agent that should have it: a DaemonSet's pod is not there or not Ready, or the DaemonSet does not tolerate the taint of nodes that it is meant
//! for as much as for the others.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::daemon::{is_eligible, is_selected};
use replank_model::object::affinity::TaintEffect;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::object::workload::DaemonSet;
use replank_model::text::NodeName;
use replank_model::time::Span;
use replank_protocol::provisioner::Provisioner;

use super::super::finding::{Finding, ObjectName, Rule, Severity, counted};
use super::super::survey::Survey;

/// Pods of a node that has just come are on their way.
const STARTS: Span = Span::from_minutes(10);
/// Nodes that are named.
const NAMED: usize = 3;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let all = survey.view.nodes.sorted();
    let all = all.iter().map(|(_, node)| &***node).filter(|node| has_agents(node));
    let (nodes, young): (Vec<&Node>, Vec<&Node>) = all.partition(|node| is_settled(survey, node));
    let sets = survey.view.daemon_sets.sorted().into_iter().map(|(_, set)| set);
    sets.flat_map(|set| [absent(survey, set, &nodes, &young), not_tolerated(survey, set, &nodes)])
        .flatten()
        .collect()
}

/// Whether DaemonSets run on a node, and have had time to.
pub(super) fn takes_agents(survey: &Survey<'_>, node: &Node) -> bool {
    has_agents(node) && is_settled(survey, node)
}

fn has_agents(node: &Node) -> bool {
    node.is_ready() && Provisioner::of(node) != Provisioner::Fargate
}

fn is_settled(survey: &Survey<'_>, node: &Node) -> bool {
    node.meta.creation_timestamp.is_none_or(|made| made + STARTS < survey.now())
}

/// Nodes that the controller wants a pod on, without a Ready one.
fn absent(survey: &Survey<'_>, set: &DaemonSet, nodes: &[&Node], young: &[&Node]) -> Option<Finding> {
    let status = &set.status;
    // Without a status nothing is known; the controller itself says how many it misses.
    if status.desired_number_scheduled <= status.number_ready {
        return None;
    }
    let belongs = |node: &&&Node| is_eligible(&set.spec.template.spec, node);
    let missing: Vec<(NodeName, String)> = nodes
        .iter()
        .filter(belongs)
        .filter_map(|node| Some((node.name(), lacks(survey, set, &node.name())?)))
        .collect();
    let (first, why) = missing.first()?;
    Some(Finding {
        rule: Rule::DaemonMissing,
        severity: Severity::Warning,
        object: ObjectName::new("DaemonSet", set.meta.key()),
        reason: format!(
            "{} of {} that should run it have no Ready pod{}: {}; on {first}: {why}",
            missing.len(),
            counted(nodes.iter().filter(belongs).count(), "node"),
            not_counted(survey, young.iter().filter(belongs)),
            named(missing.iter().map(|(node, _)| node)),
        ),
        remedy: format!("kubectl -n {} describe daemonset/{}", set.meta.namespace, set.meta.name).into(),
    })
}

/// Nodes that the controller counts and we do not yet, so that nobody wonders about the number.
fn not_counted<'n>(survey: &Survey<'_>, young: impl Iterator<Item = &'n &'n Node>) -> String {
    let joined: Vec<_> = young.filter_map(|node| node.meta.creation_timestamp).collect();
    let Some(first) = joined.iter().min() else { return String::new() };
    let since = survey.now() - *first;
    match joined.len() {
        1 => format!(" (1 node that joined {since} ago is not counted)"),
        count => format!(" ({count} nodes that joined in the last {since} are not counted)"),
    }
}

/// Why a node has no Ready pod of a DaemonSet, if it has none.
fn lacks(survey: &Survey<'_>, set: &DaemonSet, node: &NodeName) -> Option<String> {
    let pods = survey.view.sorted_pods_on(node);
    let mut own =
        pods.into_iter().filter(|pod| pod.meta.controller().is_some_and(|owner| owner.uid == set.meta.uid));
    let Some(pod) = own.clone().next() else { return Some("no pod".to_owned()) };
    if own.any(|pod| pod.is_ready() && !pod.is_terminating()) {
        return None;
    }
    Some(format!("pod {} is not Ready{}", pod.meta.name, waiting(pod)))
}

fn waiting(pod: &Pod) -> String {
    let containers = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
    let reason = containers
        .filter_map(|container| container.state.waiting.as_ref())
        .map(|waiting| &waiting.reason)
        .next();
    reason.map_or_else(String::new, |reason| format!(" ({reason})"))
}

/// Nodes that are left out for a taint only, by an agent that looks at the machine: it chooses no nodes, or these as well.
fn not_tolerated(survey: &Survey<'_>, set: &DaemonSet, nodes: &[&Node]) -> Option<Finding> {
    let spec = &set.spec.template.spec;
    if !is_agent(spec) || set.status.number_ready == 0 {
        return None;
    }
    let mut left: BTreeMap<String, BTreeSet<NodeName>> = BTreeMap::new();
    let is_left = |node: &&&Node| is_selected(spec, node) && lacks(survey, set, &node.name()).is_some();
    for node in nodes.iter().filter(is_left) {
        for taint in node.spec.taints.iter().filter(|taint| taint.effect != TaintEffect::PreferNoSchedule) {
            let is_borne = spec.tolerations.iter().any(|toleration| toleration.tolerates(taint, false));
            if !is_borne && !taint.key.starts_with("node.kubernetes.io/") {
                left.entry(taint.to_string()).or_default().insert(node.name());
            }
        }
    }
    let all: BTreeSet<&NodeName> = left.values().flatten().collect();
    let taints: Vec<&str> = left.keys().map(String::as_str).collect();
    if all.is_empty() {
        return None;
    }
    Some(Finding {
        rule: Rule::DaemonMissing,
        severity: Severity::Info,
        object: ObjectName::new("DaemonSet", set.meta.key()),
        reason: format!(
            "looks at its node and {}, but does not tolerate {}: {} without it: {}",
            if chooses(spec) { "selects these as well" } else { "chooses none" },
            taints.join(" and "),
            counted(all.len(), "node"),
            named(all.iter().copied()),
        ),
        remedy: format!(
            "kubectl -n {} get daemonset/{} -o jsonpath='{{.spec.template.spec.tolerations}}'   # add a toleration if it is meant to run there; operator: Exists \
             tolerates every taint",
            set.meta.namespace, set.meta.name
        )
        .into(),
    })
}

/// Whether a pod looks at the machine that it runs on.
pub(super) fn is_agent(spec: &PodSpec) -> bool {
    spec.host_network || spec.volumes.iter().any(|volume| volume.source.host_path.is_some())
}

/// Whether a pod says by labels on which nodes it runs.
fn chooses(spec: &PodSpec) -> bool {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    spec.node_selector.iter().next().is_some() || affinity.is_some_and(|affinity| affinity.required.is_some())
}

pub(super) fn named<'n>(nodes: impl Iterator<Item = &'n NodeName>) -> String {
    let all: Vec<&str> = nodes.map(NodeName::as_str).collect();
    match all.len() {
        0..=NAMED => all.join(", "),
        count => format!("{} and {} more", all[..NAMED].join(", "), count - NAMED),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, merge, node, pod};
    use super::*;

    fn set(spec: &Value, ready: i32) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "shop", "uid": "agent"},
            "spec": {"template": {"spec": spec}}, "status": {"desiredNumberScheduled": 2, "numberReady": ready}})
    }

    fn own(name: &str, on: &str, extra: Value) -> Value {
        pod(name, on, Some(("apps/v1", "DaemonSet", "agent")), extra)
    }

    #[test]
    fn a_node_without_a_ready_pod_is_named() {
        let plain = json!({"containers": []});
        let nodes = || vec![node("n", "a"), node("m", "b")];
        let with = |more: Vec<Value>, ready| {
            found(Rule::DaemonMissing, [nodes(), vec![set(&plain, ready)], more].concat())
        };
        let absent = with(vec![own("agent-n", "n", json!({}))], 1);
        assert_eq!(
            absent,
            [
                "warning daemon-missing DaemonSet shop/agent: 1 of 2 nodes that should run it have no Ready pod: m; on m: no pod"
            ]
        );
        let crashing = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}],
            "containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 9, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}});
        let crashes = with(vec![own("agent-n", "n", json!({})), own("agent-m", "m", crashing)], 1);
        assert!(crashes[0].ends_with("on m: pod agent-m is not Ready (CrashLoopBackOff)"), "{crashes:?}");
        let both = vec![own("agent-n", "n", json!({})), own("agent-m", "m", json!({}))];
        assert_eq!(with(both, 2), [""; 0]);
        // One that has just come has time.
        let mut young = node("m", "b");
        merge(&mut young, json!({"metadata": {"creationTimestamp": "2026-01-01T11:55:00Z"}}));
        let all = vec![node("n", "a"), young.clone(), set(&plain, 1), own("agent-n", "n", json!({}))];
        assert_eq!(found(Rule::DaemonMissing, all), [""; 0]);
        // Beside one that misses it, it is named as not counted, unless the DaemonSet does not want it.
        let beside = |spec: &Value, young: Value| {
            let mut set = set(spec, 1);
            merge(&mut set, json!({"status": {"desiredNumberScheduled": 3}}));
            let all = vec![node("n", "a"), node("o", "a"), young, set, own("agent-n", "n", json!({}))];
            found(Rule::DaemonMissing, all).remove(0)
        };
        assert_eq!(
            beside(&plain, young.clone()),
            "warning daemon-missing DaemonSet shop/agent: 1 of 2 nodes that should run it have no Ready pod (1 node that joined 5m ago is not \
             counted): o; on o: no pod"
        );
        let chooses = json!({"containers": [], "nodeSelector": {"topology.kubernetes.io/zone": "a"}});
        assert!(!beside(&chooses, young).contains("not counted"), "it is not for the DaemonSet");
    }

    #[test]
    fn an_agent_that_a_taint_keeps_off_is_told_and_others_are_not() {
        let with = |spec: Value| {
            let mut tainted = node("m", "b");
            merge(
                &mut tainted,
                json!({"spec": {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]}}),
            );
            let mut all = vec![node("n", "a"), tainted, set(&spec, 1), own("agent-n", "n", json!({}))];
            merge(&mut all[2], json!({"status": {"desiredNumberScheduled": 1}}));
            found(Rule::DaemonMissing, all)
        };
        let agent = json!({"containers": [], "volumes": [{"name": "log", "hostPath": {"path": "/var/log"}}]});
        assert_eq!(
            with(agent.clone()),
            [
                "info daemon-missing DaemonSet shop/agent: looks at its node and chooses none, but does not tolerate dedicated=gpu:NoSchedule: 1 node without it: m"
            ]
        );
        let and = |more: Value| {
            let mut spec = agent.clone();
            merge(&mut spec, more);
            with(spec)
        };
        assert_eq!(and(json!({"nodeSelector": {"tier": "web"}})), [""; 0], "it chooses its nodes");
        let own = and(json!({"nodeSelector": {"eks.amazonaws.com/nodegroup": "web"}}));
        assert!(own[0].contains("selects these as well, but does not tolerate dedicated=gpu"), "{own:?}");
        assert_eq!(with(json!({"containers": []})), [""; 0], "it does not look at the machine");
    }
}
