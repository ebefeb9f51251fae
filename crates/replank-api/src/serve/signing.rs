//! Who may approve and sign certificates, and what of a signing request only cryptography can tell (admission plugins CertificateApproval,
//! CertificateSigning and CertificateSubjectRestriction).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Method;
use replank_apiserver::{About, ApiError};
use replank_model::object::render;
use serde_json::Value;

use crate::auth::{Attributes, Authorizer, User};
use crate::mirror::Mirror;
use crate::read;
use crate::route::Target;
use crate::x509::{SigningRequest, certificates_in, request_in};

const GROUP: &str = "certificates.k8s.io";

/// Whether a target is a signing request, or a part of one.
pub(super) fn is_request(target: &Target) -> bool {
    let name = &target.resource.name;
    (&*name.group, &*name.plural) == (GROUP, "certificatesigningrequests") && !target.is_custom
}

fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn decoded(base64: &str) -> String {
    let bytes = STANDARD.decode(base64).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn requested(body: &Value) -> Result<SigningRequest, String> {
    request_in(&decoded(text(body, "/spec/request")))
}

/// What is wrong with the request, or the certificate, that a body holds.
pub(super) fn fault(method: &Method, target: &Target, body: &Value) -> Option<String> {
    if !is_request(target) {
        return None;
    }
    match (method, target.part.as_deref()) {
        (&Method::POST, None) => requested(body).err(),
        (&(Method::PUT | Method::PATCH), Some("status")) => {
            let certificate = text(body, "/status/certificate");
            (!certificate.is_empty()).then(|| certificates_in(&decoded(certificate)).err()).flatten()
        }
        _ => None,
    }
}

/// Refuses what somebody may not have signed, approve or sign.
///
/// # Errors
/// 403.
pub(super) fn check(
    (authorizer, user, mirror): (&Authorizer, &User, &Mirror),
    method: &Method,
    target: &Target,
    body: &Value,
) -> Result<(), ApiError> {
    if !is_request(target) {
        return Ok(());
    }
    let refused = |name: &str, why: &str| {
        let about =
            About { group: GROUP.into(), kind: target.resource.name.plural.clone(), name: name.into() };
        Err(ApiError::forbidden_to_user(Some(about), why))
    };
    if method == Method::POST {
        const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
        const MASTERS: &str = "system:masters";
        let is_master = || {
            let organizations = requested(body).map(|request| request.subject.organizations);
            organizations.is_ok_and(|all| all.iter().any(|one| one == MASTERS))
        };
        if text(body, "/spec/signerName") == CLIENT && is_master() {
            let why = format!("use of {CLIENT} signer with {MASTERS} group is not allowed");
            return refused(text(body, "/metadata/name"), &why);
        }
        return Ok(());
    }
    let (verb, doing) = match target.part.as_deref() {
        Some("approval") => ("approve", "approve"),
        Some("status") => ("sign", "sign"),
        Some(_) | None => return Ok(()),
    };
    let Ok(known) = read::get(mirror, target) else { return Ok(()) };
    let known = render(&known.object);
    if verb == "sign" {
        // Other changes of the status are anybody's who may write it.
        let given = body.pointer("/status/certificate").filter(|given| !given.is_null());
        let is_same = given.is_none_or(|given| Some(given) == known.pointer("/status/certificate"));
        let conditions = body.pointer("/status/conditions").filter(|given| !given.is_null());
        let as_known = conditions.is_none_or(|given| Some(given) == known.pointer("/status/conditions"));
        if is_same && as_known {
            return Ok(());
        }
    }
    let signer = text(&known, "/spec/signerName");
    let domain = signer.split('/').next().unwrap_or_default();
    let may = |name: &str| authorizer.allows(user, &Attributes::of(verb, (GROUP, "signers"), "", name));
    if may(signer) || may(&format!("{domain}/*")) {
        return Ok(());
    }
    let why = format!("user not permitted to {doing} requests with signerName {signer:?}");
    refused(text(&known, "/metadata/name"), &why)
}
