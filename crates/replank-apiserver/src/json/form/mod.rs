//! Objects between JSON and Go's types: what a body is read as, and what the server writes.

mod decode;
mod encode;
mod own;
mod restore;

pub(super) use decode::decode;
pub(super) use encode::{encode_kind, encode_named, encode_object, encode_sent};
pub(super) use own::word_for;
pub(super) use restore::{go_map, restored};
