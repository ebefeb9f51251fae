//! Where the values of a document stand in its text.

use std::ops::Range;

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
    pub(crate) says: String,
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

impl Origins {
    pub(super) fn new(notation: Notation) -> Self {
        Self { notation, nodes: Vec::new(), entries: Vec::new() }
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

    /// Whether a tree is what its node of the text says.
    pub(crate) fn is_unchanged(&self, tree: &Tree) -> bool {
        let Some(node) = tree.from.map(|from| &self.nodes[from]) else { return false };
        if node.style == Style::Alias {
            return true;
        }
        match &tree.what {
            What::Null | What::Bool(_) | What::Number(_) | What::Text(_) => {
                Tree::of(node.says.clone()).says(tree)
            }
            What::List(items) => {
                items.len() == node.items.len()
                    && items
                        .iter()
                        .zip(&node.items)
                        .all(|(item, from)| item.from == Some(*from) && self.is_unchanged(item))
            }
            What::Map(entries) => {
                let written: Vec<_> =
                    entries.iter().filter(|entry| entry.from != super::From::Merged).collect();
                let own: Vec<_> = node.entries.iter().filter(|index| !self.entries[**index].merge).collect();
                written.len() == own.len()
                    && written.iter().zip(own).all(|(entry, index)| {
                        entry.from == super::From::Text(*index)
                            && entry.key == self.entries[*index].says
                            && entry.value.from == Some(self.entries[*index].value)
                            && self.is_unchanged(&entry.value)
                    })
            }
        }
    }
}
