//! What a test leaves on a real control plane: the next one finds nothing of it. What cannot be cleaned is used by nobody.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use replank_judge::{Endpoint, Sent};
use serde_json::{Value, json};

use super::ground::{Ground, assets};
use super::pool::{Lent, is_free, lend};

const CORE: &str = "/api/v1/namespaces/default";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS: &str = "/apis/example.com/v1/namespaces/default/things";
const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

fn definition() -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}})
}

/// A webhook that nobody answers for: every write is refused, of whatever.
fn refusing() -> Value {
    let rule = json!({"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]});
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "no.example.com"},
        "webhooks": [{"name": "no.example.com", "clientConfig": {"url": "https://127.0.0.1:1/"}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "timeoutSeconds": 1, "rules": [rule]}]})
}

fn configmap(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

/// Leaves what is hard to get rid of.
fn litter(ground: &Ground) {
    let held = json!(["example.com/held"]);
    ground.workload("web", 3);
    ground.create(DEFINITIONS, &definition());
    ground.wait("things are served", |ground| ground.answers(THINGS));
    let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "one", "finalizers": held}});
    ground.create(THINGS, &thing);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "held", "finalizers": held},
        "spec": {"nodeName": "node-1", "containers": [{"name": "c", "image": "i"}]}});
    ground.create(&format!("{CORE}/pods"), &pod);
    ground.delete(&format!("{CORE}/pods/held"));
    ground.create(
        "/api/v1/namespaces",
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}),
    );
    let mut config = configmap("held");
    config["metadata"]["finalizers"] = held;
    ground.create("/api/v1/namespaces/other/configmaps", &config);
    ground.delete("/api/v1/namespaces/other");
    // Also of what was there at the beginning.
    ground.merge(CORE, &json!({"metadata": {"labels": {"example.com/a": "b"}}}));
    ground.delete("/apis/rbac.authorization.k8s.io/v1/clusterroles/view");
    ground.create(WEBHOOKS, &refusing());
    ground.wait("everything is refused", |ground| {
        ground.answer("POST", &format!("{CORE}/configmaps"), &configmap("probe"))["kind"] == "Status"
    });
}

/// Every object of every collection that is listed, with what somebody meant by it. A controller may tell up to five seconds later, as an event, that a node has gone.
fn all(server: &Endpoint) -> Vec<String> {
    let get = |path: &str| server.exchange(&Sent::new("GET", path)).expect("it answers").json();
    let mut versions = vec!["/api/v1".to_owned()];
    for group in get("/apis")["groups"].as_array().expect("a list") {
        versions.push(format!("/apis/{}", group["preferredVersion"]["groupVersion"].as_str().expect("text")));
    }
    let mut all = Vec::new();
    for version in versions {
        for resource in get(&version)["resources"].as_array().expect("a list") {
            let name = resource["name"].as_str().expect("text");
            let is_listed = resource["verbs"].as_array().is_some_and(|all| all.contains(&json!("list")));
            if !is_listed || ["componentstatuses", "events"].contains(&name) {
                continue;
            }
            let path = format!("{version}/{name}");
            all.push(path.clone());
            for one in get(&path)["items"].as_array().into_iter().flatten() {
                let meta = &one["metadata"];
                let meant = [
                    &meta["namespace"],
                    &meta["name"],
                    &meta["labels"],
                    &meta["finalizers"],
                    &one["rules"],
                    &one["data"],
                ];
                all.push(format!("{path} {meant:?}"));
            }
        }
    }
    all
}

fn lent() -> Option<(Lent, Endpoint)> {
    let lent = lend(&assets()?);
    let server = Endpoint::of_kubeconfig(&lent.plane().kubeconfig()).expect("it names a server");
    Some((lent, server))
}

#[test]
fn what_a_test_leaves_is_gone_for_the_next_one_real() {
    let Some((lent, server)) = lent() else { return };
    let before = all(&server);
    let ground = Ground::on(lent, "pooled");
    litter(&ground);
    let lent = ground.left().expect("it is a real one");
    lent.clean().expect("it can be cleaned");
    assert_eq!(all(&server), before);
    // Nothing is refused any more, and a definition that comes again has none of the objects of the first one.
    let ground = Ground::on(lent, "pooled");
    ground.create(DEFINITIONS, &definition());
    ground.wait("things are served", |ground| ground.answers(THINGS));
    assert_eq!(ground.get(THINGS)["items"], json!([]));
}

#[test]
fn what_does_not_stay_clean_is_not_used_again_real() {
    let Some((mut lent, server)) = lent() else { return };
    lent.clean_within(Duration::from_secs(3));
    let file = lent.plane().kubeconfig();
    let has_ended = AtomicBool::new(false);
    // As a process that a test has begun and left.
    let writes = || {
        while !has_ended.load(Ordering::SeqCst) {
            let sent = Sent::new("POST", format!("{CORE}/configmaps")).json(&configmap("again"));
            drop(server.exchange(&sent));
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(writes);
        drop(lent);
        has_ended.store(true, Ordering::SeqCst);
    });
    assert!(!is_free(&file));
    assert!(!is_alive(&server), "it has ended: {}", file.display());
    assert!(file.parent().is_some_and(|folder| !has_data(folder)), "{}", file.display());
}

fn is_alive(server: &Endpoint) -> bool {
    server.exchange(&Sent::new("GET", "/readyz")).is_ok()
}

/// Whether etcd has left something.
fn has_data(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).expect("its logs are there").flatten();
    entries.any(|entry| entry.file_name().to_string_lossy().starts_with("etcd-data"))
}
