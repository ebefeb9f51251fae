//! A changed tree laid onto the text that it was read from: of the text only what says something else now is written anew.
//!
//! What moved is cut out with its comments and put in at its new place; what is new is written in the hand of the document
//! (its indentation, its quotes). Block mappings are changed entry by entry ([`block`]), flow mappings and JSON are put together
//! again from their pieces ([`flow`]).

mod block;
mod edit;
mod flow;
mod grown;
mod hand;
mod write;

use std::ops::Range;
use std::rc::Rc;

use crate::tree::{From, NodeAt, OriginIndex, Origins, Style, Tree, What};

pub(crate) use edit::{Edit, InTheWay};
use edit::{Lay, has_same_items};

/// The edits that make a text say what a tree says that was read from it and changed since.
pub(crate) fn lay(text: &str, origins: &Origins, tree: &Tree) -> Result<Vec<Edit>, InTheWay> {
    let mut lay = Lay::new(text, origins, tree);
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

impl<'t> Lay<'t> {
    /// A part of the text with the edits of a node in it made, and no others.
    fn with_edits(&self, tree: &Tree, part: Range<usize>) -> Result<String, InTheWay> {
        let mut within =
            Lay { text: self.text, origins: self.origins, known: Rc::clone(&self.known), edits: Vec::new() };
        within.node(tree)?;
        within.edits.sort_by_key(|edit| edit.range.start);
        Ok(apply(self.text, part, &within.edits))
    }

    /// The edits of a node that stands where it stood.
    fn node(&mut self, tree: &Tree) -> Result<(), InTheWay> {
        if self.is_unchanged(tree) {
            return Ok(());
        }
        let Some(node) = self.at(tree) else { return Err(InTheWay("a value has no position in the text")) };
        match node.style {
            // What it repeats is changed where it stands; whether that says what it has to is seen at the end.
            Style::Alias => Ok(()),
            Style::Plain | Style::SingleQuoted | Style::DoubleQuoted => {
                let text = self.scalar(&tree.what, node.style)?;
                self.edit(node.range.clone(), text);
                Ok(())
            }
            Style::BlockText => Err(InTheWay("a block scalar would change")),
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
            Style::BlockList => Err(InTheWay("a list would grow or shrink")),
            Style::FlowMap | Style::FlowList => {
                let text = self.flow(tree, None)?;
                self.edit(node.range.clone(), text);
                Ok(())
            }
        }
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
