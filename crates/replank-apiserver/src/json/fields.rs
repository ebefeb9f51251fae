//! Which fields a list can be selected by.
//!
//! Source: `AddFieldLabelConversionFunc` in `pkg/apis/{core,batch,certificates,events}/v1/conversion.go`, and for all other kinds
//! apimachinery's `DefaultMetaV1FieldSelectorConversion`. Compared with a running 1.36.2.

use serde_json::Value;

use super::events;
use crate::server::{ApiError, ResourceType};

/// Fields of certain resources besides the name and the namespace: group, plural, fields.
const MORE: &[(&str, &str, &[&str])] = &[
    (
        "",
        "pods",
        &[
            "spec.hostNetwork",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.nominatedNodeName",
            "status.phase",
            "status.podIP",
            "status.podIPs",
        ],
    ),
    ("", "nodes", &["spec.unschedulable"]),
    ("", "namespaces", &["status.phase"]),
    ("", "secrets", &["type"]),
    ("", "services", &["spec.clusterIP", "spec.type"]),
    ("", "replicationcontrollers", &["status.replicas"]),
    ("batch", "jobs", &["status.successful"]),
    ("resource.k8s.io", "resourceslices", &["spec.driver", "spec.nodeName"]),
    ("certificates.k8s.io", "certificatesigningrequests", &["spec.signerName"]),
    (
        "events.k8s.io",
        "events",
        &[
            "reason",
            "regarding.apiVersion",
            "regarding.fieldPath",
            "regarding.kind",
            "regarding.name",
            "regarding.namespace",
            "regarding.resourceVersion",
            "regarding.uid",
            "reportingController",
            "type",
        ],
    ),
    (
        "",
        "events",
        &[
            "involvedObject.apiVersion",
            "involvedObject.fieldPath",
            "involvedObject.kind",
            "involvedObject.name",
            "involvedObject.namespace",
            "involvedObject.resourceVersion",
            "involvedObject.uid",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
    ),
];

fn more(resource: &ResourceType) -> Option<&'static [&'static str]> {
    let found = MORE
        .iter()
        .find(|(group, plural, _)| *group == &*resource.name.group && *plural == &*resource.name.plural);
    found.map(|(_, _, fields)| *fields)
}

/// Whether lists of a resource can be selected by a field.
pub(super) fn is_supported(resource: &ResourceType, field: &str) -> bool {
    // Requests for certificates are in no namespace, and are the only ones that say so.
    let is_common = field == "metadata.name"
        || (field == "metadata.namespace" && &*resource.name.group != "certificates.k8s.io");
    let is_selectable = |path: &String| path.strip_prefix('.') == Some(field);
    let is_declared = resource.custom.as_ref().is_some_and(|custom| custom.fields.iter().any(is_selectable));
    is_common || is_declared || more(resource).is_some_and(|fields| fields.contains(&field))
}

/// What the server says of a field that it does not select by (400).
pub(super) fn refusal(resource: &ResourceType, field: &str) -> ApiError {
    ApiError::bad_request(&match more(resource) {
        Some(_) if &*resource.name.plural == "jobs" => format!("field label {field:?} not supported for Job"),
        Some(_) if &*resource.name.plural == "resourceslices" => {
            format!("field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {field}")
        }
        Some(_) => format!("field label not supported: {field}"),
        None if resource.custom.is_some() => format!("field label not supported: {field}"),
        None => {
            format!(
                "\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            )
        }
    })
}

fn is_empty(object: &Value, path: &str) -> bool {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default().is_empty()
}

/// The text that a field of an object is compared with. Numbers and booleans are written out; an absent boolean is false, an absent number 0.
pub(super) fn text(object: &Value, field: &str) -> String {
    let path = match field {
        // Fields that are called otherwise in the object.
        "status.successful" => "/status/succeeded".to_owned(),
        "source" if is_empty(object, "/source/component") => "/reportingComponent".to_owned(),
        "source" => "/source/component".to_owned(),
        _ => format!("/{}", events::kept_field(field).replace('.', "/")),
    };
    match object.pointer(&path).filter(|value| !value.is_null()) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None if matches!(field, "spec.unschedulable" | "spec.hostNetwork") => "false".to_owned(),
        None if matches!(field, "status.replicas" | "status.successful") => "0".to_owned(),
        None => String::new(),
    }
}
