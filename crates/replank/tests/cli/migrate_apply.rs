//! `replank migrate --apply`, on a cluster that is served and on a real control plane: no test knows which.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use replank_judge::{Endpoint, Sent};
use serde_json::{Value, json};

use super::common::{Ran, replank};
use super::drive::ground::Ground;

const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/default/deployments/web";

fn run(arguments: &[&str], kubeconfig: &Path) -> Ran {
    let file = kubeconfig.to_str().expect("it is text");
    replank(&[arguments, &["--kubeconfig", file]].concat())
}

/// A Deployment of three pods behind a Service, as `kubectl apply` makes it; returns once all serve.
fn serve(ground: &Ground) {
    let labels = json!({"app": "web", "tier": "front"});
    let applied =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}).to_string();
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied}},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels, "annotations": {"judge.replank.dev/stop-seconds": "1"}},
            "spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "TOKEN", "value": "kept"}],
                "ports": [{"containerPort": 80}]}], "terminationGracePeriodSeconds": 2}}}});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}});
    ground.create("/api/v1/namespaces/default/services", &service);
    ground.create("/apis/apps/v1/namespaces/default/deployments", &deployment);
    ground.wait("three pods serve", |ground| ready(&ground.get(SLICES)) == 3);
}

const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dweb";

/// Endpoints that are ready.
fn ready(slices: &Value) -> usize {
    let all = slices["items"].as_array().into_iter().flatten();
    let endpoints = all.flat_map(|slice| slice["endpoints"].as_array().into_iter().flatten());
    endpoints.filter(|one| one["conditions"]["ready"] == true).count()
}

/// The fewest endpoints that were ready at once while something was done.
fn fewest<T>(ground: &Ground, act: impl FnOnce() -> T) -> (usize, T) {
    let is_over = Arc::new(AtomicBool::new(false));
    let endpoint = Endpoint::of_kubeconfig(ground.kubeconfig()).expect("it names a server");
    let seen = {
        let is_over = is_over.clone();
        thread::spawn(move || {
            let mut fewest = usize::MAX;
            while !is_over.load(Ordering::SeqCst) {
                let answer = endpoint.exchange(&Sent::new("GET", SLICES)).expect("it answers");
                fewest = fewest.min(ready(&answer.json()));
                thread::sleep(Duration::from_millis(30));
            }
            fewest
        })
    };
    let done = act();
    is_over.store(true, Ordering::SeqCst);
    (seen.join().expect("it looked"), done)
}

fn uids(ground: &Ground) -> Vec<String> {
    let pods = ground.get("/api/v1/namespaces/default/pods?labelSelector=app%3Dweb");
    let all = pods["items"].as_array().expect("a list").iter();
    let mut uids: Vec<String> =
        all.map(|pod| pod["metadata"]["uid"].as_str().expect("a uid").to_owned()).collect();
    uids.sort();
    uids
}

fn records(ground: &Ground) -> usize {
    let maps = ground.get("/api/v1/namespaces/default/configmaps?labelSelector=replank.dev%2Frecord");
    maps["items"].as_array().map_or(0, Vec::len)
}

fn selector(ground: &Ground) -> Value {
    ground.get(DEPLOYMENT)["spec"]["selector"]["matchLabels"].clone()
}

fn deployments(ground: &Ground) -> usize {
    ground.get("/apis/apps/v1/namespaces/default/deployments")["items"].as_array().map_or(0, Vec::len)
}

/// A StatefulSet and a DaemonSet keep their pods.
fn other_kinds_keep_their_pods(ground: &Ground) {
    for (kind, name, spec) in [
        ("StatefulSet", "db", json!({"serviceName": "db", "replicas": 2})),
        ("DaemonSet", "agent", json!({})),
    ] {
        let labels = json!({"app": name, "tier": "back"});
        let mut object =
            json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec});
        object["spec"]["selector"] = json!({"matchLabels": labels});
        object["spec"]["template"] = json!({"metadata": {"labels": labels}, "spec": {"containers": [
            {"name": "c", "image": "i", "env": [{"name": "TOKEN", "value": "kept"}]}]}});
        let path = format!("/apis/apps/v1/namespaces/default/{}s", kind.to_lowercase());
        ground.create(&path, &object);
        let pods = |ground: &Ground| -> Vec<String> {
            let all = ground.get(&format!("/api/v1/namespaces/default/pods?labelSelector=app%3D{name}"));
            let items = all["items"].as_array().expect("a list").clone();
            let ready = items.iter().filter(|pod| pod["status"]["phase"] == "Running");
            let mut uids: Vec<String> = ready.map(|pod| pod["metadata"]["uid"].to_string()).collect();
            uids.sort();
            uids
        };
        let wanted = if kind == "StatefulSet" { 2 } else { 3 };
        ground.wait("its pods run", |ground| pods(ground).len() == wanted);
        let before = pods(ground);
        let labels = format!("app={name}");
        let named = format!("{}/{name}", kind.to_lowercase());
        let moved = run(&["migrate", &named, "--selector", &labels, "--apply", "--yes"], ground.kubeconfig());
        assert_eq!(moved.code, Some(0), "{moved:?}");
        let made = ground.get(&format!("{path}/{name}"));
        assert_eq!(made["spec"]["selector"]["matchLabels"], json!({"app": name}));
        assert_eq!(made["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"], "kept");
        assert_eq!((pods(ground), records(ground)), (before, 0), "{moved:?}");
    }
}

fn a_deployment_gets_another_selector_and_goes_on_serving(ground: &Ground) {
    serve(ground);
    let before = uids(ground);
    // Nobody is asked without a terminal, and nothing is changed before somebody is.
    let unasked =
        run(&["migrate", "deployment/web", "--selector", "app=web", "--apply"], ground.kubeconfig());
    assert_eq!(unasked.code, Some(2), "{unasked:?}");
    assert!(unasked.stderr.contains("--yes") && records(ground) == 0, "{unasked:?}");

    // The pods are kept.
    let journal = ground.folder.join("migration.jsonl");
    let journal = journal.to_str().expect("it is text");
    let keep =
        ["migrate", "deployment/web", "--selector", "app=web", "--apply", "--yes", "--journal", journal];
    let (fewest_kept, kept) = fewest(ground, || run(&keep, ground.kubeconfig()));
    assert_eq!(kept.code, Some(0), "{kept:?}");
    assert!(kept.stdout.ends_with("migration done\n"), "{kept:?}");
    assert!(kept.stdout.contains("deletes Deployment web and orphans its dependents"), "{kept:?}");
    assert_eq!(selector(ground), json!({"app": "web"}));
    assert_eq!((uids(ground), fewest_kept), (before.clone(), 3), "no pod is touched: {kept:?}");
    assert_eq!(records(ground), 0, "{kept:?}");
    let made = ground.get(DEPLOYMENT);
    let container = &made["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(
        container["env"],
        json!([{"name": "TOKEN", "value": "kept"}]),
        "nothing of it is lost: {made}"
    );
    assert!(made["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"].is_string());
    assert_eq!(replank(&["report", journal, "-o", "json"]).json()["end"], "done");

    // A twin stands in.
    let arguments = ["migrate", "deployment/web", "--selector", "app=web,release=second", "--yes", "--apply"];
    let (fewest_twin, moved) = fewest(ground, || run(&arguments, ground.kubeconfig()));
    assert_eq!(moved.code, Some(0), "{moved:?}");
    assert_eq!(selector(ground), json!({"app": "web", "release": "second"}));
    assert!(fewest_twin >= 1, "the Service is never without an endpoint: {fewest_twin}");
    ground.wait("three pods are left", |ground| uids(ground).len() == 3 && ready(&ground.get(SLICES)) == 3);
    assert!(uids(ground).iter().all(|uid| !before.contains(uid)), "all pods are new");
    assert_eq!((records(ground), deployments(ground)), (0, 1), "no record and no twin is left: {moved:?}");
    eprintln!("fewest ready endpoints of 3: {fewest_kept} with kept pods, {fewest_twin} with a twin");

    // What is as it is to be is left, without a question; what was not begun is not taken back.
    let left = run(&arguments[..5], ground.kubeconfig());
    assert_eq!(left.code, Some(0), "{left:?}");
    let left = run(&[&arguments[..4], &["--apply"]].concat(), ground.kubeconfig());
    assert!(left.stderr.contains("nothing is to be moved: nothing was changed"), "{left:?}");
    let nothing = run(
        &["migrate", "deployment/web", "--selector", "app=web", "--cancel", "--yes"],
        ground.kubeconfig(),
    );
    assert_eq!(nothing.code, Some(0), "{nothing:?}");
    assert!(nothing.stderr.contains("nothing to take back"), "{nothing:?}");
}

#[test]
fn a_selector_is_changed_on_a_served_cluster() {
    let ground = Ground::served("migrate");
    other_kinds_keep_their_pods(&ground);
    a_deployment_gets_another_selector_and_goes_on_serving(&ground);
}

#[test]
fn a_selector_is_changed_on_a_real_control_plane() {
    if let Some(ground) = Ground::real("migrate") {
        other_kinds_keep_their_pods(&ground);
        a_deployment_gets_another_selector_and_goes_on_serving(&ground);
    }
}

#[test]
fn what_is_no_live_cluster_is_not_migrated() {
    let snapshot =
        replank(&["migrate", "deployment/web", "cluster.json", "--selector", "app=web", "--apply"]);
    assert!(snapshot.usage_error().contains("leave SNAPSHOT out"), "{snapshot:?}");
}
