//! Nodes of EKS groups.

use replank_model::time::Span;
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::entry::{Entry, merge, now};

/// A node, and what pods and groups need to know of it.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) group: Option<String>,
    pub(crate) zone: String,
    pub(crate) instance: String,
    pub(crate) object: Value,
}

/// `web 3`: web-1 to web-3, in three zones in turn.
pub(crate) fn several(cluster: &mut Cluster, text: &str, entry: &mut Entry) {
    let (group, number) = text.split_once(' ').expect("nodes: GROUP NUMBER");
    let number: usize = number.parse().expect("a number of nodes");
    let zones = entry.texts("zones");
    let zones = if zones.is_empty() { vec!["a".to_owned(), "b".into(), "c".into()] } else { zones };
    let change = Change::take(entry);
    for index in 0..number {
        let mut node = plain(format!("{group}-{}", index + 1), Some(group), &zones[index % zones.len()]);
        change.apply(&mut node);
        cluster.nodes.push(node);
    }
}

/// One node of its own, or a change to one that is there.
pub(crate) fn one(cluster: &mut Cluster, name: String, entry: &mut Entry) {
    let group = entry.text("group");
    let zone = entry.text("zone");
    let change = Change::take(entry);
    if let Some(known) = cluster.nodes.iter_mut().find(|node| node.name == name) {
        change.apply(known);
        return;
    }
    let mut node = plain(name, group.as_deref(), zone.as_deref().unwrap_or("a"));
    change.apply(&mut node);
    cluster.nodes.push(node);
}

struct Change {
    patches: Vec<Value>,
}

impl Change {
    fn take(entry: &mut Entry) -> Self {
        let labels = json!({"metadata": {"labels": entry.patch("labels")}});
        let annotations = json!({"metadata": {"annotations": entry.patch("annotations")}});
        let mut patches = vec![labels, annotations];
        if let Some(version) = entry.text("version") {
            patches.push(
                json!({"status": {"nodeInfo": {"kubeletVersion": version, "kubeProxyVersion": version}}}),
            );
        }
        if let Some(system) = entry.text("os") {
            patches.push(json!({"status": {"nodeInfo": {"osImage": system}}}));
        }
        let taints: Vec<Value> = entry.texts("taints").iter().map(|taint| self::taint(taint)).collect();
        if !taints.is_empty() {
            patches.push(json!({"spec": {"taints": taints}}));
        }
        let ready = entry.take("ready") != Some(Value::Bool(false));
        if !ready {
            let since = now() - Span::from_minutes(60);
            let unreachable = |effect: &str| json!({"key": "node.kubernetes.io/unreachable", "effect": effect, "timeAdded": since});
            patches.push(json!({
                "spec": {"taints": [unreachable("NoSchedule"), unreachable("NoExecute")]},
                "status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown",
                    "lastHeartbeatTime": since, "lastTransitionTime": since}]},
            }));
        }
        patches.push(entry.patch("with"));
        Self { patches }
    }

    fn apply(&self, node: &mut Node) {
        self.patches.iter().for_each(|patch| merge(&mut node.object, patch.clone()));
    }
}

/// `key=value:Effect`
fn taint(text: &str) -> Value {
    let (pair, effect) = text.rsplit_once(':').expect("a taint has an effect");
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    if value.is_empty() {
        json!({"key": key, "effect": effect})
    } else {
        json!({"key": key, "value": value, "effect": effect})
    }
}

fn plain(name: String, group: Option<&str>, zone: &str) -> Node {
    let zone = format!("eu-west-1{zone}");
    let instance = format!("i-{name}");
    let mut object = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": format!("u-node-{name}"), "creationTimestamp": now() - Span::from_minutes(30 * 24 * 60), "labels": {
            "kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": "m6i.xlarge",
            "topology.kubernetes.io/region": "eu-west-1", "topology.kubernetes.io/zone": zone,
        }},
        "spec": {"providerID": format!("aws:///{zone}/{instance}")},
        "status": {
            "capacity": {"cpu": "4", "memory": "16Gi", "pods": "58"},
            "allocatable": {"cpu": "3920m", "memory": "15Gi", "pods": "58"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                "lastHeartbeatTime": now() - Span::from_secs(20), "lastTransitionTime": now() - Span::from_minutes(30 * 24 * 60)}],
            "nodeInfo": {"kubeletVersion": "v1.35.3", "kubeProxyVersion": "v1.35.3", "osImage": "Amazon Linux 2023.9.20260101",
                "operatingSystem": "linux", "architecture": "amd64", "containerRuntimeVersion": "containerd://2.1.5"},
        },
    });
    if let Some(group) = group {
        merge(
            &mut object,
            json!({"metadata": {"labels": {"eks.amazonaws.com/nodegroup": group, "eks.amazonaws.com/capacityType": "ON_DEMAND"}}}),
        );
    }
    Node { name, group: group.map(str::to_owned), zone, instance, object }
}
