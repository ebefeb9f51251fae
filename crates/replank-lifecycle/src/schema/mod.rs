//! What a Kubernetes 1.36 API server takes: the types of everything that it serves, and whether an object is of its type.
//!
//! The types are read off a running 1.36.2 with default flags (`data/kube-schema-1.36`), so kinds and versions that are off
//! by default are not among them. [`Schema::check`] decides as the server's decoder does with `fieldValidation=Strict`:
//! unknown fields, wrong types, missing required fields and values outside of an enum are refused. What the server's own
//! validation says beyond types (a selector that does not match its template, say) is not asked here.

mod check;
mod problem;
mod read;
#[cfg(test)]
mod tests;
mod types;

pub use problem::{Path, Problem, Wrong};
use read::Shape;

use crate::release::Release;

pub use types::Schema;
use types::TypeIndex;

/// The version of Kubernetes whose types these are.
pub const SCHEMA_OF: Release = Release::minor(1, 36);

impl Schema {
    /// The types that are built in. They are unpacked at each call (a few milliseconds): keep the result.
    pub fn embedded() -> Self {
        let packed = include_bytes!("../../data/kube-schema-1.36/types.json.gz");
        read::types(packed).expect("the types that are built in can be read (tests::the_types_are_all_there)")
    }

    fn field_of(&self, index: TypeIndex) -> &Shape {
        &self.types[index]
    }
}
