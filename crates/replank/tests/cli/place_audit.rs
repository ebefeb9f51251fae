//! `place --audit`: typical situations on clusters of a few objects, the example, and dumps of real control planes.

use serde_json::{Value, json};

use super::common::{replank, replank_reading};
use super::place::shown;

/// The example's clusters, relative to the workspace.
const ROLES: &str = "examples/roles/snapshot.yaml";
const CORRECTED: &str = "examples/roles/corrected.yaml";

/// A node of a group with one more label and with taints, as kubectl writes them.
fn node(name: &str, group: &str, zone: &str, labels: &[(&str, &str)], taints: &[&str]) -> Value {
    let mut all = json!({"eks.amazonaws.com/nodegroup": group, "eks.amazonaws.com/capacityType": "ON_DEMAND",
        "topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name});
    for (key, value) in labels {
        all[key] = json!(value);
    }
    let taint = |text: &&str| {
        let (pair, effect) = text.rsplit_once(':').expect("key=value:effect");
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        json!({"key": key, "value": value, "effect": effect})
    };
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name, "labels": all},
        "spec": {"providerID": format!("aws:///{zone}/i-{name}"), "taints": taints.iter().map(taint).collect::<Vec<_>>()},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "58"}, "conditions": [{"type": "Ready", "status": "True"}]}})
}

const SPOT: (&str, &str) = ("eks.amazonaws.com/capacityType", "SPOT");

/// A Deployment with one pod on each of these nodes; one without a node waits.
fn deployment(namespace: &str, name: &str, nodes: &[&str], spec: &Value) -> Vec<Value> {
    let (set, labels) = (format!("{name}-7d4b9"), json!({"app": name}));
    let owner = |kind: &str, name: &str| json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": true}]);
    let mut objects = vec![
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace, "uid": name},
            "spec": {"replicas": nodes.len(), "selector": {"matchLabels": labels}}}),
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": set, "namespace": namespace, "uid": set,
            "ownerReferences": owner("Deployment", name)}, "spec": {"replicas": nodes.len()}}),
    ];
    for (number, node) in nodes.iter().enumerate() {
        let pod = format!("{set}-{number}");
        let mut spec = spec.clone();
        if spec["containers"].is_null() {
            spec["containers"] = json!([{"name": "main", "image": "shop/main:1"}]);
        }
        let phase = if node.is_empty() { "Pending" } else { "Running" };
        if !node.is_empty() {
            spec["nodeName"] = json!(node);
        }
        objects.push(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod, "namespace": namespace, "uid": pod,
            "labels": labels, "ownerReferences": owner("ReplicaSet", &set)}, "spec": spec, "status": {"phase": phase}}));
    }
    objects
}

/// What an audit of these objects prints.
fn audit(objects: &[Vec<Value>], words: &[&str]) -> String {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects.concat()});
    let arguments = [&["place", "--audit", "-"], words].concat();
    shown(&replank_reading(&arguments, list.to_string().as_bytes()))
}

fn coredns(nodes: &[&str]) -> Vec<Value> {
    let spec = json!({"priorityClassName": "system-cluster-critical", "containers": [{"name": "coredns", "image": "eks/coredns:v1.12.4"}],
        "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}]});
    deployment("kube-system", "coredns", nodes, &spec)
}

#[test]
fn why_is_coredns_on_spot() {
    let nodes = vec![
        node("m", "master", "a", &[], &["role=master:NoSchedule"]),
        node("s", "spot", "a", &[SPOT], &[]),
        node("t", "spot", "b", &[SPOT], &[]),
    ];
    insta::assert_snapshot!(audit(&[nodes, coredns(&["s", "t"])], &[]));
}

#[test]
fn a_singleton_on_spot_that_could_be_elsewhere() {
    let nodes = vec![
        node("w", "web", "a", &[], &[]),
        node("x", "web", "a", &[], &[]),
        node("s", "spot", "a", &[SPOT], &[]),
    ];
    insta::assert_snapshot!(audit(&[nodes, deployment("shop", "cart", &["s"], &json!({}))], &[]));
}

#[test]
fn a_taint_that_is_only_a_wish() {
    let nodes = vec![
        node("w", "web", "a", &[], &[]),
        node("x", "web", "a", &[], &[]),
        node("s", "spot", "a", &[("lifecycle", "spot"), SPOT], &["lifecycle=spot:PreferNoSchedule"]),
    ];
    insta::assert_snapshot!(audit(&[nodes, deployment("shop", "cart", &["w"], &json!({}))], &[]));
}

#[test]
fn a_singleton_on_an_autoscaled_group() {
    let nodes = vec![
        node("w", "web", "a", &[], &[]),
        node("x", "web", "a", &[], &[]),
        node("y", "base", "a", &[], &[]),
    ];
    let objects = [nodes, deployment("shop", "cart", &["w"], &json!({}))];
    insta::assert_snapshot!(audit(&objects, &["--autoscaled", "web"]));
    assert!(audit(&objects, &[]).starts_with("exit code 0\n\nAudit  nothing found on 3 nodes"));
}

#[test]
fn all_replicas_in_one_zone() {
    let nodes = vec![
        node("w", "web", "a", &[], &[]),
        node("x", "web", "a", &[], &[]),
        node("y", "web", "b", &[], &[]),
    ];
    insta::assert_snapshot!(audit(&[nodes, deployment("shop", "front", &["w", "x"], &json!({}))], &[]));
}

#[test]
fn all_replicas_on_one_node() {
    let nodes = vec![node("w", "web", "a", &[], &[]), node("x", "web", "a", &[], &[])];
    insta::assert_snapshot!(audit(&[nodes, deployment("shop", "front", &["w", "w"], &json!({}))], &[]));
}

#[test]
fn an_agent_that_comes_back_to_a_cordoned_node() {
    let mut cordoned = node("w", "web", "a", &[], &[]);
    cordoned["spec"]["unschedulable"] = json!(true);
    let spec = json!({"tolerations": [{"operator": "Exists"}]});
    let objects =
        [vec![cordoned, node("x", "web", "a", &[], &[])], deployment("ops", "agent", &["w", "x"], &spec)];
    insta::assert_snapshot!(audit(&objects, &[]));
}

#[test]
fn a_misspelt_toleration_and_the_idle_nodes_it_was_for() {
    let nodes = vec![
        node("w", "web", "a", &[], &[]),
        node("x", "web", "b", &[], &[]),
        node("g", "gpu", "a", &[], &["dedicated=gpu:NoSchedule"]),
    ];
    let spec = json!({"tolerations": [{"key": "dedicated", "value": "gpus", "effect": "NoSchedule"}]});
    insta::assert_snapshot!(audit(&[nodes, deployment("report", "render", &["w", "x"], &spec)], &[]));
}

#[test]
fn a_misspelt_selector() {
    let nodes = vec![
        node("w", "web", "a", &[("role", "scaler")], &[]),
        node("x", "web", "a", &[("role", "master")], &[]),
    ];
    let spec = json!({"nodeSelector": {"role": "sclaer"}});
    insta::assert_snapshot!(audit(&[nodes, deployment("engine", "worker", &["", ""], &spec)], &[]));
}

#[test]
fn requests_that_no_node_can_meet() {
    let nodes = vec![node("w", "web", "a", &[], &[]), node("x", "web", "a", &[], &[])];
    let resources = json!({"requests": {"cpu": "6", "nvidia.com/gpu": "1"}});
    let spec = json!({"containers": [{"name": "main", "image": "shop/train:1", "resources": resources}]});
    insta::assert_snapshot!(audit(&[nodes, deployment("engine", "train", &[""], &spec)], &[]));
}

#[test]
fn a_selector_that_one_node_meets() {
    let nodes = vec![node("w", "web", "a", &[("disk", "fast")], &[]), node("x", "web", "a", &[], &[])];
    let spec = json!({"nodeSelector": {"disk": "fast"}});
    insta::assert_snapshot!(audit(&[nodes, deployment("shop", "index", &["w"], &spec)], &[]));
}

#[test]
fn roles_by_a_label_that_kubelets_refuse() {
    let role = |role| [("kubernetes.io/role", role)];
    let nodes = vec![
        node("m", "master", "a", &role("master"), &["kubernetes.io/role=master:NoSchedule"]),
        node("n", "master", "b", &role("master"), &["kubernetes.io/role=master:NoSchedule"]),
        node("i", "infra", "a", &role("infra"), &[]),
        node("j", "infra", "b", &role("infra"), &[]),
    ];
    let spec = json!({"nodeSelector": {"kubernetes.io/role": "master"},
        "tolerations": [{"key": "kubernetes.io/role", "operator": "Equal", "value": "master", "effect": "NoSchedule"}]});
    insta::assert_snapshot!(audit(&[nodes, deployment("engine", "master", &["m", "n"], &spec)], &[]));
}

#[test]
fn add_ons_beside_the_nodes_that_are_kept_for_them() {
    let nodes = vec![
        node("w", "web", "a", &[], &[]),
        node("x", "web", "b", &[], &[]),
        node("s", "system", "a", &[], &["CriticalAddonsOnly=true:NoSchedule"]),
        node("t", "system", "b", &[], &["CriticalAddonsOnly=true:NoSchedule"]),
    ];
    insta::assert_snapshot!(audit(&[nodes, coredns(&["w", "t"])], &[]));
}

#[test]
fn apart_in_as_many_zones_as_there_are() {
    let nodes: Vec<Value> =
        ["a", "b", "c"].iter().map(|zone| node(&format!("n{zone}"), "web", zone, &[], &[])).collect();
    let term = json!({"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "master"}}});
    let spec =
        json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}});
    insta::assert_snapshot!(audit(&[nodes, deployment("engine", "master", &["na", "nb", "nc"], &spec)], &[]));
}

#[test]
fn the_example_and_the_example_put_right() {
    insta::assert_snapshot!(shown(&replank(&["place", "--audit", ROLES])));
    let corrected = replank(&["place", "--audit", CORRECTED]);
    assert!(
        shown(&corrected).starts_with("exit code 0\n\nAudit  nothing found on 12 nodes"),
        "{corrected:?}"
    );
}

#[test]
fn for_programs_and_by_name() {
    let json = replank(&["place", "--audit", ROLES, "-o", "json"]);
    assert_eq!((json.code, json.json()["version"].as_str()), (Some(3), Some("replank.dev/audit/v1alpha1")));
    let found = json.json()["findings"].as_array().expect("a list").len();
    assert!(found >= 10, "{found}");
    let names = replank(&["place", "--audit", ROLES, "-o", "name"]);
    assert!(names.stdout.lines().any(|line| line == "Deployment kube-system/coredns"), "{names:?}");
}

#[test]
fn a_group_that_is_not_there_is_no_autoscaled_one() {
    let error = replank(&["place", "--audit", ROLES, "--autoscaled", "sclaer"]).usage_error();
    assert!(
        error.contains("--autoscaled names the group sclaer, which has no nodes")
            && error.contains("gpu, master, scaler, scaler-spot"),
        "{error}"
    );
}

/// A dump of a real control plane; without it the test says so and passes.
fn of_data(name: &str) -> Option<String> {
    let snapshot = super::place_data::snapshot(name)?;
    Some(shown(&replank(&["place", "--audit", &snapshot])))
}

#[test]
fn the_elastic_cluster() {
    if let Some(found) = of_data("B-elastic") {
        insta::assert_snapshot!(found);
    }
}

#[test]
fn the_boutique_cluster() {
    if let Some(found) = of_data("A-boutique") {
        insta::assert_snapshot!(found);
    }
}

#[test]
fn two_remedies_that_cannot_be_had_together_are_not_both_shown() {
    // The on-demand nodes have room for one of the two: the second is full.
    let spec = json!({"containers": [{"name": "main", "image": "shop/main:1", "resources": {"requests": {"cpu": "3", "memory": "1Gi"}}}]});
    let whole = |name: &str, node: &str| {
        let mut objects = deployment("shop", name, &[node], &spec);
        let labels = json!({"app": name});
        for object in &mut objects[..2] {
            object["spec"]["selector"] = json!({"matchLabels": labels});
            object["spec"]["template"] = json!({"metadata": {"labels": labels}, "spec": spec});
        }
        objects
    };
    let nodes = vec![
        node("w", "web", "a", &[], &[]),
        node("x", "web", "a", &[], &[]),
        node("s", "spot", "a", &[SPOT], &[]),
        node("t", "spot", "a", &[SPOT], &[]),
    ];
    let told = |objects: &[Vec<Value>]| -> Vec<Value> {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects.concat()});
        let arguments = ["place", "--audit", "-", "-o", "json"];
        let all = replank_reading(&arguments, list.to_string().as_bytes()).json();
        let all = all["findings"].as_array().expect("findings").clone();
        all.into_iter().filter(|one| one["id"] == "on-spot" && one["proof"] == "checked").collect()
    };
    let full = || whole("full", "x");
    assert_eq!(told(&[nodes.clone(), full(), whole("cart", "s")]).len(), 1, "one of them alone");
    let both = told(&[nodes, full(), whole("cart", "s"), whole("quote", "t")]);
    assert_eq!(both.len(), 1, "{both:#?}");
}
