//! A validating webhook as somebody runs it: an HTTPS server on loopback that an API server asks about writes.

use std::fmt;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

/// What a webhook refuses with: a code and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The HTTP status that clients are to get.
    pub code: u16,
    /// Why.
    pub words: String,
}

/// What a webhook says to a request that it is asked about; nothing where it allows it.
pub type Judgement = Box<dyn FnMut(&Value) -> Option<Denial> + Send>;

/// A webhook that serves; it ends when this is dropped.
pub struct Webhook {
    inner: Arc<Inner>,
    port: u16,
    bundle: String,
}

struct Inner {
    judgement: Mutex<Judgement>,
    asked: AtomicUsize,
    has_ended: AtomicBool,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "webhook on port {}", self.port)
    }
}

impl Webhook {
    /// Begins to serve on a free port, with a certificate of its own.
    ///
    /// # Errors
    /// There is no port, or no certificate can be made.
    pub fn begin(judgement: Judgement) -> Result<Self> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()])?.self_signed(&key)?;
        let bundle = STANDARD.encode(certificate.pem());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let config = config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key)?;
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let inner = Arc::new(Inner {
            judgement: Mutex::new(judgement),
            asked: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
        });
        let accepting = inner.clone();
        drop(std::thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.has_ended.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (inner, config) = (accepting.clone(), config.clone());
                // A client that goes away in the middle is no matter of ours.
                drop(std::thread::spawn(move || drop(inner.serve(config, stream))));
            }
        }));
        Ok(Self { inner, port, bundle })
    }

    /// How often it was asked.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.inner.asked.load(Ordering::SeqCst)
    }

    /// What has an API server ask it about evictions: a ValidatingWebhookConfiguration whose only webhook has this name.
    #[must_use]
    pub fn of_evictions(&self, name: &str) -> Value {
        let client =
            json!({"url": format!("https://127.0.0.1:{}/evictions", self.port), "caBundle": self.bundle});
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": name},
            "webhooks": [{"name": name, "clientConfig": client, "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "failurePolicy": "Fail", "timeoutSeconds": 5,
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/eviction"]}]}]})
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.inner.has_ended.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

impl Inner {
    /// API servers keep their connections: one is served until its end.
    fn serve(&self, config: Arc<ServerConfig>, stream: TcpStream) -> Result<()> {
        let mut stream = StreamOwned::new(ServerConnection::new(config)?, stream);
        let mut rest = Vec::new();
        while let Some(review) = read(&mut stream, &mut rest)? {
            // Also on connections that are kept.
            if self.has_ended.load(Ordering::SeqCst) {
                return Ok(());
            }
            self.asked.fetch_add(1, Ordering::SeqCst);
            let request = &review["request"];
            let denial = self.judgement.lock().unwrap_or_else(PoisonError::into_inner)(request);
            let mut response = json!({"uid": request["uid"], "allowed": denial.is_none()});
            if let Some(Denial { code, words }) = denial {
                response["status"] = json!({"code": code, "message": words});
            }
            let answer =
                json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
                    .to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                answer.len()
            );
            stream.write_all(format!("{head}{answer}").as_bytes())?;
            stream.flush()?;
        }
        Ok(())
    }
}

/// The next request's body; nothing once the client is gone.
fn read(stream: &mut impl Read, rest: &mut Vec<u8>) -> Result<Option<Value>> {
    const END: &[u8] = b"\r\n\r\n";
    let mut piece = [0; 1 << 14];
    loop {
        if let Some(end) = rest.windows(END.len()).position(|part| part == END) {
            let head = String::from_utf8_lossy(&rest[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.context("a review has a length")?.trim().parse()?;
            let (from, to) = (end + END.len(), end + END.len() + length);
            if rest.len() >= to {
                let body = serde_json::from_slice(&rest[from..to])?;
                rest.drain(..to);
                return Ok(Some(body));
            }
        }
        match stream.read(&mut piece)? {
            0 => return Ok(None),
            count => rest.extend_from_slice(&piece[..count]),
        }
    }
}
