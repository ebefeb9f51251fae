//! A changed tree laid onto the text that it was read from: of the text only what says something else now is written anew.
//!
//! What moved is cut out with its comments and put in at its new place; what is new is written in the hand of the document
//! (its indentation, its quotes). Block mappings are changed entry by entry ([`block`]), flow mappings and JSON are put together
//! again from their pieces ([`flow`]).

mod block;
mod flow;
mod grown;
mod hand;
mod write;

use std::ops::Range;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::tree::{From, NodeAt, Notation, OriginIndex, Origins, Style, Tree, What};
use hand::Hand;

/// Bytes of a text, and what takes their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

/// Why a change cannot be laid onto its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InTheWay(pub(crate) &'static str);

/// The edits that make a text say what a tree says that was read from it and changed since.
pub(crate) fn lay(text: &str, origins: &Origins, tree: &Tree) -> Result<Vec<Edit>, InTheWay> {
    let mut lay = Lay::new(text, origins);
    lay.node(tree)?;
    lay.edits.sort_by_key(|edit| edit.range.start);
    Ok(lay.edits)
}

/// A part of a text with its edits made. They are in order; those that reach beyond the part are none of it.
pub(crate) fn apply(text: &str, part: Range<usize>, edits: &[Edit]) -> String {
    let mut out = String::with_capacity(part.len());
    let mut at = part.start;
    for edit in edits.iter().filter(|edit| edit.range.start >= part.start && edit.range.end <= part.end) {
        if edit.range.start > at {
            out.push_str(&text[at..edit.range.start]);
        }
        out.push_str(&edit.text);
        at = at.max(edit.range.end);
    }
    out.push_str(&text[at.min(part.end)..part.end]);
    out
}

struct Lay<'t> {
    text: &'t str,
    origins: &'t Origins,
    known: Rc<Known>,
    edits: Vec<Edit>,
}

/// What is known of the whole document.
struct Known {
    hand: Hand,
    /// The entry that has a node for its value.
    holders: FxHashMap<OriginIndex, OriginIndex>,
    /// Entries of flow mappings.
    in_flow: Vec<bool>,
}

impl<'t> Lay<'t> {
    fn new(text: &'t str, origins: &'t Origins) -> Self {
        let mut in_flow = vec![false; origins.entries.len()];
        for node in origins.nodes.iter().filter(|node| node.style == Style::FlowMap) {
            node.entries.iter().for_each(|entry| in_flow[*entry] = true);
        }
        let holders = origins.entries.iter().enumerate().map(|(index, entry)| (entry.value, index)).collect();
        let known = Rc::new(Known { hand: Hand::of(text, origins), holders, in_flow });
        Self { text, origins, known, edits: Vec::new() }
    }

    /// A part of the text with the edits of a node in it made, and no others.
    fn with_edits(&self, tree: &Tree, part: Range<usize>) -> Result<String, InTheWay> {
        let mut within =
            Lay { text: self.text, origins: self.origins, known: Rc::clone(&self.known), edits: Vec::new() };
        within.node(tree)?;
        within.edits.sort_by_key(|edit| edit.range.start);
        Ok(apply(self.text, part, &within.edits))
    }

    fn hand(&self) -> &Hand {
        &self.known.hand
    }

    fn is_in_flow(&self, entry: OriginIndex) -> bool {
        self.known.in_flow[entry]
    }

    fn edit(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.edits.push(Edit { range, text: text.into() });
    }

    fn is_json(&self) -> bool {
        self.origins.notation == Notation::Json
    }

    /// The byte at which the line of a byte begins: behind a byte order mark, which is no column.
    fn line_start(&self, at: usize) -> usize {
        let mark = if self.text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        self.text[..at].rfind('\n').map_or(mark.min(at), |newline| newline + 1)
    }

    /// The byte at which the line behind that of a byte begins, or the end of the text.
    fn next_line(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline + 1)
    }

    /// The byte behind a line's last one, without its end.
    fn line_end(&self, at: usize) -> usize {
        let end = self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline);
        if self.text[at..end].ends_with('\r') { end - 1 } else { end }
    }

    /// Bytes between the start of its line and a byte.
    fn column(&self, at: usize) -> usize {
        at - self.line_start(at)
    }

    /// Blanks at the start of the line of a byte.
    fn indentation(&self, at: usize) -> usize {
        let start = self.line_start(at);
        self.text[start..].len() - self.text[start..].trim_start_matches([' ', '\t']).len()
    }

    fn at(&self, tree: &Tree) -> Option<&'t NodeAt> {
        let origins: &'t Origins = self.origins;
        tree.from.map(|from| &origins.nodes[from])
    }

    /// The edits of a node that stands where it stood.
    fn node(&mut self, tree: &Tree) -> Result<(), InTheWay> {
        if self.origins.is_unchanged(tree) {
            return Ok(());
        }
        let Some(node) = self.at(tree) else { return Err(InTheWay("a value has no place")) };
        match node.style {
            // What it repeats is changed where it stands; whether that says what it has to is seen at the end.
            Style::Alias => Ok(()),
            Style::Plain | Style::SingleQuoted | Style::DoubleQuoted => {
                let text = self.scalar(&tree.what, node.style)?;
                self.edit(node.range.clone(), text);
                Ok(())
            }
            Style::BlockText => Err(InTheWay("a block of text has to change")),
            Style::BlockMap => self.block_map(node, tree),
            Style::FlowMap if self.has_same_entries(node, tree) => {
                tree.entries().iter().filter(|entry| entry.from != From::Merged).try_for_each(|entry| {
                    let From::Text(index) = entry.from else { return Ok(()) };
                    self.kept(index, entry)
                })
            }
            Style::BlockList | Style::FlowList if has_same_items(node, tree) => {
                tree.items().iter().try_for_each(|item| self.node(item))
            }
            Style::BlockList | Style::FlowList if has_same_items_first(node, tree) => self.grown(node, tree),
            Style::BlockList => Err(InTheWay("a list has to get longer or shorter")),
            Style::FlowMap | Style::FlowList => {
                let text = self.flow(tree, None)?;
                self.edit(node.range.clone(), text);
                Ok(())
            }
        }
    }

    /// Whether a mapping has the entries that are written, with their values; the keys may differ.
    fn has_same_entries(&self, node: &NodeAt, tree: &Tree) -> bool {
        let own = tree.entries().iter().filter(|entry| entry.from != From::Merged);
        let written = node.entries.iter().filter(|index| !self.origins.entries[**index].merge);
        own.clone().count() == written.clone().count()
            && own.zip(written).all(|(entry, index)| {
                entry.from == From::Text(*index)
                    && entry.value.from == Some(self.origins.entries[*index].value)
            })
    }

    /// The edits of an entry that stands where it stood: its key, and its value.
    fn kept(&mut self, index: OriginIndex, entry: &crate::tree::Entry) -> Result<(), InTheWay> {
        let at = &self.origins.entries[index];
        if entry.key != at.says {
            let text = self.key(&entry.key, at.key_style);
            self.edit(at.key.clone(), text);
        }
        if self.stands(index, &entry.value) {
            return self.node(&entry.value);
        }
        let column = self.column(at.key.start);
        let text = if self.is_in_flow(index) {
            format!(" {}", self.flow(&entry.value, None)?)
        } else {
            self.value(&entry.value, column)?
        };
        self.edit(at.colon..at.end, text);
        Ok(())
    }

    /// Whether the value of an entry can be changed where it stands.
    fn stands(&self, index: OriginIndex, value: &Tree) -> bool {
        let at = &self.origins.entries[index];
        if value.from != Some(at.value) {
            return false;
        }
        let node = &self.origins.nodes[at.value];
        // Nothing is written there, or it is a block of text: the whole of it is written anew.
        let rewritten = node.style == Style::BlockText || node.range.is_empty();
        !rewritten || self.origins.is_unchanged(value)
    }
}

/// Whether a list has the items that are written, and others behind them.
fn has_same_items_first(node: &NodeAt, tree: &Tree) -> bool {
    let What::List(items) = &tree.what else { return false };
    let (old, new) = items.split_at(node.items.len().min(items.len()));
    !node.items.is_empty()
        && old.len() == node.items.len()
        && old.iter().zip(&node.items).all(|(item, from)| item.from == Some(*from))
        && new.iter().all(|item| item.from.is_none())
}

fn has_same_items(node: &NodeAt, tree: &Tree) -> bool {
    let What::List(items) = &tree.what else { return false };
    items.len() == node.items.len()
        && items.iter().zip(&node.items).all(|(item, from)| item.from == Some(*from))
}
