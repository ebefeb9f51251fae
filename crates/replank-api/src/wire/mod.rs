//! Between bytes and objects: media types, JSON, YAML, protobuf, compression.

mod body;
mod media;
mod proto;

pub(crate) use body::{Expected, decode};
pub(crate) use media::{Accepted, Encoding, Endpoint, Media, Shape, accept};
pub(crate) use proto::{
    close as proto_envelope, frame as proto_frame, message as proto_message, put_bytes as proto_item,
    write as proto,
};
