//! Requests in JSON, and their answers.

use std::io::{Read, Write};

use serde_json::Value;

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) code: u16,
    /// The head, as it came.
    pub(crate) head: String,
    /// The body; text that is no JSON is a string.
    pub(crate) body: Value,
}

impl Answered {
    /// The `message` of a Status.
    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// What is warned of.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let lines = self.head.lines().filter_map(|line| line.strip_prefix("warning: 299 - "));
        let unquoted =
            |line: &str| line.strip_prefix('"')?.strip_suffix('"').map(|text| text.replace("\\\"", "\""));
        lines.filter_map(unquoted).collect()
    }
}

/// Sends a request of its own connection, with more headers (lines without their ends).
pub(crate) fn ask(
    mut stream: impl Read + Write,
    (method, path, content_type): (&str, &str, &str),
    headers: &[&str],
    body: &Value,
) -> Answered {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let more: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let text = format!(
        "{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: {content_type}\r\n{more}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).expect("it is taken");
    let mut got = Vec::new();
    // A connection with TLS may end without saying so.
    if let Err(error) = stream.read_to_end(&mut got) {
        assert!(!got.is_empty(), "{error}");
    }
    let text = String::from_utf8_lossy(&got).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").expect("it has a head");
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("it has a code");
    let body = if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        unchunked(body)
    } else {
        body.to_owned()
    };
    let body = serde_json::from_str(&body).unwrap_or(Value::String(body));
    Answered { code, head: head.to_owned(), body }
}

fn unchunked(mut rest: &str) -> String {
    let mut out = String::new();
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap_or(0);
        if length == 0 {
            break;
        }
        out.push_str(&after[..length]);
        rest = after[length..].trim_start_matches("\r\n");
    }
    out
}
