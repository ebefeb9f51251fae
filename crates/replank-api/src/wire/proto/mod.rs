//! Protobuf, as Kubernetes speaks it: messages by the tables of `replank-schema`, in the envelope `k8s\0` that says which kind they are
//! (apimachinery `runtime/serializer/protobuf`).
//!
//! A message is read to the JSON that Go would write for the same struct: fields that are no pointers are there with their zero values unless they are
//! `omitempty`. It is written with the bytes that Go writes, fields in the order of their numbers.

mod decode;
mod encode;
mod envelope;
mod shape;
mod text;
mod unknown;
mod wire;

pub(crate) use envelope::{frame, message, read, write};
pub(crate) use unknown::close;
pub(crate) use wire::put_bytes;
