//! A proxy between a client and an API server, that notes what passes and lets go wrong what a plan says: it cuts connections before or after the server is asked, delays, and repeats.
//!
//! It speaks plain HTTP to the client, so that it sees requests, and TLS to the server. A connection is for one request, and every answer is passed on as it comes, those of watches among them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};
use serde_json::{Value, json};

use crate::wire::Endpoint;

/// What was asked through a proxy.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// How many requests had come before.
    pub index: usize,
    /// The method, in capitals.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The body; null where there is none or it is no JSON.
    pub body: Value,
}

impl Asked {
    /// Whether it is a watch.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.path.contains("watch=1") || self.path.contains("watch=true")
    }

    /// Whether it changes something.
    #[must_use]
    pub fn is_write(&self) -> bool {
        self.method != "GET"
    }
}

/// What became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Passed {
    /// What was asked.
    pub asked: Asked,
    /// What went wrong.
    pub fault: Fault,
    /// The server's status code, where it was asked and has answered.
    pub status: Option<u16>,
}

/// What goes wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    Nothing,
    /// The connection is cut, and the server is not asked.
    CutRequest,
    /// The server is asked, and the connection is cut before it has answered.
    CutAnswer,
    /// The server is asked after a while.
    DelayRequest(Duration),
    /// The answer comes after a while.
    DelayAnswer(Duration),
    /// The server is asked twice, and the second answer is passed on.
    Repeat,
    /// The server is not asked; the client is told that there are too many requests, and to try again after so many seconds.
    Busy(u64),
    /// The server is not asked; the client is told that it is not known.
    Unauthorized,
    /// The server is not asked; the client is told that what it asks for is too old.
    Expired,
    /// Phases of pods that run are numbers in the answer.
    Garble,
    /// The server's clock is 28 years ahead: weekdays are the same then.
    Later,
    /// The server's clock is so many seconds ahead, as far as answers tell (`Date`).
    Ahead(i64),
    /// The server is not asked; the client is told that an admission webhook has refused it, in the server's words.
    Denied,
}

/// What is to go wrong: asked for every request as it comes.
pub type Plan = Box<dyn FnMut(&Asked) -> Fault + Send>;

/// A proxy; it ends when this is dropped.
pub struct Proxy {
    inner: Arc<Inner>,
    kubeconfig: PathBuf,
    address: String,
}

struct Inner {
    /// Host and port.
    server: String,
    tls: Arc<ClientConfig>,
    plan: Mutex<Plan>,
    passed: Mutex<Vec<Passed>>,
    /// Both ends of every connection.
    ends: Mutex<BTreeMap<usize, TcpStream>>,
    numbers: AtomicUsize,
    is_closed: AtomicBool,
    has_ended: AtomicBool,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} to {}", self.address, self.inner.server)
    }
}

impl Proxy {
    /// Begins to pass requests on to the server of a kubeconfig, on a free port. A kubeconfig that leads through it is written to `folder`.
    ///
    /// # Errors
    /// There is no port, or a file cannot be read or written.
    pub fn begin(upstream: &Path, folder: &Path, plan: Plan) -> Result<Self> {
        let endpoint = Endpoint::of_kubeconfig(upstream)?;
        fs::create_dir_all(folder)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}", listener.local_addr()?);
        let inner = Arc::new(Inner {
            server: endpoint.server().trim_start_matches("https://").to_owned(),
            tls: Arc::new(tls()?),
            plan: Mutex::new(plan),
            passed: Mutex::default(),
            ends: Mutex::default(),
            numbers: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        });
        let kubeconfig = folder.join("proxy.kubeconfig");
        let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "proxied",
            "clusters": [{"name": "proxied", "cluster": {"server": address}}],
            "users": [{"name": "admin", "user": {"token": endpoint.token()}}],
            "contexts": [{"name": "proxied", "context": {"cluster": "proxied", "user": "admin"}}]});
        fs::write(&kubeconfig, config.to_string())?;
        let accepting = inner.clone();
        drop(std::thread::spawn(move || accepting.accept(&listener)));
        Ok(Self { inner, kubeconfig, address })
    }

    /// A kubeconfig that leads through it.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Everything that was asked so far, in the order in which it came.
    #[must_use]
    pub fn passed(&self) -> Vec<Passed> {
        lock(&self.inner.passed).clone()
    }

    /// From now on something else is to go wrong.
    pub fn plan(&self, plan: Plan) {
        *lock(&self.inner.plan) = plan;
    }

    /// Cuts every connection, those of watches among them, and takes none until it is opened again.
    pub fn close(&self) {
        self.inner.is_closed.store(true, Ordering::SeqCst);
        self.inner.cut();
    }

    /// Takes connections again.
    pub fn open(&self) {
        self.inner.is_closed.store(false, Ordering::SeqCst);
    }

    /// Cuts every connection that is there.
    pub fn cut(&self) {
        self.inner.cut();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.inner.has_ended.store(true, Ordering::SeqCst);
        self.inner.cut();
        // Wakes the thread that waits for connections.
        drop(TcpStream::connect(self.address.trim_start_matches("http://")));
    }
}

/// A request as it came.
struct Came {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Inner {
    fn cut(&self) {
        for end in lock(&self.ends).values() {
            // One that is gone already needs no cutting.
            drop(end.shutdown(Shutdown::Both));
        }
    }

    /// Notes an end of a connection while something is done with it.
    fn with_end<T>(&self, end: &TcpStream, act: impl FnOnce() -> T) -> T {
        let number = self.numbers.fetch_add(1, Ordering::SeqCst);
        if let Ok(kept) = end.try_clone() {
            lock(&self.ends).insert(number, kept);
        }
        let result = act();
        lock(&self.ends).remove(&number);
        result
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for client in listener.incoming() {
            if self.has_ended.load(Ordering::SeqCst) {
                return;
            }
            let Ok(client) = client else { continue };
            if self.is_closed.load(Ordering::SeqCst) {
                continue;
            }
            let inner = self.clone();
            drop(std::thread::spawn(move || {
                // Whatever ends a connection, a client sees that it ends.
                drop(inner.with_end(&client, || inner.serve(&client)));
                drop(client.shutdown(Shutdown::Both));
            }));
        }
    }

    /// Serves one connection.
    fn serve(&self, client: &TcpStream) -> Result<()> {
        client.set_nodelay(true)?;
        let Some(came) = read(&mut BufReader::new(client))? else { return Ok(()) };
        let (index, fault) = {
            let mut passed = lock(&self.passed);
            let asked = Asked {
                index: passed.len(),
                method: came.method.clone(),
                path: came.path.clone(),
                body: serde_json::from_slice(&came.body).unwrap_or_default(),
            };
            let fault = lock(&self.plan)(&asked);
            passed.push(Passed { asked, fault, status: None });
            (passed.len() - 1, fault)
        };
        match fault {
            Fault::CutRequest => return Ok(()),
            Fault::DelayRequest(span) => std::thread::sleep(span),
            Fault::Busy(seconds) => {
                let more = format!("Retry-After: {seconds}\r\n");
                return write_status(client, (429, "Too Many Requests", "TooManyRequests"), &more);
            }
            Fault::Unauthorized => {
                return write_status(client, (401, "Unauthorized", "Unauthorized"), "");
            }
            Fault::Expired => return write_status(client, (410, "too old resource version", "Expired"), ""),
            Fault::Denied => {
                let words = "admission webhook \"guard.example.com\" denied the request: not on a Friday";
                return write_status(client, (400, words, "BadRequest"), "");
            }
            Fault::Repeat => {
                let mut sink = Vec::new();
                self.ask(&came, &mut |bytes| {
                    sink.extend_from_slice(bytes);
                    Ok(())
                })?;
            }
            Fault::Nothing
            | Fault::CutAnswer
            | Fault::DelayAnswer(_)
            | Fault::Garble
            | Fault::Later
            | Fault::Ahead(_) => {}
        }
        let mut has_begun = false;
        self.ask(&came, &mut |bytes| {
            if !std::mem::replace(&mut has_begun, true) {
                let status = String::from_utf8_lossy(bytes.get(9..12).unwrap_or_default()).parse().ok();
                lock(&self.passed)[index].status = status;
                match fault {
                    Fault::CutAnswer => anyhow::bail!("cut"),
                    Fault::DelayAnswer(span) => std::thread::sleep(span),
                    Fault::Nothing
                    | Fault::CutRequest
                    | Fault::DelayRequest(_)
                    | Fault::Repeat
                    | Fault::Busy(_)
                    | Fault::Unauthorized
                    | Fault::Expired
                    | Fault::Garble
                    | Fault::Later
                    | Fault::Ahead(_)
                    | Fault::Denied => {}
                }
            }
            match fault {
                Fault::Garble => (&*client).write_all(&garbled(bytes))?,
                Fault::Later => (&*client).write_all(&later(bytes))?,
                Fault::Ahead(seconds) => (&*client).write_all(&ahead(bytes, seconds))?,
                Fault::Nothing
                | Fault::CutRequest
                | Fault::CutAnswer
                | Fault::DelayRequest(_)
                | Fault::DelayAnswer(_)
                | Fault::Repeat
                | Fault::Busy(_)
                | Fault::Unauthorized
                | Fault::Denied
                | Fault::Expired => (&*client).write_all(bytes)?,
            }
            Ok(())
        })
    }

    /// Asks the server, and hands its answer over as it comes.
    fn ask(&self, came: &Came, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let socket = TcpStream::connect(&self.server).context("cannot reach the server")?;
        socket.set_nodelay(true)?;
        let end = socket.try_clone()?;
        self.with_end(&end, || {
            let name = self.server.rsplit_once(':').map_or(&*self.server, |(host, _)| host).to_owned();
            let connection = ClientConnection::new(self.tls.clone(), ServerName::try_from(name)?)?;
            let mut stream = StreamOwned::new(connection, socket);
            let mut head = format!("{} {} HTTP/1.1\r\nHost: {}\r\n", came.method, came.path, self.server);
            for (name, value) in &came.headers {
                let is_ours = ["host", "content-length", "connection"].contains(&&*name.to_lowercase());
                if !is_ours {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
            }
            head.push_str(&format!("Content-Length: {}\r\nConnection: close\r\n\r\n", came.body.len()));
            stream.write_all(head.as_bytes())?;
            stream.write_all(&came.body)?;
            let mut buffer = vec![0; 1 << 16];
            loop {
                match stream.read(&mut buffer)? {
                    0 => return Ok(()),
                    read => each(&buffer[..read])?,
                }
            }
        })
    }
}

/// Part of an answer with other phases, as long as before.
fn garbled(bytes: &[u8]) -> Vec<u8> {
    replaced(bytes, b"\"phase\":\"Running\"", b"\"phase\":777777777")
}

/// Part of an answer with a date 28 years later.
fn later(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let date = text.lines().find_map(|line| line.strip_prefix("Date: ").or(line.strip_prefix("date: ")));
    let year = date.and_then(|date| date.split(' ').nth(3));
    let Some((date, year)) = date.zip(year.and_then(|year| year.parse::<u16>().ok())) else {
        return bytes.to_vec();
    };
    let new = date.replacen(&year.to_string(), &(year + 28).to_string(), 1);
    replaced(bytes, date.as_bytes(), new.as_bytes())
}

/// Part of an answer with a date so many seconds later.
fn ahead(bytes: &[u8], seconds: i64) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let date = text.lines().find_map(|line| line.strip_prefix("Date: ").or(line.strip_prefix("date: ")));
    let moment = date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok()).map(|at| at.timestamp());
    let moment = moment.and_then(|at| at.checked_add(jiff::SignedDuration::from_secs(seconds)).ok());
    let Some((date, moment)) = date.zip(moment) else { return bytes.to_vec() };
    replaced(bytes, date.as_bytes(), moment.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string().as_bytes())
}

/// Bytes with others in their place, as many.
fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut all = bytes.to_vec();
    let mut from = 0;
    while let Some(at) = all[from..].windows(old.len()).position(|part| part == old) {
        all.splice(from + at..from + at + old.len(), new.iter().copied());
        from += at + new.len();
    }
    all
}

fn tls() -> Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let schemes = provider.signature_verification_algorithms.supported_schemes();
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let config = config.dangerous().with_custom_certificate_verifier(Arc::new(Trusting(schemes)));
    Ok(config.with_no_client_auth())
}

/// Asks no server for its certificate: it is one that we started, on loopback.
#[derive(Debug)]
struct Trusting(Vec<SignatureScheme>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.clone()
    }
}

fn write_status(mut client: &TcpStream, (code, words, reason): (u16, &str, &str), more: &str) -> Result<()> {
    let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": words, "reason": reason, "code": code})
    .to_string();
    let head = format!(
        "HTTP/1.1 {code} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n{more}\r\n",
        body.len()
    );
    client.write_all(format!("{head}{body}").as_bytes())?;
    Ok(())
}

/// Reads a request; nothing once the client is gone.
fn read(reader: &mut BufReader<&TcpStream>) -> Result<Option<Came>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let method = words.next().context("a request has a method")?.to_owned();
    let path = words.next().context("a request has a path")?.to_owned();
    let (mut headers, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        ensure!(reader.read_line(&mut line)? > 0, "the request broke off");
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').context("a header has a value")?;
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse()?;
        }
        ensure!(!name.eq_ignore_ascii_case("transfer-encoding"), "a body of unknown length");
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Came { method, path, headers, body }))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
