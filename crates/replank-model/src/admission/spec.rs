//! Defaults of pod specs, in pods and in templates.

use serde_json::{Map, Value};

use super::image::is_latest;
use super::json::{default, default_number, default_text, each, member, nested};
use crate::quantity::Quantity;

type Members = Map<String, Value>;

/// File mode 0644, as the API writes it.
const FILE_MODE: i64 = 0o644;

/// Fields of gates that are off by default: they are dropped (`dropDisabledFields`).
const GATED: [&str; 1] = ["schedulingGroup"];

/// Fills in what a pod spec leaves out, in a pod or in a template (`SetDefaults_PodSpec` and what it contains).
pub fn default_pod_spec(spec: &mut Members) {
    for gated in GATED {
        spec.remove(gated);
    }
    default_text(spec, "dnsPolicy", "ClusterFirst");
    default_text(spec, "restartPolicy", "Always");
    default(spec, "securityContext", Map::new());
    default(spec, "terminationGracePeriodSeconds", 30);
    service_account(spec);
    default_text(spec, "schedulerName", "default-scheduler");
    each(spec, "volumes", volume);
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        each(spec, list, container);
    }
    nested(spec, "overhead", round_up);
    nested(spec, "resources", requirements);
}

/// `serviceAccount` is an old name of `serviceAccountName` (`pkg/apis/core/v1/conversion.go`).
fn service_account(spec: &mut Members) {
    let is_named = |value: &&Value| **value != "";
    let named = member(spec, "serviceAccountName")
        .filter(is_named)
        .or(member(spec, "serviceAccount").filter(is_named));
    if let Some(name) = named.cloned() {
        spec.insert("serviceAccountName".to_owned(), name.clone());
        spec.insert("serviceAccount".to_owned(), name);
    }
}

fn container(container: &mut Members) {
    let image = member(container, "image").and_then(Value::as_str).unwrap_or("");
    let policy = pull_policy(image);
    default_text(container, "imagePullPolicy", policy);
    default_text(container, "terminationMessagePath", "/dev/termination-log");
    default_text(container, "terminationMessagePolicy", "File");
    each(container, "ports", |port| default_text(port, "protocol", "TCP"));
    each(container, "env", |variable| {
        nested(variable, "valueFrom", |source| {
            nested(source, "fieldRef", field_ref);
            nested(source, "fileKeyRef", |reference| default(reference, "optional", false));
        });
    });
    nested(container, "resources", requirements);
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        nested(container, name, probe);
    }
    nested(container, "lifecycle", |lifecycle| {
        for name in ["postStart", "preStop"] {
            nested(lifecycle, name, |hook| nested(hook, "httpGet", http_get));
        }
    });
}

fn pull_policy(image: &str) -> &'static str {
    if is_latest(image) { "Always" } else { "IfNotPresent" }
}

fn probe(probe: &mut Members) {
    default_number(probe, "timeoutSeconds", 1);
    default_number(probe, "periodSeconds", 10);
    default_number(probe, "successThreshold", 1);
    default_number(probe, "failureThreshold", 3);
    nested(probe, "httpGet", http_get);
    nested(probe, "grpc", |grpc| default(grpc, "service", ""));
}

fn http_get(action: &mut Members) {
    default_text(action, "path", "/");
    default_text(action, "scheme", "HTTP");
}

fn field_ref(reference: &mut Members) {
    default_text(reference, "apiVersion", "v1");
}

fn requirements(requirements: &mut Members) {
    nested(requirements, "limits", round_up);
    nested(requirements, "requests", round_up);
}

/// Rounds quantities up to thousandths and writes them canonically (`SetDefaults_ResourceList`).
fn round_up(list: &mut Members) {
    for value in list.values_mut() {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => continue,
        };
        if let Ok(quantity) = text.parse::<Quantity>() {
            *value = Value::from(quantity.round_up_milli().0.to_string());
        }
    }
}

fn volume(volume: &mut Members) {
    let has_source = volume.iter().any(|(key, value)| key != "name" && !value.is_null());
    if !has_source {
        volume.insert("emptyDir".to_owned(), Value::Object(Map::new()));
    }
    for (name, key) in [
        ("secret", "defaultMode"),
        ("configMap", "defaultMode"),
        ("downwardAPI", "defaultMode"),
        ("projected", "defaultMode"),
    ] {
        nested(volume, name, |source| default(source, key, FILE_MODE));
    }
    nested(volume, "hostPath", |source| default(source, "type", ""));
    nested(volume, "downwardAPI", |source| each(source, "items", downward_item));
    nested(volume, "projected", |source| each(source, "sources", projection));
    nested(volume, "image", |source| {
        let image = member(source, "reference").and_then(Value::as_str).unwrap_or("");
        let policy = pull_policy(image);
        default_text(source, "pullPolicy", policy);
    });
    nested(volume, "ephemeral", |source| {
        nested(source, "volumeClaimTemplate", |template| nested(template, "spec", claim_spec));
    });
    network_volume(volume);
}

fn downward_item(item: &mut Members) {
    nested(item, "fieldRef", field_ref);
}

fn projection(source: &mut Members) {
    nested(source, "downwardAPI", |source| each(source, "items", downward_item));
    nested(source, "serviceAccountToken", |token| default(token, "expirationSeconds", 3600));
}

fn claim_spec(spec: &mut Members) {
    default(spec, "volumeMode", "Filesystem");
    nested(spec, "resources", requirements);
}

fn network_volume(volume: &mut Members) {
    nested(volume, "iscsi", |source| default_text(source, "iscsiInterface", "default"));
    nested(volume, "rbd", |source| {
        default_text(source, "pool", "rbd");
        default_text(source, "user", "admin");
        default_text(source, "keyring", "/etc/ceph/keyring");
    });
    nested(volume, "azureDisk", |source| {
        default(source, "cachingMode", "ReadWrite");
        default(source, "fsType", "ext4");
        default(source, "readOnly", false);
        default(source, "kind", "Shared");
    });
    nested(volume, "scaleIO", |source| {
        default_text(source, "storageMode", "ThinProvisioned");
        default_text(source, "fsType", "xfs");
    });
}
