//! CertificateSigningRequests: who asks, what may be changed where, and what is wrong (registry/certificates/certificates `strategy.go`,
//! `pkg/apis/certificates/validation`).

use replank_model::time::Time;
use serde_json::{Value, json};

use super::answer::member;
use super::path::Subresource;
use super::rules;
use crate::server::{Caller, Cause, ResourceType};

/// Whether a resource is that of signing requests.
pub(super) fn is_request(resource: &ResourceType) -> bool {
    (&*resource.name.group, &*resource.name.plural) == ("certificates.k8s.io", "certificatesigningrequests")
}

/// Writes into a new request who asks; whatever it says of that itself does not count.
pub(super) fn at_creation(caller: Option<&Caller>, value: &mut Value) {
    let user = caller.map(|caller| caller.user.clone()).unwrap_or_default();
    if let Value::Object(members) = value {
        members.remove("status");
    }
    let spec = member(value, "spec");
    for name in ["username", "uid", "groups", "extra"] {
        match (spec.as_object_mut(), user.get(name)) {
            (Some(spec), Some(known)) => drop(spec.insert(name.to_owned(), known.clone())),
            (Some(spec), None) => drop(spec.remove(name)),
            (None, _) => {}
        }
    }
}

/// Puts back what a write at an address does not change, and says when conditions have changed.
pub(super) fn at_update(part: Option<Subresource>, old: &Value, value: &mut Value, now: Time) {
    if old.get("spec").is_some() {
        value["spec"] = old["spec"].clone();
    }
    let conditions = |of: &Value| -> Vec<Value> {
        of.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let had = conditions(old);
    let Some(list) = value.pointer_mut("/status/conditions").and_then(Value::as_array_mut) else { return };
    if part == Some(Subresource::Status) {
        for kind in ["Approved", "Denied"] {
            let was: Vec<&Value> = had.iter().filter(|one| one["type"] == kind).collect();
            let is: Vec<&mut Value> = list.iter_mut().filter(|one| one["type"] == kind).collect();
            if was.len() == is.len() {
                is.into_iter().zip(was).for_each(|(is, was)| is.clone_from(was));
            }
        }
    }
    if !matches!(part, Some(Subresource::Status | Subresource::Approval)) {
        return;
    }
    let is_unset = |condition: &Value, name: &str| condition.get(name).is_none_or(Value::is_null);
    for condition in list.iter_mut().filter(|one| one.is_object()) {
        if is_unset(condition, "lastUpdateTime") {
            condition["lastUpdateTime"] = json!(now);
        }
        if is_unset(condition, "lastTransitionTime") {
            let same = had.iter().find(|was| {
                was["type"] == condition["type"]
                    && was["status"] == condition["status"]
                    && !is_unset(was, "lastTransitionTime")
            });
            condition["lastTransitionTime"] =
                same.map_or(json!(now), |was| was["lastTransitionTime"].clone());
        }
    }
}

/// Usages that a certificate can have.
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// What is wrong with a new request, or with a change of one.
pub(super) fn check(
    part: Option<Subresource>,
    old: Option<&Value>,
    value: &Value,
    fault: Option<&str>,
) -> Vec<Cause> {
    let mut causes = Vec::new();
    if old.is_none() {
        spec(&value["spec"], fault, &mut causes);
    }
    conditions(old, value, &mut causes);
    let (had, has) = (certificate(old), certificate(Some(value)));
    if had != has
        && !has.is_empty()
        && let Some(why) = fault.filter(|_| old.is_some())
    {
        causes.push(Cause::invalid("status.certificate", "\"<certificate data>\"", why));
    }
    let Some(old) = old else { return causes };
    let of = |of: &Value, kind: &str| -> Vec<Value> {
        all(of).into_iter().filter(|one| one["type"] == kind).collect()
    };
    let mut forbid = |field: &str, why: String| {
        causes.push(Cause::forbidden(field, &why));
    };
    for kind in ["Approved", "Denied", "Failed"] {
        if of(value, kind).len() < of(old, kind).len() {
            forbid("status.conditions", format!("updates may not remove a condition of type {kind:?}"));
        }
    }
    if part != Some(Subresource::Approval) {
        for kind in ["Approved", "Denied"] {
            if of(value, kind).len() > of(old, kind).len() {
                forbid("status.conditions", format!("updates may not add a condition of type {kind:?}"));
            }
        }
    }
    if had != has {
        if part != Some(Subresource::Status) {
            forbid("status.certificate", "updates may not set certificate content".to_owned());
        } else if !had.is_empty() {
            forbid("status.certificate", "updates may not modify existing certificate content".to_owned());
        }
    }
    causes
}

fn certificate(of: Option<&Value>) -> &str {
    of.and_then(|of| of.pointer("/status/certificate")).and_then(Value::as_str).unwrap_or_default()
}

fn all(of: &Value) -> Vec<Value> {
    of.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default()
}

fn spec(spec: &Value, fault: Option<&str>, causes: &mut Vec<Cause>) {
    let text = |name: &str| spec.get(name).and_then(Value::as_str).unwrap_or_default();
    let request = text("request");
    let fault = fault.or(request.is_empty().then_some("PEM block type must be CERTIFICATE REQUEST"));
    if let Some(why) = fault {
        let shown = if spec.get("request").is_some() { format!("{request:?}") } else { "null".to_owned() };
        causes.push(Cause::invalid("spec.request", &shown, why));
    }
    let usages: Vec<&str> = spec
        .get("usages")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if usages.is_empty() {
        causes.push(Cause::required("spec.usages", ""));
    }
    for (at, usage) in usages.iter().enumerate().filter(|(_, usage)| !USAGES.contains(usage)) {
        causes.push(Cause::not_supported(format!("spec.usages[{at}]"), usage, &USAGES));
    }
    for (at, usage) in usages.iter().enumerate().filter(|(at, usage)| usages[..*at].contains(usage)) {
        let message = format!("Duplicate value: {usage:?}");
        let field = Some(format!("spec.usages[{at}]"));
        causes.push(Cause { reason: "FieldValueDuplicate", message, field });
    }
    signer(text("signerName"), causes);
    if let Some(seconds) =
        spec.get("expirationSeconds").and_then(Value::as_i64).filter(|seconds| *seconds < 600)
    {
        let why = "may not specify a duration less than 600 seconds (10 minutes)";
        causes.push(Cause::invalid("spec.expirationSeconds", &seconds.to_string(), why));
    }
}

/// `ValidateSignerName`, and the one that is there for old requests alone.
fn signer(name: &str, causes: &mut Vec<Cause>) {
    const FIELD: &str = "spec.signerName";
    if name.is_empty() {
        causes.push(Cause::required(FIELD, ""));
        return;
    }
    let mut refuse = |shown: &str, why: &str| causes.push(Cause::invalid(FIELD, &format!("{shown:?}"), why));
    if name == "kubernetes.io/legacy-unknown" {
        return refuse(name, "the legacy signerName is not allowed via this API version");
    }
    let parts: Vec<&str> = name.split('/').collect();
    let [domain, path] = parts.as_slice() else {
        return refuse(
            name,
            "must be a fully qualified domain and path of the form 'example.com/signer-name'",
        );
    };
    for label in domain.split('.') {
        for why in rules::label_problems(label) {
            refuse(domain, &format!("validating label {label:?}: {why}"));
        }
    }
    if !domain.contains('.') {
        refuse(domain, "should be a domain with at least two segments separated by dots");
    }
    for label in path.split('.') {
        for why in rules::subdomain_problems(label) {
            refuse(path, &format!("validating label {label:?}: {why}"));
        }
    }
}

fn conditions(old: Option<&Value>, value: &Value, causes: &mut Vec<Cause>) {
    const FIELD: &str = "status.conditions";
    let had = old.map(all).unwrap_or_default();
    let has_both = |list: &[Value]| {
        ["Approved", "Denied"].iter().all(|kind| list.iter().any(|one| one["type"] == *kind))
    };
    let list = all(value);
    for (at, condition) in list.iter().enumerate() {
        let text = |name: &str| condition.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = text("type");
        if kind.is_empty() {
            causes.push(Cause::required(format!("{FIELD}[{at}].type"), ""));
        }
        let allowed: &[&str] = match kind {
            "Approved" | "Denied" | "Failed" => &["True"],
            _ => &["False", "True", "Unknown"],
        };
        match text("status") {
            "" => causes.push(Cause::required(format!("{FIELD}[{at}].status"), "")),
            status if !allowed.contains(&status) => {
                causes.push(Cause::not_supported(format!("{FIELD}[{at}].status"), status, allowed));
            }
            _ => {}
        }
        let other = match kind {
            "Approved" => "Denied",
            "Denied" => "Approved",
            _ => "",
        };
        if !other.is_empty() && !has_both(&had) && list[..at].iter().any(|one| one["type"] == other) {
            let why = "Approved and Denied conditions are mutually exclusive";
            causes.push(Cause::invalid(FIELD, &format!("{kind:?}"), why));
        }
        if list[..at].iter().any(|one| one["type"] == condition["type"]) {
            let message = format!("Duplicate value: {kind:?}");
            let field = Some(format!("{FIELD}[{at}].type"));
            causes.push(Cause { reason: "FieldValueDuplicate", message, field });
        }
    }
}
