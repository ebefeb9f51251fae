//! Objects as JSON, put together from what has been written out once.

use bytes::{BufMut, Bytes, BytesMut};
use replank_apiserver::ResourceType;
use replank_apiserver::json::served_at;
use replank_model::object::Object;
use serde_json::Value;

use super::list::Listed;
use super::value::list_metadata;
pub(crate) use super::written::keep;
use super::written::{tail, tail_of};
use crate::mirror::Stored;
use crate::route::Target;

/// `{"kind":…,"apiVersion":…,`: as Go's types write it, before all other members.
pub(crate) fn head(kind: &str, resource: &ResourceType) -> String {
    format!("{{\"kind\":{},\"apiVersion\":{},", Value::from(kind), Value::from(resource.api_version()))
}

/// One object, with a newline as the server writes it.
#[must_use]
pub fn object(target: &Target, stored: &Stored) -> Bytes {
    line(&target.resource, &tail(&target.resource, stored))
}

pub(crate) fn line(resource: &ResourceType, tail: &Bytes) -> Bytes {
    let head = head(&resource.name.kind, resource);
    let mut whole = BytesMut::with_capacity(head.len() + tail.len() + 1);
    whole.put_slice(head.as_bytes());
    whole.put_slice(tail);
    whole.put_u8(b'\n');
    whole.freeze()
}

/// A list, in pieces that follow one another. Items of built-in kinds do not repeat what the list's own kind says.
pub async fn list(target: &Target, listed: &Listed) -> Vec<Bytes> {
    let kind = format!("{}List", target.resource.name.kind);
    let head = head(&kind, &target.resource);
    let metadata = list_metadata(target, listed);
    let item = match target.is_custom {
        true => Bytes::from(self::head(&target.resource.name.kind, &target.resource)),
        false => Bytes::from_static(b"{"),
    };
    let next = Bytes::from([b",", &*item].concat());
    let mut pieces = Vec::with_capacity(listed.items.len() * 2 + 2);
    pieces.push(Bytes::from(format!("{head}\"metadata\":{metadata},\"items\":[")));
    for (number, stored) in listed.items.iter().enumerate() {
        pieces.push(if number == 0 { item.clone() } else { next.clone() });
        pieces.push(tail(&target.resource, stored));
        // Others want to be answered, too, while thousands are written out.
        if number % 128 == 127 {
            tokio::task::yield_now().await;
        }
    }
    pieces.push(Bytes::from_static(b"]}\n"));
    pieces
}

/// An event of a watch about an object, as one line; `version` is that of the change, where the object does not have it itself.
pub(crate) fn event(
    into: &mut BytesMut,
    what: &str,
    (target, stored): (&Target, &Stored),
    version: Option<u64>,
) {
    into.put_slice(b"{\"type\":\"");
    into.put_slice(what.as_bytes());
    into.put_slice(b"\",\"object\":");
    match version {
        None => {
            into.put_slice(head(&target.resource.name.kind, &target.resource).as_bytes());
            into.put_slice(&tail(&target.resource, stored));
        }
        Some(version) => {
            let mut object = served(target, &stored.object);
            object["metadata"]["resourceVersion"] = version.to_string().into();
            into.put_slice(head(&target.resource.name.kind, &target.resource).as_bytes());
            into.put_slice(&tail_of(object));
        }
    }
    into.put_slice(b"}\n");
}

fn served(target: &Target, object: &Object) -> Value {
    served_at(&target.resource, object)
}
