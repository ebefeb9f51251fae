//! Each reason for which `replank roll undo` does nothing: it is said, with what to do next, and nothing is changed. What a server refuses half-way is in `roll_live`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::common::{Ran, command, plan, replank};
use super::drive::ground::Ground;
use super::roll_live::{RECORDS, SPEC};

const MAPS: &str = "/api/v1/namespaces/kube-system/configmaps";

fn run(arguments: &[&str], kubeconfig: &Path) -> Ran {
    let file = kubeconfig.to_str().expect("it is text");
    replank(&[arguments, &["--kubeconfig", file]].concat())
}

/// A record of a run as one that was killed has left it, by its name.
fn record(name: &str, of: &Value) -> Value {
    let text = of.to_string().replace("replank-run-test", &format!("replank-run-{name}"));
    let mut record: Value = serde_json::from_str(&text).expect("it is JSON");
    record["metadata"]["annotations"]["replank.dev/run"] = name.into();
    let plan = record["data"]["plan"].as_str().expect("it has a plan").replace("test", name);
    record["data"]["plan"] = plan.into();
    for member in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
        record["metadata"].as_object_mut().expect("it has some").remove(member);
    }
    record
}

/// The kubeconfig of somebody with some rules.
fn acting_as(ground: &Ground, who: &str, rules: &Value) -> PathBuf {
    let text = std::fs::read(ground.kubeconfig()).expect("it is written");
    let mut config: Value = serde_json::from_slice(&text).expect("it is JSON");
    config["users"][0]["user"]["as"] = who.into();
    let file = ground.kubeconfig().with_file_name(format!("as-{who}.json"));
    std::fs::write(&file, config.to_string()).expect("it can be written");
    let root = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": who}, "rules": rules});
    ground.create(&format!("{root}/clusterroles"), &role);
    ground.create(
        &format!("{root}/clusterrolebindings"),
        &json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": who},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": who},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": who}]}),
    );
    file
}

#[test]
fn an_undo_that_is_not_done_says_why_and_changes_nothing() {
    let ground = Ground::served("undo-not-done");
    ground.workload("web", 6);
    let config = ground.kubeconfig();
    let undo = |arguments: &[&str], config: &Path| run(&[&["roll", "undo"], arguments].concat(), config);
    assert!(undo(&[], config).usage_error().contains("there is no run in namespace kube-system"));
    assert!(undo(&["-n", "shop"], config).usage_error().contains("there is no run in namespace shop"));

    // A run that was killed in the middle.
    let file = plan("undo-not-done.yaml", SPEC);
    let through = config.to_str().expect("it is text");
    let mut child =
        command(&["roll", "-f", &file, "--yes", "--kubeconfig", through]).spawn().expect("it can be run");
    ground.wait("a node is drained", |ground| {
        ground.get("/api/v1/nodes").to_string().contains("replank.dev/drain-from")
    });
    // As long as its process works on it, that one takes it back: who asks needs no rights on nodes.
    let records = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "delete", "get", "list", "patch", "watch"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "delete", "get", "patch"]}]);
    let clerk = acting_as(&ground, "clerk", &records);
    child.kill().expect("it can be ended");
    child.wait().expect("it has ended");
    let known = ground.get(RECORDS)["items"][0].clone();
    let state = |ground: &Ground| {
        let nodes = ground.get("/api/v1/nodes");
        let marks = |node: &Value| (node["spec"].clone(), node["metadata"]["annotations"].clone());
        let nodes: Vec<_> = nodes["items"].as_array().expect("a list").iter().map(marks).collect();
        let maps: Vec<_> = ground.get(RECORDS)["items"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| one["data"].clone())
            .collect();
        (nodes, maps)
    };
    let before = state(&ground);
    assert!(undo(&["other"], config).usage_error().contains("there is no run other"));
    let nobody = acting_as(&ground, "nobody", &json!([]));
    let told = undo(&["test"], &nobody).usage_error();
    assert!(told.contains("configmaps") && told.contains("verbs: ["), "the rule is named: {told}");
    ground.wait("the Lease has run out", |ground| {
        run(&["roll", "status", "-o", "json"], ground.kubeconfig()).json()["heldBy"].is_null()
    });
    let told = undo(&["test"], &clerk).usage_error();
    assert!(
        told.contains("may not do everything that is needed") && told.contains("resources: [\"nodes\"]"),
        "{told}"
    );
    assert_eq!(state(&ground), before, "nothing was changed");

    // Several runs, one that a newer version wrote, and one that somebody has changed by hand.
    ground.create(MAPS, &record("second", &known));
    let told = undo(&[], config).usage_error();
    assert!(told.contains("there are several runs") && told.contains("second, test"), "{told}");
    let second = format!("{MAPS}/replank-run-second");
    ground.merge(&second, &json!({"metadata": {"annotations": {"replank.dev/version": "99"}}}));
    assert!(undo(&["second"], config).usage_error().contains("a newer Replank wrote it (version 99"));
    ground.merge(
        &second,
        &json!({"metadata": {"annotations": {"replank.dev/version": "1"}}, "data": {"plan": "no plan"}}),
    );
    let told = undo(&["second"], config).usage_error();
    assert!(told.contains("the record in ConfigMap kube-system/replank-run-second cannot be read"), "{told}");
    ground.delete(&second);
    assert_eq!(state(&ground), before, "nothing was changed");

    // With the rights it is taken back; a run that is over has nothing more to be taken back.
    let undone = undo(&["test"], config);
    assert_eq!(undone.code, Some(0), "{undone:?}");
    let nodes = ground.get("/api/v1/nodes").to_string();
    assert!(!nodes.contains("replank.dev/role") && !nodes.contains("\"unschedulable\":true"), "{nodes}");
    let again = undo(&["test"], config);
    assert_eq!(again.code, Some(0), "{again:?}");
}
