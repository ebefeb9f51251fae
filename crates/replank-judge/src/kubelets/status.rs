//! What kubelets write: statuses of nodes and pods.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::spec::NodeSpec;

/// Now, as the API writes a time.
pub(crate) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Now, as the API writes a MicroTime.
pub(crate) fn now_micro() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// A node as it is registered.
pub(super) fn node(spec: &NodeSpec) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": spec.name, "labels": spec.labels},
        "spec": {"taints": spec.taints, "providerID": format!("fake:///{}", spec.name)}})
}

/// The status of a node that is Ready.
pub(super) fn ready_node(capacity: &BTreeMap<String, String>, version: &str) -> Value {
    let at = now();
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": "", "lastHeartbeatTime": at,
            "lastTransitionTime": at})
    };
    json!({"status": {
        "capacity": capacity,
        "allocatable": capacity,
        "conditions": [
            condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
            condition("PIDPressure", "False", "KubeletHasSufficientPID"),
            condition("Ready", "True", "KubeletReady"),
        ],
        "nodeInfo": {"machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "6.12.0", "osImage": "none",
            "containerRuntimeVersion": "none://1.0", "kubeletVersion": version, "kubeProxyVersion": "",
            "operatingSystem": "linux", "architecture": "amd64"},
    }})
}

/// A pod whose containers run.
pub(super) fn running(pod: &Value, address: &str, is_ready: bool) -> Value {
    let at = now();
    let holds = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": at});
    let mut conditions = vec![holds("PodReadyToStartContainers"), holds("Initialized")];
    conditions.extend(ready(pod, is_ready));
    json!({"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "hostIP": "10.200.0.1", "startTime": at,
        "observedGeneration": pod["metadata"]["generation"],
        "conditions": conditions,
        "containerStatuses": containers(pod, is_ready, &json!({"running": {"startedAt": at}}))})
}

/// A pod that has become Ready.
pub(super) fn became_ready(pod: &Value) -> Value {
    let started = pod["status"]["startTime"].clone();
    let since = if started.is_string() { started } else { Value::from(now()) };
    json!({"conditions": ready(pod, true),
        "containerStatuses": containers(pod, true, &json!({"running": {"startedAt": since}}))})
}

/// Whether a pod counts as not Ready though all of its containers are: the control plane says so of the pods of a node that it takes for lost.
pub(super) fn is_overruled(pod: &Value) -> bool {
    let containers = pod["status"]["containerStatuses"].as_array().map_or(&[][..], Vec::as_slice);
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let is = |kind: &str, status: &str| {
        conditions.clone().any(|one| one["type"] == kind && one["status"] == status)
    };
    let has_gates = pod["spec"]["readinessGates"].as_array().is_some_and(|gates| !gates.is_empty());
    !has_gates
        && !containers.is_empty()
        && containers.iter().all(|one| one["ready"] == true)
        && is("ContainersReady", "True")
        && is("Ready", "False")
}

/// A pod whose containers have ended.
pub(super) fn over(pod: &Value, code: i32) -> Value {
    let at = now();
    let (phase, reason) = if code == 0 { ("Succeeded", "Completed") } else { ("Failed", "Error") };
    let ended = json!({"running": null, "terminated": {"exitCode": code, "reason": reason, "finishedAt": at,
        "startedAt": pod["status"]["startTime"]}});
    json!({"phase": phase, "conditions": ready(pod, false), "containerStatuses": containers(pod, false, &ended)})
}

fn ready(pod: &Value, is_ready: bool) -> Vec<Value> {
    let at = now();
    let gates = pod["spec"]["readinessGates"].as_array().map_or(0, Vec::len);
    let condition = |kind: &str, holds: bool| {
        let reason = if holds { Value::Null } else { Value::from("ContainersNotReady") };
        json!({"type": kind, "status": if holds { "True" } else { "False" }, "reason": reason, "lastTransitionTime": at})
    };
    vec![condition("Ready", is_ready && gates == 0), condition("ContainersReady", is_ready)]
}

fn containers(pod: &Value, is_ready: bool, state: &Value) -> Vec<Value> {
    let all = pod["spec"]["containers"].as_array().into_iter().flatten();
    all.map(|container| {
        json!({"name": container["name"], "image": container["image"], "imageID": "none",
            "containerID": format!("none://{}", container["name"].as_str().unwrap_or_default()),
            "ready": is_ready, "started": state["running"].is_object(), "restartCount": 0, "state": state})
    })
    .collect()
}
