//! Small clusters for the tests of rules.

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::view::View;
use serde_json::{Value, json};

use super::super::rule::{Finding, Rule};
use super::super::{Options, run};
pub(super) use crate::testing::merge;

pub(super) fn view(objects: Vec<Value>) -> View {
    objects.into_iter().map(|value| Delta::Put(Object::from_json(value).expect("a valid object"))).collect()
}

/// What one rule finds, as text; every remedy must be there.
pub(super) fn found(rule: Rule, objects: Vec<Value>) -> Vec<String> {
    found_with(rule, |_| {}, objects)
}

pub(super) fn found_with(rule: Rule, set: impl FnOnce(&mut Options), objects: Vec<Value>) -> Vec<String> {
    findings(rule, set, objects).iter().map(ToString::to_string).collect()
}

/// The remedies for what one rule finds.
pub(super) fn remedies(rule: Rule, objects: Vec<Value>) -> Vec<String> {
    findings(rule, |_| {}, objects).into_iter().map(|finding| finding.remedy.text()).collect()
}

fn findings(rule: Rule, set: impl FnOnce(&mut Options), objects: Vec<Value>) -> Vec<Finding> {
    let mut options = Options::default();
    set(&mut options);
    let findings = run(&view(objects), &options);
    assert!(findings.iter().all(|finding| !finding.remedy.is_empty()), "{findings:?}");
    findings.into_iter().filter(|finding| finding.rule == rule).collect()
}

/// An on-demand node of a group in a zone.
pub(super) fn node(name: &str, group: &str, zone: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": {"eks.amazonaws.com/nodegroup": group,
            "eks.amazonaws.com/capacityType": "ON_DEMAND", "topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name}},
        "spec": {"providerID": format!("aws:///{zone}/i-{name}")},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "20"}, "conditions": [{"type": "Ready", "status": "True"}]}})
}

/// A spot node of a group in a zone.
pub(super) fn spot(name: &str, group: &str, zone: &str) -> Value {
    labelled(node(name, group, zone), "eks.amazonaws.com/capacityType", "SPOT")
}

pub(super) fn labelled(mut node: Value, key: &str, value: &str) -> Value {
    node["metadata"]["labels"][key] = json!(value);
    node
}

/// With taints, as kubectl writes them.
pub(super) fn tainted(mut node: Value, taints: &[&str]) -> Value {
    let taint = |text: &&str| {
        let (pair, effect) = text.rsplit_once(':').expect("key=value:effect");
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        json!({"key": key, "value": value, "effect": effect})
    };
    node["spec"]["taints"] = taints.iter().map(taint).collect();
    node
}

/// A running pod of an owner on a node; pending if the node has no name.
pub(super) fn pod(name: &str, node: &str, owner: Option<(&str, &str, &str)>, extra: Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": "none"}},
        "spec": {"containers": [{"name": "c"}]},
        "status": {"phase": if node.is_empty() { "Pending" } else { "Running" }}});
    if !node.is_empty() {
        pod["spec"]["nodeName"] = json!(node);
    }
    if let Some((api_version, kind, owner)) = owner {
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": api_version, "kind": kind, "name": owner, "uid": owner, "controller": true}]);
    }
    merge(&mut pod, extra);
    pod
}

/// A Deployment and its pods `<name>-a…`, labelled `app: <name>`, one after the other on the nodes.
pub(super) fn service(name: &str, nodes: &[&str], extra: &Value) -> Vec<Value> {
    let set = format!("{name}-1");
    let mut objects = vec![
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop", "uid": name},
            "spec": {"replicas": nodes.len(), "selector": {"matchLabels": {"app": name}}}}),
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": set, "namespace": "shop", "uid": set,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": name, "controller": true}]},
            "spec": {"replicas": nodes.len()}}),
    ];
    for (at, node) in nodes.iter().enumerate() {
        let mut all = json!({"metadata": {"labels": {"app": name}}});
        merge(&mut all, extra.clone());
        let letter = ["a", "b", "c", "d", "e", "f"][at];
        objects.push(pod(&format!("{name}-{letter}"), node, Some(("apps/v1", "ReplicaSet", &set)), all));
    }
    objects
}

/// A DaemonSet and its pods, one on each node.
pub(super) fn daemon_set(name: &str, nodes: &[&str], extra: &Value) -> Vec<Value> {
    let mut objects = vec![
        json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name, "namespace": "kube-system", "uid": name},
        "spec": {"selector": {"matchLabels": {"app": name}}}}),
    ];
    for node in nodes {
        let mut all = json!({"metadata": {"namespace": "kube-system", "labels": {"app": name}}});
        merge(&mut all, extra.clone());
        objects.push(pod(&format!("{name}-{node}"), node, Some(("apps/v1", "DaemonSet", name)), all));
    }
    objects
}
