//! What kubelets tell of pods: Events, in the words of a real one.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::status::now;

/// The events of a pod whose containers have started.
pub(super) fn started(pod: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    for list in ["initContainers", "containers"] {
        for container in pod["spec"][list].as_array().into_iter().flatten() {
            let image = container["image"].as_str().unwrap_or_default();
            if container["imagePullPolicy"] == "Always" {
                all.push(event(pod, list, container, "Pulling", &format!("Pulling image {image:?}")));
                let done = format!(
                    "Successfully pulled image {image:?} in 0s (0s including waiting). Image size: 0 bytes."
                );
                all.push(event(pod, list, container, "Pulled", &done));
            } else {
                let there = format!(
                    "Container image {image:?} already present on machine and can be accessed by the pod"
                );
                all.push(event(pod, list, container, "Pulled", &there));
            }
            all.push(event(pod, list, container, "Created", "Container created"));
            all.push(event(pod, list, container, "Started", "Container started"));
        }
    }
    all
}

/// The events of a pod whose containers are told to stop.
pub(super) fn stops(pod: &Value) -> Vec<Value> {
    let all = pod["spec"]["containers"].as_array().into_iter().flatten();
    let told = |container: &Value| {
        let name = container["name"].as_str().unwrap_or_default();
        event(pod, "containers", container, "Killing", &format!("Stopping container {name}"))
    };
    all.map(told).collect()
}

fn event(pod: &Value, list: &str, container: &Value, reason: &str, message: &str) -> Value {
    let meta = &pod["metadata"];
    let name = meta["name"].as_str().unwrap_or_default();
    let part = format!("spec.{list}{{{}}}", container["name"].as_str().unwrap_or_default());
    let moment = u64::try_from(Timestamp::now().as_nanosecond()).unwrap_or_default();
    json!({"apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{name}.{moment:016x}"), "namespace": meta["namespace"]},
        "involvedObject": {"kind": "Pod", "apiVersion": "v1", "namespace": meta["namespace"], "name": name, "uid": meta["uid"],
            "resourceVersion": meta["resourceVersion"], "fieldPath": part},
        "reason": reason, "message": message, "type": "Normal", "count": 1, "firstTimestamp": now(), "lastTimestamp": now(),
        "source": {"component": "kubelet", "host": pod["spec"]["nodeName"]},
        "reportingComponent": "kubelet", "reportingInstance": pod["spec"]["nodeName"]})
}
