//! Evictions, one by one or of a whole node as kubectl drains it.

use std::time::Duration;

use anyhow::Result;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::form::{Cluster, Note, Notes, list, result};
use super::symbols::controller;
use crate::client::{Answer, Method};

/// After which kubectl tries a refused eviction again.
const RETRY: Duration = Duration::from_secs(5);

/// Asks for one eviction, and notes the answer.
pub(super) fn evict(
    cluster: &Cluster,
    notes: &Notes,
    namespace: &str,
    (name, uid): (&str, &str),
    given: &Value,
) -> Result<Answer> {
    let mut body = if given.is_object() { given.clone() } else { json!({}) };
    body["apiVersion"] = "policy/v1".into();
    body["kind"] = "Eviction".into();
    body["metadata"] = json!({"name": name, "namespace": namespace});
    let at_ms = Timestamp::now().as_millisecond();
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/eviction");
    let answer = cluster.client.send(Method::Post, &path, Some(&body))?;
    let mut value = result(&answer);
    if let Some(members) = value.as_object_mut() {
        members.remove("message");
    }
    let change = if answer.status < 300 { "allowed" } else { "refused" }.to_owned();
    if answer.status != 404 {
        let note = Note { at_ms, kind: "Eviction", of: uid.to_owned(), change, value };
        notes.lock().expect("no drain panicked").push(note);
    }
    Ok(answer)
}

/// Cordons a node, and begins to evict all its pods that are no DaemonSet's.
pub(super) fn begin(cluster: &Cluster, notes: &Notes, node: &str) -> Result<()> {
    let path = format!("/api/v1/nodes/{node}");
    cluster.client.send(Method::Merge, &path, Some(&json!({"spec": {"unschedulable": true}})))?.ok()?;
    let pods = cluster.client.get(&format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}"))?;
    let is_daemon = |pod: &&Value| controller(pod).is_some_and(|owner| owner["kind"] == "DaemonSet");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut waits = Vec::new();
    for pod in list(&pods["items"]).filter(|pod| !is_daemon(pod)) {
        let meta = &pod["metadata"];
        let (namespace, name, uid) = (text(&meta["namespace"]), text(&meta["name"]), text(&meta["uid"]));
        let (cluster, notes) = (cluster.clone(), notes.clone());
        waits.push(std::thread::spawn(move || until_gone(&cluster, &notes, &namespace, &name, &uid)));
    }
    let (notes, node) = (notes.clone(), node.to_owned());
    // Not joined: a drain may outlive its scenario.
    drop(std::thread::spawn(move || {
        let done = waits.into_iter().all(|wait| wait.join().is_ok_and(|gone| gone.is_ok()));
        if done {
            let at_ms = Timestamp::now().as_millisecond();
            let note = Note { at_ms, kind: "Drain", of: node, change: "done".to_owned(), value: Value::Null };
            notes.lock().expect("no drain panicked").push(note);
        }
    }));
    Ok(())
}

fn until_gone(cluster: &Cluster, notes: &Notes, namespace: &str, name: &str, uid: &str) -> Result<()> {
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
    let is_there =
        || cluster.client.send(Method::Get, &path, None).map(|answer| answer.body["metadata"]["uid"] == uid);
    while matches!(evict(cluster, notes, namespace, (name, uid), &Value::Null)?.status, 429 | 500) {
        std::thread::sleep(RETRY);
        if !is_there()? {
            return Ok(());
        }
    }
    while is_there()? {
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
