//! Documents that were fixed a moment ago. What is shipped with every version of a product stands in many files, word for word: it is read, converted
//! and checked once.
//!
//! What becomes of a document follows from the document alone; where it stands moves the places. Files that have the same mostly lie near each other,
//! so that few documents are enough.

use std::collections::VecDeque;
use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxBuildHasher;

use super::made::Made;
use crate::source::{Document, Node};

/// Bytes of the texts and edits that are remembered.
const BYTES_MAX: usize = 4 << 20;

/// What became of the latest documents.
#[derive(Default)]
pub(super) struct Remembered {
    latest: Mutex<Latest>,
}

#[derive(Default)]
struct Latest {
    /// The latest last.
    all: VecDeque<Arc<Known>>,
    bytes: usize,
}

/// A document, and what became of it.
pub(super) struct Known {
    hash: u64,
    text: Box<str>,
    /// Its first byte and its first line where it was met.
    start: usize,
    line: u32,
    root: Node<'static>,
    made: Made,
}

/// How far a document stands from where the same was met before.
#[derive(Clone, Copy)]
pub(super) struct Shift {
    bytes: isize,
    lines: i64,
}

impl Remembered {
    /// A document that is the same, word for word.
    pub(super) fn known(&self, text: &str) -> Option<Arc<Known>> {
        let hash = FxBuildHasher.hash_one(text);
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let at = latest.all.iter().rposition(|known| known.hash == hash && *known.text == *text)?;
        let known = latest.all.remove(at)?;
        latest.all.push_back(Arc::clone(&known));
        Some(known)
    }

    /// Remembers what became of a document.
    pub(super) fn remember(&self, text: &str, document: &Document<'_>, made: &Made) {
        let known = Known {
            hash: FxBuildHasher.hash_one(text),
            text: text.into(),
            start: document.range.start,
            line: document.line,
            root: document.root.clone().moved(&|at| at, &|line| line),
            made: made.clone(),
        };
        if known.bytes() > BYTES_MAX / 2 {
            return;
        }
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.bytes += known.bytes();
        latest.all.push_back(Arc::new(known));
        while latest.bytes > BYTES_MAX {
            let Some(oldest) = latest.all.pop_front() else { break };
            latest.bytes -= oldest.bytes();
        }
    }
}

impl Known {
    fn bytes(&self) -> usize {
        self.text.len() + self.made.edits.iter().map(|edit| edit.text.len()).sum::<usize>()
    }

    fn shift(&self, start: usize, line: u32) -> Shift {
        Shift { bytes: start as isize - self.start as isize, lines: i64::from(line) - i64::from(self.line) }
    }

    /// What a scan asks of it, where it begins at a byte and on a line.
    pub(super) fn root(&self, start: usize, line: u32) -> Node<'static> {
        let shift = self.shift(start, line);
        self.root.clone().moved(&|at| shift.byte(at), &|line| shift.line(line))
    }

    /// What becomes of it there, in a text of a name.
    pub(super) fn made(&self, document: &Document<'_>, name: &Arc<str>) -> Made {
        self.made.clone().moved(self.shift(document.range.start, document.line), name)
    }
}

impl Shift {
    pub(super) fn byte(self, at: usize) -> usize {
        at.saturating_add_signed(self.bytes)
    }

    pub(super) fn line(self, line: u32) -> u32 {
        u32::try_from(i64::from(line) + self.lines).unwrap_or(u32::MAX)
    }
}
