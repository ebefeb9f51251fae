//! Refusals, by the codes that AWS gives them.

use serde_json::{Map, Value};

/// A refusal: AWS' code and words, and the status of HTTP that goes with it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Fault {
    /// The code, such as `ValidationError`.
    pub code: String,
    /// In words.
    pub message: String,
    /// The status.
    pub status: u16,
    /// Members beside the message, where the protocol is JSON.
    pub members: Map<String, Value>,
}

impl Fault {
    /// A refusal with a status.
    #[must_use]
    pub fn new(status: u16, code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), status, members: Map::new() }
    }

    /// What was asked for is not right, with another code than the services' own for that.
    #[must_use]
    pub fn bad(code: &str, message: impl Into<String>) -> Self {
        Self::new(400, code, message)
    }

    /// Auto Scaling's and STS' word for what is not right.
    #[must_use]
    pub fn validation(message: impl Into<String>) -> Self {
        Self::bad("ValidationError", message)
    }

    /// Another member of a JSON answer.
    #[must_use]
    pub fn with(mut self, member: &str, value: impl Into<Value>) -> Self {
        self.members.insert(member.to_owned(), value.into());
        self
    }
}
