//! A client of a cluster that is being served: one connection, one request after the other.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::manage::{Manage, PATH};
use crate::pki::Kubeconfig;

/// How long an answer may take: what is asked may let simulated hours pass.
const PATIENCE: Duration = Duration::from_secs(600);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Nobody is there.
    #[error("cannot reach the cluster at {server}")]
    Unreachable {
        /// Where.
        server: String,
        /// What the system says.
        source: io::Error,
    },
    /// Somebody is there, and it is not the cluster of this kubeconfig.
    #[error("{server} is not the cluster of this kubeconfig: {why}")]
    Stranger {
        /// Where.
        server: String,
        /// What tells it.
        why: String,
    },
    /// The cluster refuses.
    #[error("{0}")]
    Refused(String),
}

/// One connection to a cluster.
#[derive(Debug)]
pub struct Client {
    server: String,
    address: String,
    token: String,
    sender: SendRequest<Full<Bytes>>,
    talk: JoinHandle<hyper::Result<()>>,
}

/// What a request sends.
#[derive(Clone, Debug)]
pub struct Sent<'a> {
    /// Its verb.
    pub method: Method,
    /// Its path and query.
    pub path: &'a str,
    /// `Content-Type`.
    pub content_type: &'a str,
    /// Its body; empty for none.
    pub body: Bytes,
}

impl Client {
    /// Connects to a cluster: to the one of this kubeconfig, and to no other.
    ///
    /// # Errors
    /// It cannot be reached, or it is another one.
    pub async fn connect(config: &Kubeconfig) -> Result<Self, CallError> {
        let server = config.server.clone();
        let stranger = |why: &dyn std::fmt::Display| CallError::Stranger {
            server: server.clone(),
            why: why.to_string(),
        };
        let address = server.strip_prefix("https://").ok_or_else(|| stranger(&"it is not served by TLS"))?;
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
        let name = ServerName::try_from(host.to_owned()).map_err(|error| stranger(&error))?;
        let tls = TlsConnector::from(Arc::new(trust(&config.authority).map_err(|error| stranger(&error))?));
        let reached = TcpStream::connect(address).await;
        let stream = reached.map_err(|source| CallError::Unreachable { server: server.clone(), source })?;
        drop(stream.set_nodelay(true));
        let stream = tls.connect(name, stream).await.map_err(|error| stranger(&error))?;
        let shaken = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(|error| stranger(&error))?;
        let talk = tokio::spawn(connection);
        let address = address.to_owned();
        Ok(Self { server, address, token: config.token.clone(), sender, talk })
    }

    /// Sends a request; the answer as it begins.
    ///
    /// # Errors
    /// The connection breaks.
    pub async fn send(&mut self, sent: Sent<'_>) -> Result<Response<Incoming>, CallError> {
        let request = Request::builder()
            .method(sent.method)
            .uri(sent.path)
            .header(HOST, &self.address)
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, sent.content_type)
            .body(Full::new(sent.body))
            .map_err(|error| CallError::Refused(error.to_string()))?;
        let broken = |error: hyper::Error| CallError::Unreachable {
            server: self.server.clone(),
            source: io::Error::other(error),
        };
        self.sender.ready().await.map_err(broken)?;
        self.sender.send_request(request).await.map_err(broken)
    }

    /// Sends a request; the code and the body of its answer.
    ///
    /// # Errors
    /// The connection breaks, or the answer takes too long.
    pub async fn request(&mut self, sent: Sent<'_>) -> Result<(u16, Bytes), CallError> {
        let server = self.server.clone();
        let broken = |source| CallError::Unreachable { server, source };
        let exchange = async {
            let answer = self.send(sent).await?;
            let code = answer.status().as_u16();
            let body = answer.into_body().collect().await;
            Ok((code, body.map(http_body_util::Collected::to_bytes)))
        };
        match tokio::time::timeout(PATIENCE, exchange).await {
            Ok(Ok((code, Ok(body)))) => Ok((code, body)),
            Ok(Ok((_, Err(error)))) => Err(broken(io::Error::other(error))),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(broken(io::ErrorKind::TimedOut.into())),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.talk.abort();
    }
}

/// Asks a cluster that is being served what only somebody who looks after it asks.
///
/// # Errors
/// It cannot be reached, it is another one, or it refuses.
pub async fn call(config: &Kubeconfig, ask: &Manage) -> Result<Value, CallError> {
    let mut client = Client::connect(config).await?;
    let body = serde_json::to_vec(ask).map_err(|error| CallError::Refused(error.to_string()))?;
    let sent = Sent { method: Method::POST, path: PATH, content_type: "application/json", body: body.into() };
    let (code, body) = client.request(sent).await?;
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = value.get("message").and_then(Value::as_str).unwrap_or("it gave no reason");
    match code {
        200 => Ok(value),
        400 => Err(CallError::Refused(message.to_owned())),
        code => {
            let server = config.server.clone();
            Err(CallError::Stranger { server, why: format!("it answered {code}: {message}") })
        }
    }
}

/// Trust in one authority, and in nobody else.
fn trust(authority: &str) -> Result<ClientConfig, Box<dyn std::error::Error + Send + Sync>> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(certificate?)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}
