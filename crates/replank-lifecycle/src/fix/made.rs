//! What becomes of one document.

use super::lay::Edit;
use super::outcome::{Change, Left};
use crate::tree::Tree;

/// The outcome for the objects of a document.
pub(super) struct Made {
    pub(super) edits: Vec<Edit>,
    pub(super) changes: Vec<Change>,
    pub(super) left: Vec<Left>,
    pub(super) converted: Option<Converted>,
}

/// A document that changes.
pub(super) struct Converted {
    /// What it says now.
    pub(super) tree: Tree,
    /// Bytes and lines by which its text has grown.
    pub(super) bytes: i64,
    pub(super) lines: i64,
}
