//! The nouns of Replank: time, ids, quantities, selectors, objects, the View and its indices.
//!
//! Nothing here has a clock, does I/O or keeps global state. Objects are immutable and shared; the [`view::View`] indexes
//! them the way decisions ask.

pub mod admission;
pub mod cron;
pub mod delta;
pub mod labels;
pub mod list;
pub mod object;
pub mod pairs;
mod reader;
pub mod shared;
pub mod text;
pub mod tree;
pub mod validation;
pub mod view;
mod wire;

pub mod go;

pub mod int_or_string;
pub mod quantity;
pub mod selector;
pub mod time;
pub mod version;
