//! Requests and responses, as HTTP has them.

use std::sync::Arc;

use serde_json::Value;

use super::path::Address;
use crate::server::{ApiError, Caller, Cause, DeleteOptions, Propagation, ResourceName, ResourceType};

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
    /// What the wire knows besides; `None` for requests of the program itself, whose writes name no manager of fields.
    pub wire: Option<Wire>,
}

/// What is known of a request that came over the wire, beside what it asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wire {
    /// `User-Agent`; it names the manager of the fields that are written where no other name is given.
    pub user_agent: String,
    /// Members that stand twice in their object, in the order in which they are read.
    pub duplicates: Vec<Repeated>,
    /// Who has sent it.
    pub caller: Caller,
    /// The version in which the client writes, where that is not the one that is kept.
    pub spoken: Option<Spoken>,
    /// The same where its types are not known: what is written is converted before, and only who manages fields is told by it.
    pub named: Option<Spoken>,
    /// That it is no write, but a connection to what runs.
    pub connect: Option<Connect>,
}

/// Another version of a kind, in which clients read and write its objects.
pub trait OtherVersion: std::fmt::Debug + Send + Sync {
    /// The version, without the group.
    fn version(&self) -> &str;

    /// The group, where it is another than that of the version that is kept.
    fn group(&self) -> Option<&str>;

    /// An object as it is in this version.
    fn shown(&self, object: Value) -> Value;

    /// An object of this version in the version that is kept.
    ///
    /// # Errors
    /// Why there is no way.
    fn kept(&self, object: &Value) -> Result<Value, String>;
}

/// A version in which a client writes.
#[derive(Clone, Debug)]
pub struct Spoken(pub Arc<dyn OtherVersion>);

impl PartialEq for Spoken {
    fn eq(&self, other: &Self) -> bool {
        self.0.version() == other.0.version()
    }
}

impl Eq for Spoken {}

impl Spoken {
    /// The address as one of this version.
    pub(super) fn of(&self, address: &Address) -> Address {
        let mut spoken = address.clone();
        spoken.resource.version = self.0.version().into();
        spoken
    }

    /// `apiVersion` of its objects.
    pub(super) fn api_version(&self, resource: &ResourceType) -> String {
        let group = self.0.group().unwrap_or(&resource.name.group);
        if group.is_empty() { self.0.version().to_owned() } else { format!("{group}/{}", self.0.version()) }
    }

    /// An object in the version that is kept.
    ///
    /// # Errors
    /// 400 where there is no way.
    pub(super) fn kept(&self, object: &Value) -> Result<Value, ApiError> {
        self.0.kept(object).map_err(|why| ApiError::bad_request(&why))
    }
}

/// A connection to what runs, or to what is behind a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connect {
    /// The part of the object, such as `exec`.
    pub part: &'static str,
    /// The kind of its options, such as `PodExecOptions`.
    pub kind: &'static str,
    /// The options, with `kind` and `apiVersion`.
    pub options: Value,
}

/// A member that stands twice in its object, as the reader of its form tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// In JSON: its path, such as `spec.replicas`.
    Path(String),
    /// In YAML: where its value begins, counted from 1, and its key.
    Line(usize, String),
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// HTTP status code.
    pub code: u16,
    /// The body.
    pub body: Value,
    /// What the client is warned of, in `Warning` headers.
    pub warnings: Vec<String>,
}

/// Reads meta/v1 DeleteOptions.
///
/// # Errors
/// 422 where a word is unknown.
pub fn read_delete_options(value: &Value) -> Result<DeleteOptions, ApiError> {
    let word = value.get("propagationPolicy").and_then(Value::as_str);
    let orphans = value.get("orphanDependents").and_then(Value::as_bool);
    let mut causes = Vec::new();
    let propagation = match word {
        None => match orphans {
            Some(true) => Some(Propagation::Orphan),
            Some(false) => Some(Propagation::Background),
            None => None,
        },
        Some("Background") => Some(Propagation::Background),
        Some("Foreground") => Some(Propagation::Foreground),
        Some("Orphan") => Some(Propagation::Orphan),
        Some(word) => {
            let supported = ["Foreground", "Background", "Orphan", "nil"];
            causes.push(Cause::not_supported("propagationPolicy", word, &supported));
            None
        }
    };
    if let (Some(word), Some(_)) = (word, orphans) {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        causes = vec![Cause::invalid("propagationPolicy", &format!("{word:?}"), why)];
    }
    let dry: Vec<&str> = value
        .get("dryRun")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if dry.iter().any(|word| *word != "All") {
        causes.push(Cause {
            reason: "FieldValueNotSupported",
            message: format!("Unsupported value: {}: supported values: \"All\"", Value::from(dry)),
            field: Some("dryRun".to_owned()),
        });
    }
    if !causes.is_empty() {
        let options = ResourceName {
            group: "meta.k8s.io".into(),
            plural: "deleteoptions".into(),
            kind: "DeleteOptions".into(),
        };
        return Err(ApiError::invalid(options, "", causes));
    }
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
