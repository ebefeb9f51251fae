//! The same projection of objects as in the recordings: the members that were looked at, zeros left out.

use replank_model::object::condition::ConditionStatus;
use replank_model::object::{Object, render};
use serde_json::{Map, Value, json};

use super::symbols::Symbols;

/// What is looked at of one object.
pub(super) type State = Map<String, Value>;

/// Members that are counts at the top of a status.
fn counts(kind: &str) -> &'static [&'static str] {
    match kind {
        "Deployment" => &[
            "replicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "updatedReplicas",
            "terminatingReplicas",
        ],
        "ReplicaSet" | "ReplicationController" => {
            &["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "terminatingReplicas"]
        }
        "StatefulSet" => {
            &["replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"]
        }
        "DaemonSet" => &[
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
        ],
        "PodDisruptionBudget" => &["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"],
        "Job" => &["active", "ready", "succeeded", "failed"],
        "HorizontalPodAutoscaler" => &["currentReplicas", "desiredReplicas"],
        _ => &[],
    }
}

/// Annotations that are looked at, and what they are called.
const ANNOTATIONS: [(&str, &str); 4] = [
    ("deployment.kubernetes.io/revision", "revision"),
    ("deployment.kubernetes.io/revision-history", "revision-history"),
    ("deployment.kubernetes.io/desired-replicas", "desired-replicas"),
    ("deployment.kubernetes.io/max-replicas", "max-replicas"),
];

/// Whether the kind is looked at. The recordings leave out Events, quotas and the objects that come with a namespace.
pub(super) fn is_watched(object: &Object) -> bool {
    matches!(
        object.kind_name(),
        "ConfigMap"
            | "ControllerRevision"
            | "CronJob"
            | "DaemonSet"
            | "Deployment"
            | "EndpointSlice"
            | "HorizontalPodAutoscaler"
            | "Job"
            | "Namespace"
            | "Node"
            | "PersistentVolume"
            | "PersistentVolumeClaim"
            | "Pod"
            | "PodDisruptionBudget"
            | "ReplicaSet"
            | "ReplicationController"
            | "Service"
            | "StatefulSet"
    ) && object.meta().name != *"kube-root-ca.crt"
}

/// The state of an object.
pub(super) fn state(object: &Object, symbols: &Symbols, origin_s: i64) -> State {
    let value = render(object);
    let kind = object.kind_name();
    let mut state = State::new();
    let mut set = |name: &str, value: Value| {
        if !is_zero(&value) {
            state.insert(name.to_owned(), value);
        }
    };
    for name in counts(kind) {
        set(name, value["status"][*name].clone());
    }
    owners(object, symbols, &mut set);
    conditions(kind, &value, &mut set);
    match object {
        Object::Pod(pod) => {
            set("image", value["spec"]["containers"][0]["image"].clone());
            set("node", value["spec"]["nodeName"].clone());
            set("phase", pod.status.phase.as_str().into());
            set("ready", pod.is_ready().into());
            set("terminating", pod.is_terminating().into());
        }
        Object::Node(_) => {
            set("taints", taints(&value));
            set("unschedulable", value["spec"]["unschedulable"].clone());
        }
        Object::Job(job) => {
            for name in ["parallelism", "completions", "suspend"] {
                set(&format!("spec.{name}"), value["spec"][name].clone());
            }
            set("status.terminating", value["status"]["terminating"].clone());
            set("startTime", job.status.start_time.is_some().into());
            set("completionTime", job.status.completion_time.is_some().into());
            set("completedIndexes", value["status"]["completedIndexes"].clone());
            set("failedIndexes", value["status"]["failedIndexes"].clone());
        }
        Object::CronJob(cron) => {
            set("spec.suspend", value["spec"]["suspend"].clone());
            let names = cron.status.active.iter().map(|job| symbols.of_uid(&job.uid, job.name.as_str()));
            set("active", names.map(Value::from).collect());
            let seconds = |time: Option<replank_model::time::Time>| {
                time.map_or(Value::Null, |time| (time.as_millis() / 1000 - origin_s).into())
            };
            set("lastScheduleTime_s", seconds(cron.status.last_schedule_time));
            set("lastSuccessfulTime_s", seconds(cron.status.last_successful_time));
        }
        Object::ControllerRevision(revision) => set("revision", revision.revision.into()),
        Object::StatefulSet(set_) => {
            let symbol = |name: &str| Value::from(symbols.of_revision(&set_.meta.namespace, name));
            set("currentRevision", symbol(&set_.status.current_revision));
            set("updateRevision", symbol(&set_.status.update_revision));
        }
        Object::EndpointSlice(_) => set("endpoints", endpoints(&value, symbols)),
        Object::PodDisruptionBudget(budget) => {
            let pods = budget.status.disrupted_pods.keys();
            set("disruptedPods", pods.map(|name| Value::from(symbols.of_pod(name))).collect());
        }
        Object::PersistentVolume(_) => {
            set("phase", value["status"]["phase"].clone());
            set("claim", value["spec"]["claimRef"]["name"].clone());
        }
        Object::PersistentVolumeClaim(_) | Object::Namespace(_) => {
            set("phase", value["status"]["phase"].clone());
        }
        Object::PriorityClass(_)
        | Object::StorageClass(_)
        | Object::CsiDriver(_)
        | Object::CsiNode(_)
        | Object::NodeClaim(_)
        | Object::CsiStorageCapacity(_)
        | Object::VolumeAttachment(_)
        | Object::CustomResourceDefinition(_)
        | Object::ResourceQuota(_)
        | Object::Deployment(_)
        | Object::ReplicaSet(_)
        | Object::ReplicationController(_)
        | Object::DaemonSet(_)
        | Object::HorizontalPodAutoscaler(_)
        | Object::Service(_)
        | Object::Other(_) => {}
    }
    if matches!(kind, "Deployment" | "ReplicaSet" | "ReplicationController" | "StatefulSet") {
        set("spec.replicas", value["spec"]["replicas"].clone());
    }
    if matches!(kind, "Deployment" | "ReplicaSet") {
        for (annotation, name) in ANNOTATIONS {
            let is_own = kind == "ReplicaSet" || name == "revision";
            if is_own {
                set(name, value["metadata"]["annotations"][annotation].clone());
            }
        }
    }
    let finalizers: Value = object.meta().finalizers.iter().map(|name| Value::from(&**name)).collect();
    set("finalizers", finalizers);
    if kind == "Namespace" {
        set("terminating", object.meta().is_terminating().into());
    }
    state
}

/// The managing owner of a controlled kind, all owners of the others.
fn owners(object: &Object, symbols: &Symbols, set: &mut impl FnMut(&str, Value)) {
    let meta = object.meta();
    if matches!(object.kind_name(), "ConfigMap" | "PersistentVolumeClaim") {
        let owners = meta.owner_references.iter().map(|owner| {
            let name = symbols.of_uid(&owner.uid, owner.name.as_str());
            let blocking = if owner.block_owner_deletion == Some(true) { " blocking" } else { "" };
            Value::from(format!("{}/{name}{blocking}", owner.kind))
        });
        set("owners", owners.collect());
        return;
    }
    if let Some(owner) = meta.controller() {
        let name = symbols.of_uid(&owner.uid, owner.name.as_str());
        set("owner", format!("{}/{name}", owner.kind).into());
    }
}

fn conditions(kind: &str, value: &Value, set: &mut impl FnMut(&str, Value)) {
    let Some(conditions) = value["status"]["conditions"].as_array() else { return };
    for condition in conditions {
        let text = |member: &str| condition[member].as_str().unwrap_or_default();
        let shown = format!("{}/{}", text("status"), text("reason"));
        match (kind, text("type")) {
            ("Pod", "DisruptionTarget") if text("status") == ConditionStatus::True.as_str() => {
                set("disruptionTarget", text("reason").into());
            }
            ("Pod", "PodScheduled") if text("reason") == "Unschedulable" => {
                set("unschedulable", text("reason").into());
            }
            ("Pod", _) => {}
            ("Node", "Ready") => set("cond.Ready", shown.into()),
            ("Node", _) => {}
            (_, r#type) => set(&format!("cond.{type}"), shown.into()),
        }
    }
}

fn taints(value: &Value) -> Value {
    let list = value["spec"]["taints"].as_array();
    let mut shown: Vec<String> = list
        .into_iter()
        .flatten()
        .map(|taint| {
            let text = |member: &str| taint[member].as_str().unwrap_or_default();
            let value = if text("value").is_empty() { String::new() } else { format!("={}", text("value")) };
            format!("{}{value}:{}", text("key"), text("effect"))
        })
        .collect();
    shown.sort();
    shown.into()
}

fn endpoints(value: &Value, symbols: &Symbols) -> Value {
    let mut map = Map::new();
    for endpoint in value["endpoints"].as_array().into_iter().flatten() {
        let flag = |name: &str| endpoint["conditions"][name].as_bool().unwrap_or(false);
        let name = endpoint["targetRef"]["name"].as_str().unwrap_or_default();
        let shown =
            json!({"ready": flag("ready"), "serving": flag("serving"), "terminating": flag("terminating")});
        map.insert(symbols.of_pod(name), shown);
    }
    Value::Object(map)
}

/// Whether a value says no more than its absence.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}
