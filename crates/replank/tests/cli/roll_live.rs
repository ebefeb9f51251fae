//! `replank roll`, on a cluster that is served and on a real control plane: no test knows which. Somebody else replaces the nodes: the test, as a person would,
//! gives a node that is drained another kubelet.

use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use replank_judge::{Asked, Endpoint, Fault, Proxy, Sent};
use serde_json::{Value, json};

use super::common::{Ran, command, plan, replank};
use super::drive::ground::Ground;
use super::drive::worker::Worker;

pub(crate) const RECORDS: &str =
    "/api/v1/namespaces/kube-system/configmaps?labelSelector=replank.dev%2Frecord";
pub(crate) const NEW: &str = "v1.36.3";
pub(crate) const SPEC: &str =
    "kubeletVersion: '<1.36.3', target: {kubernetesVersion: '1.36.3'}, provider: external";

/// Somebody who upgrades nodes as soon as they are drained.
pub(crate) struct Person(#[expect(dead_code, reason = "it works until it is dropped")] Worker);

impl Person {
    pub(crate) fn begins(ground: &Ground) -> Self {
        let endpoint = Endpoint::of_kubeconfig(ground.kubeconfig()).expect("it names a server");
        Self(Worker::begins(Duration::from_millis(200), move || {
            // A server that is away for a while is waited for.
            let Ok(answer) = endpoint.exchange(&Sent::new("GET", "/api/v1/nodes")) else { return };
            let nodes = answer.json();
            for node in nodes["items"].as_array().into_iter().flatten() {
                let is_drained = node["metadata"]["annotations"]["replank.dev/role"] == "drained";
                if is_drained && node["status"]["nodeInfo"]["kubeletVersion"] != NEW {
                    let path = format!(
                        "/api/v1/nodes/{}/status",
                        node["metadata"]["name"].as_str().expect("a name")
                    );
                    let change = json!({"status": {"nodeInfo": {"kubeletVersion": NEW}}});
                    let sent = Sent::new("PATCH", &path)
                        .typed("application/merge-patch+json", change.to_string().into_bytes());
                    assert!(endpoint.exchange(&sent).expect("it answers").status < 300);
                }
            }
        }))
    }
}

fn run(arguments: &[&str], kubeconfig: &Path) -> Ran {
    let file = kubeconfig.to_str().expect("it is text");
    replank(&[arguments, &["--kubeconfig", file]].concat())
}

fn begin(arguments: &[&str], kubeconfig: &Path) -> Child {
    let file = kubeconfig.to_str().expect("it is text");
    let mut command = command(&[arguments, &["--kubeconfig", file]].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary can be run")
}

fn ends(child: Child) -> Ran {
    child.wait_with_output().expect("it ends").into()
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn records(ground: &Ground) -> Vec<Value> {
    ground.get(RECORDS)["items"].as_array().cloned().unwrap_or_default()
}

pub(crate) fn upgraded(ground: &Ground) -> usize {
    let nodes = ground.get("/api/v1/nodes");
    let is_new = |node: &&Value| node["status"]["nodeInfo"]["kubeletVersion"] == NEW;
    nodes["items"].as_array().map_or(0, |all| all.iter().filter(is_new).count())
}

pub(crate) fn marked(ground: &Ground) -> Vec<String> {
    let nodes = ground.get("/api/v1/nodes");
    let ours = |node: &&Value| {
        node["spec"]["unschedulable"] == true
            || node["metadata"]["annotations"].to_string().contains("replank.dev")
    };
    let all = nodes["items"].as_array().expect("a list").iter().filter(ours);
    all.map(|node| node["metadata"]["name"].to_string()).collect()
}

fn is_draining(ground: &Ground) -> bool {
    let nodes = ground.get("/api/v1/nodes").to_string();
    nodes.contains("replank.dev/drain-from")
}

fn asked(ground: &Ground) -> String {
    records(ground)
        .first()
        .map_or_else(String::new, |one| one["data"]["intent"].as_str().unwrap_or_default().to_owned())
}

/// From the preflight to the end; killed in the middle, and gone on with from the record alone.
fn a_run_is_rehearsed_begun_killed_and_gone_on_with(ground: &Ground) {
    ground.workload("web", 6);
    let file = plan(&format!("{}/plan.yaml", ground.folder.file_name().expect("a name").display()), SPEC);
    let config = ground.kubeconfig();
    let dry = run(&["roll", "-f", &file, "--dry-run"], config);
    assert!([Some(0), Some(3)].contains(&dry.code), "{dry:?}");
    assert!(dry.stdout.contains("Verdict"), "{dry:?}");
    let unasked = run(&["roll", "-f", &file], config);
    assert_eq!(unasked.code, Some(2), "{unasked:?}");
    assert!(flat(&unasked.stderr).contains("pass --yes where there is no terminal"), "{unasked:?}");
    let none = run(&["roll", "resume"], config);
    assert!(none.usage_error().contains("there is no run in namespace kube-system"), "{none:?}");
    assert!(records(ground).is_empty() && marked(ground).is_empty(), "nothing was changed");

    let mut child = begin(&["roll", "-f", &file, "--yes"], config);
    ground.wait("a node is drained", is_draining);
    let second = run(&["roll", "-f", &file, "--yes"], config);
    assert_eq!(second.code, Some(5), "{second:?}");
    assert!(flat(&second.stderr).contains("run test is carried out by"), "{second:?}");
    child.kill().expect("it can be ended");
    child.wait().expect("it has ended");
    assert_eq!(records(ground).len(), 1);

    let person = Person::begins(ground);
    let status = run(&["roll", "status", "-o", "json"], config).json();
    assert_eq!((&status["run"], &status["intent"]), (&json!("test"), &json!("run")), "{status}");
    // The Lease of the dead process has not run out yet: it is waited for.
    let journal = ground.folder.join("roll.jsonl");
    let journal = journal.to_str().expect("it is text");
    let resumed = run(&["roll", "resume", "--journal", journal], config);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert!(resumed.stdout.contains("run test is done"), "{resumed:?}");
    assert_eq!(replank(&["report", journal, "-o", "json"]).json()["end"], "done");
    assert_eq!(upgraded(ground), 3, "{resumed:?}");
    assert!(records(ground).is_empty() && marked(ground).is_empty(), "nothing is left: {:?}", marked(ground));
    drop(person);
}

/// Paused, gone on with and cancelled from a second terminal.
fn a_run_is_told_what_to_do_from_another_terminal(ground: &Ground) {
    ground.workload("web", 6);
    let file = plan(&format!("{}/plan.yaml", ground.folder.file_name().expect("a name").display()), SPEC);
    let config = ground.kubeconfig();
    let child = begin(&["roll", "-f", &file, "--yes", "-o", "json"], config);
    ground.wait("a node is drained", is_draining);
    let paused = run(&["roll", "pause", "test", "-o", "json"], config);
    assert_eq!(paused.code, Some(0), "{paused:?}");
    let event = paused.json();
    assert_eq!((&event["event"], &event["intent"]), (&json!("asked"), &json!("paused")), "{event}");
    assert!(event["heldBy"].is_string(), "{event}");
    let message = event["message"].as_str().expect("it is said");
    assert!(message.contains("run test is paused") && message.contains("moves no pod"), "{event}");
    assert_eq!(asked(ground), "paused");
    let resumed = run(&["roll", "resume"], config);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert!(resumed.stdout.contains("run test goes on: it is carried out by"), "{resumed:?}");
    let cancelled = run(&["roll", "cancel", "-o", "json"], config);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    // The process that works on the run may have ended it before this one looks again.
    let events: Vec<Value> =
        cancelled.stdout.lines().map(|line| serde_json::from_str(line).expect("an event per line")).collect();
    assert_eq!(events.first().map(|event| &event["intent"]), Some(&json!("cancelled")), "{cancelled:?}");
    let ended = ends(child);
    super::schemas::hold(&["roll", "-o", "json"], &ended.stdout);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stdout.contains("\"result\":\"cancelled\""), "{ended:?}");
    let status = run(&["roll", "status"], config);
    assert_eq!(status.code, Some(0), "{status:?}");
}

/// A node takes longer than it was rehearsed to take.
fn a_run_that_deviates_is_paused(ground: &Ground) {
    ground.workload("web", 9);
    let file = plan(&format!("{}/plan.yaml", ground.folder.file_name().expect("a name").display()), SPEC);
    let config = ground.kubeconfig();
    let child = begin(&["roll", "-f", &file, "--yes", "--tolerance", "10s"], config);
    // The budget lets nobody go any more once the run has begun.
    ground.wait("a node is drained", is_draining);
    ground.merge(
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web",
        &json!({"spec": {"maxUnavailable": 0}}),
    );
    let ended = ends(child);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(flat(&ended.stderr).contains("run test is paused"), "{ended:?}");
    assert!(flat(&ended.stderr).contains("rehearsed were"), "{ended:?}");
    assert_eq!(asked(ground), "paused");
    let status = run(&["roll", "status"], config);
    assert!(
        status.stdout.contains("run test: paused (")
            && status.stdout.contains("rehearsed were")
            && status.stdout.contains("no process works on it"),
        "{status:?}"
    );
    let begun = |arguments: &[&str]| run(&[&["roll", "status"], arguments].concat(), config);
    let (utc, tokyo) = (begun(&["-o", "json"]).json(), begun(&["--time-zone", "Asia/Tokyo"]).stdout);
    let shown = tokyo.split("begun ").nth(1).and_then(|rest| rest.split(';').next()).unwrap_or_default();
    assert!(shown.ends_with("+09:00"), "{tokyo}");
    let moment = |text: &str| text.parse::<replank_model::time::Time>().expect("a time");
    assert_eq!(Some(moment(shown)), utc["begun"].as_str().map(moment), "{tokyo}");
    ground.merge(
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web",
        &json!({"spec": {"maxUnavailable": 1}}),
    );
    let person = Person::begins(ground);
    let resumed = run(&["roll", "resume", "test"], config);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!((upgraded(ground), records(ground).len()), (3, 0), "{resumed:?}");
    drop(person);
}

#[test]
fn a_run_is_gone_on_with_on_a_served_cluster() {
    a_run_is_rehearsed_begun_killed_and_gone_on_with(&Ground::served("roll-killed"));
}

#[test]
fn a_run_is_gone_on_with_on_a_real_control_plane() {
    if let Some(ground) = Ground::real("roll-killed") {
        a_run_is_rehearsed_begun_killed_and_gone_on_with(&ground);
    }
}

#[test]
fn a_run_is_told_what_to_do_on_a_served_cluster() {
    a_run_is_told_what_to_do_from_another_terminal(&Ground::served("roll-told"));
}

#[test]
fn a_run_is_told_what_to_do_on_a_real_control_plane() {
    if let Some(ground) = Ground::real("roll-told") {
        a_run_is_told_what_to_do_from_another_terminal(&ground);
    }
}

#[test]
fn a_run_that_deviates_is_paused_on_a_served_cluster() {
    a_run_that_deviates_is_paused(&Ground::served("roll-deviates"));
}

#[test]
fn a_run_that_deviates_is_paused_on_a_real_control_plane() {
    if let Some(ground) = Ground::real("roll-deviates") {
        a_run_that_deviates_is_paused(&ground);
    }
}

/// Karpenter, as far as a run needs it: it lets a node and its claim go once the node is drained, and has launched another one.
struct Karpenter(#[expect(dead_code, reason = "it works until it is dropped")] Worker);

const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";

/// It has no kubelet: no pod is to go there.
fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"karpenter.sh/nodepool": "web",
        "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "spec": {"taints": [{"key": "test", "value": "none", "effect": "NoSchedule"}]}})
}

fn claim(name: &str) -> Value {
    json!({"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": {"name": name, "labels": {"karpenter.sh/nodepool": "web"}, "finalizers": ["karpenter.sh/termination"]},
        "spec": {"requirements": [], "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}}})
}

/// Makes a claim, and says whose it is.
fn claims(endpoint: &Endpoint, name: &str, node: &str) {
    drop(endpoint.exchange(&Sent::new("POST", CLAIMS).json(&claim(name))));
    let status = json!({"status": {"nodeName": node, "providerID": format!("aws:///zone-a/i-{name}")}});
    let sent = Sent::new("PATCH", format!("{CLAIMS}/{name}/status"))
        .typed("application/merge-patch+json", status.to_string().into_bytes());
    let answer = endpoint.exchange(&sent).expect("it answers");
    assert_eq!(answer.status, 200, "{}", answer.json());
}

impl Karpenter {
    pub(crate) fn begins(ground: &Ground) -> Self {
        let endpoint = Endpoint::of_kubeconfig(ground.kubeconfig()).expect("it names a server");
        Self(Worker::begins(Duration::from_millis(300), move || {
            let claims = endpoint.exchange(&Sent::new("GET", CLAIMS)).expect("it answers").json();
            for one in claims["items"].as_array().into_iter().flatten() {
                if one["metadata"]["deletionTimestamp"].is_string() {
                    terminates(&endpoint, one);
                } else {
                    is_ready(&endpoint, one);
                }
            }
        }))
    }
}

/// A node that came up as another was drained: it has no kubelet, and says that it is Ready.
fn is_ready(endpoint: &Endpoint, claim: &Value) {
    let name = claim["status"]["nodeName"].as_str().unwrap_or_default();
    if !name.starts_with("new-") {
        return;
    }
    let now = jiff_now();
    let conditions = json!([{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "",
        "lastHeartbeatTime": now, "lastTransitionTime": claim["metadata"]["creationTimestamp"]}]);
    let sizes = json!({"cpu": "4", "memory": "16Gi", "pods": "58"});
    let status = json!({"status": {"conditions": conditions, "capacity": sizes, "allocatable": sizes,
        "nodeInfo": {"kubeletVersion": "v1.36.2"}}});
    let path = format!("/api/v1/nodes/{name}/status");
    let sent =
        Sent::new("PATCH", &path).typed("application/merge-patch+json", status.to_string().into_bytes());
    drop(endpoint.exchange(&sent));
}

/// Seconds are enough for a heartbeat.
fn jiff_now() -> String {
    let since =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is later than 1970");
    let now = replank_model::time::Time::from_millis(
        i64::try_from(since.as_millis()).expect("it is not that late"),
    );
    now.floor_seconds().to_string()
}

fn terminates(endpoint: &Endpoint, claim: &Value) {
    let (name, node_name) = (
        claim["metadata"]["name"].as_str().expect("a name"),
        claim["status"]["nodeName"].as_str().expect("a node"),
    );
    let new = format!("new-{node_name}");
    // Each of these is done once; done again, it is refused, which says that it was.
    drop(endpoint.exchange(&Sent::new("POST", "/api/v1/nodes").json(&node(&new))));
    claims(endpoint, &format!("new-{name}"), &new);
    let cordon = json!({"spec": {"unschedulable": true}}).to_string().into_bytes();
    let path = format!("/api/v1/nodes/{node_name}");
    drop(endpoint.exchange(&Sent::new("PATCH", &path).typed("application/merge-patch+json", cordon)));
    let pods = format!("/api/v1/pods?fieldSelector=spec.nodeName={node_name}");
    let pods = endpoint.exchange(&Sent::new("GET", &pods)).expect("it answers").json();
    let pods = pods["items"].as_array().cloned().unwrap_or_default();
    for pod in &pods {
        let meta = &pod["metadata"];
        let path = format!(
            "/api/v1/namespaces/{}/pods/{}/eviction",
            meta["namespace"].as_str().expect("one"),
            meta["name"].as_str().expect("one")
        );
        let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": meta["name"], "namespace": meta["namespace"]}});
        drop(endpoint.exchange(&Sent::new("POST", &path).json(&eviction)));
    }
    if pods.is_empty() {
        drop(endpoint.exchange(&Sent::new("DELETE", &path)));
        let free = json!({"metadata": {"finalizers": null}}).to_string().into_bytes();
        drop(endpoint.exchange(
            &Sent::new("PATCH", format!("{CLAIMS}/{name}")).typed("application/merge-patch+json", free),
        ));
    }
}

fn definition(kind: &str, plural: &str) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("{plural}.karpenter.sh")},
        "spec": {"group": "karpenter.sh", "scope": "Cluster", "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

/// What a cluster with a pool of Karpenter is, as a snapshot; the simulated Karpenter of a served cluster plays itself.
fn snapshot() -> String {
    let sizes = json!({"cpu": "4", "memory": "16Gi", "pods": "58"});
    let mut items = vec![
        json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web"}, "spec": {}}),
    ];
    items.extend(
        [("NodePool", "nodepools"), ("NodeClaim", "nodeclaims")]
            .map(|(kind, plural)| definition(kind, plural)),
    );
    for number in 1..=3 {
        let name = format!("node-{number}");
        let mut node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "node.kubernetes.io/instance-type": "m6i.xlarge", "topology.kubernetes.io/zone": "zone-a"}},
            "spec": {"providerID": format!("aws:///zone-a/i-web-{number}")},
            "status": {"capacity": sizes, "allocatable": sizes, "nodeInfo": {"kubeletVersion": "v1.36.2"},
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        if number < 3 {
            node["metadata"]["labels"]["karpenter.sh/nodepool"] = "web".into();
            let mut claim = claim(&format!("web-{number}"));
            claim["metadata"]["uid"] = format!("claim-{number}").into();
            claim["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
            claim["status"] =
                json!({"nodeName": name, "providerID": format!("aws:///zone-a/i-web-{number}")});
            items.push(claim);
        }
        items.push(node);
    }
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// The pool as it is on a real control plane: defined, with a NodeClaim for two nodes.
fn pool(ground: &Ground) {
    for (kind, plural) in [("NodePool", "nodepools"), ("NodeClaim", "nodeclaims")] {
        ground.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition(kind, plural));
    }
    let server = Endpoint::of_kubeconfig(ground.kubeconfig()).expect("it names a server");
    ground.wait("both are served", |_| {
        let served =
            |path: &str| server.exchange(&Sent::new("GET", path)).is_ok_and(|answer| answer.status == 200);
        served(CLAIMS) && served("/apis/karpenter.sh/v1/nodepools")
    });
    ground.create("/apis/karpenter.sh/v1/nodepools", &json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web"}, "spec": {}}));
    for number in [1, 2] {
        let name = format!("node-{number}");
        ground.merge(
            &format!("/api/v1/nodes/{name}"),
            &json!({"metadata": {"labels": {"karpenter.sh/nodepool": "web"}}}),
        );
        claims(&server, &format!("web-{number}"), &name);
    }
}

fn a_pool_of_karpenter_is_rolled(ground: &Ground) {
    ground.workload("web", 4);
    // What is as old as the run, to the second, is old.
    thread::sleep(Duration::from_millis(1_100));
    let file =
        plan(&format!("{}/plan.yaml", ground.folder.file_name().expect("a name").display()), "groups: [web]");
    let rolled = run(&["roll", "-f", &file, "--yes", "--provider", "karpenter"], ground.kubeconfig());
    assert_eq!(rolled.code, Some(0), "{rolled:?}");
    assert!(rolled.stdout.contains("run test is done: 2 of 2 nodes replaced"), "{rolled:?}");
    for number in [1, 2] {
        assert!(rolled.stdout.contains(&format!("deleting nodeclaim web-{number}\n")), "{rolled:?}");
        assert!(rolled.stdout.contains(&format!("node/node-{number} replaced\n")), "{rolled:?}");
    }
    let nodes = ground.get("/api/v1/nodes").to_string();
    assert!(!nodes.contains("\"name\":\"node-1\"") && !nodes.contains("\"name\":\"node-2\""), "{nodes}");
    assert!(records(ground).is_empty() && marked(ground).is_empty());
}

#[test]
fn a_pool_of_karpenter_is_rolled_on_a_served_cluster() {
    let file = super::common::scratch("roll-karpenter.json", snapshot());
    a_pool_of_karpenter_is_rolled(&Ground::served_from("roll-karpenter", &file));
}

#[test]
fn a_pool_of_karpenter_is_rolled_on_a_real_control_plane() {
    if let Some(ground) = Ground::real("roll-karpenter") {
        pool(&ground);
        let _karpenter = Karpenter::begins(&ground);
        a_pool_of_karpenter_is_rolled(&ground);
    }
}

#[test]
fn a_roll_needs_exactly_the_roles_that_are_printed_for_it() {
    let ground = Ground::served("roll-rbac");
    ground.workload("web", 4);
    let server = Endpoint::of_kubeconfig(ground.kubeconfig()).expect("it names a server");
    let mut config: Value =
        serde_json::from_slice(&std::fs::read(ground.kubeconfig()).expect("it is written"))
            .expect("it is JSON");
    config["users"][0]["user"]["as"] = "roller".into();
    let roller = ground.kubeconfig().with_file_name("as-roller.json");
    std::fs::write(&roller, config.to_string()).expect("it can be written");
    let file = plan("roll-rbac/plan.yaml", SPEC);
    let told = run(&["roll", "-f", &file, "--yes"], &roller).usage_error();
    assert!(
        told.contains("may not do everything that is needed")
            && told.contains("resources: [\"pods/eviction\"] verbs: [create]"),
        "{told}"
    );

    let printed = replank(&["rbac", "roll"]);
    let (cluster, own) = printed.stdout.split_once("---\n").expect("two roles");
    let root = "/apis/rbac.authorization.k8s.io/v1";
    let make = |path: String, text: &str| {
        let sent = Sent::new("POST", &path).typed("application/yaml", text.as_bytes().to_vec());
        assert_eq!(server.exchange(&sent).expect("it answers").status, 201, "{text}");
    };
    let bind = |kind: &str| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": format!("{kind}Binding"), "metadata": {"name": "replank-roll"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "replank-roll"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "roller"}]})
    };
    make(format!("{root}/clusterroles"), cluster);
    ground.create(&format!("{root}/clusterrolebindings"), &bind("ClusterRole"));
    let told = run(&["roll", "-f", &file, "--yes"], &roller).usage_error();
    assert!(told.contains("in namespace kube-system") && told.contains("resources: [\"leases\"]"), "{told}");
    assert!(records(&ground).is_empty() && marked(&ground).is_empty(), "nothing was changed");
    make(format!("{root}/namespaces/kube-system/roles"), own);
    ground.create(&format!("{root}/namespaces/kube-system/rolebindings"), &bind("Role"));
    let person = Person::begins(&ground);
    let rolled = run(&["roll", "-f", &file, "--yes"], &roller);
    assert_eq!(rolled.code, Some(0), "{rolled:?}");
    assert_eq!((upgraded(&ground), records(&ground).len()), (3, 0), "{rolled:?}");
    drop(person);
}

#[test]
fn two_plans_for_the_same_nodes_are_kept_apart() {
    let ground = Ground::served("roll-apart");
    let config = ground.kubeconfig();
    let file = plan("roll-apart/plan.yaml", SPEC);
    let mut child = begin(&["roll", "-f", &file, "--yes"], config);
    ground.wait("a node is drained", is_draining);
    let text = std::fs::read_to_string(&file).expect("it is there").replace("name: test", "name: other");
    let other = super::common::scratch("roll-apart/other.yaml", text);
    let refused = run(&["roll", "-f", &other, "--yes"], config);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(
        flat(&refused.stderr).contains("run test is to replace the same nodes: node-1, node-2, node-3"),
        "{refused:?}"
    );
    assert_eq!(records(&ground).len(), 1);
    child.kill().expect("it can be ended");
    child.wait().expect("it has ended");
    // What was begun is taken back by another process, from the record alone.
    ground.wait("the Lease has run out", |ground| {
        run(&["roll", "status", "-o", "json"], ground.kubeconfig()).json()["heldBy"].is_null()
    });
    let undone = run(&["roll", "undo", "test"], config);
    assert_eq!(undone.code, Some(0), "{undone:?}");
    assert_eq!((asked(&ground), marked(&ground)), ("undo".to_owned(), Vec::new()), "{undone:?}");
    let again = run(&["roll", "-f", &file, "--yes"], config);
    assert_eq!(again.code, Some(5), "{again:?}");
    assert!(flat(&again.stderr).contains("run test is ended (asked by"), "{again:?}");
    // It is in nobody's way any more.
    let other = run(&["roll", "-f", &other, "--dry-run"], config);
    assert_eq!(other.code, Some(0), "{other:?}");
}

fn interrupted(child: &Child) {
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("there is kill").success());
}

/// The uncordon is refused by a webhook, longer than it is tried: the code says so, and which node it is.
fn what_cannot_be_given_back_is_said(ground: &Ground, verb: &str) {
    ground.workload("web", 6);
    let file = plan(&format!("{}/plan.yaml", ground.folder.file_name().expect("a name").display()), SPEC);
    let child = begin(&["roll", "-f", &file, "--yes"], ground.kubeconfig());
    ground.wait("a node is drained", is_draining);
    interrupted(&child);
    assert_eq!(ends(child).code, Some(130));
    let left = marked(ground);
    assert!(!left.is_empty());
    // What is refused is tried again for ten minutes, which pass by the server's clock, some at each refusal.
    let mut denied = 0;
    let guard = Box::new(move |asked: &Asked| {
        if asked.method == "PATCH" && asked.path.starts_with("/api/v1/nodes/") {
            denied += 1;
            return Fault::Denied;
        }
        Fault::Ahead(i64::from(denied) * 700)
    });
    let proxy = Proxy::begin(ground.kubeconfig(), &ground.folder, guard).expect("it begins");
    let refused = run(&["roll", verb, "test"], proxy.kubeconfig());
    assert_eq!(refused.code, Some(4), "{refused:?}");
    let told = flat(&refused.stderr);
    assert!(told.contains("not on a Friday") && told.contains("could not be given back"), "{told}");
    let names = left.iter().map(|name| name.trim_matches('"'));
    assert!(names.clone().all(|name| told.contains(name)), "{told}");
    assert_eq!(marked(ground), left);
    // The webhook is gone.
    let again = run(&["roll", "undo", "test"], ground.kubeconfig());
    assert_eq!((again.code, marked(ground)), (Some(0), Vec::new()), "{again:?}");
}

#[test]
fn what_cannot_be_cancelled_on_a_served_cluster() {
    // Refusals are tried again for ten minutes of the server's time, of which this takes minutes, too.
    if std::env::var_os("REPLANK_WHOLE_OUTAGES").is_none() {
        println!("not run without REPLANK_WHOLE_OUTAGES: a cancel that the server refuses");
        return;
    }
    what_cannot_be_given_back_is_said(&Ground::served("roll-cancel-refused"), "cancel");
}

#[test]
fn what_cannot_be_cancelled_on_a_real_control_plane() {
    if std::env::var_os("REPLANK_WHOLE_OUTAGES").is_none() {
        println!("not run without REPLANK_WHOLE_OUTAGES: a cancel that a real control plane refuses");
        return;
    }
    if let Some(ground) = Ground::real("roll-cancel-refused") {
        what_cannot_be_given_back_is_said(&ground, "cancel");
    }
}

#[test]
fn what_cannot_be_undone_on_a_served_cluster() {
    // Refusals are tried again for ten minutes of the server's time, of which this takes minutes, too.
    if std::env::var_os("REPLANK_WHOLE_OUTAGES").is_none() {
        println!("not run without REPLANK_WHOLE_OUTAGES: an undo that the server refuses");
        return;
    }
    what_cannot_be_given_back_is_said(&Ground::served("roll-undo-refused"), "undo");
}

#[test]
fn plans_of_one_pool_in_two_namespaces_are_kept_apart() {
    let file = super::common::scratch("roll-namespaces.json", snapshot());
    let ground = Ground::served_from("roll-namespaces", &file);
    let config = ground.kubeconfig();
    let first = plan("roll-namespaces/plan.yaml", "groups: [web]");
    let text = std::fs::read_to_string(&first).expect("it is there");
    // Also where both have one name.
    let other = text.replace("metadata: {name: test}", "metadata: {name: test, namespace: default}");
    let other = super::common::scratch("roll-namespaces/other.yaml", other);
    let mut child = begin(&["roll", "-f", &first, "--yes"], config);
    ground.wait("it has a record", |ground| !records(ground).is_empty());
    child.kill().expect("it can be ended");
    child.wait().expect("it has ended");
    let refused = run(&["roll", "-f", &other, "--yes"], config);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    let told = flat(&refused.stderr);
    assert!(told.contains("run test of namespace kube-system is to replace the same nodes: node-"), "{told}");
    assert!(told.contains("replank roll cancel test -n kube-system"), "{told}");
}

#[test]
fn what_cannot_be_rolled_is_refused_before_anything_is_changed() {
    let ground = Ground::served("roll-refused");
    let file = plan("roll-refused.yaml", "kubeletVersion: '<1.36.3', target: {kubernetesVersion: '1.36.3'}");
    let told = run(&["roll", "-f", &file, "--yes"], ground.kubeconfig()).usage_error();
    assert!(told.contains("--provider external"), "{told}");
    let twice = plan("roll-twice.yaml", SPEC);
    let told =
        run(&["roll", "-f", &twice, "--provider", "karpenter", "--yes"], ground.kubeconfig()).usage_error();
    assert!(told.contains("the plan says provider: external"), "{told}");
    assert!(records(&ground).is_empty() && marked(&ground).is_empty());
}
