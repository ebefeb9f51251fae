//! Requests over plain connections, and watches that go on meanwhile.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

/// An answer as it came.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) status: u64,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Received {
    /// The header of a name; several are joined.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        let found: Vec<&str> =
            self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect();
        (!found.is_empty()).then(|| found.join(", "))
    }

    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// A request.
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<String>,
}

impl Request {
    fn bytes(&self) -> Vec<u8> {
        let path = self.path.replace(' ', "%20").replace('"', "%22");
        let mut head = format!("{} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n", self.method);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let body = self.body.clone().unwrap_or_default();
        if self.body.is_some() {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        format!("{head}\r\n{body}").into_bytes()
    }
}

/// Sends a request, and waits for the whole answer.
pub(super) fn call(address: SocketAddr, request: &Request) -> Received {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("it can be set");
    stream.write_all(&request.bytes()).expect("it is taken");
    let mut raw = Vec::new();
    stream.read_to_end(&mut raw).expect("it answers");
    received(&raw).unwrap_or_else(|| panic!("no answer to {} {}", request.method, request.path))
}

/// A watch under way.
pub(super) struct Watch {
    raw: Arc<Mutex<(Vec<u8>, bool)>>,
    stream: TcpStream,
}

impl Watch {
    pub(super) fn begin(address: SocketAddr, request: &Request) -> Self {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(&request.bytes()).expect("it is taken");
        let raw = Arc::new(Mutex::new((Vec::new(), false)));
        let (mut reader, into) = (stream.try_clone().expect("it can be shared"), raw.clone());
        std::thread::spawn(move || {
            let mut piece = [0; 16 * 1024];
            loop {
                let read = reader.read(&mut piece).unwrap_or(0);
                let mut into = into.lock().expect("nobody panics with it");
                into.0.extend_from_slice(&piece[..read]);
                into.1 |= read == 0;
                if read == 0 {
                    return;
                }
            }
        });
        Self { raw, stream }
    }

    /// What has come so far.
    pub(super) fn received(&self) -> Option<Received> {
        received(&self.raw.lock().expect("nobody panics with it").0)
    }

    /// The events so far, and whether the server has ended the watch.
    pub(super) fn events(&self) -> (Vec<Value>, bool) {
        let body = self.received().map(|received| received.body).unwrap_or_default();
        let whole = body.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines = body[..whole].split(|byte| *byte == b'\n');
        let events = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        (events, self.raw.lock().expect("nobody panics with it").1)
    }

    pub(super) fn end(&self) {
        drop(self.stream.shutdown(std::net::Shutdown::Both));
    }
}

/// Reads an answer as far as it has come.
fn received(raw: &[u8]) -> Option<Received> {
    let end = raw.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&raw[..end]).into_owned();
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let is_chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let rest = &raw[end + 4..];
    let body = if is_chunked { unchunked(rest) } else { rest.to_vec() };
    Some(Received { status, headers, body })
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let Some(len) =
            std::str::from_utf8(&rest[..end]).ok().and_then(|text| usize::from_str_radix(text, 16).ok())
        else {
            return body;
        };
        let from = end + 2;
        if len == 0 || rest.len() < from + len + 2 {
            return body;
        }
        body.extend_from_slice(&rest[from..from + len]);
        rest = &rest[from + len + 2..];
    }
    body
}
