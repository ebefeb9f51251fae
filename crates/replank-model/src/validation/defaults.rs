//! What the server fills in and drops before it looks at an object (`pkg/apis/*/v1/defaults.go`, each kind's
//! `PrepareForCreate`), as far as it shows in an answer.

use serde_json::{Map, Value, json};

use super::{Kind, job};
use crate::admission::{default_pod, default_pod_template, prepare_pod_for_create};
use crate::time::Time;

type Members = Map<String, Value>;

/// Stands for the five characters that the server draws for a name that is to be generated.
const SUFFIX: &str = "xxxxx";

/// An object as the server has it when it looks at it.
pub(super) fn prepare(kind: Kind, object: &mut Value) {
    let Value::Object(members) = object else { return };
    let metadata = child(members, "metadata");
    absent_text(metadata, "namespace", "default");
    if text(metadata, "name").is_empty() && !text(metadata, "generateName").is_empty() {
        let name = format!("{}{SUFFIX}", text(metadata, "generateName"));
        metadata.insert("name".to_owned(), name.into());
    }
    match kind {
        Kind::Pod => {
            child(members, "spec");
            pod(object);
        }
        Kind::PodTemplate => template(members, "template"),
        Kind::ReplicationController => replication_controller(members),
        Kind::Deployment => deployment(child(members, "spec")),
        Kind::ReplicaSet => template(child(members, "spec"), "template"),
        Kind::StatefulSet => stateful_set(child(members, "spec")),
        Kind::DaemonSet => daemon_set(child(members, "spec")),
        Kind::Job => own_job(members),
        Kind::CronJob => {
            let spec = child(members, "spec");
            absent_text(spec, "concurrencyPolicy", "Allow");
            let spec = child(child(spec, "jobTemplate"), "spec");
            conditions(spec);
            template(spec, "template");
        }
    }
}

fn child<'a>(members: &'a mut Members, name: &str) -> &'a mut Members {
    let value = members.entry(name).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it is an object since the line above")
}

fn text<'a>(members: &'a Members, name: &str) -> &'a str {
    members.get(name).and_then(Value::as_str).unwrap_or("")
}

fn absent(members: &mut Members, name: &str, default: impl Into<Value>) {
    if members.get(name).is_none_or(Value::is_null) {
        members.insert(name.to_owned(), default.into());
    }
}

fn absent_text(members: &mut Members, name: &str, default: &str) {
    if text(members, name).is_empty() {
        members.insert(name.to_owned(), default.into());
    }
}

fn pod(pod: &mut Value) {
    default_pod(pod);
    if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
        drop_disabled(spec);
    }
    // The time stands in nothing that is said.
    prepare_pod_for_create(pod, Time::from_millis(0));
}

fn template(members: &mut Members, name: &str) {
    let template = child(members, name);
    child(template, "spec");
    default_pod_template(template);
    drop_disabled(child(template, "spec"));
}

/// What is behind gates that are off in 1.36.
fn drop_disabled(spec: &mut Members) {
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in items(spec, list) {
            let Some(Value::Object(lifecycle)) = container.get_mut("lifecycle") else { continue };
            if lifecycle.remove("stopSignal").is_some() && lifecycle.is_empty() {
                container.remove("lifecycle");
            }
        }
    }
    for volume in items(spec, "volumes") {
        let Some(Value::Object(projected)) = volume.get_mut("projected") else { continue };
        for source in items(projected, "sources") {
            source.remove("clusterTrustBundle");
            source.remove("podCertificate");
        }
    }
}

fn items<'a>(members: &'a mut Members, name: &str) -> impl Iterator<Item = &'a mut Members> {
    let list = members.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

fn deployment(spec: &mut Members) {
    template(spec, "template");
    absent(spec, "progressDeadlineSeconds", 600);
    let strategy = child(spec, "strategy");
    absent_text(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate" {
        let rolling = child(strategy, "rollingUpdate");
        absent(rolling, "maxUnavailable", "25%");
        absent(rolling, "maxSurge", "25%");
    }
}

fn stateful_set(spec: &mut Members) {
    template(spec, "template");
    absent_text(spec, "podManagementPolicy", "OrderedReady");
    let strategy = child(spec, "updateStrategy");
    absent_text(strategy, "type", "RollingUpdate");
    if let Some(Value::Object(rolling)) = strategy.get_mut("rollingUpdate") {
        rolling.remove("maxUnavailable");
    }
    let retention = child(spec, "persistentVolumeClaimRetentionPolicy");
    absent_text(retention, "whenDeleted", "Retain");
    absent_text(retention, "whenScaled", "Retain");
    for claim in items(spec, "volumeClaimTemplates") {
        absent(child(claim, "spec"), "volumeMode", "Filesystem");
    }
}

fn daemon_set(spec: &mut Members) {
    template(spec, "template");
    let strategy = child(spec, "updateStrategy");
    absent_text(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate" {
        let rolling = child(strategy, "rollingUpdate");
        absent(rolling, "maxUnavailable", 1);
        absent(rolling, "maxSurge", 0);
    }
}

fn template_labels(spec: &Members) -> Option<Value> {
    let labels = spec.get("template")?.get("metadata")?.get("labels")?;
    labels.is_object().then(|| labels.clone())
}

fn is_empty(members: &Members, name: &str) -> bool {
    members.get(name).and_then(Value::as_object).is_none_or(Map::is_empty)
}

/// Labels of a template are labels of the object where it has none. Says whether they are.
fn labels_from_template(members: &mut Members) -> bool {
    let labels = template_labels(child(members, "spec"));
    let metadata = child(members, "metadata");
    match labels.filter(|_| is_empty(metadata, "labels")) {
        Some(labels) => {
            metadata.insert("labels".to_owned(), labels);
            true
        }
        None => false,
    }
}

fn replication_controller(members: &mut Members) {
    labels_from_template(members);
    let spec = child(members, "spec");
    if let Some(labels) = template_labels(spec).filter(|_| is_empty(spec, "selector")) {
        spec.insert("selector".to_owned(), labels);
    }
    if spec.get("template").is_some_and(Value::is_object) {
        template(spec, "template");
    }
}

fn conditions(spec: &mut Members) {
    let Some(Value::Object(policy)) = spec.get_mut("podFailurePolicy") else { return };
    for rule in items(policy, "rules") {
        items(rule, "onPodConditions").for_each(|pattern| absent_text(pattern, "status", "True"));
    }
}

fn own_job(members: &mut Members) {
    let shares_labels = labels_from_template(members);
    let name = text(child(members, "metadata"), "name").to_owned();
    let spec = child(members, "spec");
    conditions(spec);
    template(spec, "template");
    if spec.get("completions").is_none() && spec.get("parallelism").is_none() {
        spec.insert("completions".to_owned(), 1.into());
    }
    absent(spec, "parallelism", 1);
    absent(spec, "completionMode", "NonIndexed");
    let policy = if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    absent(spec, "podReplacementPolicy", policy);
    if spec.get("manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let labels = child(child(spec, "selector"), "matchLabels");
    absent(labels, "batch.kubernetes.io/controller-uid", job::NO_UID);
    let labels = child(child(child(spec, "template"), "metadata"), "labels");
    for (key, value) in job::generated_labels(&name) {
        absent(labels, key, value);
    }
    // It is one map upstream: what the template is given, the Job has, too.
    if shares_labels {
        let labels = labels.clone();
        child(members, "metadata").insert("labels".to_owned(), labels.into());
    }
}
