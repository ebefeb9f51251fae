//! Edits of a text, and what stands in their way.

use std::ops::Range;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::hand::Hand;
use crate::tree::{From, NodeAt, Notation, OriginIndex, Origins, Style, Tree, What};

/// Bytes of a text, and what takes their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

/// Why a change cannot be laid onto its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InTheWay(pub(crate) &'static str);

pub(super) struct Lay<'t> {
    pub(super) text: &'t str,
    pub(super) origins: &'t Origins,
    pub(super) known: Rc<Known>,
    pub(super) edits: Vec<Edit>,
}

/// What is known of the whole document.
pub(super) struct Known {
    pub(super) hand: Hand,
    /// The entry that has a node for its value.
    pub(super) holders: FxHashMap<OriginIndex, OriginIndex>,
    /// Entries of flow mappings.
    pub(super) in_flow: Vec<bool>,
    /// Nodes of which the tree that is laid says what they say.
    pub(super) unchanged: Vec<bool>,
}

impl<'t> Lay<'t> {
    pub(super) fn new(text: &'t str, origins: &'t Origins, tree: &Tree) -> Self {
        let mut in_flow = vec![false; origins.entries.len()];
        for node in origins.nodes.iter().filter(|node| node.style == Style::FlowMap) {
            node.entries.iter().for_each(|entry| in_flow[*entry] = true);
        }
        let holders = origins.entries.iter().enumerate().map(|(index, entry)| (entry.value, index)).collect();
        let mut unchanged = vec![false; origins.nodes.len()];
        note_unchanged(origins, tree, &mut unchanged);
        let known = Rc::new(Known { hand: Hand::of(text, origins), holders, in_flow, unchanged });
        Self { text, origins, known, edits: Vec::new() }
    }

    /// Whether a part of the tree is what its node says.
    pub(super) fn is_unchanged(&self, tree: &Tree) -> bool {
        tree.from.is_some_and(|from| self.known.unchanged[from])
    }

    pub(super) fn hand(&self) -> &Hand {
        &self.known.hand
    }

    pub(super) fn is_in_flow(&self, entry: OriginIndex) -> bool {
        self.known.in_flow[entry]
    }

    pub(super) fn edit(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.edits.push(Edit { range, text: text.into() });
    }

    pub(super) fn is_json(&self) -> bool {
        self.origins.notation == Notation::Json
    }

    /// The byte at which the line of a byte begins: after a byte order mark, which has no column.
    pub(super) fn line_start(&self, at: usize) -> usize {
        let mark = if self.text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        self.text[..at].rfind('\n').map_or(mark.min(at), |newline| newline + 1)
    }

    /// The byte at which the line behind that of a byte begins, or the end of the text.
    pub(super) fn next_line(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline + 1)
    }

    /// The byte behind a line's last one, without its end.
    pub(super) fn line_end(&self, at: usize) -> usize {
        let end = self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline);
        if self.text[at..end].ends_with('\r') { end - 1 } else { end }
    }

    /// Bytes between the start of its line and a byte.
    pub(super) fn column(&self, at: usize) -> usize {
        at - self.line_start(at)
    }

    /// Blanks at the start of the line of a byte.
    pub(super) fn indentation(&self, at: usize) -> usize {
        let start = self.line_start(at);
        self.text[start..].len() - self.text[start..].trim_start_matches([' ', '\t']).len()
    }

    pub(super) fn at(&self, tree: &Tree) -> Option<&'t NodeAt> {
        let origins: &'t Origins = self.origins;
        tree.from.map(|from| &origins.nodes[from])
    }

    /// Whether a mapping has the entries that are written, with their values; the keys may differ.
    pub(super) fn has_same_entries(&self, node: &NodeAt, tree: &Tree) -> bool {
        let own = tree.entries().iter().filter(|entry| entry.from != From::Merged);
        let written = node.entries.iter().filter(|index| !self.origins.entries[**index].merge);
        own.clone().count() == written.clone().count()
            && own.zip(written).all(|(entry, index)| {
                entry.from == From::Text(*index)
                    && entry.value.from == Some(self.origins.entries[*index].value)
            })
    }

    /// Whether the value of an entry can be changed where it stands.
    pub(super) fn stands(&self, index: OriginIndex, value: &Tree) -> bool {
        let at = &self.origins.entries[index];
        if value.from != Some(at.value) {
            return false;
        }
        let node = &self.origins.nodes[at.value];
        // Nothing is written there, or it is a block of text: the whole of it is written anew.
        let rewritten = node.style == Style::BlockText || node.range.is_empty();
        !rewritten || self.is_unchanged(value)
    }
}

/// Asks once of every node, those within first.
fn note_unchanged(origins: &Origins, tree: &Tree, all: &mut [bool]) -> bool {
    let is_alias = tree.from.is_some_and(|from| origins.nodes[from].style == Style::Alias);
    // None is left out: each is asked for later.
    let mut within = true;
    for value in tree.values() {
        within &= note_unchanged(origins, value, all);
    }
    let unchanged = is_alias || (within && origins.is_in_place(tree));
    if let Some(from) = tree.from {
        all[from] = unchanged;
    }
    unchanged
}

pub(super) fn has_same_items(node: &NodeAt, tree: &Tree) -> bool {
    let What::List(items) = &tree.what else { return false };
    items.len() == node.items.len()
        && items.iter().zip(&node.items).all(|(item, from)| item.from == Some(*from))
}
