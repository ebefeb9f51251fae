//! What a DaemonSet's pods look like (`pkg/controller/daemon/util/daemonset_util.go`).

use std::sync::Arc;

use replank_model::object::affinity::{Affinity, NodeAffinity, NodeSelector, NodeSelectorTerm};
use replank_model::object::pod::PodSpec;
use serde_json::{Map, Value, json};

/// Taints that every DaemonSet pod tolerates (`AddOrUpdateDaemonPodTolerations`).
const BORNE: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];
/// Taint that daemon pods on the node's network bear too.
const NETWORK: (&str, &str) = ("node.kubernetes.io/network-unavailable", "NoSchedule");

/// Gives a template's spec the tolerations of daemon pods.
pub(super) fn tolerate(spec: &mut Map<String, Value>) {
    let is_on_host = spec.get("hostNetwork").and_then(Value::as_bool) == Some(true);
    let known = spec.entry("tolerations").or_insert_with(|| json!([]));
    if !known.is_array() {
        *known = json!([]);
    }
    let Value::Array(tolerations) = known else { return };
    for (key, effect) in BORNE.into_iter().chain(is_on_host.then_some(NETWORK)) {
        let borne = json!({"key": key, "operator": "Exists", "effect": effect});
        if !tolerations.contains(&borne) {
            tolerations.push(borne);
        }
    }
}

/// A spec for pods that are pinned to a node each ([`replank_model::object::pod::Pod::pin`]), which is a requirement of every
/// term. The template's own terms stay: a DaemonSet makes pods only where they hold.
pub(super) fn to_be_pinned(spec: &PodSpec) -> PodSpec {
    let affinity = spec.affinity.as_deref().cloned().unwrap_or_default();
    let node = affinity.node_affinity.clone().unwrap_or_default();
    let required = node
        .required
        .unwrap_or_else(|| NodeSelector { node_selector_terms: vec![NodeSelectorTerm::default()] });
    let node = NodeAffinity { required: Some(required), ..node };
    PodSpec { affinity: Some(Arc::new(Affinity { node_affinity: Some(node), ..affinity })), ..spec.clone() }
}
