//! Workloads that keep pods up (Kubernetes 1.36 `pkg/apis/apps/validation/validation.go`, `ValidateReplicationController`).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::error::{Causes, Shown};
use super::field::Field;
use super::{claims, names, pod, selectors, strategy};

/// A number that may not be below zero, if it is there.
pub(super) fn not_negative(spec: &Field<'_>, name: &str, causes: &mut Causes) {
    let field = spec.child(name);
    if let Some(number) = field.number() {
        causes.not_negative(field.path, number);
    }
}

/// That pods of a template are always started again, and never end by themselves.
fn stays_up(spec: &Field<'_>, kind: &str, causes: &mut Causes) {
    let policy = spec.child("restartPolicy");
    if policy.text() != "Always" {
        causes.not_supported(&policy.path, Shown::word(policy.text()), &["Always"]);
    }
    if spec.child("activeDeadlineSeconds").is_set() {
        let why = format!("activeDeadlineSeconds in {kind} is not Supported");
        causes.forbidden(spec.at("activeDeadlineSeconds"), why);
    }
}

/// A selector that must be there and select something (`ReplicaSet`, `Deployment`, `StatefulSet`).
fn selector(spec: &Field<'_>, kind: &str, causes: &mut Causes) {
    let selector = spec.child("selector");
    if !selector.is_set() {
        return causes.required(selector.path, "");
    }
    selectors::at(&selector, causes);
    if selectors::is_empty(&selector) {
        let why = format!("empty selector is invalid for {kind}");
        causes.invalid(&selector.path, selectors::shown(&selector), why);
    }
}

/// The template, and that the selector selects it; or that there is no such selector.
fn selected_template(
    spec: &Field<'_>,
    why_no_selector: &str,
    template: impl FnOnce(&Field<'_>, &mut Causes),
    causes: &mut Causes,
) {
    let field = spec.child("selector");
    let Some(selector) = selectors::compiled(&field) else {
        return causes.invalid(&field.path, selectors::shown(&field), why_no_selector);
    };
    let labels = spec.child("template").child("metadata").child("labels");
    if !selector.is_empty() && !selectors::matches(&selector, &labels) {
        selectors::mismatch(&labels, causes);
    }
    template(&spec.child("template"), causes);
}

fn template_of_replicas(spec: &Field<'_>, causes: &mut Causes) {
    let template = |template: &Field<'_>, causes: &mut Causes| {
        pod::template(template, causes);
        stays_up(&template.child("spec"), "ReplicaSet", causes);
    };
    selected_template(spec, "invalid label selector", template, causes);
}

/// `ValidateDeploymentSpec`.
pub(super) fn deployment(spec: &Field<'_>, causes: &mut Causes) {
    not_negative(spec, "replicas", causes);
    selector(spec, "deployment", causes);
    template_of_replicas(spec, causes);
    strategy::of_deployment(&spec.child("strategy"), causes);
    not_negative(spec, "minReadySeconds", causes);
    not_negative(spec, "revisionHistoryLimit", causes);
    let deadline = spec.child("progressDeadlineSeconds");
    if let Some(seconds) = deadline.number() {
        not_negative(spec, "progressDeadlineSeconds", causes);
        if seconds <= spec.child("minReadySeconds").number_or_zero() {
            causes.invalid(deadline.path, Shown::plain(seconds), "must be greater than minReadySeconds");
        }
    }
}

/// `ValidateReplicaSetSpec`.
pub(super) fn replica_set(spec: &Field<'_>, causes: &mut Causes) {
    not_negative(spec, "replicas", causes);
    not_negative(spec, "minReadySeconds", causes);
    // Upstream calls it a deployment here, too.
    selector(spec, "deployment", causes);
    template_of_replicas(spec, causes);
}

/// `ValidateReplicationControllerSpec`.
pub(super) fn replication_controller(spec: &Field<'_>, causes: &mut Causes) {
    not_negative(spec, "minReadySeconds", causes);
    let selector = spec.child("selector");
    if selector.is_empty() {
        causes.required(&selector.path, "");
    }
    not_negative(spec, "replicas", causes);
    let Some(template) = spec.child("template").set() else {
        return causes.required(spec.at("template"), "");
    };
    let labels = template.child("metadata").child("labels");
    if selector.members().any(|(key, value)| labels.child(key).value != value.value) {
        selectors::mismatch(&labels, causes);
    }
    pod::template(&template, causes);
    stays_up(&template.child("spec"), "ReplicationController", causes);
}

/// `ValidateStatefulSetSpec`.
pub(super) fn stateful_set(spec: &Field<'_>, causes: &mut Causes) {
    let policy = spec.child("podManagementPolicy");
    match policy.text() {
        "" => causes.required(&policy.path, ""),
        "OrderedReady" | "Parallel" => {}
        word => causes.invalid(&policy.path, Shown::word(word), "must be 'OrderedReady' or 'Parallel'"),
    }
    strategy::of_stateful_set(&spec.child("updateStrategy"), causes);
    let retention = spec.child("persistentVolumeClaimRetentionPolicy");
    for when in ["whenDeleted", "whenScaled"].map(|name| retention.child(name)) {
        if !matches!(when.text(), "Retain" | "Delete") {
            causes.not_supported(&when.path, Shown::word(when.text()), &["Retain", "Delete"]);
        }
    }
    for claim in spec.child("volumeClaimTemplates").items() {
        claims::spec(&claim.child("spec"), causes);
    }
    not_negative(spec, "replicas", causes);
    not_negative(spec, "minReadySeconds", causes);
    let start = spec.child("ordinals").child("start");
    causes.not_negative(&start.path, start.number_or_zero());
    let service = spec.child("serviceName");
    if !service.is_empty() {
        names::label_at(&service, causes);
    }
    selector(spec, "statefulset", causes);
    let with_claims = with_claims(spec);
    let with_claims = Field::new(&*spec.path, &with_claims);
    let template = |template: &Field<'_>, causes: &mut Causes| {
        pod::template(template, causes);
        pod::template_metadata(template, causes);
    };
    selected_template(&with_claims, "", template, causes);
    stays_up(&spec.child("template").child("spec"), "StatefulSet", causes);
}

/// The spec as it is looked at: volumes of the claims' templates come before the template's own and instead of those of
/// the same name, and what the controller overwrites is left out.
fn with_claims(spec: &Field<'_>) -> Value {
    let mut value = spec.value.clone();
    let mut volumes: BTreeMap<String, Value> = BTreeMap::new();
    for claim in spec.child("volumeClaimTemplates").items() {
        let name = claim.child("metadata").child("name").text();
        let volume = json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
        volumes.insert(name.to_owned(), volume);
    }
    if let Some(Value::Object(pod)) = value.pointer_mut("/template/spec") {
        pod.remove("subdomain");
        pod.remove("hostname");
        if !volumes.is_empty() {
            let own = pod.remove("volumes");
            let own = own.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
            let is_own = |volume: &Value| {
                !volumes.contains_key(volume.get("name").and_then(Value::as_str).unwrap_or(""))
            };
            let own: Vec<Value> = own.into_iter().filter(is_own).collect();
            pod.insert("volumes".to_owned(), volumes.into_values().chain(own).collect());
        }
    }
    value
}

/// `ValidateDaemonSetSpec`.
pub(super) fn daemon_set(spec: &Field<'_>, causes: &mut Causes) {
    let selector = spec.child("selector");
    selectors::at(&selector, causes);
    let template = spec.child("template");
    let labels = template.child("metadata").child("labels");
    if selectors::compiled(&selector).is_some_and(|selector| !selectors::matches(&selector, &labels)) {
        selectors::mismatch(&labels, causes);
    }
    if selectors::is_empty(&selector) {
        let why = "empty selector is invalid for daemonset";
        causes.invalid(&selector.path, selectors::shown(&selector), why);
    }
    pod::template(&template, causes);
    stays_up(&template.child("spec"), "DaemonSet", causes);
    not_negative(spec, "minReadySeconds", causes);
    strategy::of_daemon_set(&spec.child("updateStrategy"), causes);
    not_negative(spec, "revisionHistoryLimit", causes);
}
