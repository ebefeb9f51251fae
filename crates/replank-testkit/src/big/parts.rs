//! Parts that objects have in common.

use replank_model::time::{Span, Time};
use serde_json::{Map, Value, json};

/// The newest heartbeat: 2026-11-20T09:00:00Z.
pub(super) const NOW: Time = Time::from_millis(1_795_165_200_000);

pub(super) const ZONES: [&str; 3] = ["eu-west-1a", "eu-west-1b", "eu-west-1c"];

/// So many seconds before the newest heartbeat.
pub(super) fn ago(seconds: usize) -> String {
    (NOW - Span::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX))).to_string()
}

/// A uid that follows from what the object is.
pub(super) fn uid(kind: &str, number: usize) -> String {
    let kind = kind.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    format!("{kind:08x}-0000-4000-8000-{number:012x}")
}

/// Five letters that a generated name ends in.
pub(super) fn suffix(number: usize) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut rest = number.wrapping_mul(2_654_435_761) % 14_348_907;
    (0..5)
        .map(|_| {
            let letter = LETTERS[rest % LETTERS.len()];
            rest /= LETTERS.len();
            char::from(letter)
        })
        .collect()
}

/// The metadata of an object that is an hour or more old.
pub(super) fn meta(kind: &str, number: usize, namespace: &str, name: &str, labels: &Value) -> Value {
    let mut meta = json!({"name": name, "uid": uid(kind, number), "creationTimestamp": ago(86_400 + number % 86_400),
        "generation": 1, "resourceVersion": (1_000 + number).to_string(), "labels": labels});
    if !namespace.is_empty() {
        meta["namespace"] = namespace.into();
    }
    meta
}

/// A controller's reference, as its dependents carry it.
pub(super) fn owner(api_version: &str, kind: &str, number: usize, name: &str) -> Value {
    json!([{"apiVersion": api_version, "kind": kind, "name": name, "uid": uid(kind, number), "controller": true,
        "blockOwnerDeletion": true}])
}

/// A pod's spec: one container that asks for so much.
pub(super) fn spec(image: &str, cpu_milli: usize, memory_mib: usize) -> Map<String, Value> {
    let spec = json!({"containers": [{"name": "main", "image": image, "imagePullPolicy": "IfNotPresent",
            "resources": {"requests": {"cpu": format!("{cpu_milli}m"), "memory": format!("{memory_mib}Mi")},
                "limits": {"memory": format!("{memory_mib}Mi")}},
            "ports": [{"containerPort": 8080, "protocol": "TCP"}]}],
        "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler", "serviceAccountName": "default", "securityContext": {}});
    match spec {
        Value::Object(spec) => spec,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

/// A toleration of `dedicated=GROUP:NoSchedule`, and the selector that goes with it.
pub(super) fn dedicate(spec: &mut Map<String, Value>, group: &str) {
    let toleration =
        json!([{"key": "dedicated", "operator": "Equal", "value": group, "effect": "NoSchedule"}]);
    spec.insert("tolerations".into(), toleration);
    spec.insert("nodeSelector".into(), json!({"pool": group}));
}

/// What every node's taints are tolerated with for five minutes (the admission plug-in adds it).
pub(super) fn tolerate_five_minutes(spec: &mut Map<String, Value>) {
    let short = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
    let added = [short("node.kubernetes.io/not-ready"), short("node.kubernetes.io/unreachable")];
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    if let Value::Array(tolerations) = tolerations {
        tolerations.extend(added);
    }
}

/// The status of a pod that became Ready `took` seconds after it was placed.
pub(super) fn running(placed_ago: usize, took: usize) -> Value {
    let (placed, ready) = (ago(placed_ago), ago(placed_ago - took));
    let condition = |kind: &str, at: &str| json!({"type": kind, "status": "True", "lastTransitionTime": at});
    json!({"phase": "Running", "startTime": placed, "qosClass": "Burstable",
        "conditions": [condition("PodScheduled", &placed), condition("Initialized", &placed),
            condition("ContainersReady", &ready), condition("Ready", &ready)],
        "containerStatuses": [{"name": "main", "ready": true, "started": true, "restartCount": 0,
            "image": "registry.example/app", "imageID": "", "state": {"running": {"startedAt": ready}}}]})
}
