//! What a write leaves as it was: what only the server writes, what another address is for, and templates that mean the same.

use serde_json::Value;

use super::answer::member;
use super::path::{Address, Subresource};
use super::{form, parts, strategy};
use crate::server::resource::{ResourceType, StatusWrites};

/// Members of `metadata` that only the server writes.
pub(super) const SERVERS_OWN: [&str; 9] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
    "managedFields",
    "namespace",
];

/// Puts back what a write at an address does not change.
pub(super) fn keep_other_parts(address: &Address, old: &Value, value: &mut Value) {
    let resource = &address.resource;
    match (resource.status, address.subresource) {
        (_, Some(Subresource::Status)) => keep_all_but_status(resource, old, value),
        (
            _,
            Some(
                part @ (Subresource::EphemeralContainers
                | Subresource::Resize
                | Subresource::Approval
                | Subresource::Finalize),
            ),
        ) => parts::only_part(part, old, value),
        (StatusWrites::Apart, _) => keep(old, value, "status"),
        (StatusWrites::WithObject, _) => {}
    }
}

/// Pod templates get the form in which they are written, so that two that mean the same are the same to controllers.
pub(super) fn normalize_templates(value: &mut Value) {
    let pod = "io.k8s.api.core.v1.PodTemplateSpec";
    for path in ["/spec/template", "/spec/jobTemplate/spec/template"] {
        if let Some(template) = value.pointer_mut(path).filter(|template| template.get("spec").is_some()) {
            form::encode_named(pod, template);
        }
    }
}

/// A template that a client has sent back is the old one, even if it has members that Go never leaves out.
pub(super) fn keep_same_template(resource: &ResourceType, old: &Value, value: &mut Value) {
    let template = |of: &Value| {
        let mut whole = of.clone();
        written(resource, &mut whole);
        whole.pointer("/spec/template").cloned()
    };
    if template(old) == template(value)
        && let (Some(kept), Some(given)) =
            (old.pointer("/spec/template"), value.pointer_mut("/spec/template"))
    {
        given.clone_from(kept);
    }
}

/// Puts back a member of a member.
pub(super) fn keep_member(value: &mut Value, of: &str, name: &str, was: Option<Value>) {
    if let Value::Object(members) = member(value, of) {
        match was {
            Some(was) => drop(members.insert(name.to_owned(), was)),
            None => drop(members.remove(name)),
        }
    }
}

/// Puts a member back to what it was.
fn keep(old: &Value, new: &mut Value, name: &str) {
    let Value::Object(members) = new else { return };
    match old.get(name) {
        Some(was) => {
            members.insert(name.to_owned(), was.clone());
        }
        None => {
            members.remove(name);
        }
    }
}

/// Puts back what of the metadata only the server writes; a client that is accounted for may send managed fields.
pub(super) fn keep_servers_own(old: &Value, new: &mut Value, is_accounted: bool) {
    let was = old.get("metadata").cloned().unwrap_or_default();
    let meta = member(new, "metadata");
    for own in SERVERS_OWN.iter().chain(&["name"]) {
        if !(is_accounted && *own == "managedFields") {
            keep(&was, meta, own);
        }
    }
}

/// A write of the status subresource leaves the rest alone; of the metadata, labels, annotations, owners and finalizers
/// are written with it, save where the kind's status strategy says otherwise.
fn keep_all_but_status(resource: &ResourceType, old: &Value, new: &mut Value) {
    let status = new.get("status").cloned();
    let mut meta = new.get("metadata").cloned().unwrap_or_default();
    for kept in strategy::kept_by_status(resource) {
        keep(&old["metadata"], &mut meta, kept);
    }
    *new = old.clone();
    let Value::Object(members) = new else { return };
    members.insert("metadata".to_owned(), meta);
    match status {
        Some(status) => members.insert("status".to_owned(), status),
        None => members.remove("status"),
    };
}

/// Brings an object of a built-in kind into the form in which it is written.
pub(super) fn written(resource: &ResourceType, value: &mut Value) {
    form::encode_kind(resource, value);
}

/// What is written, with the deletion that a client gives: it cannot be written so.
pub(super) fn merged_meta(value: &Value, given: &Value) -> Value {
    let mut whole = value.clone();
    if let Some(at) = given.pointer("/metadata/deletionTimestamp") {
        member(&mut whole, "metadata")["deletionTimestamp"] = at.clone();
    }
    whole
}
