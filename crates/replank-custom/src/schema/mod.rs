//! A schema of a version of a CustomResourceDefinition (apiextensions `JSONSchemaProps`), read once.

mod read;
mod shape;

pub use read::{is_known_format, read};
pub use shape::{Additional, Limits, ListKind, Rule, Schema};
