//! Signing requests: those of kubelets are approved, approved ones are signed, old ones go (`pkg/controller/certificates`: approver, signer, cleaner).

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use replank_api::auth::{Attributes, Authorizer, Place, User};
use replank_api::mirror::Publisher;
use replank_api::x509::{Order, SigningRequest, request_in};
use replank_apiserver::json::{Method, Request, Wire};
use replank_apiserver::{Api, DeleteOptions};
use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::time::{Span, Time};
use serde_json::{Value, json};

use super::edit::{read, text};
use crate::trust::Trust;

pub(super) const GROUP: &str = "certificates.k8s.io";
pub(super) const KIND: &str = "CertificateSigningRequest";

/// Requests that nobody has decided about, and approved ones that nobody has signed, stay for so long.
const PENDING: Span = Span::from_secs(24 * 3_600);
/// Others, from when they were decided about.
const DECIDED: Span = Span::from_secs(3_600);

const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";
const LEGACY: &str = "kubernetes.io/legacy-unknown";

/// Approves a request, or signs it.
pub(super) fn look(api: &mut Api, key: &Key, trust: &Trust, now: Time) {
    let Some(request) = read(api, GROUP, KIND, key) else { return };
    let Some(authority) = &trust.certificates else { return };
    if !text(&request, "/status/certificate").is_empty() || has(&request, "Failed") {
        return;
    }
    let pem = STANDARD.decode(text(&request, "/spec/request")).unwrap_or_default();
    let Ok(asked) = request_in(&String::from_utf8_lossy(&pem)) else { return };
    if !has(&request, "Approved") && !has(&request, "Denied") {
        approve(api, request, &asked, trust);
        return;
    }
    if !has(&request, "Approved") {
        return;
    }
    match is_for_signer(&request, &asked) {
        None => {}
        Some(Err(why)) => {
            let condition = json!({"type": "Failed", "status": "True", "reason": "SignerValidationFailure",
                "message": why, "lastUpdateTime": now.floor_seconds()});
            add_condition(api, request, condition, "status");
        }
        Some(Ok(())) => {
            let usages: Vec<&str> = usages(&request);
            let seconds = request.pointer("/spec/expirationSeconds").and_then(Value::as_i64);
            let order = Order { request: &asked, usages: &usages, seconds, now };
            // A usage that is none was refused when the request was made.
            let Ok(certificate) = authority.sign(&order) else { return };
            let mut request = request;
            request["status"]["certificate"] = STANDARD.encode(certificate).into();
            write(api, request, "status");
        }
    }
}

/// Approves requests of kubelets for certificates to show to the server, if who asks may have them.
fn approve(api: &mut Api, request: Value, asked: &SigningRequest, trust: &Trust) {
    if text(&request, "/spec/signerName") != KUBELET_CLIENT
        || kubelet_client(asked, &usages(&request)).is_err()
    {
        return;
    }
    let who = user(&request);
    let ways = [
        ("selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."),
        ("nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview."),
    ];
    let ways = ways.into_iter().filter(|(part, _)| *part == "nodeclient" || who.name == asked.subject.name);
    let ways: Vec<(&str, &str)> = ways.collect();
    let roles = api.view().others().filter(|other| other.group() == "rbac.authorization.k8s.io");
    let roles: Vec<Object> = roles.cloned().map(Object::Other).collect();
    let publisher = Publisher::new(roles, Vec::new(), 1);
    let authorizer = Authorizer::new(trust.authorization, publisher.mirror());
    let may = |part: &str| {
        let place = Place::Resource {
            group: GROUP.to_owned(),
            resource: "certificatesigningrequests".to_owned(),
            part: part.to_owned(),
            namespace: String::new(),
            name: String::new(),
        };
        authorizer.allows(&who, &Attributes { verb: "create".to_owned(), place })
    };
    if let Some((_, message)) = ways.into_iter().find(|(part, _)| may(part)) {
        let condition =
            json!({"type": "Approved", "status": "True", "reason": "AutoApproved", "message": message});
        add_condition(api, request, condition, "approval");
    }
}

/// Deletes a request that is old; when to look again, otherwise.
pub(super) fn clean(api: &mut Api, key: &Key, now: Time) -> Option<Time> {
    let request = read(api, GROUP, KIND, key)?;
    let due = deadline(&request)?;
    if due > now {
        return Some(due);
    }
    let known = api.view().other(GROUP, KIND, key).cloned()?;
    drop(api.delete_known(&Object::Other(known), &DeleteOptions::default()));
    None
}

/// When a request is old.
fn deadline(request: &Value) -> Option<Time> {
    let at = |value: &Value| value.as_str().and_then(|text| text.parse::<Time>().ok());
    let conditions = request.pointer("/status/conditions").and_then(Value::as_array);
    let conditions = conditions.map(Vec::as_slice).unwrap_or_default();
    if conditions.is_empty() {
        return Some(at(&request["metadata"]["creationTimestamp"])? + PENDING);
    }
    let is_issued = !text(request, "/status/certificate").is_empty();
    let of = |condition: &Value| {
        let decided = at(&condition["lastUpdateTime"])?;
        match condition["type"].as_str()? {
            "Denied" | "Failed" => Some(decided + DECIDED),
            "Approved" if is_issued => Some(decided + DECIDED),
            "Approved" => Some(decided + PENDING),
            _ => None,
        }
    };
    conditions.iter().filter_map(of).min()
}

fn has(request: &Value, kind: &str) -> bool {
    let conditions = request.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == kind && condition["status"] == "True")
}

fn usages(request: &Value) -> Vec<&str> {
    let usages = request.pointer("/spec/usages").and_then(Value::as_array).into_iter().flatten();
    usages.filter_map(Value::as_str).collect()
}

fn user(request: &Value) -> User {
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let extra = request.pointer("/spec/extra").and_then(Value::as_object).into_iter().flatten();
    let extra: BTreeMap<String, Vec<String>> =
        extra.map(|(key, values)| (key.clone(), texts(values))).collect();
    User {
        name: text(request, "/spec/username").to_owned(),
        uid: text(request, "/spec/uid").to_owned(),
        groups: texts(&request["spec"]["groups"]),
        extra,
    }
}

fn add_condition(api: &mut Api, mut request: Value, condition: Value, part: &str) {
    if !request["status"].is_object() {
        request["status"] = json!({});
    }
    match request["status"]["conditions"].as_array_mut() {
        Some(conditions) => conditions.push(condition),
        None => request["status"]["conditions"] = json!([condition]),
    }
    write(api, request, part);
}

fn write(api: &mut Api, request: Value, part: &str) {
    let name = text(&request, "/metadata/name");
    let path = format!("/apis/{GROUP}/v1/certificatesigningrequests/{name}/{part}");
    let wire = Wire { user_agent: "kube-controller-manager/v1.36.2".to_owned(), ..Wire::default() };
    // Somebody else may have been faster: the next change tells.
    drop(api.handle(&Request {
        method: Method::Put,
        path,
        content_type: String::new(),
        body: request,
        wire: Some(wire),
    }));
}

/// Whether one of the cluster's own signers is asked, and what it says against it.
fn is_for_signer(request: &Value, asked: &SigningRequest) -> Option<Result<(), String>> {
    let usages = usages(request);
    match text(request, "/spec/signerName") {
        CLIENT => Some(client(&usages)),
        KUBELET_CLIENT => Some(kubelet_client(asked, &usages)),
        KUBELET_SERVING => Some(kubelet_serving(asked, &usages)),
        LEGACY => Some(Ok(())),
        _ => None,
    }
}

fn client(usages: &[&str]) -> Result<(), String> {
    const OPTIONAL: [&str; 2] = ["digital signature", "key encipherment"];
    if let Some(usage) = usages.iter().find(|usage| **usage != "client auth" && !OPTIONAL.contains(usage)) {
        return Err(format!("invalid usage for client certificate: {usage}"));
    }
    match usages.contains(&"client auth") {
        true => Ok(()),
        false => Err("missing required usage for client certificate: client auth".to_owned()),
    }
}

fn kubelet(asked: &SigningRequest) -> Result<(), &'static str> {
    match asked.subject.organizations.as_slice() {
        [one] if one == "system:nodes" => Ok(()),
        _ => Err("subject organization is not system:nodes"),
    }
}

/// Usages are those of a kubelet: with a key of RSA, or without.
fn has_usages(usages: &[&str], own: &str) -> Result<(), String> {
    let all = ["digital signature", "key encipherment", own];
    let fits = |wanted: &[&str]| {
        usages.iter().all(|usage| wanted.contains(usage)) && wanted.iter().all(|usage| usages.contains(usage))
    };
    if fits(&all) || fits(&["digital signature", own]) {
        return Ok(());
    }
    let mut sorted = all;
    sorted.sort_unstable();
    Err(format!("usages did not match [{}]", sorted.join(" ")))
}

fn kubelet_client(asked: &SigningRequest, usages: &[&str]) -> Result<(), String> {
    kubelet(asked)?;
    for (count, what) in
        [(asked.dns_names, "DNS"), (asked.mails, "Email"), (asked.addresses, "IP"), (asked.uris, "URI")]
    {
        if count > 0 {
            return Err(format!("{what} subjectAltNames are not allowed"));
        }
    }
    is_node(asked)?;
    has_usages(usages, "client auth")
}

fn kubelet_serving(asked: &SigningRequest, usages: &[&str]) -> Result<(), String> {
    kubelet(asked)?;
    if asked.dns_names == 0 && asked.addresses == 0 {
        return Err("DNS or IP subjectAltName is required".to_owned());
    }
    for (count, what) in [(asked.mails, "Email"), (asked.uris, "URI")] {
        if count > 0 {
            return Err(format!("{what} subjectAltNames are not allowed"));
        }
    }
    has_usages(usages, "server auth")?;
    is_node(asked)
}

fn is_node(asked: &SigningRequest) -> Result<(), String> {
    match asked.subject.name.starts_with("system:node:") {
        true => Ok(()),
        false => Err("subject common name does not begin with system:node:".to_owned()),
    }
}
