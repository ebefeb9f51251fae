//! What a Kubernetes 1.36 API server serves, as data: types with their fields, paths, discovery, tables, protobuf messages.
//!
//! Each table is read from the embedded file when it is first asked for, once.

mod columns;
mod discovery;
mod paths;
mod proto;
mod table;
mod types;

pub use columns::{Column, columns};
pub use discovery::{Discovery, Group, Resource, ResponseKind, Scope, Subresource, Version, discovery};
pub use paths::{Operation, Path, paths};
pub use proto::{Message, MessageField, message, messages};
pub use types::{Gvk, ListType, Shape, Type, Types, types};
