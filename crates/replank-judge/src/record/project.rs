//! What is looked at of an object; zeros are left out.

use serde_json::{Map, Value, json};

use super::names::Names;
use super::symbols::{Symbols, controller};

pub(super) type State = Map<String, Value>;

/// What a projection needs to know beside the object.
pub(super) struct Lens<'a> {
    pub(super) names: &'a Names,
    pub(super) symbols: &'a Symbols,
    /// Second of t = 0.
    pub(super) origin_s: i64,
}

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
        "Job" => &["active", "ready", "succeeded", "failed", "completedIndexes", "failedIndexes"],
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

/// The projection of an object.
pub(super) fn state(lens: &Lens<'_>, kind: &'static str, object: &Value) -> State {
    let mut state = State::new();
    let mut set = |name: &str, value: Value| {
        if !is_zero(&value) {
            state.insert(name.to_owned(), value);
        }
    };
    let (meta, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
    for name in counts(kind) {
        set(name, status[*name].clone());
    }
    owners(lens, kind, object, &mut set);
    conditions(kind, status, &mut set);
    match kind {
        "Pod" => {
            set("image", spec["containers"][0]["image"].clone());
            set("node", spec["nodeName"].as_str().map(|node| lens.symbols.node(lens.names, node)).into());
            set("phase", status["phase"].clone());
            set("ready", has_condition(object, "Ready").into());
            set("terminating", meta["deletionTimestamp"].is_string().into());
        }
        "Node" => {
            set("taints", taints(&spec["taints"]));
            set("unschedulable", spec["unschedulable"].clone());
        }
        "Job" => {
            for name in ["parallelism", "completions", "suspend"] {
                set(&format!("spec.{name}"), spec[name].clone());
            }
            set("status.terminating", status["terminating"].clone());
            set("startTime", status["startTime"].is_string().into());
            set("completionTime", status["completionTime"].is_string().into());
        }
        "CronJob" => {
            set("spec.suspend", spec["suspend"].clone());
            let active = status["active"].as_array().into_iter().flatten();
            set(
                "active",
                active
                    .map(|job| Value::from(lens.symbols.of_uid(text(&job["uid"]), text(&job["name"]))))
                    .collect(),
            );
            for (name, from) in
                [("lastScheduleTime_s", "lastScheduleTime"), ("lastSuccessfulTime_s", "lastSuccessfulTime")]
            {
                let time: Option<jiff::Timestamp> = status[from].as_str().and_then(|time| time.parse().ok());
                set(name, time.map(|time| time.as_second() - lens.origin_s).into());
            }
        }
        "ControllerRevision" => set("revision", object["revision"].clone()),
        "StatefulSet" => {
            for name in ["currentRevision", "updateRevision"] {
                set(name, lens.symbols.of_name("ControllerRevision", text(&status[name])).into());
            }
        }
        "EndpointSlice" => set("endpoints", endpoints(lens, &object["endpoints"])),
        "PodDisruptionBudget" => {
            let pods = status["disruptedPods"].as_object().into_iter().flatten();
            set(
                "disruptedPods",
                pods.map(|(name, _)| Value::from(lens.symbols.of_name("Pod", name))).collect(),
            );
        }
        "PersistentVolumeClaim" => set("phase", status["phase"].clone()),
        _ => {}
    }
    if matches!(kind, "Deployment" | "ReplicaSet" | "ReplicationController" | "StatefulSet") {
        set("spec.replicas", spec["replicas"].clone());
    }
    for (annotation, name) in ANNOTATIONS {
        if kind == "ReplicaSet" || (kind == "Deployment" && name == "revision") {
            set(name, meta["annotations"][annotation].clone());
        }
    }
    set("finalizers", meta["finalizers"].clone());
    state
}

fn owners(lens: &Lens<'_>, kind: &str, object: &Value, set: &mut impl FnMut(&str, Value)) {
    let symbol = |owner: &Value| {
        format!("{}/{}", text(&owner["kind"]), lens.symbols.of_uid(text(&owner["uid"]), text(&owner["name"])))
    };
    if matches!(kind, "ConfigMap" | "PersistentVolumeClaim") {
        let all = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let blocking = |owner: &Value| if owner["blockOwnerDeletion"] == true { " blocking" } else { "" };
        set("owners", all.map(|owner| Value::from(symbol(owner) + blocking(owner))).collect());
    } else if let Some(owner) = controller(object) {
        set("owner", symbol(owner).into());
    }
}

fn conditions(kind: &str, status: &Value, set: &mut impl FnMut(&str, Value)) {
    for condition in status["conditions"].as_array().into_iter().flatten() {
        let (status, reason) = (text(&condition["status"]), text(&condition["reason"]));
        match (kind, text(&condition["type"])) {
            ("Pod", "DisruptionTarget") if status == "True" => set("disruptionTarget", reason.into()),
            ("Pod", "PodScheduled") if reason == "Unschedulable" => set("unschedulable", reason.into()),
            ("Node", "Ready") => set("cond.Ready", format!("{status}/{reason}").into()),
            ("Pod" | "Node", _) => {}
            (_, name) => set(&format!("cond.{name}"), format!("{status}/{reason}").into()),
        }
    }
}

fn taints(list: &Value) -> Value {
    let all = list.as_array().into_iter().flatten();
    let mut shown: Vec<String> = all
        .map(|taint| {
            let value = taint["value"].as_str().filter(|value| !value.is_empty());
            let value = value.map(|value| format!("={value}")).unwrap_or_default();
            format!("{}{value}:{}", text(&taint["key"]), text(&taint["effect"]))
        })
        .collect();
    shown.sort();
    shown.into()
}

fn endpoints(lens: &Lens<'_>, list: &Value) -> Value {
    let all = list.as_array().into_iter().flatten();
    let map: Map<String, Value> = all
        .map(|endpoint| {
            let flag = |name: &str| endpoint["conditions"][name].as_bool().unwrap_or(false);
            let shown = json!({"ready": flag("ready"), "serving": flag("serving"), "terminating": flag("terminating")});
            (lens.symbols.of_name("Pod", text(&endpoint["targetRef"]["name"])), shown)
        })
        .collect();
    Value::Object(map)
}

/// Whether a condition of an object holds.
pub(super) fn has_condition(object: &Value, name: &str) -> bool {
    let mut all = object["status"]["conditions"].as_array().into_iter().flatten();
    all.any(|condition| condition["type"] == name && condition["status"] == "True")
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
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
