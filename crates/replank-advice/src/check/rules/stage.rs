//! Small clusters for the tests of rules.

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::view::View;
use serde_json::{Value, json};

use super::super::finding::{Finding, Rule};
pub(super) use crate::testing::merge;
use replank_facts::group_facts::Facts;
use replank_facts::groups::GroupBy;
use replank_facts::plan::RunOptions;
use replank_facts::plan::{Plan, Target};

/// The moment of every test's snapshot.
pub(super) const NOW: &str = "2026-01-01T12:00:00Z";

pub(super) fn options() -> RunOptions {
    RunOptions { started: NOW.parse().expect("a time"), group_by: GroupBy::default() }
}

pub(super) fn view(objects: Vec<Value>) -> View {
    objects.into_iter().map(|value| Delta::Put(Object::from_json(value).expect("a valid object"))).collect()
}

/// What one rule finds, as text without remedies; every remedy must be there.
pub(super) fn found(rule: Rule, objects: Vec<Value>) -> Vec<String> {
    texts(rule, &super::super::run(&view(objects), None, &options()))
}

/// The same under a plan that replaces the group `web`.
pub(super) fn found_under(rule: Rule, plan: impl FnOnce(&mut Plan), objects: Vec<Value>) -> Vec<String> {
    let mut web = Plan::of_groups("p", vec!["web".into()], Target::default());
    plan(&mut web);
    texts(rule, &super::super::run(&view(objects), Some(&web), &options()))
}

/// The same with what the cloud says of node groups.
pub(super) fn found_beside(rule: Rule, facts: &[Facts], objects: Vec<Value>) -> Vec<String> {
    texts(rule, &super::super::run_beside(&view(objects), None, &options(), facts))
}

/// The remedies for what one rule finds.
pub(super) fn remedies(rule: Rule, objects: Vec<Value>) -> Vec<String> {
    let findings = super::super::run(&view(objects), None, &options());
    findings.into_iter().filter(|finding| finding.rule == rule).map(|finding| finding.remedy.text()).collect()
}

fn texts(rule: Rule, findings: &[Finding]) -> Vec<String> {
    assert!(findings.iter().all(|finding| !finding.remedy.is_empty()), "{findings:?}");
    findings.iter().filter(|finding| finding.rule == rule).map(ToString::to_string).collect()
}

pub(super) fn node(name: &str, zone: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": name, "creationTimestamp": "2025-06-01T00:00:00Z",
            "labels": {"eks.amazonaws.com/nodegroup": "web", "topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name}},
        "spec": {"providerID": format!("aws:///{zone}/i-{name}")},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "20"}, "nodeInfo": {"kubeletVersion": "v1.34.2"},
            "conditions": [{"type": "Ready", "status": "True"}]}})
}

pub(super) fn deployment(name: &str, replicas: i32) -> Vec<Value> {
    vec![
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop", "uid": name},
            "spec": {"replicas": replicas}}),
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": format!("{name}-1"), "namespace": "shop", "uid": format!("{name}-1"),
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": name, "controller": true}]},
            "spec": {"replicas": replicas}}),
    ]
}

/// A running, ready pod of an owner on a node.
pub(super) fn pod(name: &str, node: &str, owner: Option<(&str, &str, &str)>, extra: Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": "none"}},
        "spec": {"nodeName": node, "containers": [{"name": "c"}]},
        "status": {"phase": "Running", "startTime": "2026-01-01T10:00:00Z", "conditions": [{"type": "Ready", "status": "True"}]}});
    if let Some((api_version, kind, owner)) = owner {
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": api_version, "kind": kind, "name": owner, "uid": owner, "controller": true}]);
    }
    merge(&mut pod, extra);
    pod
}

/// A Deployment and its pods `<name>-a…`, labelled `app: <name>`, one after the other on the nodes.
pub(super) fn service(name: &str, nodes: &[&str], extra: &Value) -> Vec<Value> {
    let mut objects = deployment(name, i32::try_from(nodes.len()).expect("few"));
    let set = format!("{name}-1");
    for (at, node) in nodes.iter().enumerate() {
        let mut all = json!({"metadata": {"labels": {"app": name}}});
        merge(&mut all, extra.clone());
        objects.push(pod(
            &format!("{name}-{}", ["a", "b", "c", "d", "e", "f"][at]),
            node,
            Some(("apps/v1", "ReplicaSet", &set)),
            all,
        ));
    }
    objects
}

pub(super) fn budget(name: &str, spec: &Value, (healthy, desired, expected): (i32, i32, i32)) -> Value {
    let mut budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": name}}},
        "status": {"currentHealthy": healthy, "desiredHealthy": desired, "expectedPods": expected,
            "disruptionsAllowed": (healthy - desired).max(0), "observedGeneration": 1}});
    merge(&mut budget["spec"], spec.clone());
    budget
}
