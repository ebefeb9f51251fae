//! What a webhook is asked: an AdmissionReview (apiserver `pkg/admission/plugin/webhook/request`).

use serde_json::{Map, Value, json};

use super::super::path::Address;
use super::super::policies::Attempt;
use super::configured::Hook;

/// The review that a webhook is sent, less the uid of its request.
///
/// # Errors
/// Where it speaks no version that is known.
pub(super) fn review(
    hook: &Hook,
    attempt: &Attempt<'_>,
    user: &Value,
    (address, given): (&Address, Option<&Value>),
) -> Result<Value, String> {
    let version = hook.versions.iter().find(|version| matches!(version.as_str(), "v1" | "v1beta1"));
    let Some(version) = version else {
        return Err(format!(
            "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1), it accepts [{}]",
            hook.versions.join(" ")
        ));
    };
    let name = &attempt.resource.name;
    let group = &*name.group;
    let mut request = Map::new();
    let mut set = |member: &str, value: Value| drop(request.insert(member.to_owned(), value));
    set("kind", attempt.kind());
    set("resource", attempt.plural());
    set("requestKind", attempt.requested_kind());
    set("requestResource", attempt.requested_plural());
    if !attempt.subresource.is_empty() {
        set("subResource", attempt.subresource.into());
        set("requestSubResource", attempt.subresource.into());
    }
    if !attempt.name.is_empty() {
        set("name", attempt.name.into());
    }
    let is_namespace = group.is_empty() && &*name.plural == "namespaces";
    let namespace = if is_namespace { attempt.name } else { attempt.namespace };
    if !namespace.is_empty() {
        set("namespace", namespace.into());
    }
    set("operation", attempt.operation.into());
    set("userInfo", if user.is_null() { json!({}) } else { user.clone() });
    set("object", attempt.object.cloned().unwrap_or_default());
    set("oldObject", attempt.old.cloned().unwrap_or_default());
    set("dryRun", attempt.is_dry.into());
    set("options", options(attempt, address, given));
    Ok(
        json!({"kind": "AdmissionReview", "apiVersion": format!("admission.k8s.io/{version}"), "request": request}),
    )
}

fn options(attempt: &Attempt<'_>, address: &Address, given: Option<&Value>) -> Value {
    let kind = match attempt.operation {
        // Who connects has no options beside what is connected to.
        "CONNECT" => return Value::Null,
        "CREATE" => "CreateOptions",
        "DELETE" => "DeleteOptions",
        _ => "UpdateOptions",
    };
    let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
    for (name, value) in given.and_then(Value::as_object).into_iter().flatten() {
        if !matches!(name.as_str(), "kind" | "apiVersion") {
            options[name] = value.clone();
        }
    }
    if attempt.is_dry {
        options["dryRun"] = json!(["All"]);
    }
    for name in ["fieldManager", "fieldValidation"] {
        if let Some(text) = address.parameter(name).filter(|text| !text.is_empty()) {
            options[name] = text.into();
        }
    }
    options
}
