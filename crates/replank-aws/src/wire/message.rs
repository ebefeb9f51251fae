//! Requests and answers, as they are on the wire.

use serde_json::Value;

/// A request that has been believed.
#[derive(Debug)]
pub(crate) struct Request<'r> {
    pub(crate) method: &'r str,
    pub(crate) path: &'r str,
    pub(crate) query: &'r str,
    /// The header `X-Amz-Target`.
    pub(crate) target: Option<&'r str>,
    pub(crate) body: &'r [u8],
}

/// An answer, ready to be sent.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

/// A text of a leaf.
pub(crate) fn leaf(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}
