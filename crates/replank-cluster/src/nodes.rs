//! Nodes that are there from the beginning, for a cluster without a snapshot.

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::time::Time;
use replank_model::view::View;
use serde_json::json;

/// How many nodes there are, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// Nodes.
    pub nodes: u32,
    /// Zones that they are spread over in turn.
    pub zones: u32,
}

/// Nodes of one group, all of them Ready.
///
/// # Panics
/// Never: what is made is well formed.
#[must_use]
pub fn nodes(fleet: Fleet, version: &str, now: Time) -> View {
    let nodes = (0..fleet.nodes).map(|number| node(number, fleet.zones.max(1), version, now));
    nodes.map(|value| Delta::Put(Object::from_json(value).expect("it is well formed"))).collect()
}

/// A node as large as an m6i.xlarge, of the group `default`.
fn node(number: u32, zones: u32, version: &str, now: Time) -> serde_json::Value {
    let zone = char::from(b'a' + u8::try_from(number % zones % 26).unwrap_or(0));
    let name = format!("node-{}", number + 1);
    let resources = |cpu: &str, memory: &str| json!({"cpu": cpu, "memory": memory, "pods": "58", "ephemeral-storage": "80Gi"});
    let now = now.to_string();
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": now, "lastTransitionTime": now})
    };
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": format!("node-{}", number + 1), "resourceVersion": "1",
            "creationTimestamp": now,
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
                "node.kubernetes.io/instance-type": "m6i.xlarge", "eks.amazonaws.com/nodegroup": "default",
                "topology.kubernetes.io/region": "eu-west-1", "topology.kubernetes.io/zone": format!("eu-west-1{zone}")}},
        "spec": {"providerID": format!("aws:///eu-west-1{zone}/i-{:017x}", number + 1)},
        "status": {
            "capacity": resources("4", "16Gi"), "allocatable": resources("3920m", "15Gi"),
            "addresses": [{"type": "InternalIP", "address": format!("10.0.{}.{}", number / 250, number % 250 + 4)},
                {"type": "Hostname", "address": name}],
            "nodeInfo": {"kubeletVersion": version, "kubeProxyVersion": "", "osImage": "Amazon Linux 2023", "operatingSystem": "linux",
                "architecture": "amd64", "containerRuntimeVersion": "containerd://2.1.4", "kernelVersion": "6.12.40",
                "machineID": "", "systemUUID": "", "bootID": ""},
            "conditions": [
                condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
                condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
                condition("Ready", "True", "KubeletReady", "kubelet is posting ready status")]}})
}
