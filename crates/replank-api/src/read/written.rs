//! What has been written out of an object once, for all who ask.

use bytes::Bytes;
use replank_apiserver::ResourceType;
use replank_apiserver::json::served_at;
use serde_json::Value;

use crate::mirror::{Form, FormKind, Stored};

/// An object's members after `kind` and `apiVersion`, with the closing brace.
pub(crate) fn tail(resource: &ResourceType, stored: &Stored) -> Bytes {
    stored.form(&form(resource), |object| tail_of(served_at(resource, object)))
}

/// What an object is served as, read from what has been written out, where it has: that takes a fraction of the time of putting it together anew.
pub(super) fn known(resource: &ResourceType, stored: &Stored) -> Option<Value> {
    let tail = stored.known(&form(resource))?;
    let mut value: Value = serde_json::from_slice(&[b"{", &*tail].concat()).ok()?;
    value["kind"] = (*resource.name.kind).into();
    value["apiVersion"] = resource.api_version().into();
    Some(value)
}

/// An object that has been written out for somebody else is taken for the one that is stored: it has the same version.
pub(crate) fn keep(resource: &ResourceType, stored: &Stored, value: Value) -> Bytes {
    stored.keep(&form(resource), tail_of(value))
}

fn form(resource: &ResourceType) -> Form {
    // What an object is served as depends on its definition too.
    let version = match &resource.custom {
        Some(custom) => format!("{}@{}", resource.api_version(), custom.revision.0),
        None => resource.api_version(),
    };
    Form { kind: FormKind::JsonTail, version: version.into() }
}

pub(super) fn tail_of(mut value: Value) -> Bytes {
    if let Value::Object(members) = &mut value {
        members.remove("kind");
        members.remove("apiVersion");
    }
    let text = value.to_string();
    // Every object has metadata, so something follows the brace.
    Bytes::from(text.into_bytes().into_boxed_slice()).slice(1..)
}
