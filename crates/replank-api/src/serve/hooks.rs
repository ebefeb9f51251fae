//! Calls of admission webhooks: outside of the world, while nothing waits for them but the request that they are about (apiserver
//! `pkg/util/webhook`, `pkg/admission/plugin/webhook/request/admissionreview.go`).

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::Request;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use hyper_util::rt::TokioIo;
use replank_apiserver::json::Response;
use replank_apiserver::{ApiError, HookCall, HookPurpose, Hooks, ResourceType, json};
use replank_model::text::uuid;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring as provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, CertificateError, ClientConfig, RootCertStore};

use super::behind::{Reached, reach};
use super::bundle;
use crate::mirror::{Mirror, Snapshot, StorageId};
use crate::owner::Owner;

/// The largest answer that is read.
const ANSWER_MAX: usize = 3 * 1024 * 1024;
/// How long a webhook may take to convert, as upstream.
const CONVERSION_WITHIN: Duration = Duration::from_secs(30);
/// How often a request is made again: an object that others change all the time is given up.
const TRIES_MAX: usize = 64;

/// Where webhooks' answers are kept for a request; `None` where no webhook is configured.
pub(super) fn begin(mirror: &Mirror) -> Option<Arc<Hooks>> {
    let snapshot = mirror.snapshot();
    let is_configured = |plural: &str| {
        let resource = ResourceType::built_in("admissionregistration.k8s.io", "v1", plural);
        resource.is_some_and(|resource| snapshot.collection(&StorageId::of_resource(resource)).size() > 0)
    };
    let is_any =
        is_configured("mutatingwebhookconfigurations") || is_configured("validatingwebhookconfigurations");
    is_any.then(Arc::default)
}

/// Whether there are policies that may refuse something.
pub(super) fn has_policies(mirror: &Mirror) -> bool {
    let policies =
        ResourceType::built_in("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies");
    policies.is_some_and(|of| mirror.snapshot().collection(&StorageId::of_resource(of)).size() > 0)
}

/// Has a request answered, and the webhooks called that it needs. `None` when the cluster has been stopped.
pub(super) async fn answered(owner: &Owner, request: json::Request, hooks: &Hooks) -> Option<Response> {
    // What a trial of the request has left.
    drop(hooks.take_wanted());
    for _ in 0..TRIES_MAX {
        let response = owner.request(request.clone()).await?;
        let wanted = hooks.take_wanted();
        if wanted.is_empty() {
            return Some(response);
        }
        let mut calls = JoinSet::new();
        for wanted in wanted {
            let snapshot = owner.mirror().snapshot();
            calls.spawn(async move {
                let answer = call(&wanted, &snapshot).await;
                (wanted, answer)
            });
        }
        while let Some(called) = calls.join_next().await {
            if let Ok((wanted, answer)) = called {
                hooks.answer(&wanted, answer);
            }
        }
    }
    let refusal = ApiError::timeout("the object changes faster than webhooks answer", 1);
    Some(Response { code: refusal.code, body: refusal.to_status(), warnings: Vec::new() })
}

/// Calls a webhook: its answer, or why there is none.
async fn call(hook: &HookCall, snapshot: &Snapshot) -> Result<Value, String> {
    match hook.purpose {
        HookPurpose::Admission { may_patch } => admit(hook, may_patch, snapshot).await,
        HookPurpose::Conversion => {
            let converted = convert(hook.client.clone(), hook.review.clone(), snapshot).await?;
            converted.into_iter().next().ok_or_else(|| "no object in the answer".to_owned())
        }
    }
}

/// Has a webhook convert the objects of a ConversionReview, which says to which version.
///
/// # Errors
/// Why they are not converted.
pub(super) async fn convert(
    client: Value,
    mut review: Value,
    snapshot: &Snapshot,
) -> Result<Vec<Value>, String> {
    let uid = uid();
    review["request"]["uid"] = uid.as_str().into();
    let answer =
        post(Called { client: &client, within: CONVERSION_WITHIN, review: &review }, snapshot).await?;
    let response = &answer["response"];
    if text(response, "/uid") != uid {
        return Err(format!("expected response.uid={uid:?}, got {:?}", text(response, "/uid")));
    }
    if text(response, "/result/status") != "Success" {
        return Err(text(response, "/result/message").to_owned());
    }
    let converted = response.get("convertedObjects").and_then(Value::as_array).cloned().unwrap_or_default();
    let count = review["request"]["objects"].as_array().map_or(0, Vec::len);
    if converted.len() != count {
        return Err(format!("webhook returned {} objects, expected {count}", converted.len()));
    }
    let to = &review["request"]["desiredAPIVersion"];
    match converted.iter().find(|object| object["apiVersion"] != *to) {
        None => Ok(converted),
        Some(other) => {
            let (to, given) = (to.as_str().unwrap_or_default(), text(other, "/apiVersion"));
            Err(format!("invalid groupVersion (expected {to}, received {given})"))
        }
    }
}

async fn admit(hook: &HookCall, may_patch: bool, snapshot: &Snapshot) -> Result<Value, String> {
    let uid = uid();
    let mut review = hook.review.clone();
    review["request"]["uid"] = uid.as_str().into();
    let within = Duration::from_secs(hook.timeout_seconds);
    let called = Called { client: &hook.client, within, review: &review };
    let answer = post(called, snapshot).await.map_err(|why| format!("failed to call webhook: {why}"))?;
    check(&answer, &review, &uid, may_patch)
        .map_err(|why| format!("received invalid webhook response: {why}"))?;
    Ok(answer)
}

/// A webhook that is called, and what it is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Called<'c> {
    /// `clientConfig`.
    pub(super) client: &'c Value,
    /// How long it may take.
    pub(super) within: Duration,
    /// What it is asked: a review.
    pub(super) review: &'c Value,
}

/// Sends a review to a webhook; its answer, which is a review of the same kind.
///
/// # Errors
/// Why there is none.
pub(super) async fn post(called: Called<'_>, snapshot: &Snapshot) -> Result<Value, String> {
    let Called { client, within, review } = called;
    let url = url(client, within.as_secs())?;
    let failed = |why: &str| format!("Post {url:?}: {why}");
    let behind = match client.get("service").filter(|service| service.is_object()) {
        Some(service) => Some(reach(service, port_of(service), snapshot).map_err(|why| failed(&why))?),
        None => None,
    };
    match tokio::time::timeout(within, exchange(&url, behind, client, review)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(Trouble::Transport(why))) => Err(failed(&why)),
        Ok(Err(Trouble::Answer(why))) => Err(why),
        Err(_) => Err(failed("context deadline exceeded")),
    }
}

/// Why there is no answer.
enum Trouble {
    /// There is no connection.
    Transport(String),
    /// There is an answer, and it is none.
    Answer(String),
}

fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// The port at which a Service is asked.
fn port_of(service: &Value) -> u16 {
    service.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok()).unwrap_or(443)
}

/// Where a webhook is called.
fn url(client: &Value, timeout: u64) -> Result<String, String> {
    if let Some(service) = client.get("service").filter(|service| service.is_object()) {
        let (name, namespace) = (text(service, "/name"), text(service, "/namespace"));
        let port = port_of(service);
        let path = text(service, "/path").trim_start_matches('/');
        return Ok(format!("https://{name}.{namespace}.svc:{port}/{path}?timeout={timeout}s"));
    }
    let url = text(client, "/url");
    if !url.starts_with("https://") {
        return Err(format!("{url:?} is no https URL"));
    }
    let sign = if url.contains('?') { '&' } else { '?' };
    Ok(format!("{url}{sign}timeout={timeout}s"))
}

/// A uid, drawn.
pub(super) fn uid() -> String {
    let mut bytes = [0_u8; 16];
    if SystemRandom::new().fill(&mut bytes).is_err() {
        // Without chance the webhook is told a uid of zeros, which is as good for one request.
        bytes = [0; 16];
    }
    let half = |from: usize| u64::from_be_bytes(std::array::from_fn(|at| bytes[from + at]));
    uuid(half(0), half(8))
}

/// Asks a webhook by its URL; at another place if it is named by a Service, whose name its certificate is for.
async fn exchange(
    url: &str,
    behind: Option<Reached>,
    client: &Value,
    review: &Value,
) -> Result<Value, Trouble> {
    let rest = url.trim_start_matches("https://");
    let (authority, path) =
        rest.find('/').or_else(|| rest.find('?')).map_or((rest, ""), |at| rest.split_at(at));
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
        Some(_) | None => (authority, "443"),
    };
    let host = host.trim_matches(['[', ']']);
    let transport = |why: String| Trouble::Transport(why);
    let port: u16 = port.parse().map_err(|_| transport(format!("invalid port {port:?}")))?;
    let to = behind.unwrap_or_else(|| Reached { host: host.to_owned(), port });
    let stream = TcpStream::connect((to.host.as_str(), to.port)).await.map_err(|error| {
        let is_refused = error.kind() == std::io::ErrorKind::ConnectionRefused;
        let why = if is_refused { "connect: connection refused".to_owned() } else { error.to_string() };
        transport(format!("dial tcp {}:{}: {why}", to.host, to.port))
    })?;
    let name = ServerName::try_from(host.to_owned()).map_err(|error| transport(error.to_string()))?;
    let tls = TlsConnector::from(Arc::new(trust(client).map_err(transport)?));
    let stream = tls.connect(name, stream).await.map_err(|error| transport(tls_error(&error, host)))?;
    let shaken = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = shaken.map_err(|error| transport(error.to_string()))?;
    let talk = tokio::spawn(connection);
    let request = Request::post(path)
        .header(HOST, authority)
        .header(USER_AGENT, "kube-apiserver-admission")
        .header(ACCEPT, "application/json, */*")
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(review.to_string())))
        .map_err(|error| transport(error.to_string()))?;
    let sent = sender.send_request(request).await.map_err(|error| match error.is_incomplete_message() {
        true => transport("EOF".to_owned()),
        false => transport(error.to_string()),
    })?;
    let code = sent.status().as_u16();
    let kind = sent.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_text = kind.starts_with("text/");
    let whole = Limited::new(sent.into_body(), ANSWER_MAX).collect().await;
    talk.abort();
    let bytes = whole.map_err(|error| transport(error.to_string()))?.to_bytes();
    let body = String::from_utf8_lossy(&bytes);
    if (200..300).contains(&code) {
        return reviewed(&body, text(review, "/kind"), text(review, "/apiVersion"));
    }
    Err(Trouble::Answer(refused(code, is_text, &body)))
}

/// Reads a review of a kind, in a version of the same group.
fn reviewed(body: &str, wanted: &str, version: &str) -> Result<Value, Trouble> {
    let value: Value = serde_json::from_str(body).unwrap_or_else(|_| body.into());
    let word = match &value {
        Value::Object(_) => "",
        Value::Array(_) => "array",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Null | Value::String(_) => "string",
    };
    if !word.is_empty() {
        return Err(Trouble::Answer(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {word} into Go value of type struct {{ APIVersion string \
             \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
        )));
    }
    let group = version.split('/').next().unwrap_or_default();
    let (kind, version) = (text(&value, "/kind"), text(&value, "/apiVersion"));
    let known = ["v1", "v1beta1"].map(|version| format!("{group}/{version}"));
    if kind != wanted || !known.iter().any(|known| known == version) {
        return Err(Trouble::Answer(format!(
            "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )));
    }
    Ok(value)
}

/// What client-go makes of an answer that is none (apimachinery `NewGenericServerResponse`).
fn refused(code: u16, is_text: bool, body: &str) -> String {
    let status: Value = serde_json::from_str(body).unwrap_or_default();
    if text(&status, "/kind") == "Status" && !text(&status, "/message").is_empty() {
        return text(&status, "/message").to_owned();
    }
    let shown = Some(body.trim()).filter(|body| is_text && !body.is_empty()).unwrap_or("unknown");
    match code {
        400 => "the server rejected our request for an unknown reason".to_owned(),
        401 => "the server has asked for the client to provide credentials".to_owned(),
        403 => shown.to_owned(),
        404 => "the server could not find the requested resource".to_owned(),
        405 => "the server does not allow this method on the requested resource".to_owned(),
        406 => "the server was unable to respond with a content type that the client supports".to_owned(),
        409 => "the server reported a conflict".to_owned(),
        422 => "the server rejected our request due to an error in our request".to_owned(),
        429 => "the server has received too many requests and has asked us to try again later".to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        504 => "the server was unable to return a response in the time allotted, but may still be processing the request".to_owned(),
        500.. => format!("an error on the server ({shown:?}) has prevented the request from succeeding"),
        code => format!("the server responded with the status code {code} but did not return more information"),
    }
}

/// Whom a webhook's certificate must be signed by: `caBundle`.
fn trust(client: &Value) -> Result<ClientConfig, String> {
    let bundle = STANDARD.decode(text(client, "/caBundle")).map_err(|error| format!("caBundle: {error}"))?;
    let mut roots = RootCertStore::empty();
    let mut own = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(&bundle) {
        let certificate =
            certificate.map_err(|error| format!("unable to load root certificates: {error}"))?;
        own.push(certificate.clone().into_owned());
        roots.add(certificate).map_err(|error| format!("unable to load root certificates: {error}"))?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(provider::default_provider()));
    let config = config.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let verifier = bundle::verifier(roots, own)?;
    Ok(config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// What is wrong with a connection, as Go says it where that is the certificate.
#[expect(clippy::wildcard_enum_match_arm, reason = "others are said as the library says them")]
fn tls_error(error: &std::io::Error, host: &str) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(rustls::Error::InvalidCertificate(why)) = inner else { return error.to_string() };
    let why = match why {
        CertificateError::UnknownIssuer => "certificate signed by unknown authority".to_owned(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "certificate has expired or is not yet valid".to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } => other_names(presented, host),
        CertificateError::NotValidForName => other_names(&[], host),
        other => other.to_string(),
    };
    format!("tls: failed to verify certificate: x509: {why}")
}

/// A certificate is for other names than the one that was wanted.
fn other_names(presented: &[String], host: &str) -> String {
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    let kind = if is_address { "IpAddress(" } else { "DnsName(" };
    let names = presented.iter().filter_map(|name| name.strip_prefix(kind)?.strip_suffix(')'));
    let names: Vec<&str> = names.map(|name| name.trim_matches('"')).collect();
    match (names.is_empty(), is_address) {
        (true, true) => {
            format!("cannot validate certificate for {host} because it doesn't contain any IP SANs")
        }
        (true, false) => format!("certificate is not valid for any names, but wanted to match {host}"),
        (false, _) => format!("certificate is valid for {}, not {host}", names.join(", ")),
    }
}

/// Looks at an answer as a server does before it is believed (`VerifyAdmissionResponse`).
fn check(answer: &Value, review: &Value, uid: &str, may_patch: bool) -> Result<(), String> {
    let version = text(review, "/apiVersion");
    if !answer.get("response").is_some_and(Value::is_object) {
        return Err("webhook response was absent".to_owned());
    }
    let response = &answer["response"];
    let is_newest = version == "admission.k8s.io/v1";
    let (kind, given) = (text(answer, "/kind"), text(answer, "/apiVersion"));
    if kind != "AdmissionReview" || given != version {
        let shown = if given.contains('/') { given.to_owned() } else { format!("/{given}") };
        return Err(format!(
            "expected webhook response of {version}, Kind=AdmissionReview, got {shown}, Kind={kind}"
        ));
    }
    if !is_newest {
        return Ok(());
    }
    let told = text(response, "/uid");
    if told != uid {
        return Err(format!("expected response.uid={uid:?}, got {told:?}"));
    }
    let has_patch = !text(response, "/patch").is_empty();
    let has_type = response.get("patchType").is_some_and(|kind| !kind.is_null());
    if !may_patch && has_patch {
        return Err("validating webhook may not return response.patch".to_owned());
    }
    if !may_patch && has_type {
        return Err("validating webhook may not return response.patchType".to_owned());
    }
    match (has_patch, response.get("patchType").and_then(Value::as_str)) {
        (true, None) => Err("webhook returned response.patch but not response.patchType".to_owned()),
        (false, Some(_)) => Err("webhook returned response.patchType but not response.patch".to_owned()),
        (true, Some(kind)) if kind.is_empty() => {
            Err(format!("webhook returned invalid response.patchType of {kind:?}"))
        }
        (true, Some(_)) | (false, None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_believed_that_answers_what_was_asked() {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"});
        let of = |version: &str, response: Value| json!({"apiVersion": version, "kind": "AdmissionReview", "response": response});
        let v1 = "admission.k8s.io/v1";
        let why = |answer: Value| check(&answer, &review, "7", true).err();
        assert_eq!(why(of(v1, json!({"uid": "7", "allowed": true}))), None);
        assert_eq!(why(json!({})).as_deref(), Some("webhook response was absent"));
        assert_eq!(
            why(of(v1, json!({"uid": "8"}))).as_deref(),
            Some("expected response.uid=\"7\", got \"8\"")
        );
        let patched = of(v1, json!({"uid": "7", "patch": "W10="}));
        assert_eq!(
            why(patched).as_deref(),
            Some("webhook returned response.patch but not response.patchType")
        );
        let changes = of(v1, json!({"uid": "7", "patch": "W10=", "patchType": "JSONPatch"}));
        assert_eq!(why(changes.clone()), None);
        let refused = "validating webhook may not return response.patch";
        assert_eq!(check(&changes, &review, "7", false).err().as_deref(), Some(refused));
        let other = "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got admission.k8s.io/v1beta1, Kind=AdmissionReview";
        assert_eq!(why(of("admission.k8s.io/v1beta1", json!({}))).as_deref(), Some(other));
    }
}
