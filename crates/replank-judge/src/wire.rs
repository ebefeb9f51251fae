//! One request over TLS, and the whole answer: status, headers, bytes.

use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use ureq::Agent;
use ureq::http::Request;
use ureq::tls::{TlsConfig, TlsProvider};

/// An API server, and the token of its administrator.
#[derive(Clone)]
pub struct Endpoint {
    server: String,
    token: String,
    agent: Agent,
    /// The same, on a connection of its own each time.
    afresh: Agent,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.server)
    }
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The method, in capitals.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers besides the token; `User-Agent` is set if it is not here.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The HTTP status.
    pub status: u16,
    /// Headers in the order of the answer, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, undone of its transfer encoding.
    pub body: Vec<u8>,
}

impl Received {
    /// All values of a header, joined.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        let values = self.headers.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let all: Vec<&str> = values.collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// The body as JSON; text if it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        let text = || Value::from(String::from_utf8_lossy(&self.body).into_owned());
        serde_json::from_slice(&self.body).unwrap_or_else(|_| text())
    }
}

impl Endpoint {
    /// Speaks to a server, and does not ask for its certificate: it is one that we started, on loopback.
    #[must_use]
    pub fn new(server: impl Into<String>, token: impl Into<String>) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(provider)
            .disable_verification(true);
        let tls = tls.build();
        let agent = |idle: usize| -> Agent {
            let config = Agent::config_builder()
                .tls_config(tls.clone())
                .http_status_as_error(false)
                .allow_non_standard_methods(true)
                .max_redirects(0)
                .max_redirects_will_error(false)
                .max_idle_connections(idle)
                .user_agent("replank-judge/v1")
                .accept("")
                .accept_encoding("")
                .timeout_connect(Some(Duration::from_secs(5)))
                .timeout_global(Some(Duration::from_secs(60)));
            config.build().into()
        };
        Self { server: server.into(), token: token.into(), agent: agent(IDLE_MAX), afresh: agent(0) }
    }

    /// The server and the token that a kubeconfig names: one that `replank cluster up` or a plane of ours has written, with one cluster and one user.
    ///
    /// # Errors
    /// It cannot be read, or names none.
    pub fn of_kubeconfig(file: &Path) -> Result<Self> {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let member = |name: &str| {
            let after =
                text.split_once(&format!("{name}\":")).or_else(|| text.split_once(&format!("{name}:")))?;
            let value = after.1.trim_start().trim_start_matches('"');
            let end = value.find(|c: char| c == '"' || c == ',' || c == '}' || c.is_whitespace());
            value.get(..end?).map(str::to_owned)
        };
        let server = member("server").with_context(|| format!("{} names no server", file.display()))?;
        Ok(Self::new(server, member("token").unwrap_or_default()))
    }

    /// Its address, such as `https://127.0.0.1:6443`.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The token of its administrator; empty where there is none.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Sends one request, and waits for the whole answer. Where a connection that was kept has been closed meanwhile, it is sent once more on a new one,
    /// as every client does: a server that closes a connection has not looked at what comes after.
    ///
    /// # Errors
    /// There was none within a minute.
    pub fn exchange(&self, sent: &Sent) -> Result<Received> {
        match self.exchange_by(&self.agent, sent) {
            Err(error) if is_closed(&error) => self.exchange_by(&self.afresh, sent),
            answered => answered,
        }
    }

    fn exchange_by(&self, agent: &Agent, sent: &Sent) -> Result<Received> {
        let mut request =
            Request::builder().method(sent.method.as_str()).uri(format!("{}{}", self.server, sent.path));
        if !sent.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            request = request.header("Authorization", format!("Bearer {}", self.token));
        }
        for (name, value) in &sent.headers {
            request = request.header(name.as_str(), value.as_str());
        }
        let asked = || format!("{} {}", sent.method, sent.path);
        let answer = match &sent.body {
            Some(body) => agent.run(request.body(body.clone())?),
            None => agent.run(request.body(())?),
        };
        let mut answer = answer.with_context(|| format!("no answer to {}", asked()))?;
        let headers = answer.headers().iter().map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        let headers = headers.collect();
        let status = answer.status().as_u16();
        let read = answer.body_mut().with_config().limit(1 << 30).read_to_vec();
        // An answer that has begun is not asked for again: its connection was not closed before.
        let body = read.map_err(|error| anyhow!("the answer to {} broke off: {error}", asked()))?;
        Ok(Received { status, headers, body })
    }
}

/// Connections that are kept at the most.
const IDLE_MAX: usize = 10;

/// Whether there is no answer because the connection was closed.
fn is_closed(error: &anyhow::Error) -> bool {
    let Some(ureq::Error::Io(error)) = error.downcast_ref::<ureq::Error>() else { return false };
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
    )
}

impl Sent {
    /// A request without a body, for JSON.
    #[must_use]
    pub fn new(method: &str, path: impl Into<String>) -> Self {
        Self {
            method: method.to_owned(),
            path: path.into(),
            headers: vec![("Accept".to_owned(), "application/json".to_owned())],
            body: None,
        }
    }

    /// With a body of JSON.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.typed("application/json", body.to_string().into_bytes())
    }

    /// With a body of some type.
    #[must_use]
    pub fn typed(mut self, content: &str, body: Vec<u8>) -> Self {
        self.headers.push(("Content-Type".to_owned(), content.to_owned()));
        self.body = Some(body);
        self
    }

    /// With another `Accept`.
    #[must_use]
    pub fn accepting(mut self, accept: &str) -> Self {
        self.headers.retain(|(name, _)| name != "Accept");
        self.headers.push(("Accept".to_owned(), accept.to_owned()));
        self
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;

    /// Answers one request on each connection, and closes it at the second without a word.
    fn forgetful() -> (String, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("it has one");
        let serve = move || {
            let mut asked = Vec::new();
            for (number, stream) in listener.incoming().take(2).enumerate() {
                let mut stream = stream.expect("a client comes");
                let mut lines = BufReader::new(stream.try_clone().expect("it is open")).lines();
                let mut head = || {
                    let all: Vec<String> =
                        lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
                    all.first().cloned().unwrap_or_default()
                };
                asked.push(head());
                let body = number.to_string();
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
                    .expect("the client waits");
                asked.push(head());
            }
            asked
        };
        (format!("http://{address}"), std::thread::spawn(serve))
    }

    #[test]
    fn a_request_on_a_connection_that_was_closed_is_sent_again_on_another() {
        let (server, thread) = forgetful();
        let endpoint = Endpoint::new(server, "token");
        let ask = |path: &str| endpoint.exchange(&Sent::new("DELETE", path));
        assert_eq!(ask("/one").expect("it is answered").body, b"0");
        assert_eq!(ask("/two").expect("it is answered on the second try").body, b"1");
        drop(endpoint);
        let asked = thread.join().expect("it serves");
        assert_eq!(asked[..3], ["DELETE /one HTTP/1.1", "DELETE /two HTTP/1.1", "DELETE /two HTTP/1.1"]);
    }
}
