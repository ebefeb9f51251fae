//! Whether a document is an object of a cluster.

use serde_json::Value;

use crate::problem::{Field, ProblemKind};

/// What every object of a cluster has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity<'v> {
    /// `apiVersion`: a group and a version, or a version alone for the core group.
    pub api_version: &'v str,
    /// `kind`
    pub kind: &'v str,
    /// `metadata.namespace`; `None` where there is none, as for a Node.
    pub namespace: Option<&'v str>,
    /// `metadata.name`
    pub name: &'v str,
}

impl<'v> Identity<'v> {
    /// The group of `apiVersion`; empty for the core group.
    pub fn group(&self) -> &'v str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

/// Groups of files that configure a program: they look like objects, and no cluster has them.
const CONFIGURATION_GROUPS: [&str; 8] = [
    "kustomize.config.k8s.io",
    "kubeadm.k8s.io",
    "kubelet.config.k8s.io",
    "kubeproxy.config.k8s.io",
    "kubescheduler.config.k8s.io",
    "kind.x-k8s.io",
    "eksctl.io",
    "audit.k8s.io",
];

/// Who an object is.
///
/// # Errors
/// What is missing for the document to be an object, or that it is an error of the API server.
pub fn identify(value: &Value) -> Result<Identity<'_>, ProblemKind> {
    let Value::Object(object) = value else {
        return Err(ProblemKind::NotAnObject { found: describe(Some(value)) });
    };
    let kind = text(object.get("kind")).map_err(|found| missing(value, Field::Kind, found))?;
    let api_version =
        text(object.get("apiVersion")).map_err(|found| missing(value, Field::ApiVersion, found))?;
    if kind == "Status" && api_version == "v1" && text(object.get("status")) != Ok("Success") {
        let message = text(object.get("message")).unwrap_or("it has no message").to_owned();
        return Err(ProblemKind::ApiError { message });
    }
    let metadata = object.get("metadata");
    let field = |key: &str| metadata.and_then(|metadata| metadata.get(key));
    let name = text(field("name")).map_err(|found| {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let which = if text(field("generateName")).is_ok() {
            Field::GeneratedName
        } else if CONFIGURATION_GROUPS.contains(&group) || (kind == "Config" && group.is_empty()) {
            Field::NameOfConfiguration
        } else {
            Field::Name
        };
        missing(value, which, found)
    })?;
    let namespace = match field("namespace") {
        None | Some(Value::Null) => None,
        Some(Value::String(namespace)) if namespace.is_empty() => None,
        Some(Value::String(namespace)) => Some(namespace.as_str()),
        other => return Err(missing(value, Field::Namespace, describe(other))),
    };
    Ok(Identity { api_version, kind, namespace, name })
}

fn text(value: Option<&Value>) -> Result<&str, String> {
    match value {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        other => Err(describe(other)),
    }
}

fn missing(value: &Value, field: Field, found: String) -> ProblemKind {
    let known = |path: &str| value.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty());
    let object = match (known("/kind"), known("/metadata/name")) {
        (Some(kind), Some(name)) => format!(" in {kind} {name}"),
        (Some(kind), None) => format!(" in a {kind}"),
        (None, Some(name)) => format!(" in an object named {name}"),
        (None, None) => String::new(),
    };
    ProblemKind::Field { field, found, object }
}

/// A value in words, short.
fn describe(value: Option<&Value>) -> String {
    match value {
        None => "nothing".into(),
        Some(Value::Null) => "null".into(),
        Some(Value::Bool(value)) => format!("the boolean {value}"),
        Some(Value::Number(number)) => format!("the number {number}"),
        Some(Value::String(text)) if text.is_empty() => "an empty string".into(),
        Some(Value::String(text)) => {
            let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
            if shown.len() < text.len() {
                shown.push('…');
            }
            format!("the string {shown:?}")
        }
        Some(Value::Array(values)) => format!("a list of {} values", values.len()),
        Some(Value::Object(members)) => format!("an object of {} members", members.len()),
    }
}

/// Characters of a string that are quoted in a message.
const SHOWN_CHARS: usize = 40;
