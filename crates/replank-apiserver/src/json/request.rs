//! Requests and responses, as HTTP has them.

use serde_json::Value;

use crate::server::{ApiError, DeleteOptions, Propagation};

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Read.
    Get,
    /// Create, or act on a subresource.
    Post,
    /// Replace.
    Put,
    /// Change a part.
    Patch,
    /// Delete.
    Delete,
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What it wants.
    pub method: Method,
    /// Path and query, such as `/apis/apps/v1/namespaces/shop/deployments/web/scale?dryRun=All`.
    pub path: String,
    /// `Content-Type`; empty means JSON.
    pub content_type: String,
    /// The body; `Null` for none.
    pub body: Value,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// HTTP status code.
    pub code: u16,
    /// The body.
    pub body: Value,
}

/// Reads meta/v1 DeleteOptions.
///
/// # Errors
/// 422 where a word is unknown.
pub fn read_delete_options(value: &Value) -> Result<DeleteOptions, ApiError> {
    let propagation = match value.get("propagationPolicy").and_then(Value::as_str) {
        None => match value.get("orphanDependents").and_then(Value::as_bool) {
            Some(true) => Some(Propagation::Orphan),
            Some(false) => Some(Propagation::Background),
            None => None,
        },
        Some("Background") => Some(Propagation::Background),
        Some("Foreground") => Some(Propagation::Foreground),
        Some("Orphan") => Some(Propagation::Orphan),
        Some(word) => {
            let supported = ["Foreground", "Background", "Orphan", "nil"];
            let cause = crate::server::Cause::not_supported("propagationPolicy", word, &supported);
            let options = crate::server::ResourceName {
                group: "meta.k8s.io".into(),
                plural: "deleteoptions".into(),
                kind: "DeleteOptions".into(),
            };
            return Err(ApiError::invalid(options, "", vec![cause]));
        }
    };
    let preconditions = value.get("preconditions");
    let text = |member: &str| preconditions?.get(member)?.as_str();
    Ok(DeleteOptions {
        grace_seconds: value.get("gracePeriodSeconds").and_then(Value::as_i64),
        propagation,
        uid: text("uid").map(Into::into),
        version: text("resourceVersion")
            .and_then(|text| text.parse().ok())
            .map(replank_model::object::meta::ResourceVersion),
    })
}
