//! Where the values of a document stand in its text.

use std::ops::Range;
use std::sync::Arc;

use super::{OriginIndex, Tree, What};

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    Yaml,
    Json,
}

/// How a node is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    /// `|` or `>`.
    BlockText,
    FlowList,
    FlowMap,
    BlockList,
    BlockMap,
    /// `*name`.
    Alias,
}

/// A node's place.
#[derive(Clone, Debug)]
pub(crate) struct NodeAt {
    /// Its bytes. Of a block, from its first entry to the end of its last, without the line's end; of anything with an
    /// anchor or a tag, without these.
    pub(crate) range: Range<usize>,
    pub(crate) style: Style,
    /// What a scalar says; `Null` of anything else.
    pub(crate) says: What,
    /// The entries of a mapping as they are written, `<<` among them; empty of anything else.
    pub(crate) entries: Vec<OriginIndex>,
    /// The items of a list; empty of anything else.
    pub(crate) items: Vec<OriginIndex>,
}

/// An entry's place.
#[derive(Clone, Debug)]
pub(crate) struct EntryAt {
    /// The bytes of its key, with quotes.
    pub(crate) key: Range<usize>,
    pub(crate) key_style: Style,
    /// What the key says.
    pub(crate) says: Arc<str>,
    /// The byte behind its colon.
    pub(crate) colon: usize,
    /// Where it ends: with its value, or with its colon.
    pub(crate) end: usize,
    pub(crate) value: OriginIndex,
    /// `<<`.
    pub(crate) merge: bool,
}

/// The places of all parts of a document.
#[derive(Clone, Debug)]
pub(crate) struct Origins {
    pub(crate) notation: Notation,
    pub(crate) nodes: Vec<NodeAt>,
    pub(crate) entries: Vec<EntryAt>,
}

/// About how many bytes of a manifest are one node: with room for them, what is known of them is not copied as it grows.
const BYTES_OF_NODE: usize = 32;

impl Origins {
    pub(super) fn new(notation: Notation) -> Self {
        Self { notation, nodes: Vec::new(), entries: Vec::new() }
    }

    /// The same for a text of so many bytes.
    pub(super) fn with_room(notation: Notation, bytes: usize) -> Self {
        let nodes = Vec::with_capacity(bytes / BYTES_OF_NODE);
        Self { notation, nodes, entries: Vec::with_capacity(bytes / BYTES_OF_NODE) }
    }

    /// Tells of every place where it stands in another text.
    pub(super) fn move_to(&mut self, to: &dyn Fn(usize) -> usize) {
        let range = |range: &Range<usize>| to(range.start)..to(range.end);
        for node in &mut self.nodes {
            node.range = range(&node.range);
        }
        for entry in &mut self.entries {
            entry.key = range(&entry.key);
            (entry.colon, entry.end) = (to(entry.colon), to(entry.end));
        }
    }

    pub(super) fn node(&mut self, range: Range<usize>, style: Style, says: What) -> OriginIndex {
        self.nodes.push(NodeAt { range, style, says, entries: Vec::new(), items: Vec::new() });
        self.nodes.len() - 1
    }

    pub(super) fn entry(&mut self, entry: EntryAt) -> OriginIndex {
        self.entries.push(entry);
        self.entries.len() - 1
    }

    /// Whether a scalar is what its node of the text says; whether a list or a mapping has the items or the keys of its node, each with the value
    /// that was written for it, whatever has become of that.
    pub(crate) fn is_in_place(&self, tree: &Tree) -> bool {
        let Some(node) = tree.from.map(|from| &self.nodes[from]) else { return false };
        match &tree.what {
            What::Null | What::Bool(_) | What::Number(_) | What::Text(_) => {
                node.says.is_same_scalar(&tree.what)
            }
            What::List(items) => {
                items.len() == node.items.len()
                    && items.iter().zip(&node.items).all(|(item, from)| item.from == Some(*from))
            }
            What::Map(entries) => {
                let mut own = node.entries.iter().filter(|index| !self.entries[**index].merge);
                let written = entries.iter().filter(|entry| entry.from != super::From::Merged);
                let all_there = written.into_iter().all(|entry| {
                    own.next().is_some_and(|index| {
                        entry.from == super::From::Text(*index)
                            && entry.key == self.entries[*index].says
                            && entry.value.from == Some(self.entries[*index].value)
                    })
                });
                all_there && own.next().is_none()
            }
        }
    }
}
