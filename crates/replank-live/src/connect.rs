//! The way to an API server, as a kubeconfig describes it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::header::{ACCEPT, CONTENT_TYPE, DATE};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use replank_model::time::{Span, Time};
use serde_json::Value;

use crate::answer::Answer;
use crate::error::{LiveError, Missing};

/// The way that is asked for; without anything, the one that kubectl would take.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// A kubeconfig, instead of those of `KUBECONFIG` and of `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// A context, instead of the current one.
    pub context: Option<String>,
}

/// A way to an API server.
#[derive(Clone)]
pub struct Connection {
    asked: Asked,
    client: Arc<Mutex<Current>>,
    context: String,
    server: String,
    /// Certificates (DER) that are trusted; none where those of the system are.
    authority: Vec<Vec<u8>>,
    namespace: String,
    version: (u32, u32),
    /// What time it was on the server, and when that was on a clock of ours that only runs forward.
    opened: (Time, Instant),
}

/// A client with the credentials that were read last.
struct Current {
    client: Client,
    /// How often they were read anew.
    turn: u64,
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// What is sent, and its media type.
    pub(crate) body: Option<(&'static str, Vec<u8>)>,
}

impl Call {
    /// A read of JSON.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), body: None }
    }
}

/// How long a connection may take to come about.
const CONNECT_MAX: Duration = Duration::from_secs(15);
/// The oldest minor version that is supported: it was the first to serve `policy/v1` and `autoscaling/v2` or what is read in their place.
const OLDEST: (u32, u32) = (1, 22);
/// How the program is called in audit logs and in the flow schemas of API Priority and Fairness.
const AGENT: &str = concat!("replank/", env!("CARGO_PKG_VERSION"));

impl fmt::Debug for Connection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Connection")
            .field("context", &self.context)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Opens it, and asks for the server's version.
    ///
    /// # Errors
    /// Where the kubeconfig cannot be used, nobody answers or accepts who asks, or the cluster is too old.
    pub async fn open(asked: &Asked) -> Result<Self, LiveError> {
        let (client, way) = client(asked).await?;
        let current = Arc::new(Mutex::new(Current { client, turn: 0 }));
        let Way { context, server, authority, namespace } = way;
        let opened = (Time::from_millis(jiff::Timestamp::now().as_millisecond()), Instant::now());
        let asked = asked.clone();
        let mut connection =
            Self { asked, client: current, context, server, authority, namespace, version: (0, 0), opened };
        connection.ask_version().await?;
        Ok(connection)
    }

    /// What time it is on the server, to a few seconds, whatever this machine's clock says; this machine's time where the server has not said it.
    #[must_use]
    pub fn now(&self) -> Time {
        let (told, at) = self.opened;
        told + Span::from_millis(i64::try_from(at.elapsed().as_millis()).unwrap_or(i64::MAX))
    }

    /// The context's name.
    #[must_use]
    pub fn context(&self) -> &str {
        &self.context
    }

    /// The server's address.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The certificates (DER) that the kubeconfig trusts; none where it leaves that to the system, or has nothing checked.
    #[must_use]
    pub fn authority(&self) -> &[Vec<u8>] {
        &self.authority
    }

    /// The context's namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The server's version: major and minor.
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Reads a path, whatever the server answers.
    ///
    /// # Errors
    /// Where no answer comes.
    pub async fn get(&self, path: &str, accept: &str) -> Result<Answer, LiveError> {
        let (response, _) = self.exchange(&Call::get(path), accept).await?;
        let code = response.status().as_u16();
        let date = date(response.headers());
        let body = response
            .into_body()
            .collect()
            .await
            .map_err(|error| LiveError::Unreachable { server: self.server.clone(), why: causes(&error) })?;
        Ok(Answer { code, body: body.to_bytes().to_vec(), date })
    }

    /// Sends a request, and returns as soon as an answer begins; with it, the turn of the credentials that were sent.
    ///
    /// # Errors
    /// Where no answer comes.
    pub(crate) async fn exchange(
        &self,
        call: &Call,
        accept: &str,
    ) -> Result<(Response<Body>, u64), LiveError> {
        let request = Request::builder().method(call.method.clone()).uri(&call.path).header(ACCEPT, accept);
        let (request, body) = match &call.body {
            Some((media, body)) => (request.header(CONTENT_TYPE, *media), Body::from(body.clone())),
            None => (request, Body::empty()),
        };
        let request = request
            .body(body)
            .map_err(|error| LiveError::Unreadable { path: call.path.clone(), why: error.to_string() })?;
        let (client, turn) = self.current();
        let sent = client.send(request).await;
        let answer = sent.map_err(|error| failed(&error, &self.server, &self.context))?;
        Ok((answer, turn))
    }

    /// Reads the kubeconfig and the credentials that it names anew, unless that was done since `turn`.
    ///
    /// # Errors
    /// Where they cannot be had.
    pub(crate) async fn renew(&self, turn: u64) -> Result<(), LiveError> {
        if self.current().1 != turn {
            return Ok(());
        }
        let (client, _) = client(&self.asked).await?;
        let mut current = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if current.turn == turn {
            *current = Current { client, turn: turn + 1 };
        }
        Ok(())
    }

    /// The turn of the credentials that are sent at present.
    pub(crate) fn turn(&self) -> u64 {
        self.current().1
    }

    fn current(&self) -> (Client, u64) {
        let current = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        (current.client.clone(), current.turn)
    }

    /// Reads a path that is to be there, as JSON.
    ///
    /// # Errors
    /// Where no answer comes, or the server says no. `missing` is the rule without which it says that this is forbidden.
    pub async fn json(&self, path: &str, accept: &str, missing: Missing) -> Result<Value, LiveError> {
        let answer = self.get(path, accept).await?;
        self.accepted(path, &answer, missing)?;
        serde_json::from_slice(&answer.body)
            .map_err(|error| LiveError::Unreadable { path: path.to_owned(), why: error.to_string() })
    }

    /// Whether the server has said yes.
    ///
    /// # Errors
    /// Where it has not.
    pub(crate) fn accepted(&self, path: &str, answer: &Answer, missing: Missing) -> Result<(), LiveError> {
        match answer.code {
            200..=299 => Ok(()),
            401 => {
                Err(LiveError::Unauthorized { server: self.server.clone(), context: self.context.clone() })
            }
            403 => Err(LiveError::Forbidden { message: answer.message(), missing }),
            code => Err(LiveError::Refused { path: path.to_owned(), code, message: answer.message() }),
        }
    }

    /// Asks for the server's version and time.
    async fn ask_version(&mut self) -> Result<(), LiveError> {
        let missing = Missing { group: String::new(), resource: "/version".to_owned(), verbs: &["get"] };
        let path = "/version";
        let answer = self.get(path, JSON).await?;
        if let Some(date) = answer.date {
            self.opened = (date, Instant::now());
        }
        self.accepted(path, &answer, missing)?;
        let told: Value = serde_json::from_slice(&answer.body)
            .map_err(|error| LiveError::Unreadable { path: path.to_owned(), why: error.to_string() })?;
        // Providers append to the minor: "27+".
        let number = |member: &str| {
            let text = told[member].as_str().unwrap_or_default();
            text.trim_end_matches(|character: char| !character.is_ascii_digit()).parse().unwrap_or(0)
        };
        let version = (number("major"), number("minor"));
        if version < OLDEST {
            let version = told["gitVersion"].as_str().unwrap_or("an unknown version").to_owned();
            return Err(LiveError::TooOld { version });
        }
        self.version = version;
        Ok(())
    }
}

impl Asked {
    /// Whether something was asked for, or kubectl would find a kubeconfig.
    #[must_use]
    pub fn is_there(&self) -> bool {
        let is_asked = self.kubeconfig.is_some() || self.context.is_some();
        is_asked
            || read(None)
                .is_ok_and(|(_, kubeconfig)| kubeconfig.current_context.is_some_and(|name| !name.is_empty()))
    }
}

/// Where a kubeconfig leads to.
struct Way {
    context: String,
    server: String,
    authority: Vec<Vec<u8>>,
    namespace: String,
}

/// Reads a kubeconfig, and gets the credentials that it names.
async fn client(asked: &Asked) -> Result<(Client, Way), LiveError> {
    let (files, kubeconfig) = read(asked.kubeconfig.as_deref())?;
    let known = || kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
    let context = asked.context.clone().or_else(|| kubeconfig.current_context.clone());
    let context = context
        .filter(|name| !name.is_empty())
        .ok_or_else(|| LiveError::NoCurrentContext { known: known() })?;
    if !kubeconfig.contexts.iter().any(|one| one.name == context) {
        return Err(LiveError::NoContext { context, known: known() });
    }
    let options = KubeConfigOptions { context: Some(context.clone()), ..KubeConfigOptions::default() };
    let unusable =
        |why: &dyn fmt::Display| LiveError::Kubeconfig { files: files.clone(), why: why.to_string() };
    let mut config =
        Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| unusable(&error))?;
    config.connect_timeout = Some(CONNECT_MAX);
    // A budget's 429 is an answer, and a write that is sent again is another one: who asks decides what is repeated.
    config.default_retry = false;
    config.headers.push((http::header::USER_AGENT, http::HeaderValue::from_static(AGENT)));
    let (server, namespace) = (config.cluster_url.to_string(), config.default_namespace.clone());
    // What is not checked tells nothing.
    let authority = config.root_cert.clone().filter(|_| !config.accept_invalid_certs).unwrap_or_default();
    let client =
        Client::try_from(config).map_err(|error| failed(&error, server.trim_end_matches('/'), &context))?;
    let server = server.trim_end_matches('/').to_owned();
    Ok((client, Way { context, server, authority, namespace }))
}

/// The media type of plain JSON.
pub(crate) const JSON: &str = "application/json";

/// The kubeconfig, and the files that it is made of.
fn read(named: Option<&Path>) -> Result<(String, Kubeconfig), LiveError> {
    if let Some(file) = named {
        let files = file.display().to_string();
        if !file.exists() {
            return Err(LiveError::NoKubeconfig { looked_at: format!("{files} does not exist") });
        }
        let read = Kubeconfig::read_from(file);
        return read
            .map(|kubeconfig| (files.clone(), kubeconfig))
            .map_err(|error| LiveError::Kubeconfig { files, why: error.to_string() });
    }
    if let Some(list) = std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty()) {
        let files = list.to_string_lossy().into_owned();
        return match Kubeconfig::from_env() {
            Ok(Some(kubeconfig)) => Ok((files, kubeconfig)),
            Ok(None) => Err(LiveError::NoKubeconfig {
                looked_at: format!("KUBECONFIG={files} names no file that exists"),
            }),
            Err(error) => Err(LiveError::Kubeconfig { files, why: error.to_string() }),
        };
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default().join(".kube/config");
    let files = home.display().to_string();
    if !home.exists() {
        let looked_at = format!("KUBECONFIG is not set, and {files} does not exist");
        return Err(LiveError::NoKubeconfig { looked_at });
    }
    Kubeconfig::read_from(&home)
        .map(|kubeconfig| (files.clone(), kubeconfig))
        .map_err(|error| LiveError::Kubeconfig { files, why: error.to_string() })
}

/// Why a request has got no answer.
fn failed(error: &kube::Error, server: &str, context: &str) -> LiveError {
    let why = causes(error);
    let server = server.to_owned();
    if matches!(error, kube::Error::Auth(_)) {
        return LiveError::Credentials { context: context.to_owned(), why };
    }
    if why.contains("certificate") {
        return LiveError::Certificate { server, why };
    }
    LiveError::Unreachable { server, why }
}

/// An error's own words and those of its causes, each once.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut words = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !words.iter().any(|known| known.contains(&text)) {
            words.push(text);
        }
        next = cause.source();
    }
    words.join(": ")
}

/// The server's clock, as an answer tells it.
pub(crate) fn date(headers: &HeaderMap) -> Option<Time> {
    headers.get(DATE).and_then(|value| value.to_str().ok()).and_then(moment)
}

/// A moment as HTTP writes it: `Wed, 25 Nov 2026 09:52:00 GMT`.
fn moment(text: &str) -> Option<Time> {
    let zoned = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(Time::from_millis(zoned.timestamp().as_millisecond()))
}
