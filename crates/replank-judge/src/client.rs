//! Requests to the API server, over the plain HTTP of a `kubectl proxy`.

use std::io::{BufRead, BufReader};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use ureq::Agent;
use ureq::http::Request;

/// What is asked for, and how its body is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Creates.
    Post,
    /// Deletes; the body holds preconditions.
    Delete,
    /// Changes by a JSON merge patch.
    Merge,
    /// Changes by a strategic merge patch.
    Strategic,
}

impl Method {
    fn verb(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
            Self::Merge | Self::Strategic => "PATCH",
        }
    }

    fn content(self) -> &'static str {
        match self {
            Self::Get | Self::Post | Self::Delete => "application/json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
        }
    }
}

/// What the server answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The object, or the Status that says why not.
    pub body: Value,
}

impl Answer {
    /// The answer, if it is not a refusal.
    ///
    /// # Errors
    /// The server refused; its words.
    pub fn ok(self) -> Result<Value> {
        ensure!(self.status < 400, "{}: {}", self.status, self.words());
        Ok(self.body)
    }

    /// The server's words.
    #[must_use]
    pub fn words(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }
}

fn agent(limit: Option<Duration>) -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .timeout_connect(Some(Duration::from_secs(5)))
        .timeout_global(limit);
    config.build().into()
}

/// One API server.
#[derive(Clone, Debug)]
pub struct Client {
    base: String,
    agent: Agent,
}

impl Client {
    /// Speaks to `http://HOST:PORT`.
    #[must_use]
    pub fn new(base: impl Into<String>) -> Self {
        Self { base: base.into(), agent: agent(None) }
    }

    /// The same, whose requests fail after so long: whoever answers there may not.
    #[must_use]
    pub fn within(&self, limit: Duration) -> Self {
        Self { base: self.base.clone(), agent: agent(Some(limit)) }
    }

    /// One request.
    ///
    /// # Errors
    /// There was no answer, or it is not JSON.
    pub fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer> {
        let bytes = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method.verb())
            .uri(format!("{}{path}", self.base))
            .header("Content-Type", method.content())
            .header("Accept", "application/json")
            .body(bytes)?;
        let mut response =
            self.agent.run(request).with_context(|| format!("no answer to {} {path}", method.verb()))?;
        let status = response.status().as_u16();
        let text = response.body_mut().with_config().limit(1 << 30).read_to_string()?;
        let body = serde_json::from_str(&text).unwrap_or_else(|_| serde_json::json!({ "message": text }));
        Ok(Answer { status, body })
    }

    /// Reads an object or a list.
    ///
    /// # Errors
    /// There was no answer, or the server refused.
    pub fn get(&self, path: &str) -> Result<Value> {
        self.send(Method::Get, path, None)?.ok().with_context(|| format!("GET {path}"))
    }

    /// Creates an object at the path of its collection.
    ///
    /// # Errors
    /// There was no answer, or the server refused.
    pub fn create(&self, path: &str, object: &Value) -> Result<Value> {
        self.send(Method::Post, path, Some(object))?
            .ok()
            .with_context(|| format!("create {}", object["metadata"]["name"]))
    }

    /// Lists, then shows every change, until `each` says that it is enough or the server ends the watch. Returns on either.
    ///
    /// # Errors
    /// There was no answer, or the server refused the list or the watch.
    pub fn list_and_watch(&self, path: &str, each: &mut dyn FnMut(Event, Value) -> bool) -> Result<()> {
        let list = self.get(path)?;
        for object in list["items"].as_array().into_iter().flatten() {
            if !each(Event::Present, object.clone()) {
                return Ok(());
            }
        }
        let version = list["metadata"]["resourceVersion"].as_str().unwrap_or("0");
        let join = if path.contains('?') { '&' } else { '?' };
        let uri = format!("{}{path}{join}watch=1&timeoutSeconds=3600&resourceVersion={version}", self.base);
        let request = Request::builder().method("GET").uri(uri).body(())?;
        let response = self.agent.run(request)?;
        ensure!(response.status().as_u16() == 200, "watch of {path}: {}", response.status());
        for line in BufReader::new(response.into_body().into_reader()).lines() {
            let mut event: Value = serde_json::from_str(&line?)?;
            let object = event["object"].take();
            let kind = match event["type"].as_str() {
                Some("DELETED") => Event::Deleted,
                Some("ADDED" | "MODIFIED") => Event::Present,
                Some("BOOKMARK") => continue,
                other => anyhow::bail!("watch of {path}: {other:?} {object}"),
            };
            if !each(kind, object) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// What a watch tells of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is there, and like this.
    Present,
    /// It is gone.
    Deleted,
}
