//! One document of a text as a tree, with the place of every part of it.

use std::ops::Range;

use super::{Tree, json, yaml};

pub(crate) use super::origins::{EntryAt, NodeAt, Notation, Origins, Style};

/// Reads the document in a part of a text. `None` where it has no content.
///
/// # Errors
/// In words, where it is none, or has something that cannot be told apart from something else once it has been changed.
pub(crate) fn read(
    text: &str,
    range: Range<usize>,
    notation: Notation,
) -> Result<Option<(Tree, Origins)>, String> {
    match notation {
        Notation::Json => json::read(text, range).map(Some),
        Notation::Yaml => yaml::read(text, range),
    }
}

/// Reads the YAML document in a part of a text, as the specification has it: nothing that only kubectl's reader takes.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_strictly(text: &str, range: Range<usize>) -> Result<Option<(Tree, Origins)>, String> {
    yaml::strict(text, range)
}
