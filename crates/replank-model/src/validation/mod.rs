//! The API server's own answers to a pod or workload that it does not take: what it cannot read (400), and what breaks
//! a rule (422), word for word and cause by cause as Kubernetes 1.36 says it when the object is created.
//!
//! [`validate`] asks for one object. Looked at are the kinds in which pods are submitted; about any other there is
//! nothing to say. Admission plugins (priority classes, limit ranges, quotas, service accounts) are not part of it.
//!
//! What the server draws at random stands for something fixed: the end of a generated name is `xxxxx`, a uid zeros. What
//! upstream takes in the order of a Go map is taken in the order of its keys.
//!
//! One file answers for one part of an object; each names the upstream functions of its rules. `types.txt` and
//! `shown.txt` are tables of Go's types.

mod affinity;
mod annotations;
mod around;
mod claims;
mod containers;
mod cron;
mod decode;
mod defaults;
mod dns;
mod env;
mod error;
mod field;
mod job;
mod kind;
mod known;
mod legacy_volumes;
mod meta;
mod mounts;
mod names;
mod os;
mod paths;
mod pod;
mod probes;
mod projected;
mod resources;
mod scope;
mod security;
mod selectors;
mod show;
mod spread;
mod strategy;
mod tolerations;
mod types;
mod volume_fields;
mod volumes;
mod workload;

use serde_json::Value;

pub use error::{FieldError, FieldErrorKind};

use crate::go::Quoted;
use error::Causes;
use field::Field;

use kind::Kind;

/// Why the server does not take an object. Displays as the message of its status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It breaks rules (422, `Invalid`).
    #[error("{} {} is invalid: {}", qualified(.kind, .group), Quoted(.name), several(.causes))]
    Invalid {
        /// As `Deployment`.
        kind: &'static str,
        /// As `apps`; empty for the core group.
        group: &'static str,
        /// The object's name.
        name: String,
        /// At least one, in the server's order.
        causes: Vec<FieldError>,
    },
    /// It cannot be read as what it says it is (400, `BadRequest`).
    #[error("{kind} in version {} cannot be handled as a {kind}: {why}", Quoted(.version))]
    BadRequest {
        /// As `Deployment`.
        kind: &'static str,
        /// As `v1`.
        version: &'static str,
        /// What the reader says.
        why: String,
    },
}

impl Refusal {
    /// The HTTP status.
    #[must_use]
    pub fn code(&self) -> u16 {
        match self {
            Self::Invalid { .. } => 422,
            Self::BadRequest { .. } => 400,
        }
    }
}

fn qualified(kind: &str, group: &str) -> String {
    if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") }
}

/// Causes in one line, each once (`utilerrors.Aggregate`).
fn several(causes: &[FieldError]) -> String {
    let mut messages: Vec<String> = Vec::new();
    for message in causes.iter().map(ToString::to_string) {
        if !messages.contains(&message) {
            messages.push(message);
        }
    }
    match messages.as_slice() {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// What the API server would say if a user created this object. `object` is whole, as a user would submit it; a namespace
/// that is left out is `default`.
///
/// ```
/// use replank_model::validation::validate;
/// use serde_json::json;
///
/// let pod = json!({
///     "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
///     "spec": {"containers": [{"name": "web", "image": "web", "resources": {"limits": {"cpu": "-1"}}}]},
/// });
/// let refusal = validate(&pod).unwrap_err();
/// assert!(refusal.to_string().starts_with(
///     "Pod \"web\" is invalid: [spec.containers[0].resources.limits[cpu]: Invalid value: \"-1\": must be greater than"
/// ));
/// ```
///
/// # Errors
/// What the server refuses it with.
pub fn validate(object: &Value) -> Result<(), Refusal> {
    let Some(kind) = Kind::of(object) else { return Ok(()) };
    let mut decoded = read(kind, object)?.object;
    defaults::prepare(kind, &mut decoded);
    let causes = causes(kind, &Field::new("", &decoded));
    if causes.is_empty() {
        return Ok(());
    }
    let name = decoded.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("").to_owned();
    Err(Refusal::Invalid { kind: kind.name(), group: kind.group(), name, causes })
}

/// Members that the object's type does not have, with their paths, as kubectl reports them
/// (`strict decoding error: unknown field "spec.foo"`); empty where there are none, for kinds that are not looked at, and
/// for an object that cannot be read.
#[must_use]
pub fn unknown_fields(object: &Value) -> Vec<String> {
    let Some(kind) = Kind::of(object) else { return Vec::new() };
    read(kind, object).map(|decoded| decoded.unknown).unwrap_or_default()
}

fn read(kind: Kind, object: &Value) -> Result<decode::Decoded, Refusal> {
    decode::decode(&kind.go_type(), object).map_err(|why| Refusal::BadRequest {
        kind: kind.name(),
        version: "v1",
        why,
    })
}

fn causes(kind: Kind, object: &Field<'_>) -> Vec<FieldError> {
    let mut causes = Causes::default();
    let (metadata, spec) = (object.child("metadata"), object.child("spec"));
    match kind {
        Kind::Pod => {}
        Kind::StatefulSet => meta::object(&metadata, names::label, &mut causes),
        Kind::ReplicationController => meta::named(&metadata, names::subdomain_in_bytes, &mut causes),
        Kind::PodTemplate
        | Kind::Deployment
        | Kind::ReplicaSet
        | Kind::DaemonSet
        | Kind::Job
        | Kind::CronJob => meta::object(&metadata, names::subdomain, &mut causes),
    }
    match kind {
        Kind::Pod => pod::pod(object, &mut causes),
        Kind::PodTemplate => pod::template(&object.child("template"), &mut causes),
        Kind::ReplicationController => workload::replication_controller(&spec, &mut causes),
        Kind::Deployment => workload::deployment(&spec, &mut causes),
        Kind::ReplicaSet => workload::replica_set(&spec, &mut causes),
        Kind::StatefulSet => workload::stateful_set(&spec, &mut causes),
        Kind::DaemonSet => workload::daemon_set(&spec, &mut causes),
        Kind::Job => job::job(object, &mut causes),
        Kind::CronJob => cron::cron_job(object, &mut causes),
    }
    if causes.is_empty() {
        meta::afterwards(&metadata, &mut causes);
    }
    causes.into_vec()
}
