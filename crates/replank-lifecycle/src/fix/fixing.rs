//! Fixing a text, document by document.

use std::cell::Cell;
use std::sync::Arc;

use super::lay::Edit;
use super::lines;
use super::made::{Converted, Made};
use super::outcome::{Change, Fixed, Left};
use super::suspect::Suspects;
use crate::judge::Measure;
use crate::scan::Hint;
use crate::schema::Schema;
use crate::source::{Found, Place};
use crate::tree::{Notation, Origins};
use crate::{scan, source};

/// Fixes a text. `lets_be` says of which lines nothing is to be changed: those that somebody has made an exception for.
pub fn fix(
    measure: &Measure,
    schema: &Schema,
    name: &Arc<str>,
    text: &str,
    hint: &Hint,
    lets_be: &dyn Fn(u32) -> bool,
) -> Fixed {
    let mut fixing = Fixing::new(measure, schema, name, text, lets_be);
    let suspects = Suspects::new(measure);
    if scan::is_of_manifests(name, text, hint) {
        source::read_ahead(name, text, &|ahead| suspects.way(ahead), &mut |found, grown| {
            match found {
                Found::Document(document) => {
                    let made = fixing.document(&document, grown);
                    drop(fixing.take_in(made));
                }
                // The scan tells what cannot be read, and what is a template.
                Found::Unread(_) | Found::Template { .. } => {}
            }
        });
    }
    fixing.done()
}

/// The notation that a document is written in.
pub(super) fn notation_of(text: &str) -> Notation {
    if source::is_json(text) { Notation::Json } else { Notation::Yaml }
}

pub(super) struct Fixing<'f> {
    pub(super) measure: &'f Measure,
    pub(super) schema: &'f Schema,
    pub(super) name: &'f Arc<str>,
    pub(super) text: &'f str,
    /// A byte, and the line on which it is: lines are counted on from there.
    counted: Cell<(usize, usize)>,
    pub(super) lets_be: &'f dyn Fn(u32) -> bool,
    pub(super) edits: Vec<Edit>,
    pub(super) changes: Vec<Change>,
    pub(super) left: Vec<Left>,
}

impl<'f> Fixing<'f> {
    pub(super) fn new(
        measure: &'f Measure,
        schema: &'f Schema,
        name: &'f Arc<str>,
        text: &'f str,
        lets_be: &'f dyn Fn(u32) -> bool,
    ) -> Self {
        Self {
            measure,
            schema,
            name,
            text,
            counted: Cell::new((0, 1)),
            lets_be,
            edits: Vec::new(),
            changes: Vec::new(),
            left: Vec::new(),
        }
    }

    /// Takes in what has become of a document. What it says now, if it changes.
    pub(super) fn take_in(&mut self, made: Made) -> Option<Converted> {
        self.edits.extend(made.edits);
        self.changes.extend(made.changes);
        self.left.extend(made.left);
        made.converted
    }

    /// The text with all that was changed.
    pub(super) fn done(self) -> Fixed {
        let Self { text, edits, changes, left, .. } = self;
        let (text, hunks) = lines::edited(text, edits);
        Fixed { text, changes, left, hunks }
    }

    pub(super) fn place(&self, origins: &Origins, from: Option<usize>) -> Place {
        let at = from.map_or(0, |from| origins.nodes[from].range.start);
        let (from, line) = match self.counted.get() {
            (counted, line) if counted <= at => (counted, line),
            _ => (0, 1),
        };
        let line = line + lines::line_ends(&self.text[from..at]);
        self.counted.set((at, line));
        let line_start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let number = |of: usize| u32::try_from(of).unwrap_or(u32::MAX);
        Place {
            source: self.name.clone(),
            line: number(line),
            column: number(self.text[line_start..at].chars().count() + 1),
        }
    }
}
