//! What becomes of one document.

use std::sync::Arc;

use super::lay::Edit;
use super::outcome::{Change, Left};
use super::shift::Shift;
use crate::source::{Node, Place};

/// The outcome for the objects of a document.
#[derive(Clone, Default)]
pub(super) struct Made {
    pub(super) edits: Vec<Edit>,
    pub(super) changes: Vec<Change>,
    pub(super) left: Vec<Left>,
    pub(super) converted: Option<Converted>,
}

/// A document that changes.
#[derive(Clone)]
pub(super) struct Converted {
    /// What a scan asks of what it says now, without places.
    pub(super) root: Node<'static>,
    /// Bytes and lines by which its text has grown.
    pub(super) bytes: i64,
    pub(super) lines: i64,
}

impl Made {
    /// The same of a document that stands elsewhere, in a text of a name.
    pub(super) fn moved(mut self, shift: Shift, name: &Arc<str>) -> Self {
        for edit in &mut self.edits {
            edit.range = shift.byte(edit.range.start)..shift.byte(edit.range.end);
        }
        let places = self.changes.iter_mut().map(|change| &mut change.place);
        for place in places.chain(self.left.iter_mut().map(|left| &mut left.place)) {
            *place = Place { source: name.clone(), line: shift.line(place.line), column: place.column };
        }
        self
    }
}
