//! `replank rbac VERB --for …`: a service account with exactly what is printed rolls a cluster, and has a flow schema of its own; on a cluster that is served and on a real
//! control plane: no test knows which.

use std::path::PathBuf;

use replank_judge::{Endpoint, Fault, Proxy, Sent};
use serde_json::{Value, json};

use super::common::{plan, replank};
use super::drive::ground::Ground;
use super::roll_live::{Person, SPEC, marked, upgraded};

/// Where an object of a manifest is made.
fn collection(text: &str) -> String {
    let line = |start: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(start));
        found.map(|value| value.trim().to_owned())
    };
    let (version, kind) = (line("apiVersion:").expect("a version"), line("kind:").expect("a kind"));
    let plural = format!("{}s", kind.to_lowercase());
    match line("  namespace:").filter(|_| kind.starts_with("Role")) {
        Some(namespace) => format!("/apis/{version}/namespaces/{namespace}/{plural}"),
        None => format!("/apis/{version}/{plural}"),
    }
}

/// Makes what is printed for a service account of this name, and a kubeconfig with a token of it.
fn given(ground: &Ground, verb: &str) -> PathBuf {
    let server = Endpoint::of_kubeconfig(ground.kubeconfig()).expect("it names a server");
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": verb}});
    ground.create("/api/v1/namespaces/default/serviceaccounts", &account);
    let printed = replank(&["rbac", verb, "--for", &format!("ServiceAccount:default/{verb}")]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let all: Vec<&str> = printed.stdout.split("---\n").collect();
    assert_eq!(all.len(), 6, "two roles, two bindings, a priority level and a flow schema: {printed:?}");
    for text in all {
        let sent = Sent::new("POST", collection(text)).typed("application/yaml", text.as_bytes().to_vec());
        let answer = server.exchange(&sent).expect("it answers");
        // All verbs have one priority level.
        let is_shared = text.contains("kind: PriorityLevelConfiguration") && answer.status == 409;
        assert!(answer.status == 201 || is_shared, "{text}: {}", answer.json());
    }
    let proxy = Proxy::begin(ground.kubeconfig(), &ground.folder, Box::new(|_| Fault::Nothing));
    let proxy = proxy.expect("it begins");
    let text = std::fs::read_to_string(proxy.kubeconfig()).expect("it is written");
    let mut config: Value = serde_json::from_str(&text).expect("it is JSON");
    config["clusters"][0]["cluster"] = json!({"server": server.server(), "insecure-skip-tls-verify": true});
    let asked = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let token =
        ground.create(&format!("/api/v1/namespaces/default/serviceaccounts/{verb}/token"), &asked)["status"]
            ["token"]
            .clone();
    config["users"][0]["user"] = json!({"token": token});
    let file = ground.folder.join(format!("as-{verb}.json"));
    std::fs::write(&file, config.to_string()).expect("it can be written");
    file
}

/// What is asked is of the flow schema that was made; where a server has none, it says nothing.
fn flows(ground: &Ground, verb: &str, file: &std::path::Path) -> Option<String> {
    let path = format!("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/replank-{verb}");
    let schema = ground.get(&path)["metadata"]["uid"].as_str().expect("it is made").to_owned();
    let own = Endpoint::of_kubeconfig(file).expect("it names a server");
    // A server reads its flow schemas anew within a moment.
    let mut said = None;
    for _ in 0..100 {
        let answer = own.exchange(&Sent::new("GET", "/api/v1/nodes")).expect("it answers");
        assert_eq!(answer.status, 200, "{}", answer.json());
        said = answer.header("x-kubernetes-pf-flowschema-uid");
        if said.as_ref().is_none_or(|uid| *uid == schema) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(said.as_ref().is_none_or(|uid| *uid == schema), "{said:?} is not {schema}");
    said
}

/// A roll, and one that restarts a workload of one replica.
fn rolled(ground: &Ground) -> Option<String> {
    ground.workload("web", 4);
    ground.workload("one", 1);
    let folder = ground.folder.file_name().expect("a name").display().to_string();
    let plain = plan(&format!("{folder}/plan.yaml"), SPEC);
    let surge = plan(&format!("{folder}/surge.yaml"), &format!("{SPEC}, singletons: surge"));
    let plain_user = given(ground, "roll");
    let said = flows(ground, "roll", &plain_user);
    // The plan restarts a Deployment: the role of a plain roll is not enough, which is said before anything is changed.
    let file = plain_user.to_str().expect("it is text");
    let told = replank(&["roll", "-f", &surge, "--yes", "--kubeconfig", file]).usage_error();
    assert!(told.contains("resources: [\"deployments\"] verbs: [") && told.contains("patch"), "{told}");
    assert!(marked(ground).is_empty());
    let person = Person::begins(ground);
    let user = given(ground, "roll-surge");
    let file = user.to_str().expect("it is text");
    let ran = replank(&["roll", "-f", &surge, "--yes", "--kubeconfig", file]);
    assert_eq!((ran.code, upgraded(ground)), (Some(0), 3), "{ran:?}");
    assert!(ran.stdout.contains("restarting deployment default/one"), "{ran:?}");
    assert!(!ran.stderr.contains("forbidden"), "{ran:?}");
    for node in ["node-1", "node-2", "node-3"] {
        let old = json!({"status": {"nodeInfo": {"kubeletVersion": "v1.36.2"}}});
        ground.merge(&format!("/api/v1/nodes/{node}/status"), &old);
    }
    let ran = replank(&["roll", "-f", &plain, "--yes", "--kubeconfig", plain_user.to_str().expect("text")]);
    assert_eq!((ran.code, upgraded(ground)), (Some(0), 3), "{ran:?}");
    assert!(!ran.stderr.contains("forbidden"), "{ran:?}");
    drop(person);
    said
}

#[test]
fn a_service_account_rolls_with_what_is_printed_for_it_on_a_served_cluster() {
    rolled(&Ground::served("bound"));
}

#[test]
fn a_service_account_rolls_with_what_is_printed_for_it_on_a_real_control_plane() {
    if let Some(ground) = Ground::real("bound") {
        assert!(rolled(&ground).is_some(), "a real API server says of which flow schema a request is");
    }
}

#[test]
fn whom_roles_are_bound_to_is_said_in_a_form_that_is_explained() {
    let told = replank(&["rbac", "drain", "--for", "ops/replank"]).usage_error();
    assert!(told.contains("ServiceAccount:NAMESPACE/NAME"), "{told}");
    let printed = replank(&["rbac", "drain", "--for", "User:alice@example.com"]);
    assert_eq!(printed.stdout.matches("---\n").count(), 3, "{printed:?}");
    assert!(printed.stdout.contains("name: \"alice@example.com\""), "{printed:?}");
}
