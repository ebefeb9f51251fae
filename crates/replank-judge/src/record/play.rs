//! One run of a scenario: its nodes, its setup, its steps at their times.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::drain;
use super::form::{Cluster, Note, Notes, list, result};
use super::names::{Names, collection, collection_of, version_of};
use super::symbols::Symbols;
use super::tape::Delivery;
use crate::client::{Answer, Method};
use crate::kubelets::now;

/// What a run left.
pub(super) struct Played {
    pub(super) names: Names,
    pub(super) tape: Vec<Delivery>,
    pub(super) notes: Vec<Note>,
    /// Answers to the steps.
    pub(super) results: Vec<Value>,
    pub(super) origin_ms: i64,
}

/// Plays a scenario once.
pub(super) fn play(cluster: &Cluster, scenario: &Value, run: usize) -> Result<Played> {
    let names = Names::new(run, scenario);
    let mut stage = Stage { cluster, names: &names, scenario, notes: Notes::default(), nodes: Vec::new() };
    stage.set()?;
    let origin_ms = align(scenario);
    let mut results = Vec::new();
    for step in list(&scenario["steps"]) {
        sleep_until(origin_ms + step["at_ms"].as_i64().unwrap_or_default());
        let what = || format!("{} at {}", step["action"], step["at_ms"]);
        results.push(stage.step(step).with_context(what)?);
    }
    let until = scenario["until_ms"].as_i64().context("a scenario has an end")?;
    sleep_until(origin_ms + until + 1500);
    let tape = cluster.tape.of(&names);
    let notes = stage.notes.lock().expect("no drain panicked").clone();
    stage.clear()?;
    Ok(Played { names, tape, notes, results, origin_ms })
}

struct Stage<'a> {
    cluster: &'a Cluster,
    names: &'a Names,
    scenario: &'a Value,
    notes: Notes,
    nodes: Vec<String>,
}

impl Stage<'_> {
    fn set(&mut self) -> Result<()> {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.names.namespace()}});
        self.cluster.client.create("/api/v1/namespaces", &namespace)?;
        for node in list(&self.scenario["nodes"]) {
            self.register(node)?.ok()?;
        }
        for object in list(&self.scenario["setup"]) {
            let object = self.names.real(object);
            self.cluster.client.create(&collection_of(&object), &object)?;
        }
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            let mut ready = self
                .cluster
                .client
                .get(&format!("/api/v1/namespaces/{}/configmaps/kube-root-ca.crt", self.names.namespace()))
                .is_ok();
            for node in &self.nodes {
                let node = self.cluster.client.get(&format!("/api/v1/nodes/{node}"))?;
                ready &=
                    list(&node["spec"]["taints"]).all(|taint| taint["key"] != "node.kubernetes.io/not-ready");
            }
            if ready {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        bail!("the nodes did not become ready")
    }

    fn register(&mut self, node: &Value) -> Result<Answer> {
        let mut node = self.names.real(node);
        let at = now();
        node["status"]["conditions"] = json!([{"type": "Ready", "status": "True", "reason": "KubeletReady",
            "message": "", "lastTransitionTime": at, "lastHeartbeatTime": at}]);
        let name = node["metadata"]["name"].as_str().context("a node has a name")?.to_owned();
        let answer = self.cluster.client.send(Method::Post, "/api/v1/nodes", Some(&node))?;
        self.cluster.kubelets.wake(&name);
        self.nodes.push(name);
        Ok(answer)
    }

    fn step(&mut self, step: &Value) -> Result<Value> {
        let text = |member: &str| step[member].as_str().unwrap_or_default();
        let client = &self.cluster.client;
        let node = self.names.node(text("node"));
        let path_of_node = format!("/api/v1/nodes/{node}");
        let answer = match text("action") {
            "apply" => {
                let object = self.names.real(&step["object"]);
                client.send(Method::Post, &collection_of(&object), Some(&object))?
            }
            "patch" => {
                let path = match text("subresource") {
                    "" => self.target(step)?.0,
                    subresource => format!("{}/{subresource}", self.target(step)?.0),
                };
                let method = if text("type") == "strategic" { Method::Strategic } else { Method::Merge };
                client.send(method, &path, Some(&self.names.real(&step["body"])))?
            }
            "delete" => {
                client.send(Method::Delete, &self.target(step)?.0, Some(&options(&step["options"])))?
            }
            "scale" => {
                let body = json!({"spec": {"replicas": step["replicas"]}});
                client.send(Method::Merge, &format!("{}/scale", self.target(step)?.0), Some(&body))?
            }
            "evict" => {
                let (path, uid) = self.target(step)?;
                let name = path.rsplit('/').next().unwrap_or_default();
                drain::evict(self.cluster, &self.notes, self.names.namespace(), (name, &uid), &step["body"])?
            }
            "cordon" => self.patch_node(&path_of_node, &json!({"spec": {"unschedulable": true}}))?,
            "uncordon" => self.patch_node(&path_of_node, &json!({"spec": {"unschedulable": null}}))?,
            "node-label" => {
                let labels = self.names.real(&step["labels"]);
                self.patch_node(&path_of_node, &json!({"metadata": {"labels": labels}}))?
            }
            "taint" => {
                let mut taints =
                    client.get(&path_of_node)?["spec"]["taints"].as_array().cloned().unwrap_or_default();
                taints.push(step["taint"].clone());
                self.patch_node(&path_of_node, &json!({"spec": {"taints": taints}}))?
            }
            "untaint" => {
                let mut taints =
                    client.get(&path_of_node)?["spec"]["taints"].as_array().cloned().unwrap_or_default();
                let is_other = |taint: &Value| {
                    taint["key"] != step["key"]
                        || (!text("effect").is_empty() && taint["effect"] != step["effect"])
                };
                taints.retain(is_other);
                self.patch_node(&path_of_node, &json!({"spec": {"taints": taints}}))?
            }
            "node-create" => self.register(&step["object"])?,
            "node-delete" => {
                self.cluster.kubelets.forget(&node);
                client.send(Method::Delete, &path_of_node, None)?
            }
            "node-down" => {
                self.cluster.kubelets.silence(&node)?;
                return Ok(json!({"code": 0}));
            }
            "node-up" => {
                self.cluster.kubelets.wake(&node);
                self.post_ready(&path_of_node, "True", "KubeletReady")?;
                return Ok(json!({"code": 0}));
            }
            "node-not-ready" => self.post_ready(&path_of_node, "False", "KubeletNotReady")?,
            "node-ready" => self.post_ready(&path_of_node, "True", "KubeletReady")?,
            "kubelet" => {
                let code =
                    step["exitCode"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or_default();
                self.cluster.kubelets.tell(&self.target(step)?.1, text("do"), code);
                return Ok(json!({"code": 200}));
            }
            "drain" => {
                drain::begin(self.cluster, &self.notes, &node)?;
                return Ok(json!({"code": 0}));
            }
            other => bail!("unknown action {other:?}"),
        };
        Ok(result(&answer))
    }

    /// Path and uid of what a step is about.
    fn target(&self, step: &Value) -> Result<(String, String)> {
        let text = |member: &str| step[member].as_str().unwrap_or_default();
        let symbols = Symbols::of(self.names, &self.cluster.tape.of(self.names));
        let real = symbols.real(text("kind"), text("name"));
        let (name, uid) = match real {
            Some(real) => real.clone(),
            None => {
                ensure!(!text("name").contains('{'), "{} is not there", text("name"));
                (text("name").to_owned(), String::new())
            }
        };
        let path = collection(version_of(text("kind")), text("kind"), Some(self.names.namespace()));
        Ok((format!("{path}/{name}"), uid))
    }

    fn patch_node(&self, path: &str, body: &Value) -> Result<Answer> {
        self.cluster.client.send(Method::Merge, path, Some(body))
    }

    /// The kubelet says how it is.
    fn post_ready(&self, path: &str, status: &str, reason: &str) -> Result<Answer> {
        let at = now();
        let body = json!({"status": {"conditions": [{"type": "Ready", "status": status, "reason": reason,
            "lastTransitionTime": at, "lastHeartbeatTime": at}]}});
        self.cluster.client.send(Method::Strategic, &format!("{path}/status"), Some(&body))
    }

    /// Takes away what the run made.
    fn clear(&self) -> Result<()> {
        let (client, namespace) = (&self.cluster.client, self.names.namespace());
        let path = format!("/api/v1/namespaces/{namespace}");
        client.send(Method::Delete, &path, None)?;
        let at_once = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0});
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_secs(40)
            && client.send(Method::Get, &path, None)?.status == 200
        {
            std::thread::sleep(Duration::from_secs(2));
            client.send(Method::Delete, &format!("{path}/pods"), Some(&at_once))?;
        }
        for node in &self.nodes {
            self.cluster.kubelets.forget(node);
            client.send(Method::Delete, &format!("/api/v1/nodes/{node}"), None)?;
        }
        for object in list(&self.scenario["setup"]).map(|object| self.names.real(object)) {
            if object["metadata"]["namespace"].is_null() {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                client.send(Method::Delete, &format!("{}/{name}", collection_of(&object)), None)?;
            }
        }
        Ok(())
    }
}

fn options(given: &Value) -> Value {
    let mut options = if given.is_object() { given.clone() } else { json!({}) };
    options["apiVersion"] = "v1".into();
    options["kind"] = "DeleteOptions".into();
    options
}

/// Waits for t = 0: the next whole second, or a certain second of a minute.
fn align(scenario: &Value) -> i64 {
    let aligned = scenario["t0"]["aligned_to"].as_str().unwrap_or_default();
    let second: Option<i64> = aligned.split(':').nth(1).and_then(|rest| rest.get(..2)?.parse().ok());
    let mut at = Timestamp::now().as_second() + 2;
    while second.is_some_and(|second| at % 60 != second) {
        at += 1;
    }
    sleep_until(at * 1000);
    at * 1000
}

fn sleep_until(at_ms: i64) {
    let left = at_ms - Timestamp::now().as_millisecond();
    std::thread::sleep(Duration::from_millis(u64::try_from(left).unwrap_or_default()));
}
