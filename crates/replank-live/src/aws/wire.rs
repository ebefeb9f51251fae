//! The way to AWS: one small client for the few protocols that are spoken. Each request is sent once.
//!
//! It rides on the HTTP and TLS stack that leads to the API server.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::{Method, Request, Uri};
use http_body_util::BodyExt as _;
use jiff::{SignedDuration, Timestamp};
use kube::client::Body;
use kube::{Client, Config};
use serde_json::Value;
use thiserror::Error;

use super::error::{AwsError, is_denied, is_not_accepted};
use super::found::Found;
use super::place::{AwsAsked, Place};
use super::profile::Profiles;
use super::service::{Access, Service};
use super::sign::{Unsigned, authorization, escaped};
use super::xml;
use crate::connect::{causes, date};
use crate::drive::backoff::Backoff;
use crate::drive::bucket::Bucket;

/// How long a connection may take to come about.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// How long the first answer of a service may take: an address at which nobody answers is told soon.
const FIRST_ANSWER_MAX: Duration = Duration::from_secs(10);
/// How long a source of credentials beside this process may take.
const PLAIN_MAX: Duration = Duration::from_secs(5);
/// The same for one that is not there on most machines.
const PLAIN_CONNECT_MAX: Duration = Duration::from_secs(1);
/// How often a read is tried.
const READS: u32 = 6;
/// The same of a service that has never answered: its address may be wrong.
const FIRST_READS: u32 = 2;
/// The first pause before something is tried again; the next ones double.
const PAUSE: Duration = Duration::from_secs(1);
/// How far clocks may be apart until signatures are made by the server's.
const SKEW_MAX: i64 = 240;
/// How the program is called in CloudTrail.
const AGENT: &str = concat!("replank/", env!("CARGO_PKG_VERSION"));

/// What is sent without a signature to a source of credentials.
pub(super) struct Plain<'p> {
    pub(super) method: Method,
    pub(super) uri: &'p str,
    pub(super) headers: Vec<(&'static str, String)>,
}

/// Why a source of credentials gives no text.
#[derive(Debug, Error)]
pub(super) enum PlainError {
    /// It cannot be asked.
    #[error("{0}")]
    Wrong(String),
    /// It does not answer.
    #[error("{0}")]
    Silent(String),
    /// It says no.
    #[error("{0}: {1}")]
    Refused(u16, String),
}

impl PlainError {
    /// Whether it may answer soon.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Wrong(_) => false,
            Self::Silent(_) => true,
            Self::Refused(code, _) => *code >= 500 || *code == 429,
        }
    }
}

impl Plain<'_> {
    /// The answer's text, asked for once.
    pub(super) async fn text(&self) -> Result<String, PlainError> {
        let wrong = |error: http::Error| PlainError::Wrong(error.to_string());
        let silent = |error: kube::Error| PlainError::Silent(causes(&error));
        let uri: Uri =
            self.uri.parse().map_err(|error| PlainError::Wrong(format!("{}: {error}", self.uri)))?;
        let client = client(&uri, PLAIN_CONNECT_MAX).map_err(PlainError::Wrong)?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::builder().method(self.method.clone()).uri(path);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let request = request.body(Body::empty()).map_err(wrong)?;
        let sent = tokio::time::timeout(PLAIN_MAX, async {
            let response = client.send(request).await.map_err(silent)?;
            let code = response.status().as_u16();
            let body = response.into_body().collect().await.map_err(silent)?.to_bytes();
            Ok((code, String::from_utf8_lossy(&body).into_owned()))
        });
        let (code, text) = sent.await.map_err(|_| PlainError::Silent("no answer".to_owned()))??;
        if code == 200 { Ok(text) } else { Err(PlainError::Refused(code, text.trim().to_owned())) }
    }
}

/// A client of one origin, whatever the paths.
fn client(uri: &Uri, connect_max: Duration) -> Result<Client, String> {
    let origin = match (uri.scheme_str(), uri.authority()) {
        (Some(scheme @ ("http" | "https")), Some(authority)) => format!("{scheme}://{authority}"),
        (Some(_) | None, Some(_) | None) => return Err(format!("{uri} is no http or https address")),
    };
    let origin: Uri = origin.parse().map_err(|error| format!("{uri}: {error}"))?;
    let mut config = Config::new(origin);
    config.connect_timeout = Some(connect_max);
    config.default_retry = false;
    Client::try_from(config).map_err(|error| causes(&error))
}

/// A request, before it is signed.
pub(super) struct Draft {
    pub(super) service: Service,
    pub(super) action: String,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

/// The way to AWS, without credentials of its own.
pub(super) struct Wire {
    pub(super) region: String,
    endpoints: BTreeMap<Service, String>,
    pub(super) clients: Mutex<BTreeMap<Service, Client>>,
    buckets: BTreeMap<(Service, Access), Bucket>,
    /// Services that have answered, whatever it was.
    reached: Mutex<BTreeSet<Service>>,
    /// The first pause before something is tried again.
    pub(super) pause: Duration,
    /// How many seconds AWS's clock is ahead of this machine's, where that matters.
    ahead: AtomicI64,
    /// What was called (`ec2:DescribeInstances`).
    #[cfg(test)]
    called: Mutex<BTreeSet<String>>,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Wire")
            .field("region", &self.region)
            .field("endpoints", &self.endpoints)
            .finish_non_exhaustive()
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

impl Wire {
    pub(super) fn new(asked: &AwsAsked, profiles: &Profiles) -> Result<Self, AwsError> {
        let Place { region, endpoints } = Place::find(asked, &variable, profiles)?;
        let of = |service: Service| {
            Access::ALL.map(|access| ((service, access), Bucket::new(service.per_second(access))))
        };
        let buckets = Service::ALL.into_iter().flat_map(of).collect();
        let (clients, reached) = (Mutex::default(), Mutex::default());
        let ahead = AtomicI64::new(0);
        Ok(Self {
            region,
            endpoints,
            clients,
            buckets,
            reached,
            pause: PAUSE,
            ahead,
            #[cfg(test)]
            called: Mutex::default(),
        })
    }

    /// The budget of those calls of a service that change something, or of those that do not.
    pub(super) fn bucket(&self, service: Service, access: Access) -> &Bucket {
        &self.buckets[&(service, access)]
    }

    /// Whether a service has ever answered.
    pub(super) fn is_reached(&self, service: Service) -> bool {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner).contains(&service)
    }

    /// How often a call of a service that only reads is tried.
    pub(super) fn reads(&self, service: Service) -> u32 {
        if self.is_reached(service) { READS } else { FIRST_READS }
    }

    /// Pauses of somebody who tries something again.
    pub(super) fn backoff(&self, who: impl Into<String>) -> Backoff {
        Backoff::from(self.pause, who)
    }

    /// One call of a query protocol, once. Without credentials it is not signed.
    pub(super) async fn query(
        &self,
        service: Service,
        action: &str,
        params: &Value,
        by: Option<&Found>,
    ) -> Result<Value, AwsError> {
        self.send(&query_draft(service, action, params), by).await
    }

    /// Sends a request once, and reads the answer.
    pub(super) async fn send(&self, draft: &Draft, by: Option<&Found>) -> Result<Value, AwsError> {
        let endpoint = &self.endpoints[&draft.service];
        let action = format!("{}:{}", draft.service.name(), draft.action);
        #[cfg(test)]
        self.called.lock().unwrap_or_else(PoisonError::into_inner).insert(action.clone());
        let unreachable = |why: String| AwsError::Unreachable {
            is_unsent: why.contains("client error (Connect)"),
            action: action.clone(),
            endpoint: endpoint.clone(),
            why,
        };
        let uri: Uri = endpoint.parse().map_err(|error| unreachable(format!("{error}")))?;
        let client = {
            let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
            match clients.get(&draft.service) {
                Some(client) => client.clone(),
                None => {
                    let made = client(&uri, CONNECT_MAX).map_err(unreachable)?;
                    clients.insert(draft.service, made.clone());
                    made
                }
            }
        };
        let request = self.signed(draft, &uri, by).map_err(unreachable)?;
        let answer_max = if self.is_reached(draft.service) { ANSWER_MAX } else { FIRST_ANSWER_MAX };
        let sent = tokio::time::timeout(answer_max, async {
            let response = client.send(request).await.map_err(|error| causes(&error))?;
            self.reached.lock().unwrap_or_else(PoisonError::into_inner).insert(draft.service);
            let (code, headers) = (response.status().as_u16(), response.headers().clone());
            let body = response.into_body().collect().await.map_err(|error| causes(&error))?;
            Ok::<_, String>((code, headers, body.to_bytes()))
        });
        let answered =
            sent.await.map_err(|_| unreachable(format!("no answer within {} s", answer_max.as_secs())))?;
        let (code, headers, body) = answered.map_err(unreachable)?;
        let text = String::from_utf8_lossy(&body);
        if (200..300).contains(&code) {
            return answer(draft, &text).map_err(|why| AwsError::Unreadable { action, why });
        }
        if let Some(date) = date(&headers) {
            let ahead = date.as_millis() / 1_000 - Timestamp::now().as_second();
            if ahead.abs() > SKEW_MAX {
                self.ahead.store(ahead, Ordering::Relaxed);
            }
        }
        let kind = headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok());
        let (error, message) = fault(draft.service, kind, &text);
        let source_of = by.map_or_else(String::new, |by| by.source.clone());
        Err(match &*error {
            code if is_denied(code) => AwsError::Denied { action, code: error, message },
            code if is_not_accepted(code) => {
                AwsError::NotAccepted { source_of, action, code: error, message }
            }
            _ => AwsError::Refused { action, status: code, code: error, message },
        })
    }

    fn signed(&self, draft: &Draft, uri: &Uri, by: Option<&Found>) -> Result<Request<Body>, String> {
        let host = uri.authority().map_or_else(String::new, |authority| authority.as_str().to_owned());
        let now = Timestamp::now() + SignedDuration::from_secs(self.ahead.load(Ordering::Relaxed));
        let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
        let mut headers = draft.headers.clone();
        headers.push(("host", host));
        headers.push(("x-amz-date", time.clone()));
        if let Some(token) = by.and_then(|by| by.key.session_token.clone()) {
            headers.push(("x-amz-security-token", token));
        }
        headers.sort();
        let path = format!("{}{}", uri.path().trim_end_matches('/'), draft.path);
        let uri = match &*draft.query {
            "" => path.clone(),
            query => format!("{path}?{query}"),
        };
        let mut request = Request::builder().method(draft.method.clone()).uri(uri);
        for (name, value) in headers.iter().filter(|(name, _)| *name != "host") {
            request = request.header(*name, value);
        }
        if let Some(by) = by {
            let unsigned = Unsigned {
                method: draft.method.as_str(),
                path: &path,
                query: &draft.query,
                headers: &headers,
                body: &draft.body,
            };
            let value = authorization(&unsigned, &by.key, (&self.region, draft.service.name()), &time);
            request = request.header("authorization", value);
        }
        let request = request.header("user-agent", AGENT).body(Body::from(draft.body.clone()));
        request.map_err(|error| error.to_string())
    }
}

/// A call of a query protocol.
pub(super) fn query_draft(service: Service, action: &str, params: &Value) -> Draft {
    let mut pairs =
        vec![("Action".to_owned(), action.to_owned()), ("Version".to_owned(), service.version().to_owned())];
    flatten(service, "", params, &mut pairs);
    let body: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect();
    Draft {
        service,
        action: action.to_owned(),
        method: Method::POST,
        path: "/".to_owned(),
        query: String::new(),
        headers: vec![("content-type", "application/x-www-form-urlencoded; charset=utf-8".to_owned())],
        body: body.join("&").into_bytes(),
    }
}

/// Parameters as a form has them: lists are `Name.member.1`, in EC2 `Name.1`.
fn flatten(service: Service, prefix: &str, value: &Value, pairs: &mut Vec<(String, String)>) {
    let under = |name: &str| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
    match value {
        Value::Null => {}
        Value::Bool(flag) => pairs.push((prefix.to_owned(), flag.to_string())),
        Value::Number(number) => pairs.push((prefix.to_owned(), number.to_string())),
        Value::String(text) => pairs.push((prefix.to_owned(), text.clone())),
        Value::Array(all) => {
            for (at, one) in all.iter().enumerate() {
                let place = match service {
                    Service::Ec2 => (at + 1).to_string(),
                    Service::AutoScaling
                    | Service::Eks
                    | Service::Elb
                    | Service::Sqs
                    | Service::Ssm
                    | Service::Sts => format!("member.{}", at + 1),
                };
                flatten(service, &under(&place), one, pairs);
            }
        }
        Value::Object(all) => all.iter().for_each(|(name, one)| flatten(service, &under(name), one, pairs)),
    }
}

/// What an answer says: an object; null where it has no result, as one to a write may have none.
fn answer(draft: &Draft, text: &str) -> Result<Value, String> {
    match draft.service {
        Service::Ec2 => structure(of_action(draft, text)?),
        Service::AutoScaling | Service::Elb | Service::Sts => {
            let mut answer = structure(of_action(draft, text)?)?;
            let result = answer.get_mut(format!("{}Result", draft.action)).map(Value::take);
            result.map_or(Ok(Value::Null), structure)
        }
        Service::Eks | Service::Sqs | Service::Ssm if text.is_empty() => Ok(Value::Null),
        Service::Eks | Service::Sqs | Service::Ssm => {
            structure(serde_json::from_str(text).map_err(|error| error.to_string())?)
        }
    }
}

/// An answer in XML. Its outermost element names the action: another is another thing, such as a proxy's page.
fn of_action(draft: &Draft, text: &str) -> Result<Value, String> {
    let (name, value) = xml::named(text)?;
    let expected = format!("{}Response", draft.action);
    if name == expected { Ok(value) } else { Err(format!("it is {name}, and no {expected}")) }
}

/// An element without content is an empty one.
fn structure(value: Value) -> Result<Value, String> {
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(Value::Object(serde_json::Map::new())),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err("it is no structure".to_owned())
        }
    }
}

/// Code and message of a refusal.
fn fault(service: Service, kind: Option<&str>, text: &str) -> (String, String) {
    let read = if service.is_xml() { xml::read(text).ok() } else { serde_json::from_str(text).ok() };
    let read: Value = read.unwrap_or_default();
    let ec2 = &read["Errors"]["Error"];
    let error = [&read["Error"], ec2, &read].into_iter().find(|error| error.is_object());
    let error = error.cloned().unwrap_or_default();
    let get = |names: &[&str]| names.iter().find_map(|name| error[*name].as_str()).map(str::to_owned);
    let code = get(&["Code", "code", "__type"]).or_else(|| kind.map(str::to_owned)).unwrap_or_default();
    // `com.amazon#Code` in one protocol, `Code:http://…` in the other.
    let code = code.rsplit('#').next().and_then(|code| code.split(':').next()).unwrap_or_default().to_owned();
    let message = get(&["Message", "message"]).unwrap_or_else(|| text.chars().take(200).collect());
    (code, message)
}

#[cfg(test)]
impl Wire {
    /// One whose pauses are too short to be waited for, and whose budgets are not used up.
    pub(super) fn hasty(asked: &AwsAsked) -> Result<Self, AwsError> {
        let mut made = Self { pause: Duration::from_millis(2), ..Self::new(asked, &Profiles::default())? };
        made.buckets.values_mut().for_each(|bucket| *bucket = Bucket::new(1_000_000));
        Ok(made)
    }

    /// What was called so far.
    pub(super) fn called(&self) -> BTreeSet<String> {
        self.called.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_are_written_as_each_service_reads_them() {
        let params =
            json!({"Names": ["a b", "c"], "Tags": [{"Key": "k"}], "Min": 1, "No": null, "Flag": false});
        let body = |service| String::from_utf8(query_draft(service, "X", &params).body).expect("it is text");
        assert_eq!(
            body(Service::AutoScaling),
            "Action=X&Version=2011-01-01&Flag=false&Min=1&Names.member.1=a%20b&Names.member.2=c&Tags.member.1.Key=k"
        );
        assert!(body(Service::Ec2).ends_with("&Names.1=a%20b&Names.2=c&Tags.1.Key=k"));
    }

    #[test]
    fn each_service_has_a_budget_for_reads_and_another_for_writes() {
        let asked = AwsAsked { region: Some("eu-west-1".to_owned()), ..AwsAsked::default() };
        let wire = Wire::new(&asked, &Profiles::default()).expect("it has a region");
        let taken = |service, access| {
            let bucket = wire.bucket(service, access);
            // Not forever, should it fill as fast as it is emptied.
            (0..1_000).take_while(|_| bucket.take().is_ok()).count()
        };
        for service in Service::ALL {
            for access in Access::ALL {
                let rate = service.per_second(access) as usize;
                // What has come back meanwhile counts, too.
                let taken = taken(service, access);
                assert!((rate..=rate + 5).contains(&taken), "{service:?} {access:?}: {taken}");
            }
        }
    }

    #[test]
    fn answers_are_told_apart_from_other_documents() {
        let read =
            |service, action: &str, text: &str| answer(&query_draft(service, action, &Value::Null), text);
        let groups = |text: &str| read(Service::AutoScaling, "Describe", text);
        let empty = Ok(json!({"Groups": null}));
        let whole = "<DescribeResponse><DescribeResult><Groups/></DescribeResult></DescribeResponse>";
        assert_eq!(groups(whole), empty);
        assert_eq!(groups("<DescribeResponse><DescribeResult/></DescribeResponse>"), Ok(json!({})));
        // That there is no result is for the caller to judge: a write may have none.
        assert_eq!(groups("<DescribeResponse/>"), Ok(Value::Null));
        assert_eq!(groups("<html>hello</html>"), Err("it is html, and no DescribeResponse".to_owned()));
        assert_eq!(
            groups("<DescribeResponse>hello</DescribeResponse>"),
            Err("it is no structure".to_owned())
        );
        assert_eq!(read(Service::Ec2, "Describe", "<DescribeResponse><Groups/></DescribeResponse>"), empty);
        let other = read(Service::Ec2, "Describe", "<OtherResponse><Groups/></OtherResponse>");
        assert_eq!(other, Err("it is OtherResponse, and no DescribeResponse".to_owned()));
        assert_eq!(read(Service::Eks, "Describe", "{\"Groups\":null}"), empty);
        assert_eq!(read(Service::Eks, "Describe", ""), Ok(Value::Null));
        for text in ["[]", "\"x\"", "1"] {
            assert_eq!(read(Service::Eks, "Describe", text), Err("it is no structure".to_owned()), "{text}");
        }
        assert!(read(Service::Eks, "Describe", "<html/>").is_err());
    }

    #[test]
    fn refusals_of_all_protocols_are_read() {
        let query = "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>no &lt;x&gt;</Message></Error></ErrorResponse>";
        assert_eq!(fault(Service::AutoScaling, None, query), ("ValidationError".into(), "no <x>".into()));
        let ec2 = "<Response><Errors><Error><Code>AuthFailure</Code><Message>m</Message></Error></Errors></Response>";
        assert_eq!(fault(Service::Ec2, None, ec2), ("AuthFailure".into(), "m".into()));
        let eks = "{\"message\": \"m\"}";
        assert_eq!(
            fault(Service::Eks, Some("ResourceInUseException:http://x"), eks),
            ("ResourceInUseException".into(), "m".into())
        );
        let ssm = "{\"__type\": \"com.amazonaws#ParameterNotFound\", \"message\": \"\"}";
        assert_eq!(fault(Service::Ssm, None, ssm).0, "ParameterNotFound");
        assert_eq!(fault(Service::Eks, None, "<html>").1, "<html>");
    }
}
