//! Objects as protobuf, put together from what has been written out once.

use bytes::{BufMut, Bytes, BytesMut};
use replank_apiserver::ResourceType;
use replank_apiserver::json::served_at;
use serde_json::{Value, json};

use super::encode::Encode;
use super::list::Listed;
use crate::mirror::{Form, FormKind, Stored};
use crate::route::Target;
use crate::wire;

/// An object's message, without its envelope; empty for a kind that has none.
fn message(resource: &ResourceType, stored: &Stored) -> Bytes {
    let form = Form { kind: FormKind::Protobuf, version: resource.api_version().into() };
    stored.form(&form, |object| wire::proto_message(&served_at(resource, object)).unwrap_or_default().into())
}

/// One object in its envelope.
pub(crate) fn object(target: &Target, stored: &Stored) -> Bytes {
    let resource = &target.resource;
    wire::proto_envelope(&resource.api_version(), &resource.name.kind, &message(resource, stored)).into()
}

/// A list in its envelope: `metadata` is field 1 of every list, `items` field 2.
pub(crate) async fn list(target: &Target, listed: &Listed) -> Bytes {
    let resource = &target.resource;
    let kind = format!("{}List", resource.name.kind);
    let empty = json!({"kind": kind, "apiVersion": resource.api_version(), "metadata": listed.metadata});
    let mut raw = wire::proto_message(&empty).unwrap_or_default();
    for (number, stored) in listed.items.iter().enumerate() {
        wire::proto_item(&mut raw, 2, &message(resource, stored));
        // Others want to be answered, too, while thousands are written out.
        if number % 128 == 127 {
            tokio::task::yield_now().await;
        }
    }
    wire::proto_envelope(&resource.api_version(), &kind, &raw).into()
}

/// A watch in protobuf.
#[derive(Clone, Copy, Debug)]
pub struct Protobuf;

impl Encode for Protobuf {
    fn event(
        &self,
        into: &mut BytesMut,
        what: &str,
        (target, stored): (&Target, &Stored),
        version: Option<u64>,
    ) {
        match version {
            None => into.put_slice(&wire::proto_frame(what, &object(target, stored))),
            Some(version) => {
                let mut object = served_at(&target.resource, &stored.object);
                object["metadata"]["resourceVersion"] = version.to_string().into();
                self.notice(into, what, &object);
            }
        }
    }

    fn notice(&self, into: &mut BytesMut, what: &str, object: &Value) {
        into.put_slice(&wire::proto_frame(what, &wire::proto(object).unwrap_or_default()));
    }
}
