//! Connections: TLS, their number, and an end that is clean.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

use super::access::Access;
use super::handle::Handler;
use super::peer::{Peer, Peers};
use crate::auth::Authorization;
use crate::meta::Meta;
use crate::owner::Owner;
use crate::pki::Identity;
use crate::served::Versions;

/// Connections at once. A client holds one or two; informers share one.
const CONNECTIONS_MAX: usize = 1_024;
/// How long a client may take for the TLS handshake.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a client may take for the head of a request, its pause since the last one included: upstream's idle timeout.
const IDLE_MAX: Duration = Duration::from_secs(90);

/// How clients are listened to.
#[derive(Debug)]
pub enum Listen {
    /// With TLS, and a token.
    Tls(Identity, Authorization),
    /// In plain text, whoever asks: for tests, on loopback.
    Plain,
}

/// A cluster that is being served.
pub struct Server {
    listener: TcpListener,
    handler: Arc<Handler>,
    acceptor: Option<Acceptor>,
    stop: watch::Receiver<bool>,
}

/// How connections with TLS are made, and what the certificates of clients are worth.
#[derive(Clone)]
struct Acceptor {
    tls: TlsAcceptor,
    peers: Arc<Peers>,
}

impl Server {
    /// Serves on an address that has been taken, in the runtime that it is called in. `versions` says what is served; `stop` ends it when it becomes true.
    ///
    /// # Errors
    /// What the system says, or the library of certificates.
    pub fn begin(
        listener: std::net::TcpListener,
        how: Listen,
        owner: Owner,
        versions: Arc<dyn Versions>,
        stop: watch::Receiver<bool>,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let (acceptor, identity, mode) = match how {
            Listen::Plain => (None, None, Authorization::AlwaysAllow),
            Listen::Tls(identity, mode) => (Some(acceptor(&identity)?), Some(identity), mode),
        };
        let access = Access::new(owner.clone(), identity, mode);
        let meta = Meta::new(listener.local_addr()?, versions.clone());
        let handler = Arc::new(Handler::new(owner, access, meta, versions));
        Ok(Self { listener, handler, acceptor, stop })
    }

    /// Has admission webhooks called, by their URL: what leaves the machine is up to whoever configures them.
    #[must_use]
    pub fn calling_webhooks(mut self) -> Self {
        if let Some(handler) = Arc::get_mut(&mut self.handler) {
            handler.call_webhooks();
        }
        self
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
            let (handler, acceptor, stop) = (self.handler.clone(), self.acceptor.clone(), self.stop.clone());
            tokio::spawn(async move {
                connection(stream, acceptor, handler, stop).await;
                drop(permit);
            });
        }
    }
}

/// TLS with one provider of cryptography, HTTP/2 where the client can.
fn acceptor(identity: &Identity) -> io::Result<Acceptor> {
    let peers = Peers::new(&identity.authority)?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_client_cert_verifier(peers.clone())
        .with_single_cert(identity.chain.clone(), identity.key.clone_key());
    let mut config = config.map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Acceptor { tls: TlsAcceptor::from(Arc::new(config)), peers })
}

async fn connection(
    stream: TcpStream,
    acceptor: Option<Acceptor>,
    handler: Arc<Handler>,
    stop: watch::Receiver<bool>,
) {
    match acceptor {
        None => talk(stream, handler, Peer::Nobody, stop).await,
        Some(acceptor) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, acceptor.tls.accept(stream)).await {
                let shown = stream.get_ref().1.peer_certificates().unwrap_or_default();
                let peer = acceptor.peers.peer(shown);
                talk(stream, handler, peer, stop).await;
            }
        }
    }
}

async fn talk<S>(stream: S, handler: Arc<Handler>, peer: Peer, mut stop: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(IDLE_MAX);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(250);
    let service = service_fn(move |request| {
        let (handler, peer) = (handler.clone(), peer.clone());
        async move { Ok::<_, std::convert::Infallible>(handler.handle(request, &peer).await) }
    });
    let talk = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(talk);
    tokio::select! {
        // What a client does wrong on the wire ends its connection, and nothing else.
        _ = talk.as_mut() => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}
