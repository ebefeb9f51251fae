//! Namespaces, classes, nodes, and what runs on every node.

use serde_json::{Value, json};

use super::Group;
use super::parts::{ZONES, ago, meta, owner, running, spec, suffix, uid};

/// DaemonSets and what their pods ask for.
const DAEMON_SETS: [(&str, usize, usize); super::DAEMONS] =
    [("aws-node", 50, 128), ("ebs-csi-node", 30, 120), ("kube-proxy", 100, 64)];

/// Name of the `index`th node of a group.
pub(super) fn name(group: Group, index: usize) -> String {
    format!("{}-{index:05}.eu-west-1.compute.internal", group.name())
}

/// A number for each node.
fn number(group: Group, index: usize) -> usize {
    let base = match group {
        Group::General => 0,
        Group::Data => 1_000_000,
        Group::Batch => 2_000_000,
    };
    base + index
}

/// Objects that do not depend on the size.
pub(super) fn fixed() -> Vec<Value> {
    let namespaces = ["kube-system", "apps", "data", "batch"];
    let mut objects: Vec<Value> = namespaces
        .iter()
        .enumerate()
        .map(|(number, name)| {
            json!({"apiVersion": "v1", "kind": "Namespace", "status": {"phase": "Active"},
                "metadata": meta("Namespace", number, "", name, &json!({"kubernetes.io/metadata.name": name}))})
        })
        .collect();
    objects.push(json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": meta("StorageClass", 0, "", "gp3", &json!({})), "provisioner": "ebs.csi.aws.com",
        "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Delete"}));
    objects
        .push(json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 2_000_001_000,
        "metadata": meta("PriorityClass", 0, "", "system-node-critical", &json!({}))}));
    objects.extend((0..DAEMON_SETS.len()).map(daemon_set));
    objects
}

fn daemon_spec(which: usize) -> Value {
    let (name, cpu, memory) = DAEMON_SETS[which];
    let mut spec = spec(&format!("registry.example/{name}:1"), cpu, memory);
    spec.insert("tolerations".into(), json!([{"operator": "Exists"}]));
    spec.insert("priorityClassName".into(), "system-node-critical".into());
    spec.into()
}

fn daemon_set(which: usize) -> Value {
    let (name, _, _) = DAEMON_SETS[which];
    let labels = json!({"k8s-app": name});
    json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta("DaemonSet", which, "kube-system", name, &labels),
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": daemon_spec(which)},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}},
        "status": {"observedGeneration": 1}})
}

/// A node, its CSINode, and its DaemonSets' pods.
pub(super) fn node(group: Group, index: usize) -> Vec<Value> {
    let (name, number) = (name(group, index), number(group, index));
    let zone = ZONES[index % ZONES.len()];
    let labels = json!({"eks.amazonaws.com/nodegroup": group.name(), "kubernetes.io/hostname": name, "pool": group.name(),
        "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "node.kubernetes.io/instance-type": "m6i.4xlarge",
        "topology.kubernetes.io/region": "eu-west-1", "topology.kubernetes.io/zone": zone,
        "topology.ebs.csi.aws.com/zone": zone, "eks.amazonaws.com/nodegroup-image": "ami-0aaaaaaaaaaaaaaaa"});
    let taints = match group {
        Group::General => json!([]),
        Group::Data | Group::Batch => {
            json!([{"key": "dedicated", "value": group.name(), "effect": "NoSchedule"}])
        }
    };
    let resources =
        |cpu: &str| json!({"cpu": cpu, "memory": "62Gi", "pods": "234", "ephemeral-storage": "95551679124"});
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": meta("Node", number, "", &name, &labels),
        "spec": {"providerID": format!("aws:///{zone}/i-{number:017x}"), "taints": taints},
        "status": {"capacity": resources("16"), "allocatable": resources("15890m"),
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": ago(number % 300),
                "lastTransitionTime": ago(86_400 + number % 86_400 - 40)}],
            "nodeInfo": {"kubeletVersion": "v1.35.2-eks-113cf36"}}});
    let csi = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": meta("CSINode", number, "", &name, &json!({})),
        "spec": {"drivers": [{"name": "ebs.csi.aws.com", "nodeID": format!("i-{number:017x}"), "allocatable": {"count": 25},
            "topologyKeys": ["topology.ebs.csi.aws.com/zone"]}]}});
    let mut objects = vec![node, csi];
    objects.extend((0..DAEMON_SETS.len()).map(|which| daemon_pod(which, number, &name)));
    objects
}

fn daemon_pod(which: usize, node: usize, node_name: &str) -> Value {
    let (set, _, _) = DAEMON_SETS[which];
    let number = node * DAEMON_SETS.len() + which;
    let name = format!("{set}-{node:x}-{}", suffix(number));
    let mut meta = meta(
        "DaemonPod",
        number,
        "kube-system",
        &name,
        &json!({"k8s-app": set, "controller-revision-hash": "6d5f9c"}),
    );
    meta["ownerReferences"] = owner("apps/v1", "DaemonSet", which, set);
    debug_assert_eq!(meta["ownerReferences"][0]["uid"], uid("DaemonSet", which));
    let mut spec = daemon_spec(which);
    spec["nodeName"] = node_name.into();
    // As the DaemonSet controller pins its pods.
    spec["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]}]}}});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": running(80_000, 3 + number % 6)})
}
