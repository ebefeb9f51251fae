//! The objects that rows of the trace stand for.

use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use serde_json::{Map, Value, json};

use super::csv::{NodeRow, PodRow};

const NAMESPACE: &str = "openb";
const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];
/// Second 0 of the trace: 2026-01-01T00:00:00Z.
const BEGINNING: Time = Time::from_millis(1_767_225_600_000);

fn time(seconds: i64) -> String {
    (BEGINNING + Span::from_secs(seconds)).to_string()
}

/// A uid that follows from the kind and name alone.
fn uid(kind: &str, name: &str) -> String {
    format!("{kind}-{name}")
}

pub(super) fn namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "uid": uid("namespace", NAMESPACE), "creationTimestamp": time(0)},
        "status": {"phase": "Active"}})
}

/// A node: CPU, memory, 110 pods and thousandths of GPUs; the model as a label where there is one.
pub(super) fn node(row: &NodeRow, index: usize, heartbeat: i64) -> Value {
    let mut instance_type = format!("{}-{}-{}", row.cpu_milli, row.memory_mib, row.gpus);
    let mut labels = Map::new();
    if !row.model.is_empty() {
        labels.insert("openb.io/gpu-model".into(), row.model.clone().into());
        instance_type = format!("{instance_type}-{}", row.model);
    }
    labels.insert("node.kubernetes.io/instance-type".into(), instance_type.into());
    labels.insert("kubernetes.io/hostname".into(), row.name.clone().into());
    labels.insert("topology.kubernetes.io/zone".into(), ZONES[index % ZONES.len()].into());
    let resources = json!({"cpu": format!("{}m", row.cpu_milli), "memory": format!("{}Mi", row.memory_mib), "pods": "110",
        "openb.io/gpu-milli": (row.gpus * 1_000).to_string()});
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": row.name, "uid": uid("node", &row.name), "creationTimestamp": time(0), "labels": labels},
        "spec": {"providerID": format!("openb:///{}", row.name)},
        "status": {"capacity": resources, "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                "lastHeartbeatTime": time(heartbeat), "lastTransitionTime": time(0)}],
            "nodeInfo": {"kubeletVersion": "v1.36.2"}}})
}

fn labels(row: &PodRow) -> Value {
    json!({"app": row.name, "openb.io/qos": row.qos, "openb.io/phase": row.phase})
}

fn spec(row: &PodRow) -> Value {
    let mut requests = Map::new();
    requests.insert("cpu".into(), format!("{}m", row.cpu_milli).into());
    requests.insert("memory".into(), format!("{}Mi", row.memory_mib).into());
    if row.gpu_milli > 0 {
        requests.insert("openb.io/gpu-milli".into(), row.gpu_milli.to_string().into());
    }
    // Extended resources have limits equal to their requests.
    let limits: Map<String, Value> = requests
        .iter()
        .filter(|(name, _)| name.contains('/'))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut spec = json!({"schedulerName": "default-scheduler", "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
        "containers": [{"name": "main", "image": "openb/task", "resources": {"requests": requests, "limits": limits}}]});
    if !row.models.is_empty() {
        spec["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "openb.io/gpu-model", "operator": "In", "values": row.models}]}]}}});
    }
    spec
}

/// The ReplicaSet of which a pod is the one replica.
pub(super) fn replica_set(row: &PodRow, is_ready: bool) -> Value {
    let ready = u32::from(is_ready);
    json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": row.name, "namespace": NAMESPACE, "uid": uid("replicaset", &row.name), "generation": 1,
            "creationTimestamp": time(row.creation_seconds), "labels": labels(row)},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": row.name}},
            "template": {"metadata": {"labels": labels(row)}, "spec": spec(row)}},
        "status": {"replicas": 1, "fullyLabeledReplicas": 1, "readyReplicas": ready, "availableReplicas": ready,
            "observedGeneration": 1}})
}

/// The pod: not yet placed, on its node, or with the scheduler's words why it has none.
///
/// The trace does not say when a pod was Ready, so its condition has no time, and nothing is learnt from it.
pub(super) fn pod(row: &PodRow, placed: Option<Result<&NodeName, &str>>) -> Value {
    let at = time(row.creation_seconds);
    let mut spec = spec(row);
    let status = match placed {
        None => json!({"phase": "Pending"}),
        Some(Err(message)) => json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message, "lastTransitionTime": at}]}),
        Some(Ok(node)) => {
            spec["nodeName"] = node.as_str().into();
            json!({"phase": "Running", "startTime": at, "conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": at},
                {"type": "ContainersReady", "status": "True"}, {"type": "Ready", "status": "True"}]})
        }
    };
    let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": row.name, "uid": uid("replicaset", &row.name),
        "controller": true, "blockOwnerDeletion": true});
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("{}-0", row.name), "namespace": NAMESPACE, "uid": uid("pod", &row.name),
            "creationTimestamp": at, "labels": labels(row), "ownerReferences": [owner]},
        "spec": spec, "status": status})
}
