//! Connections in plain HTTP, and what becomes of a request: verified, read, answered, written.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use replank_model::time::{Span, Time};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use crate::account::sts::with_credentials;
use crate::call::{ASSUMED, Answered, Call, FOR_POD, Reply, WAIT};
use crate::caller::{Caller, WebIdentity};
use crate::fault::Fault;
use crate::gate::{Gate, Temporary};
use crate::service::{Protocol, Service};
use crate::sigv4::{Authorization, Credentials, Doubt, Signed};
use crate::text::{pairs, uuid};
use crate::trouble;
use crate::wire::{self, Answer};

/// Connections at once.
const CONNECTIONS_MAX: usize = 1_024;
/// How long a client may take for the head of a request.
const IDLE_MAX: Duration = Duration::from_secs(90);
/// A batch of messages is 1 MiB at most.
const BODY_MAX: usize = 4 * 1024 * 1024;
/// Where the agent of EKS Pod Identity is asked (`AWS_CONTAINER_CREDENTIALS_FULL_URI`).
const AGENT: &str = "/v1/credentials";
/// How often a receiver that waits is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Who answers calls.
pub trait Backend: Send + Sync {
    /// What a token says that the cluster has signed for a service account; `None` for any other token.
    fn web_identity(&self, token: &str) -> Option<WebIdentity>;

    /// Answers a call; `None` when there is nobody any more.
    fn call(&self, call: Call) -> Pin<Box<dyn Future<Output = Option<Answered>> + Send + '_>>;
}

/// The endpoint of all services.
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
    stop: watch::Receiver<bool>,
}

struct Shared {
    backend: Box<dyn Backend>,
    gate: Gate,
    requests: AtomicU64,
}

impl Server {
    /// Serves on an address that has been taken, in the runtime that it is called in; `stop` ends it when it becomes true.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin(
        listener: std::net::TcpListener,
        gate: Gate,
        backend: Box<dyn Backend>,
        stop: watch::Receiver<bool>,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let shared = Arc::new(Shared { backend, gate, requests: AtomicU64::new(0) });
        Ok(Self { listener: TcpListener::from_std(listener)?, shared, stop })
    }

    /// The address that it is reached at.
    ///
    /// # Errors
    /// What the system says.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until it is stopped.
    pub async fn run(self) {
        let free = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut stop = self.stop.clone();
        loop {
            let Ok(permit) = free.clone().acquire_owned().await else { return };
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                _ = stop.wait_for(|stop| *stop) => return,
            };
            let Ok((stream, _)) = accepted else {
                // Too many open files, most likely: connections that end make room.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            drop(stream.set_nodelay(true));
            let (shared, stop) = (self.shared.clone(), self.stop.clone());
            tokio::spawn(async move {
                talk(stream, shared, stop).await;
                drop(permit);
            });
        }
    }
}

async fn talk(stream: TcpStream, shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(IDLE_MAX);
    let service = service_fn(move |request| {
        let shared = shared.clone();
        async move { shared.handle(request).await.ok_or(Lost) }
    });
    let talk = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(talk);
    tokio::select! {
        // What a client does wrong on the wire ends its connection, and nothing else.
        _ = talk.as_mut() => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}

/// An answer that is not to arrive: the connection ends.
#[derive(Debug, thiserror::Error)]
#[error("the answer is lost")]
struct Lost;

impl Shared {
    /// Answers a request; `None` where its answer is lost.
    async fn handle(&self, request: hyper::Request<Incoming>) -> Option<hyper::Response<Full<Bytes>>> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let id = uuid(&format!("request {number}"));
        let (parts, body) = request.into_parts();
        let headers = headers_of(&parts);
        let (path, query) = (parts.uri.path(), parts.uri.query().unwrap_or_default());
        let target = headers.iter().find(|(name, _)| name == "x-amz-target").map(|(_, value)| value.clone());
        let body = match Limited::new(body, BODY_MAX).collect().await {
            Ok(whole) => whole.to_bytes(),
            Err(_) => {
                let fault = Fault::new(413, "RequestEntityTooLarge", "the body is too large");
                return Some(sent(wire::write(Service::Eks, false, "", &Err(fault), &id)));
            }
        };
        if (parts.method.as_str(), path) == ("GET", AGENT) {
            return self.for_pod(&headers, &id).await;
        }
        let authorization = Authorization::read(&headers, query);
        let service = authorization.as_ref().ok().and_then(|found| Service::of_signing_name(&found.service));
        let service = service.unwrap_or_else(|| guessed(path, target.as_deref(), query, &body));
        let signed = Signed { method: parts.method.as_str(), path, query, headers: &headers, body: &body };
        let caller = match authorization {
            Ok(found) => self.gate.admit(&found, &signed, now()),
            // Who has a token of the cluster, and no key, asks STS for one.
            Err(Doubt::Missing) if service == Service::Sts => {
                self.with_token(query, &body).ok_or(Doubt::Missing)
            }
            Err(doubt) => Err(doubt),
        };
        let has_target = target.is_some();
        let caller = match caller {
            Ok(caller) => caller,
            Err(doubt) => {
                let fault = refused(service, has_target, doubt);
                return Some(sent(wire::write(service, has_target, "", &Err(fault), &id)));
            }
        };
        let request = wire::Request {
            method: parts.method.as_str(),
            path,
            query,
            target: target.as_deref(),
            body: &body,
        };
        let call = match wire::read(service, &request) {
            Ok(call) => Call { caller, ..call },
            Err(fault) => return Some(sent(wire::write(service, has_target, "", &Err(fault), &id))),
        };
        let action = call.action.clone();
        match self.answered(call).await {
            Answered::With(reply) => {
                let reply = reply.and_then(|reply| self.with_credentials(reply));
                Some(sent(wire::write(service, has_target, &action, &reply, &id)))
            }
            Answered::Lost => None,
        }
    }

    /// What the agent of EKS Pod Identity on a node answers a pod: credentials of its service account's role.
    async fn for_pod(&self, headers: &[(String, String)], id: &str) -> Option<hyper::Response<Full<Bytes>>> {
        let token = headers.iter().find(|(name, _)| name == "authorization").map(|(_, value)| value.trim());
        let caller = Caller::Web(token.and_then(|token| self.backend.web_identity(token)));
        let action = FOR_POD.to_owned();
        let call = Call { service: Service::Eks, action, input: json!({}), caller, is_again: false };
        let Answered::With(reply) = self.answered(call).await else { return None };
        let reply = reply.and_then(|reply| self.with_credentials(reply)).map(|mut reply| {
            let account = reply["AccountId"].take();
            let mut shown = reply["Credentials"].take();
            shown["Token"] = shown["SessionToken"].take();
            shown["AccountId"] = account;
            if let Some(members) = shown.as_object_mut() {
                members.remove("SessionToken");
            }
            shown
        });
        Some(sent(wire::write(Service::Eks, false, FOR_POD, &reply, id)))
    }

    /// Who asks for a role with a token of the cluster; `None` for every other request.
    fn with_token(&self, query: &str, body: &[u8]) -> Option<Caller> {
        let members = pairs(query).into_iter().chain(pairs(&String::from_utf8_lossy(body)));
        let members: Vec<(String, String)> = members.collect();
        let find = |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        find("Action").filter(|action| *action == "AssumeRoleWithWebIdentity")?;
        Some(Caller::Web(find("WebIdentityToken").and_then(|token| self.backend.web_identity(token))))
    }

    /// An answer with the credentials that it is about.
    fn with_credentials(&self, reply: Value) -> Reply {
        let assumed = &reply[ASSUMED];
        let (Some(role), Some(session), Some(seconds)) =
            (assumed["role"].as_str(), assumed["session"].as_str(), assumed["seconds"].as_i64())
        else {
            return Ok(reply);
        };
        let until = now() + Span::from_secs(seconds);
        let none = || Fault::new(500, "InternalFailure", "the system gives no random numbers");
        let Temporary { credentials, token, until } =
            self.gate.hand_out(role, session, until).ok_or_else(none)?;
        let Credentials { access_key, secret_key } = credentials;
        let shown = json!({"AccessKeyId": access_key, "SecretAccessKey": secret_key, "SessionToken": token, "Expiration": until.to_string()});
        Ok(with_credentials(reply, shown))
    }

    /// Has a call answered. Who receives messages may wait for one.
    async fn answered(&self, mut call: Call) -> Answered {
        let begun = Instant::now();
        loop {
            let stopped = Fault::new(503, "ServiceUnavailable", "the cluster is being stopped");
            let answered = self.backend.call(call.clone()).await.unwrap_or(Answered::With(Err(stopped)));
            let wait = match &answered {
                Answered::With(Ok(reply)) => reply.get(WAIT).and_then(Value::as_u64),
                Answered::With(Err(_)) | Answered::Lost => None,
            };
            let Some(wait) = wait else { return answered };
            call.is_again = true;
            if begun.elapsed() >= Duration::from_secs(wait) {
                if let Some(input) = call.input.as_object_mut() {
                    input.insert("WaitTimeSeconds".to_owned(), 0.into());
                }
                continue;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// The machine's clock: signatures are made by clients that know no other.
fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Headers by lower-case names; of HTTP/2's, the authority is the host.
fn headers_of(parts: &hyper::http::request::Parts) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let all = parts.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes())));
    let mut all: Vec<(String, String)> = all.collect();
    if let Some(authority) = parts.uri.authority().filter(|_| !parts.headers.contains_key("host")) {
        all.push(("host".to_owned(), authority.to_string()));
    }
    all
}

/// The service of a request that does not say so, for the form of its refusal.
fn guessed(path: &str, target: Option<&str>, query: &str, body: &[u8]) -> Service {
    let prefix = target.and_then(|target| target.split_once('.')).map(|(prefix, _)| prefix);
    let by_target =
        Service::ALL.into_iter().find(|service| service.target_prefix() == prefix && prefix.is_some());
    let has_action = query.contains("Action=") || String::from_utf8_lossy(body).contains("Action=");
    by_target.unwrap_or(match path {
        _ if target.is_some() => Service::Ssm,
        "/" | "" if has_action => Service::Sts,
        _ => Service::Eks,
    })
}

fn unserved(name: &str) -> String {
    let served = Service::ALL.map(Service::signing_name).join(", ");
    format!(
        "Replank's simulated cloud does not serve the service {name}: it serves {served} (docs/cluster-aws.md)."
    )
}

/// How a service refuses what it does not believe.
fn refused(service: Service, has_target: bool, doubt: Doubt) -> Fault {
    let mismatch = "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.";
    match (service.protocol(has_target), doubt) {
        (_, Doubt::Expired) => trouble::expired(service),
        (Protocol::Json | Protocol::Rest, Doubt::Unserved(name)) => {
            Fault::bad("UnknownOperationException", unserved(&name))
        }
        (Protocol::Ec2 | Protocol::Query, Doubt::Unserved(name)) => {
            Fault::bad("InvalidAction", unserved(&name))
        }
        (Protocol::Ec2, Doubt::Unfit(words)) => Fault::new(401, "AuthFailure", words),
        (Protocol::Ec2, Doubt::Skewed(_)) => Fault::bad("RequestExpired", "Request has expired."),
        (Protocol::Ec2, Doubt::Missing) => {
            Fault::bad("MissingParameter", "The request must contain the parameter AWSAccessKeyId")
        }
        (Protocol::Ec2, Doubt::UnknownKey | Doubt::Mismatch) => {
            Fault::new(401, "AuthFailure", "AWS was not able to validate the provided access credentials")
        }
        (Protocol::Query, Doubt::Missing) => {
            Fault::new(403, "MissingAuthenticationToken", "Request is missing Authentication Token")
        }
        (Protocol::Query, Doubt::UnknownKey) => {
            Fault::new(403, "InvalidClientTokenId", "The security token included in the request is invalid.")
        }
        (Protocol::Query, Doubt::Mismatch) => Fault::new(403, "SignatureDoesNotMatch", mismatch),
        (Protocol::Query, Doubt::Skewed(words) | Doubt::Unfit(words)) => {
            Fault::new(403, "SignatureDoesNotMatch", words)
        }
        (Protocol::Json, Doubt::Missing) => {
            Fault::bad("MissingAuthenticationTokenException", "Missing Authentication Token")
        }
        (Protocol::Json, Doubt::UnknownKey) => Fault::bad(
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ),
        (Protocol::Json, Doubt::Mismatch) => Fault::bad("InvalidSignatureException", mismatch),
        (Protocol::Json, Doubt::Skewed(words) | Doubt::Unfit(words)) => {
            Fault::bad("InvalidSignatureException", words)
        }
        (Protocol::Rest, Doubt::Missing) => {
            Fault::new(403, "MissingAuthenticationTokenException", "Missing Authentication Token")
        }
        (Protocol::Rest, Doubt::UnknownKey) => Fault::new(
            403,
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ),
        (Protocol::Rest, Doubt::Mismatch) => Fault::new(403, "InvalidSignatureException", mismatch),
        (Protocol::Rest, Doubt::Skewed(words) | Doubt::Unfit(words)) => {
            Fault::new(403, "InvalidSignatureException", words)
        }
        (Protocol::Rest, Doubt::Incomplete(words)) => Fault::new(403, "IncompleteSignatureException", words),
        (Protocol::Ec2 | Protocol::Query | Protocol::Json, Doubt::Incomplete(words)) => {
            Fault::bad("IncompleteSignature", words)
        }
    }
}

fn sent(answer: Answer) -> hyper::Response<Full<Bytes>> {
    let mut response = hyper::Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() =
        hyper::StatusCode::from_u16(answer.status).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in answer.headers {
        if let Ok(value) = hyper::header::HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
