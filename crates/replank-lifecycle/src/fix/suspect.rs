//! Which documents are worth a tree before it is known what is in them.

use std::collections::BTreeSet;

use crate::judge::Measure;
use crate::source::{Ahead, Way};

/// Versions by which a document is suspected. It decides only how often a document is parsed: once where the suspicion is right, and
/// where a document has to be changed that nobody suspected, twice.
pub(super) struct Suspects {
    versions: BTreeSet<String>,
}

/// Bytes at the beginning of a document in which its version mostly stands.
const HEAD_BYTES: usize = 4096;

impl Suspects {
    pub(super) fn new(measure: &Measure) -> Self {
        Self { versions: measure.old_versions() }
    }

    /// How a document is read: as a tree, if one of the versions stands near its beginning.
    pub(super) fn way(&self, ahead: &Ahead<'_>) -> Way {
        if self.suspects(ahead.content) { Way::Grow } else { Way::Scan }
    }

    /// Whether one of the versions stands near the beginning of a document.
    pub(super) fn suspects(&self, document: &str) -> bool {
        let head = &document[..document.floor_char_boundary(HEAD_BYTES)];
        head.match_indices("apiVersion").any(|(at, key)| {
            let rest = head[at + key.len()..].trim_start_matches(['"', '\'', ' ', ':', '\t']);
            let end =
                rest.find(|char: char| !(char.is_ascii_alphanumeric() || matches!(char, '.' | '/' | '-')));
            self.versions.contains(&rest[..end.unwrap_or(rest.len())])
        })
    }
}
