//! What the API server says no with (meta/v1 Status).

use replank_model::object::Kind;
use replank_model::object::meta::Key;
use thiserror::Error;

/// A refusal of the API server.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct ApiError {
    /// HTTP status code.
    pub code: u16,
    /// `reason` of the Status; empty where the server gives none.
    pub reason: &'static str,
    /// `message` of the Status.
    pub message: String,
    /// `details.causes`.
    pub causes: Vec<Cause>,
    /// `details.retryAfterSeconds`.
    pub retry_after_seconds: Option<i64>,
}

/// One cause of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Machine-readable word.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
    /// The member that is wrong.
    pub field: Option<String>,
}

impl ApiError {
    fn new(code: u16, reason: &'static str, message: String) -> Self {
        Self { code, reason, message, causes: Vec::new(), retry_after_seconds: None }
    }

    /// 404.
    #[must_use]
    pub fn not_found(kind: Kind, key: &Key) -> Self {
        Self::new(404, "NotFound", format!("{} \"{}\" not found", resource(kind), key.name))
    }

    /// 409, the name is taken.
    #[must_use]
    pub fn already_exists(kind: Kind, key: &Key) -> Self {
        Self::new(409, "AlreadyExists", format!("{} \"{}\" already exists", resource(kind), key.name))
    }

    /// 409, a precondition failed.
    #[must_use]
    pub fn conflict(kind: Kind, key: &Key, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{}\": {why}", resource(kind), key.name);
        Self::new(409, "Conflict", message)
    }

    /// 403.
    #[must_use]
    pub fn forbidden(kind: Kind, key: &Key, why: &str) -> Self {
        Self::new(403, "Forbidden", format!("{} \"{}\" is forbidden: {why}", resource(kind), key.name))
    }

    /// 422.
    #[must_use]
    pub fn invalid(kind: Kind, key: &Key, causes: Vec<Cause>) -> Self {
        let group =
            kind.api_version().split_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
        let list = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field.as_deref().unwrap_or(""), cause.message))
            .collect::<Vec<_>>();
        let list = if list.len() == 1 { list[0].clone() } else { format!("[{}]", list.join(", ")) };
        let message = format!("{kind}{group} \"{}\" is invalid: {list}", key.name);
        Self { causes, ..Self::new(422, "Invalid", message) }
    }

    /// 429, with what the client may do about it.
    #[must_use]
    pub fn too_many_requests(message: &str, causes: Vec<Cause>, retry_after_seconds: Option<i64>) -> Self {
        Self { causes, retry_after_seconds, ..Self::new(429, "TooManyRequests", message.to_owned()) }
    }

    /// 500, without a reason.
    #[must_use]
    pub fn internal(message: &str) -> Self {
        Self::new(500, "", message.to_owned())
    }
}

/// Resource and group as the API server names them in messages: `deployments.apps`.
fn resource(kind: Kind) -> String {
    match kind.api_version().split_once('/') {
        Some((group, _)) => format!("{}.{group}", kind.plural()),
        None => kind.plural().to_owned(),
    }
}
