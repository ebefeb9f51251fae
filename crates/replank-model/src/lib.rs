//! Crate root.

mod go;

pub mod int_or_string;
pub mod quantity;
pub mod selector;
pub mod time;
pub mod version;
