//! A stand-in for AWS's services, for tests: it writes down what it is asked, and answers as it is told.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use super::account::Aws;
use super::client::Caller;
use super::found::Found;
use super::place::AwsAsked;
use super::sign::Key;
use super::wire::Wire;

/// What it answers to a request line and a body: a body, or a refusal as `409 ResourceInUseException BODY`.
type Answers = dyn Fn(&str, &str) -> String + Send + Sync;

/// A server that ends with the test.
pub(super) struct StandIn {
    asked: Arc<Mutex<Vec<String>>>,
    address: String,
}

impl StandIn {
    /// One that answers so.
    pub(super) fn new(answers: impl Fn(&str, &str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = format!("http://{}", listener.local_addr().expect("it has an address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (log, answers) = (Arc::clone(&asked), Arc::new(answers) as Arc<Answers>);
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                // A connection that is closed meanwhile asks nothing.
                drop(answer(stream, &log, &*answers));
            }
        });
        Self { asked, address }
    }

    /// An account whose services are all here.
    pub(super) fn account(&self) -> Aws {
        Aws::of_caller(self.caller())
    }

    /// A way to those services, with short pauses.
    pub(super) fn caller(&self) -> Caller {
        Caller::with(&self.meant(), Self::found()).expect("it has a region")
    }

    /// The same without credentials of its own.
    pub(super) fn wire(&self) -> Wire {
        Wire::hasty(&self.meant()).expect("it has a region")
    }

    /// Credentials of nobody.
    pub(super) fn found() -> Found {
        let key = Key { access_key: "AKIA".to_owned(), secret_key: "s".to_owned(), session_token: None };
        Found::fixed(key, "the test")
    }

    /// Where it is.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    fn meant(&self) -> AwsAsked {
        let (region, endpoint) = (Some("eu-west-1".to_owned()), Some(self.address.clone()));
        AwsAsked { region, profile: None, endpoint }
    }

    /// What it was asked since this was asked last: `GET /path`, of forms with the action.
    pub(super) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn answer(mut stream: TcpStream, log: &Mutex<Vec<String>>, answers: &Answers) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line)?;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8_lossy(&body).into_owned();
    let line = line.trim_end_matches(" HTTP/1.1\r\n").to_owned();
    let action = body.split('&').find_map(|pair| pair.strip_prefix("Action="));
    let said = action.map_or_else(|| line.clone(), str::to_owned);
    log.lock().unwrap_or_else(PoisonError::into_inner).push(said);
    let text = answers(&line, &body);
    let (status, code, text) = refusal(&text).unwrap_or(("200", "", &text));
    let kind = if code.is_empty() { String::new() } else { format!("x-amzn-errortype: {code}\r\n") };
    write!(
        stream,
        "HTTP/1.1 {status} x\r\n{kind}content-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    )
}

/// Status, code and body of a refusal.
fn refusal(text: &str) -> Option<(&str, &str, &str)> {
    let (status, rest) = text.split_once(' ').filter(|(status, _)| status.parse::<u16>().is_ok())?;
    let (code, body) = rest.split_once(' ')?;
    Some((status, code, body))
}

/// A Python that has botocore, beside which ours is held; where there is none, that is said.
pub(super) fn python_with_botocore() -> Option<String> {
    let python = std::env::var("REPLANK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let there = Command::new(&python).args(["-c", "import botocore"]).stderr(Stdio::null()).status();
    if there.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    println!("not run: {python} has no botocore: install it, or name a Python that has it in REPLANK_PYTHON");
    None
}
