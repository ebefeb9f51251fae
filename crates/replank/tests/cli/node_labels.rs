//! Labels that kubelets refuse to set: new nodes have them only when somebody has set them, and that is said.

use serde_json::{Value, json};

use super::common::{replank, scratch};

/// Two nodes of a group with a label, and a Deployment that selects it.
fn cluster(key: &str) -> String {
    let node = |name: &str, zone: &str| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name,
                "labels": {"eks.amazonaws.com/nodegroup": "web", "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone, (key): "web"}},
            "spec": {"providerID": format!("aws:///{zone}/i-{name}")},
            "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "58"}, "nodeInfo": {"kubeletVersion": "v1.35.0-eks-1"},
                "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-20T09:00:00Z"}]}})
    };
    let spec = json!({"nodeSelector": {(key): "web"}, "containers": [{"name": "c", "image": "c", "resources": {"requests": {"cpu": "100m"}}}]});
    let labels = json!({"app": "web"});
    let pod = |name: &str, on: &str| {
        let mut spec = spec.clone();
        spec["nodeName"] = json!(on);
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": labels,
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "rs", "controller": true}]},
            "spec": spec, "status": {"phase": "Running", "startTime": "2026-11-20T08:00:00Z", "conditions": [{"type": "Ready", "status": "True"}]}})
    };
    let template = json!({"metadata": {"labels": labels}, "spec": spec});
    let set = json!({"replicas": 2, "selector": {"matchLabels": labels}, "template": template});
    let status = json!({"replicas": 2, "readyReplicas": 2, "availableReplicas": 2});
    let items = json!([
        node("a", "eu-west-1a"), node("b", "eu-west-1b"), pod("web-a", "a"), pod("web-b", "b"),
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-1", "namespace": "shop", "uid": "rs",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d", "controller": true}]}, "spec": set, "status": status},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "d"}, "spec": set, "status": status},
        {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "shop", "uid": "p"},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}}},
    ]);
    let name = format!("node-labels/{}.json", key.replace('/', "-"));
    scratch(&name, json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string())
}

fn rehearsed(key: &str) -> Value {
    replank(&["rehearse", &cluster(key), "--roll", "web", "-o", "json"]).json()
}

fn ids(result: &Value) -> Vec<&str> {
    result["findings"].as_array().expect("an array").iter().filter_map(|one| one["id"].as_str()).collect()
}

#[test]
fn that_somebody_labels_new_nodes_is_an_assumption_and_a_finding() {
    let result = rehearsed("node-role.kubernetes.io/web");
    assert!(ids(&result).contains(&"label-by-hand"), "{:?}", ids(&result));
    let assumed = result["assumptions"].to_string();
    assert!(assumed.contains("kubelets refuse to set it"), "{assumed}");
    // What is only assumed is no pass, and stands at the top of the report.
    assert_eq!(result["verdict"], "findings");
    let ran = replank(&["rehearse", &cluster("node-role.kubernetes.io/web"), "--roll", "web"]);
    let (findings, rest) = ran.stdout.split_once("The roll").expect("it has both parts");
    assert!(findings.contains("warning  Label node-role.kubernetes.io/web  [label-by-hand]"), "{findings}");
    assert!(rest.contains("Verdict  findings") || rest.contains("to look at"), "{rest}");
    assert_eq!(ran.code, Some(3));
}

#[test]
fn a_label_that_a_kubelet_sets_comes_with_the_node() {
    for key in ["role", "node.kubernetes.io/role", "example.com/role"] {
        let result = rehearsed(key);
        assert!(!ids(&result).contains(&"label-by-hand"), "{key}: {:?}", ids(&result));
        assert!(!result["assumptions"].to_string().contains("refuse to set"), "{key}");
    }
}
