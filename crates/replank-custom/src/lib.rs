//! Custom resources: the schemas of CustomResourceDefinitions, and what they take out of objects, fill in and refuse.
//!
//! Layers, each knows only those below it: `definition` → `rules` → `object` → `schema`, `problem`.

pub mod definition;
pub mod object;
pub mod problem;
pub mod rules;
pub mod schema;

/// The language of the rules.
pub use replank_cel as cel;

pub use problem::{Problem, ProblemKind};
pub use schema::{Additional, ListKind, Schema};
