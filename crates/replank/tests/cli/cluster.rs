//! `replank cluster`: a cluster that is served, killed, and there again.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use replank_api::{Client, Kubeconfig, Sent};
use serde_json::{Value, json};

use super::common::{command, replank as run};

/// How often the cluster is killed, unless `REPLANK_KILLS` says otherwise.
const KILLS: u64 = 4;
/// Clients that write at the same time.
const WRITERS: u64 = 4;

/// A cluster that is being served.
pub(crate) struct Served {
    child: Child,
    pub(crate) config: Kubeconfig,
    pub(crate) file: PathBuf,
}

impl Served {
    fn up(arguments: &[&str]) -> Self {
        Self::of(&[&["--nodes", "2"], arguments].concat())
    }

    pub(crate) fn of(arguments: &[&str]) -> Self {
        let all = [&["cluster", "up"], arguments].concat();
        let mut child = command(&all)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary can be run");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is a pipe")).read_line(&mut line).expect("text");
        let file = PathBuf::from(line.trim().strip_prefix("export KUBECONFIG=").expect("it says where"));
        let text: Value =
            serde_json::from_slice(&fs::read(&file).expect("it is written")).expect("it is JSON");
        Self { child, config: Kubeconfig::read(&text).expect("it is whole"), file }
    }

    /// Creates an object.
    pub(crate) fn post(&self, path: &str, object: &Value) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it can be made");
        let body = object.to_string().into_bytes().into();
        let sent = Sent { method: hyper_method("POST"), path, content_type: "application/json", body };
        let (code, body) = runtime.block_on(async {
            let mut client = Client::connect(&self.config).await.expect("it is served");
            client.request(sent).await.expect("it answers")
        });
        assert_eq!(code, 201, "{}", String::from_utf8_lossy(&body));
    }

    /// SIGKILL: nothing is told to end, nothing is written any more.
    pub(crate) fn kill(self) {
        drop(self);
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // No test leaves a process behind.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A directory for one test, empty.
fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(fs::remove_dir_all(&dir));
    dir
}

fn get(path: &str) -> Sent<'_> {
    Sent { method: hyper_method("GET"), path, content_type: "application/json", body: Vec::new().into() }
}

fn hyper_method(word: &str) -> replank_api::Method {
    word.parse().expect("it is a verb")
}

/// What was acknowledged: the version of each object, by its name.
type Acknowledged = BTreeMap<String, u64>;

/// Writes until the cluster is gone; what was acknowledged.
async fn write(config: Kubeconfig, round: u64, writer: u64) -> Acknowledged {
    let mut acknowledged = Acknowledged::new();
    let Ok(mut client) = Client::connect(&config).await else { return acknowledged };
    for number in 0.. {
        // Every third write changes an object that is there.
        let name = format!("round-{round}-{writer}-{}", number - number % 3 / 2);
        let is_new = number % 3 != 2;
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {"number": number.to_string()}});
        let (verb, path) = match is_new {
            true => ("POST", "/api/v1/namespaces/default/configmaps".to_owned()),
            false => ("PUT", format!("/api/v1/namespaces/default/configmaps/{name}")),
        };
        let body = object.to_string().into_bytes().into();
        let sent = Sent { method: hyper_method(verb), path: &path, content_type: "application/json", body };
        let Ok((code, body)) = client.request(sent).await else { return acknowledged };
        assert!(matches!(code, 200 | 201), "{code} {}", String::from_utf8_lossy(&body));
        let stored: Value = serde_json::from_slice(&body).expect("it is JSON");
        acknowledged.insert(name, version(&stored));
    }
    acknowledged
}

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().expect("it has one").parse().expect("it is a number")
}

/// Checks that all that was acknowledged is there; the version of the list.
async fn check(config: &Kubeconfig, acknowledged: &Acknowledged, seen: u64) -> u64 {
    let mut client = Client::connect(config).await.expect("it is served");
    let (code, body) =
        client.request(get("/api/v1/namespaces/default/configmaps")).await.expect("it answers");
    assert_eq!(code, 200);
    let list: Value = serde_json::from_slice(&body).expect("it is JSON");
    assert!(version(&list) >= seen, "versions went back from {seen} to {}", version(&list));
    let items = list["items"].as_array().expect("it is a list");
    let there: BTreeMap<&str, u64> = items
        .iter()
        .map(|item| (item["metadata"]["name"].as_str().expect("it has one"), version(item)))
        .collect();
    for (name, version) in acknowledged {
        let found = there.get(name.as_str());
        assert!(found >= Some(version), "{name} was acknowledged at {version} and is {found:?}");
    }
    // Who watched before is told what is missed, or to list again.
    let path = format!(
        "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1&resourceVersion={}",
        seen.max(1)
    );
    let (code, body) = client.request(get(&path)).await.expect("it answers");
    let first = body.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let event: Value = serde_json::from_slice(first).unwrap_or_default();
    // Nothing is missed where no object is newer than what was seen.
    let newest = there.values().copied().max().unwrap_or(0);
    let is_told = code == 410
        || event["object"]["code"] == 410
        || event["type"] == "ADDED"
        || event["type"] == "MODIFIED"
        || newest <= seen;
    assert!(is_told, "{code} {event}");
    version(&list)
}

#[test]
fn a_killed_cluster_has_every_acknowledged_write() {
    let kills = std::env::var("REPLANK_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let runtime = tokio::runtime::Runtime::new().expect("there are threads");
    let dir = scratch("killed");
    let (mut acknowledged, mut seen) = (Acknowledged::new(), 0);
    for round in 0..kills {
        let served = Served::up(&["--data-dir", dir.to_str().expect("it is text")]);
        seen = runtime.block_on(check(&served.config, &acknowledged, seen));
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| runtime.spawn(write(served.config.clone(), round, writer))).collect();
        // At another moment each time.
        std::thread::sleep(Duration::from_millis(100 + round * 37 % 200));
        served.kill();
        for writer in writers {
            acknowledged.extend(runtime.block_on(writer).expect("what is answered is a success"));
        }
        seen = seen.max(acknowledged.values().copied().max().unwrap_or(0));
    }
    assert!(acknowledged.len() as u64 > kills * 4, "only {} writes in {kills} rounds", acknowledged.len());
    let served = Served::up(&["--data-dir", dir.to_str().expect("it is text")]);
    runtime.block_on(check(&served.config, &acknowledged, seen));
    served.kill();
}

#[test]
fn what_is_under_way_in_the_cloud_goes_on_after_a_kill() {
    let dir = scratch("under-way");
    let arguments = ["--data-dir", dir.to_str().expect("it is text"), "--clock", "step"];
    let served = Served::up(&arguments);
    let file = served.file.to_str().expect("it is text").to_owned();
    let of = |arguments: &[&str]| {
        let ran = run(&[&["cluster"], arguments, &["--kubeconfig", &file]].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran
    };
    of(&["faults", "start", "spot instance node-1 is taken back"]);
    of(&["faults", "start", "node node-2 falls silent"]);
    served.kill();
    let served = Served::up(&arguments);
    let listed = of(&["faults", "list", "-o", "json"]).json();
    assert_eq!(listed["started"].as_array().map(Vec::len), Some(2), "{listed}");
    // Two minutes after the warning the instance is gone, and another takes its place; the silent node is found out after 50 s.
    of(&["advance", "10m"]);
    let nodes = runtime_get(&served.config, "/api/v1/nodes");
    let of_node = |name: &str| {
        let items = nodes["items"].as_array().expect("it is a list");
        items.iter().find(|item| item["metadata"]["name"] == name).cloned()
    };
    assert_eq!(of_node("node-1"), None, "its instance was to be taken back");
    let ready = |node: &Value| {
        let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().find(|one| one["type"] == "Ready").map(|one| one["status"].clone())
    };
    assert_eq!(of_node("node-2").as_ref().and_then(ready), Some("Unknown".into()));
    served.kill();
}

fn runtime_get(config: &Kubeconfig, path: &str) -> Value {
    let runtime = tokio::runtime::Runtime::new().expect("there are threads");
    let (code, body) = runtime.block_on(async {
        let mut client = Client::connect(config).await.expect("it is served");
        client.request(get(path)).await.expect("it answers")
    });
    assert_eq!(code, 200);
    serde_json::from_slice(&body).expect("it is JSON")
}

#[test]
fn who_writes_in_an_older_version_manages_fields_in_it() {
    let served = Served::up(&["--kubernetes-version", "1.20"]);
    let budget = serde_json::json!({"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}});
    served.post("/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets", &budget);
    let ingress = serde_json::json!({"apiVersion": "networking.k8s.io/v1beta1", "kind": "Ingress", "metadata": {"name": "i"},
        "spec": {"backend": {"serviceName": "s", "servicePort": 80}}});
    served.post("/apis/networking.k8s.io/v1beta1/namespaces/default/ingresses", &ingress);
    let managed = |path: &str| {
        let object = runtime_get(&served.config, path);
        let all = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        let of = |entry: &Value| (entry["apiVersion"].clone(), entry["fieldsV1"]["f:spec"].clone());
        all.iter().filter(|entry| entry["subresource"].is_null()).map(of).collect::<Vec<_>>()
    };
    let spec = serde_json::json!({"f:minAvailable": {}, "f:selector": {}});
    let budget = managed("/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets/b");
    assert_eq!(budget, [("policy/v1beta1".into(), spec)]);
    // What the older version has under other names is managed by these.
    let ingress = managed("/apis/networking.k8s.io/v1/namespaces/default/ingresses/i");
    assert_eq!(ingress.len(), 1);
    assert_eq!(ingress[0].0, "networking.k8s.io/v1beta1");
    assert!(ingress[0].1["f:backend"]["f:serviceName"].is_object(), "{ingress:?}");
    served.kill();
}

#[test]
fn what_cannot_be_served_is_said_at_once() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let port = taken.local_addr().expect("it has one").port().to_string();
    let said = run(&["cluster", "up", "--port", &port]).usage_error();
    assert!(said.contains("cannot listen on") && said.contains("--port 0 takes a free one"), "{said}");
    let said = run(&["cluster", "up", "no-such-file.json"]).usage_error();
    assert!(said.contains("no-such-file.json"), "{said}");
    let said = run(&["cluster", "up", "--speed", "0"]).usage_error();
    assert!(said.contains("expected a number from 0.01 to 10000"), "{said}");
    let said = run(&["cluster", "status", "--kubeconfig", "no-such-file"]).usage_error();
    assert!(said.contains("cannot read no-such-file"), "{said}");
}

#[test]
fn a_directory_that_cannot_be_used_is_left_alone() {
    let foreign = scratch("foreign");
    fs::create_dir_all(&foreign).expect("it can be made");
    fs::write(foreign.join("notes.txt"), "mine").expect("it can be written");
    let said = run(&["cluster", "up", "--data-dir", foreign.to_str().expect("text")]).usage_error();
    assert!(said.contains("holds other files and no cluster"), "{said}");
    assert_eq!(fs::read_dir(&foreign).expect("it is there").count(), 1);

    let dir = scratch("in-use");
    let name = dir.to_str().expect("text").to_owned();
    let served = Served::up(&["--data-dir", &name]);
    let said = run(&["cluster", "up", "--data-dir", &name]).usage_error();
    assert!(said.contains("is in use by another replank cluster"), "{said}");
    served.kill();

    // The first record names the form, right after its length and checksum.
    let state = dir.join("state");
    fs::write(&state, b"nothing of ours").expect("it can be written");
    let said = run(&["cluster", "up", "--data-dir", &name]).usage_error();
    assert!(said.contains("is damaged"), "{said}");
}

/// Claims of Karpenter are known by their kind, and their definition says what they have besides.
#[test]
fn a_claim_of_karpenter_has_a_status_of_its_own() {
    let served = Served::up(&[]);
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "nodeclaims.karpenter.sh"},
        "spec": {"group": "karpenter.sh", "scope": "Cluster",
            "names": {"plural": "nodeclaims", "singular": "nodeclaim", "kind": "NodeClaim", "listKind": "NodeClaimList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    served.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition);
    let claim = json!({"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "a"},
        "spec": {"requirements": []}, "status": {"nodeName": "left-out"}});
    let path = "/apis/karpenter.sh/v1/nodeclaims";
    served.post(path, &claim);
    let one = format!("{path}/a");
    assert!(runtime_get(&served.config, &one)["status"].is_null());
    let body = json!({"status": {"nodeName": "node-1"}}).to_string().into_bytes().into();
    let status = format!("{one}/status");
    let sent = Sent {
        method: hyper_method("PATCH"),
        path: &status,
        content_type: "application/merge-patch+json",
        body,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it can be made");
    let (code, body) = runtime.block_on(async {
        let mut client = Client::connect(&served.config).await.expect("it is served");
        client.request(sent).await.expect("it answers")
    });
    assert_eq!(code, 200, "{}", String::from_utf8_lossy(&body));
    assert_eq!(runtime_get(&served.config, &one)["status"]["nodeName"], "node-1");
    served.kill();
}

#[test]
fn a_kept_account_of_aws_is_not_lost_by_a_start_without_it() {
    let dir = scratch("with-aws");
    let name = dir.to_str().expect("it is text");
    Served::up(&["--data-dir", name, "--aws"]).kill();
    let said = run(&["cluster", "up", "--data-dir", name]).usage_error();
    assert!(said.contains("has an account of AWS") && said.contains("start it with --aws"), "{said}");
    Served::up(&["--data-dir", name, "--aws"]).kill();
}
