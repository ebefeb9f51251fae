//! Services that were down in a rehearsal.

use serde_json::{Value, json};

use super::common::{replank, scratch};

fn node(name: &str, group: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-11-20T08:00:00Z",
            "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": "eu-west-1a",
                "eks.amazonaws.com/nodegroup": group, "node.kubernetes.io/instance-type": "m5.large"}},
        "spec": {"providerID": format!("aws:///eu-west-1a/i-{name}")},
        "status": {"allocatable": {"cpu": "2", "memory": "8Gi", "pods": "29"},
            "nodeInfo": {"kubeletVersion": "v1.35.0"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                "lastHeartbeatTime": "2026-11-20T09:00:00Z", "lastTransitionTime": "2026-11-20T08:01:00Z"}]}})
}

/// A Deployment, its ReplicaSet and its pods, each on a node.
fn deployment(name: &str, nodes: &[&str]) -> Vec<Value> {
    let owner = |kind: &str, name: &str| json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": format!("{kind}-{name}"), "controller": true}]);
    let labels = json!({"app": name, "pod-template-hash": "abc"});
    let spec =
        json!({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]});
    let template = json!({"metadata": {"labels": {"app": name}}, "spec": spec});
    let hashed = json!({"metadata": {"labels": labels}, "spec": spec});
    let set = format!("{name}-abc");
    let (count, selector) = (nodes.len(), json!({"matchLabels": {"app": name}}));
    let meta = |kind: &str, name: &str| json!({"name": name, "namespace": "shop", "uid": format!("{kind}-{name}"), "generation": 1});
    let mut set_meta = meta("ReplicaSet", &set);
    set_meta["labels"] = labels.clone();
    set_meta["ownerReferences"] = owner("Deployment", name);
    set_meta["annotations"] = json!({"deployment.kubernetes.io/revision": "1"});
    let status = json!({"replicas": count, "readyReplicas": count, "availableReplicas": count, "observedGeneration": 1});
    let mut all = vec![
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta("Deployment", name),
            "spec": {"replicas": count, "selector": selector, "template": template}, "status": status}),
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": set_meta,
            "spec": {"replicas": count, "selector": {"matchLabels": labels}, "template": hashed}, "status": status}),
    ];
    for (index, on) in nodes.iter().enumerate() {
        let mut spec = spec.clone();
        spec["nodeName"] = (*on).into();
        let pod = format!("{set}-{index}");
        let condition = |kind: &str, second: u32| json!({"type": kind, "status": "True", "lastTransitionTime": format!("2026-11-20T08:10:{second:02}Z")});
        all.push(json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": pod, "namespace": "shop", "uid": pod, "labels": labels, "creationTimestamp": "2026-11-20T08:10:00Z",
                "ownerReferences": owner("ReplicaSet", &set)},
            "spec": spec,
            "status": {"phase": "Running", "conditions": [condition("PodScheduled", 0), condition("Ready", 20)]}}));
    }
    all
}

#[test]
fn a_service_that_loses_all_its_pods_with_an_instance_is_told() {
    let mut items =
        vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "shop"}})];
    items.extend([node("web-0", "web"), node("other-0", "other"), node("other-1", "other")]);
    items.extend(deployment("front", &["web-0", "other-1"]));
    items.extend(deployment("cart", &["other-0", "other-0"]));
    items.push(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "front", "namespace": "shop", "uid": "pdb", "generation": 1},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "front"}}}}));
    let snapshot = scratch(
        "outage.json",
        json!({"apiVersion": "v1", "kind": "List", "items": items.clone()}).to_string(),
    );
    let script = scratch("outage.txt", "at 30s: somebody ends instance other-0\n");
    let arguments = ["rehearse", &snapshot, "--roll", "web", "--script", &script];

    let told = replank(&[&arguments[..], &["-o", "json"]].concat()).json();
    let workloads = told["workloads"].as_array().expect("a list");
    let cart = workloads.iter().find(|one| one["name"] == "cart").expect("it lost its pods");
    assert_eq!(cart["minReady"], 0);
    let dark = cart["withoutReadyMs"].as_i64().expect("a number");
    assert!(dark > 1_000, "{dark}");
    let front = workloads.iter().find(|one| one["name"] == "front").expect("it moved");
    assert_eq!((&front["minReady"], &front["withoutReadyMs"]), (&json!(1), &json!(0)));
    let outage = told["findings"].as_array().expect("a list").iter().find(|one| one["id"] == "outage");
    let outage = outage.expect("the outage is a finding");
    assert_eq!((&outage["severity"], &outage["object"]), (&json!("warning"), &json!("Deployment shop/cart")));
    assert!(
        outage["reason"].as_str().is_some_and(|reason| reason.starts_with("no pod was Ready for ")),
        "{outage}"
    );
    assert_eq!(told["verdict"], "findings");

    let report = replank(&arguments).stdout;
    assert!(
        report.lines().any(|line| line.contains("Deployment shop/cart") && line.contains("none for ")),
        "{report}"
    );

    assert_eq!(outage["unseen"], json!([]), "all that it rests on was there");

    // What the rehearsal could not see may have kept it, or made it worse.
    items.pop();
    let partly = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let partly = scratch("outage-partly.json", partly.to_string());
    let words = ["rehearse", &partly, "--roll", "web", "--script", &script, "-o", "json"];
    let told = replank(&words).json();
    let outage = told["findings"].as_array().expect("a list").iter().find(|one| one["id"] == "outage");
    assert_eq!(
        outage.expect("the outage is a finding")["unseen"],
        json!([{"kind": "PodDisruptionBudget", "why": "absent", "count": 0}])
    );

    // Without the loss nothing is told of it.
    let calm = replank(&["rehearse", &snapshot, "--roll", "web", "-o", "json"]).json();
    assert!(calm["findings"].as_array().expect("a list").iter().all(|one| one["id"] != "outage"), "{calm}");
}

/// `kubectl drain` would ask for ever: that is no pass, and what keeps the pod is said.
#[test]
fn a_drain_by_hand_that_does_not_end_is_blocked() {
    let mut items =
        vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "shop"}})];
    items.extend([node("web-0", "web"), node("web-1", "web"), node("web-2", "web")]);
    items.extend(deployment("front", &["web-0", "web-1"]));
    items.push(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "front", "namespace": "shop", "uid": "budget", "generation": 1},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "front"}}},
        "status": {"observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 2, "disruptionsAllowed": 0}}));
    let snapshot =
        scratch("drained.json", json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string());
    let script = scratch("drains.txt", "at 5s: somebody drains web-2\nat 1m: somebody drains web-0,web-1\n");
    let run = replank(&["rehearse", &snapshot, "--script", &script]);
    assert_eq!(run.code, Some(4), "{}", run.stdout);
    let words = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    items.push(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone", "namespace": "shop", "uid": "alone"},
        "spec": {"nodeName": "web-2", "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-20T08:10:20Z"}]}}));
    let snapshot =
        scratch("drained-not.json", json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string());
    let script = scratch("drains-not.txt", "at 5s: somebody drains web-2\n");
    let not = replank(&["rehearse", &snapshot, "--script", &script]);
    assert_eq!(not.code, Some(4), "{}", not.stdout);
    let told = not.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains(
            "- line 1 of the script: somebody drains web-2 had no effect: pod shop/alone has no controller"
        ),
        "{}",
        not.stdout
    );
    for part in [
        "blocking Node web-0 [stops-the-roll] the drain has not ended: pod shop/front-abc-0 still there, kept by disruption budget shop/front; another node waits for its turn",
        "kubectl -n shop describe pdb front",
        "Verdict blocked",
        "What the script says was not done: - node web-0: the drain has not ended",
    ] {
        assert!(words.contains(part), "{part}\n{}", run.stdout);
    }
}
