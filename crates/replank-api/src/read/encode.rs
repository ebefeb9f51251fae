//! How a watch is written.

use bytes::{BufMut, BytesMut};
use serde_json::{Value, json};

use super::json;
use super::value::value_at;
use crate::mirror::Stored;
use crate::route::Target;

/// How the events of a watch are written.
pub trait Encode: Send + Sync {
    /// An event about an object; `version` is that of the change, where the object does not have it itself.
    fn event(&self, into: &mut BytesMut, what: &str, about: (&Target, &Stored), version: Option<u64>);

    /// An event that is about no stored object: a bookmark, or an error.
    fn notice(&self, into: &mut BytesMut, what: &str, object: &Value);
}

/// JSON of objects that are converted before they are shown.
#[derive(Clone, Copy, Debug)]
pub struct Converted;

impl Encode for Converted {
    fn event(
        &self,
        into: &mut BytesMut,
        what: &str,
        (target, stored): (&Target, &Stored),
        version: Option<u64>,
    ) {
        let object = value_at(target, stored, version);
        self.notice(into, what, &object);
    }

    fn notice(&self, into: &mut BytesMut, what: &str, object: &Value) {
        Json.notice(into, what, object);
    }
}

/// JSON, one event a line.
#[derive(Clone, Copy, Debug)]
pub struct Json;

impl Encode for Json {
    fn event(&self, into: &mut BytesMut, what: &str, about: (&Target, &Stored), version: Option<u64>) {
        json::event(into, what, about, version);
    }

    fn notice(&self, into: &mut BytesMut, what: &str, object: &Value) {
        into.put_slice(json!({"type": what, "object": object}).to_string().as_bytes());
        into.put_u8(b'\n');
    }
}
