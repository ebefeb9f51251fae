//! Defaults of workloads (`pkg/apis/apps/v1/defaults.go`, `pkg/apis/batch/v1/defaults.go`).

use replank_model::admission::default_pod_spec;
use serde_json::Value;

use super::{absent, items, member};

fn template(spec: &mut Value) {
    if let Value::Object(spec) = member(member(spec, "template"), "spec") {
        default_pod_spec(spec);
    }
}

fn template_labels(spec: &Value) -> Option<Value> {
    spec.pointer("/template/metadata/labels").filter(|labels| labels.is_object()).cloned()
}

pub(super) fn deployment(spec: &mut Value) {
    template(spec);
    absent(spec, "replicas", 1);
    absent(spec, "revisionHistoryLimit", 10);
    absent(spec, "progressDeadlineSeconds", 600);
    let strategy = member(spec, "strategy");
    absent(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        let rolling = member(strategy, "rollingUpdate");
        absent(rolling, "maxUnavailable", "25%");
        absent(rolling, "maxSurge", "25%");
    }
}

pub(super) fn replica_set(value: &mut Value) {
    let spec = member(value, "spec");
    template(spec);
    absent(spec, "replicas", 1);
}

pub(super) fn replication_controller(value: &mut Value) {
    let spec = member(value, "spec");
    template(spec);
    absent(spec, "replicas", 1);
    let labels = template_labels(spec);
    if let Some(labels) = labels {
        absent(spec, "selector", labels.clone());
        absent(member(value, "metadata"), "labels", labels);
    }
}

pub(super) fn stateful_set(spec: &mut Value) {
    template(spec);
    absent(spec, "replicas", 1);
    absent(spec, "podManagementPolicy", "OrderedReady");
    absent(spec, "revisionHistoryLimit", 10);
    let strategy = member(spec, "updateStrategy");
    absent(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        let rolling = member(strategy, "rollingUpdate");
        absent(rolling, "partition", 0);
        // The gate MaxUnavailableStatefulSet is off: the server drops the field.
        if let Value::Object(rolling) = rolling {
            rolling.remove("maxUnavailable");
        }
    }
    let retention = member(spec, "persistentVolumeClaimRetentionPolicy");
    absent(retention, "whenDeleted", "Retain");
    absent(retention, "whenScaled", "Retain");
    for claim in items(spec, "volumeClaimTemplates") {
        // Whatever a template says that it is.
        claim["kind"] = "PersistentVolumeClaim".into();
        claim["apiVersion"] = "v1".into();
        absent(member(claim, "spec"), "volumeMode", "Filesystem");
        absent(member(claim, "status"), "phase", "Pending");
    }
}

/// Annotation that counts the changes of a DaemonSet's template.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// Raises the number of a DaemonSet's template where it changed; users do not write it (apps/daemonset strategy).
pub(super) fn count_template(old: &Value, value: &mut Value) {
    let path = ["metadata", "annotations", TEMPLATE_GENERATION];
    let known = path.iter().try_fold(old, |at, name| at.get(name)).and_then(Value::as_str);
    let known = known.and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
    let is_new = old.pointer("/spec/template") != value.pointer("/spec/template");
    let number = known + i64::from(is_new);
    member(member(value, "metadata"), "annotations")[TEMPLATE_GENERATION] = number.to_string().into();
}

pub(super) fn daemon_set(value: &mut Value) {
    let annotations = member(member(value, "metadata"), "annotations");
    absent(annotations, TEMPLATE_GENERATION, "1");
    let spec = member(value, "spec");
    template(spec);
    absent(spec, "revisionHistoryLimit", 10);
    let strategy = member(spec, "updateStrategy");
    absent(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        let rolling = member(strategy, "rollingUpdate");
        absent(rolling, "maxUnavailable", 1);
        absent(rolling, "maxSurge", 0);
    }
}

pub(super) fn job(value: &mut Value) {
    let spec = member(value, "spec");
    template(spec);
    job_spec(spec);
    let labels = template_labels(spec);
    if let Some(labels) = labels {
        absent(member(value, "metadata"), "labels", labels);
    }
}

fn job_spec(spec: &mut Value) {
    // Neither of them means: one pod, once.
    if spec.get("completions").is_none() && spec.get("parallelism").is_none() {
        spec["completions"] = 1.into();
        spec["parallelism"] = 1.into();
    }
    absent(spec, "parallelism", 1);
    let per_index = spec.get("backoffLimitPerIndex").is_some();
    absent(spec, "backoffLimit", if per_index { i64::from(i32::MAX) } else { 6 });
    absent(spec, "completionMode", "NonIndexed");
    absent(spec, "suspend", false);
    let has_policy = spec.get("podFailurePolicy").is_some();
    absent(spec, "podReplacementPolicy", if has_policy { "Failed" } else { "TerminatingOrFailed" });
    if let Some(policy) = spec.get_mut("podFailurePolicy") {
        for rule in items(policy, "rules") {
            for pattern in items(rule, "onPodConditions") {
                absent(pattern, "status", "True");
            }
        }
    }
}

pub(super) fn cron_job(spec: &mut Value) {
    absent(spec, "concurrencyPolicy", "Allow");
    absent(spec, "suspend", false);
    absent(spec, "successfulJobsHistoryLimit", 3);
    absent(spec, "failedJobsHistoryLimit", 1);
    // A template's Job gets its own defaults when it is made; its pods' are filled in here.
    template(member(member(spec, "jobTemplate"), "spec"));
}
