//! Between bytes and objects: media types, JSON, YAML, protobuf, compression.

mod body;
mod gzip;
mod json;
mod media;
mod proto;
mod yaml;

pub(crate) use body::{Expected, decode};
pub(crate) use gzip::{THRESHOLD as GZIP_THRESHOLD, compress, is_accepted as accepts_gzip};
pub(crate) use media::{Accepted, Encoding, Endpoint, Media, Shape, Shapes, accept, is_offered};
pub(crate) use proto::{
    close as proto_envelope, frame as proto_frame, message as proto_message, put_bytes as proto_item,
    write as proto,
};
pub(crate) use yaml::write as yaml;

/// Reads JSON.
///
/// # Errors
/// What Go's `encoding/json` says.
pub(crate) fn json(bytes: &[u8]) -> Result<serde_json::Value, String> {
    json::read(bytes).map(|read| read.value)
}
