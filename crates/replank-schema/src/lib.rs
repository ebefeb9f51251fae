//! What a Kubernetes 1.36 API server serves, as data: types with their fields, paths, discovery, tables, protobuf messages.
//!
//! Each table is read from the embedded file when it is first asked for, once.

mod bootstrap;
mod columns;
mod discovery;
mod go;
mod paths;
mod proto;
mod table;
mod types;

pub use bootstrap::bootstrap;
pub use columns::{Column, columns};
pub use discovery::{
    Discovery, Group, GroupName, Resource, ResponseKind, Scope, Subresource, Version, discovery,
};
pub use go::{GoForm, GoId, GoMember, GoOwn, GoStruct, GoType, GoTypes, GoZero, go_types};
pub use paths::{Operation, Path, paths};
pub use proto::{Form, Message, MessageField, message, messages};
pub use types::{Gvk, ListType, Shape, Type, Types, types};
