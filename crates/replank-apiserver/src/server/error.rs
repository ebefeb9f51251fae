//! What the API server says no with (meta/v1 Status).

use replank_model::object::Kind;
use replank_model::object::meta::Key;
use replank_model::text::Text;
use serde_json::{Map, Value, json};
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
    /// What the refusal is about, in `details`.
    pub about: Option<Box<About>>,
    /// `details.causes`.
    pub causes: Vec<Cause>,
    /// `details.retryAfterSeconds`.
    pub retry_after_seconds: Option<i64>,
    /// A token by which a list can be gone on with.
    pub token: Option<Box<str>>,
    /// Whether the refusal is somebody else's, told as it is: details that are not there are not written.
    pub is_foreign: bool,
}

/// The object that a refusal is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// API group; empty for the core group.
    pub group: Text,
    /// The resource's plural name, or the kind where the object itself is invalid.
    pub kind: Text,
    /// Name.
    pub name: Text,
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

/// What the API server calls a resource: its group, plural and kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceName {
    /// API group; empty for the core group.
    pub group: Text,
    /// Plural, as in URLs.
    pub plural: Text,
    /// Kind.
    pub kind: Text,
}

impl From<Kind> for ResourceName {
    fn from(kind: Kind) -> Self {
        let group = kind.api_version().split_once('/').map_or("", |(group, _)| group);
        Self { group: group.into(), plural: kind.plural().into(), kind: kind.as_str().into() }
    }
}

impl ResourceName {
    /// Resource and group as the API server names them in messages: `deployments.apps`.
    fn qualified(&self) -> String {
        qualify(&self.plural, &self.group)
    }

    fn about(&self, name: &str) -> Option<Box<About>> {
        Some(Box::new(About { group: self.group.clone(), kind: self.plural.clone(), name: name.into() }))
    }
}

fn qualify(word: &str, group: &str) -> String {
    if group.is_empty() { word.to_owned() } else { format!("{word}.{group}") }
}

impl ApiError {
    fn new(code: u16, reason: &'static str, message: String) -> Self {
        Self {
            code,
            reason,
            message,
            about: None,
            causes: Vec::new(),
            retry_after_seconds: None,
            token: None,
            is_foreign: false,
        }
    }

    /// 400.
    #[must_use]
    pub fn bad_request(message: &str) -> Self {
        Self::new(400, "BadRequest", message.to_owned())
    }

    /// 401.
    #[must_use]
    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized".to_owned())
    }

    /// 413.
    #[must_use]
    pub fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// 413: a JSON patch with too many operations.
    #[must_use]
    pub fn too_many_operations(most: usize, given: usize) -> Self {
        let message = format!("The allowed maximum operations in a JSON patch is {most}, got {given}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// 404.
    #[must_use]
    pub fn not_found(resource: impl Into<ResourceName>, key: &Key) -> Self {
        let resource = resource.into();
        let message = format!("{} \"{}\" not found", resource.qualified(), key.name);
        Self { about: resource.about(key.name.as_str()), ..Self::new(404, "NotFound", message) }
    }

    /// 404, there is no such resource at all.
    #[must_use]
    pub fn no_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource".to_owned())
    }

    /// 405.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource".to_owned();
        Self::new(405, "MethodNotAllowed", message)
    }

    /// 409, the name is taken.
    #[must_use]
    pub fn already_exists(resource: impl Into<ResourceName>, key: &Key) -> Self {
        let resource = resource.into();
        let message = format!("{} \"{}\" already exists", resource.qualified(), key.name);
        Self { about: resource.about(key.name.as_str()), ..Self::new(409, "AlreadyExists", message) }
    }

    /// 409, a precondition failed.
    #[must_use]
    pub fn conflict(resource: impl Into<ResourceName>, key: &Key, why: &str) -> Self {
        let resource = resource.into();
        let message =
            format!("Operation cannot be fulfilled on {} \"{}\": {why}", resource.qualified(), key.name);
        Self { about: resource.about(key.name.as_str()), ..Self::new(409, "Conflict", message) }
    }

    /// 403.
    #[must_use]
    pub fn forbidden(resource: impl Into<ResourceName>, key: &Key, why: &str) -> Self {
        let resource = resource.into();
        let message = format!("{} \"{}\" is forbidden: {why}", resource.qualified(), key.name);
        Self { about: resource.about(key.name.as_str()), ..Self::new(403, "Forbidden", message) }
    }

    /// 403: somebody may not do something, to objects or (`None`) on a path (`forbiddenMessage`).
    #[must_use]
    pub fn forbidden_to_user(about: Option<About>, why: &str) -> Self {
        let whom = match &about {
            None => String::new(),
            Some(about) if about.name.is_empty() => format!("{} is ", qualify(&about.kind, &about.group)),
            Some(about) => format!("{} \"{}\" is ", qualify(&about.kind, &about.group), about.name),
        };
        Self { about: about.map(Box::new), ..Self::new(403, "Forbidden", format!("{whom}forbidden: {why}")) }
    }

    /// 403, the namespace is on its way out (admission plugin NamespaceLifecycle).
    #[must_use]
    pub fn namespace_terminating(resource: impl Into<ResourceName>, key: &Key) -> Self {
        let namespace = &key.namespace;
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        let cause = Cause {
            reason: "NamespaceTerminating",
            message: format!("namespace {namespace} is being terminated"),
            field: Some("metadata.namespace".to_owned()),
        };
        Self { causes: vec![cause], ..Self::forbidden(resource, key, &why) }
    }

    /// 422.
    #[must_use]
    pub fn invalid(resource: impl Into<ResourceName>, name: &str, causes: Vec<Cause>) -> Self {
        let ResourceName { group, kind, .. } = resource.into();
        let mut list: Vec<String> = Vec::new();
        for cause in &causes {
            let text = match cause.field.as_deref() {
                Some(field) => format!("{field}: {}", cause.message),
                None => cause.message.clone(),
            };
            // Some checks are made twice; each is named once (`utilerrors.Aggregate`).
            if !list.contains(&text) {
                list.push(text);
            }
        }
        let list = if list.len() == 1 { list[0].clone() } else { format!("[{}]", list.join(", ")) };
        let message = format!("{} \"{name}\" is invalid: {list}", qualify(&kind, &group));
        let about = Some(Box::new(About { group, kind, name: name.into() }));
        Self { about, causes, ..Self::new(422, "Invalid", message) }
    }

    /// 410: what is asked for is not kept any more.
    #[must_use]
    pub fn expired(message: &str) -> Self {
        Self::new(410, "Expired", message.to_owned())
    }

    /// 504: a version that the server has not come to yet.
    #[must_use]
    pub fn too_large_version(version: u64, now: u64) -> Self {
        let cause = Cause {
            reason: "ResourceVersionTooLarge",
            message: "Too large resource version".to_owned(),
            field: None,
        };
        let message = format!("Timeout: Too large resource version: {version}, current: {now}");
        Self { causes: vec![cause], retry_after_seconds: Some(1), ..Self::new(504, "Timeout", message) }
    }

    /// The refusal with a token by which a list can be gone on with.
    #[must_use]
    pub fn with_continue(mut self, token: String) -> Self {
        self.token = Some(token.into());
        self
    }

    /// 415: no route takes a body of that kind.
    #[must_use]
    pub fn unsupported_media() -> Self {
        Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type".to_owned())
    }

    /// 415.
    #[must_use]
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// What the router says before any handler: 406 or 415, about nothing.
    #[must_use]
    pub fn unrouted(code: u16, reason: &'static str, message: &str) -> Self {
        let about = About { group: "".into(), kind: "".into(), name: "".into() };
        Self { about: Some(Box::new(about)), ..Self::new(code, reason, message.to_owned()) }
    }

    /// 406.
    #[must_use]
    pub fn not_acceptable(message: &str) -> Self {
        Self::new(406, "NotAcceptable", message.to_owned())
    }

    /// 409: others manage fields that an apply would change.
    #[must_use]
    pub fn apply_conflict(message: String, causes: Vec<Cause>) -> Self {
        Self { causes, ..Self::new(409, "Conflict", message) }
    }

    /// 422: a patch, or what it makes of an object, cannot be done; which object is not said (apiserver `handlers/patch.go`).
    #[must_use]
    pub fn unprocessable() -> Self {
        Self::new(422, "Invalid", "the server rejected our request due to an error in our request".to_owned())
    }

    /// 422: what a patch makes of an object is none. `shown` is what it makes, or the patch, as text.
    #[must_use]
    pub fn invalid_patch(shown: &str, why: &str) -> Self {
        let nothing = ResourceName { group: "".into(), plural: "".into(), kind: "".into() };
        let cause = Cause::invalid("patch", &format!("{shown:?}"), why);
        Self::invalid(nothing, "", vec![cause])
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

    /// 500 of a step that went wrong inside (`NewInternalError`).
    #[must_use]
    pub fn internal_error(why: &str) -> Self {
        let cause = Cause { reason: "", message: why.to_owned(), field: None };
        let error = Self::new(500, "InternalError", format!("Internal error occurred: {why}"));
        Self { causes: vec![cause], ..error }
    }

    /// 503: what a request leads to cannot be reached.
    #[must_use]
    pub fn service_unavailable(message: &str) -> Self {
        Self::new(503, "ServiceUnavailable", message.to_owned())
    }

    /// 504: the server tried too often in vain.
    #[must_use]
    pub fn timeout(message: &str, retry_after_seconds: i64) -> Self {
        let error = Self::new(504, "Timeout", format!("Timeout: {message}"));
        Self { retry_after_seconds: Some(retry_after_seconds), ..error }
    }

    /// The refusal as the server sends it: a meta/v1 Status.
    #[must_use]
    pub fn to_status(&self) -> Value {
        let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code});
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        let details = self.details();
        // Of what is no resource there is nothing to be named, which is said.
        if !details.is_empty()
            || self.about.is_some()
            || (!self.is_foreign && matches!((self.code, &self.about), (403 | 404 | 405 | 422, None)))
            || self.message == "415: Unsupported Media Type"
        {
            status["details"] = Value::Object(details);
        }
        if let Some(token) = &self.token {
            status["metadata"] = json!({"continue": &**token});
        }
        status
    }

    fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        if let Some(about) = &self.about {
            for (member, text) in [("name", &about.name), ("group", &about.group), ("kind", &about.kind)] {
                if !text.is_empty() {
                    details.insert(member.to_owned(), Value::from(&**text));
                }
            }
        }
        if !self.causes.is_empty() {
            details.insert("causes".to_owned(), self.causes.iter().map(Cause::to_json).collect());
        }
        if let Some(seconds) = self.retry_after_seconds.filter(|seconds| *seconds != 0) {
            details.insert("retryAfterSeconds".to_owned(), seconds.into());
        }
        details
    }
}

impl Cause {
    fn to_json(&self) -> Value {
        let mut cause = Map::new();
        if !self.reason.is_empty() {
            cause.insert("reason".to_owned(), self.reason.into());
        }
        cause.insert("message".to_owned(), self.message.as_str().into());
        if let Some(field) = &self.field {
            cause.insert("field".to_owned(), field.as_str().into());
        }
        Value::Object(cause)
    }

    /// A member that is not valid; `shown` is the value as the server shows it (a Go string literal, or JSON).
    #[must_use]
    pub fn invalid(field: impl Into<String>, shown: &str, why: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {shown}: {why}"),
            field: Some(field.into()),
        }
    }

    /// A member that must be there.
    #[must_use]
    pub fn required(field: impl Into<String>, why: &str) -> Self {
        let message =
            if why.is_empty() { "Required value".to_owned() } else { format!("Required value: {why}") };
        Self { reason: "FieldValueRequired", message, field: Some(field.into()) }
    }

    /// A member, or a change of it, that may not be.
    #[must_use]
    pub fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self {
            reason: "FieldValueForbidden",
            message: format!("Forbidden: {why}"),
            field: Some(field.into()),
        }
    }

    /// A value that is there twice.
    #[must_use]
    pub fn duplicate(field: impl Into<String>, shown: &str) -> Self {
        Self {
            reason: "FieldValueDuplicate",
            message: format!("Duplicate value: {shown}"),
            field: Some(field.into()),
        }
    }

    /// A word that is none of the known ones.
    #[must_use]
    pub fn not_supported(field: impl Into<String>, word: &str, supported: &[&str]) -> Self {
        let list = supported.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
        Self {
            reason: "FieldValueNotSupported",
            message: format!("Unsupported value: {word:?}: supported values: {list}"),
            field: Some(field.into()),
        }
    }
}
