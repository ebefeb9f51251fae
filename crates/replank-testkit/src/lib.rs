//! Crate root.

pub mod recordings;
