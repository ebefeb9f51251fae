//! An object as a tree that keeps its order and knows where in a text each part of it is written.
//!
//! Converters change trees; what has moved keeps its origin, so that [`crate::fix`] can lay the change onto the text, with the
//! comments of whatever moved. Without a text a tree is just a value in order ([`Tree::from_value`]).

mod json;
mod node;
mod origins;
mod plain;
mod read;
mod value;
mod yaml;

pub(crate) use read::{EntryAt, NodeAt, Notation, Origins, Style, read, read_strictly};

pub use node::{Entry, Tree, What};
pub(crate) use node::{From, OriginIndex};
pub(crate) use plain::Plain;
