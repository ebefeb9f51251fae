//! The text of a JSON object as a tree that copies nothing: keys and strings are slices of the text.
//!
//! It is for the hundred thousands of like objects of a large dump. It reads less than JSON allows: where something is unusual (a key that is there twice, a
//! number with a fraction, deep nesting), there is no tree, and `serde_json` has the text. What it does read, it reads to the same: members in their order
//! by key, and those that are `null` as if they were not there.

mod node;
mod parse;
mod read;
mod said;

pub use node::{Below, Item, Tree};
pub(crate) use parse::{Parser, Taken, has_control, skip};
pub use read::Odd;
pub(crate) use read::read;
pub(crate) use said::{rest, say};
