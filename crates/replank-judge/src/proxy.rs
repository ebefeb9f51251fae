//! A proxy between a client and an API server, that notes what passes and lets go wrong what a plan says: it cuts connections before or after the server is asked, delays, and repeats.
//!
//! It speaks plain HTTP to the client, so that it sees requests, and TLS to the server. Every watch is passed on as it comes.

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
use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::Request;
use ureq::tls::{TlsConfig, TlsProvider};

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
    server: String,
    agent: Agent,
    plan: Mutex<Plan>,
    passed: Mutex<Vec<Passed>>,
    clients: Mutex<BTreeMap<usize, TcpStream>>,
    connections: AtomicUsize,
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
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(provider)
            .disable_verification(true);
        let agent = Agent::config_builder()
            .tls_config(tls.build())
            .http_status_as_error(false)
            .allow_non_standard_methods(true)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent("")
            .accept("")
            .accept_encoding("")
            .timeout_connect(Some(Duration::from_secs(5)));
        let inner = Arc::new(Inner {
            server: endpoint.server().to_owned(),
            agent: agent.build().into(),
            plan: Mutex::new(plan),
            passed: Mutex::default(),
            clients: Mutex::default(),
            connections: AtomicUsize::new(0),
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
        for client in lock(&self.clients).values() {
            // One that is gone already needs no cutting.
            drop(client.shutdown(Shutdown::Both));
        }
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
                let number = inner.connections.fetch_add(1, Ordering::SeqCst);
                if let Ok(kept) = client.try_clone() {
                    lock(&inner.clients).insert(number, kept);
                }
                // Whatever ends a connection, a client sees that it ends.
                drop(inner.serve(&client));
                drop(client.shutdown(Shutdown::Both));
                lock(&inner.clients).remove(&number);
            }));
        }
    }

    /// Serves one connection, request by request.
    fn serve(&self, client: &TcpStream) -> Result<()> {
        client.set_nodelay(true)?;
        let mut reader = BufReader::new(client);
        while let Some(came) = read(&mut reader)? {
            if !self.pass(&came, client)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Passes one request on; whether the connection is still good.
    fn pass(&self, came: &Came, mut client: &TcpStream) -> Result<bool> {
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
            Fault::CutRequest => return Ok(false),
            Fault::DelayRequest(span) => std::thread::sleep(span),
            Fault::Busy(seconds) => {
                let more = format!("Retry-After: {seconds}\r\n");
                write_status(client, (429, "Too Many Requests", "TooManyRequests"), &more)?;
                return Ok(true);
            }
            Fault::Unauthorized => {
                write_status(client, (401, "Unauthorized", "Unauthorized"), "")?;
                return Ok(true);
            }
            Fault::Repeat => drop(self.ask(came)?),
            Fault::Nothing | Fault::CutAnswer | Fault::DelayAnswer(_) => {}
        }
        let answer = self.ask(came)?;
        lock(&self.passed)[index].status = Some(answer.status().as_u16());
        match fault {
            Fault::CutAnswer => return Ok(false),
            Fault::DelayAnswer(span) => std::thread::sleep(span),
            Fault::Nothing
            | Fault::CutRequest
            | Fault::DelayRequest(_)
            | Fault::Repeat
            | Fault::Busy(_)
            | Fault::Unauthorized => {}
        }
        let mut head = format!("HTTP/1.1 {} Status\r\nTransfer-Encoding: chunked\r\n", answer.status().as_u16());
        for (name, value) in answer.headers() {
            let is_ours = ["transfer-encoding", "content-length", "connection"].contains(&name.as_str());
            if !is_ours {
                head.push_str(&format!("{name}: {}\r\n", String::from_utf8_lossy(value.as_bytes())));
            }
        }
        client.write_all(format!("{head}\r\n").as_bytes())?;
        let mut body = answer.into_body().into_reader();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = body.read(&mut buffer)?;
            client.write_all(format!("{read:x}\r\n").as_bytes())?;
            client.write_all(&buffer[..read])?;
            client.write_all(b"\r\n")?;
            if read == 0 {
                return Ok(true);
            }
        }
    }

    fn ask(&self, came: &Came) -> Result<ureq::http::Response<ureq::Body>> {
        let mut request =
            Request::builder().method(came.method.as_str()).uri(format!("{}{}", self.server, came.path));
        for (name, value) in &came.headers {
            let is_ours = ["host", "content-length", "connection"].contains(&name.to_lowercase().as_str());
            if !is_ours {
                request = request.header(name.as_str(), value.as_str());
            }
        }
        let answer = match came.body.is_empty() {
            true => self.agent.run(request.body(())?),
            false => self.agent.run(request.body(came.body.clone())?),
        };
        answer.with_context(|| format!("no answer to {} {}", came.method, came.path))
    }
}

fn write_status(mut client: &TcpStream, (code, words, reason): (u16, &str, &str), more: &str) -> Result<()> {
    let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": words, "reason": reason, "code": code})
    .to_string();
    let head = format!(
        "HTTP/1.1 {code} {words}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{more}\r\n",
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
