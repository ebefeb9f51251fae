//! What a Kubernetes 1.36 API server serves, as data: types with their fields, paths, discovery, tables, protobuf messages.
//!
//! Each table is read from the embedded file when it is first asked for, once.

mod columns;
mod discovery;
mod paths;
mod proto;
mod types;

use std::io::Read;

use flate2::read::GzDecoder;
use serde::de::DeserializeOwned;

pub use columns::{Column, columns};
pub use discovery::{Discovery, Group, Resource, ResponseKind, Scope, Subresource, Version, discovery};
pub use paths::{Operation, Path, paths};
pub use proto::{Message, MessageField, message, messages};
pub use types::{Gvk, ListType, Shape, Type, Types, types};

/// The text of an embedded table.
fn unpacked(gzip: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(gzip).read_to_string(&mut text).expect("an embedded table is gzip");
    text
}

/// An embedded table.
fn table<T: DeserializeOwned>(gzip: &[u8]) -> T {
    serde_json::from_str(&unpacked(gzip)).expect("an embedded table has its form")
}
