//! Lines that say after a change what they said before it.
//!
//! Lines of a block collection that are the same as before but for their indentation, and behind which nothing stands further in, say the same as
//! before, wherever they are: in block notation a node depends on the indentation of its parent alone. Nor does a line with an entry of its own
//! change what the others say, if it comes right behind an entry of its mapping that is one line: that line ended its entry before, and so it does now.

use std::ops::Range;

use crate::tree::{Entry, From, NodeAt, OriginIndex, Origins, Style, Tree, What};

/// Bytes from which on a block is worth being looked for.
const BLOCK_BYTES_MIN: usize = 120;

/// A collection that has not changed but for entries of one line, and its lines.
pub(super) struct Block<'t> {
    pub(super) node: OriginIndex,
    lines: &'t str,
    column: usize,
    inserted: Vec<Inserted>,
}

/// An entry that comes as a line of its own.
#[derive(Clone, Debug)]
struct Inserted {
    /// The byte before which it comes, at the beginning of a line.
    at: usize,
    column: usize,
    says: String,
}

/// The outermost blocks that have not changed but for entries of one line, in order.
pub(super) fn blocks<'t>(text: &'t str, origins: &Origins, tree: &Tree) -> Vec<Block<'t>> {
    let mut notes = Notes { text, origins, same: vec![None; origins.nodes.len()], inserted: Vec::new() };
    notes.note(tree);
    let mut all = Vec::new();
    notes.gather(tree, false, &mut all);
    all
}

/// What is known of each node.
struct Notes<'n, 't> {
    text: &'t str,
    origins: &'n Origins,
    /// Of a node that says what it said, but for entries of one line, which of these are within it.
    same: Vec<Option<Range<usize>>>,
    /// What has come within a node that is the same is in the order of the text.
    inserted: Vec<Inserted>,
}

impl<'t> Notes<'_, 't> {
    /// Asks once of every node, those within first.
    fn note(&mut self, tree: &Tree) -> bool {
        let first = self.inserted.len();
        let is_same = self.is_same(tree);
        if let Some(from) = tree.from.filter(|_| is_same) {
            self.same[from] = Some(first..self.inserted.len());
        }
        is_same
    }

    fn is_same(&mut self, tree: &Tree) -> bool {
        let mut is_same = match &tree.what {
            What::Map(entries) if entries.iter().any(|entry| entry.from == From::Nowhere) => {
                return self.is_same_but_grown(tree, entries);
            }
            What::Map(_) | What::List(_) | What::Null | What::Bool(_) | What::Number(_) | What::Text(_) => {
                self.origins.is_in_place(tree)
            }
        };
        for value in tree.values() {
            is_same &= self.note(value);
        }
        is_same
    }

    /// A mapping that has entries which nobody has written.
    fn is_same_but_grown(&mut self, tree: &Tree, entries: &[Entry]) -> bool {
        let node = tree.from.map(|from| &self.origins.nodes[from]);
        let mut is_same = node.is_some_and(|node| {
            let mut own = node.entries.iter();
            let written = entries.iter().filter(|entry| entry.from != From::Nowhere);
            let all_there = written.into_iter().all(|entry| {
                own.next().is_some_and(|index| {
                    entry.from == From::Text(*index)
                        && entry.key == self.origins.entries[*index].says
                        && entry.value.from == Some(self.origins.entries[*index].value)
                })
            });
            node.style == Style::BlockMap && all_there && own.next().is_none()
        });
        let mut before = None;
        for entry in entries {
            if entry.from == From::Nowhere {
                let inserted = before.and_then(|index| self.inserted(index, entry));
                is_same &= inserted.is_some();
                self.inserted.extend(inserted);
                before = None;
            } else {
                is_same &= self.note(&entry.value);
                before = match entry.from {
                    From::Text(index) => Some(index),
                    From::Nowhere | From::Merged => None,
                };
            }
        }
        is_same
    }

    /// An entry that comes as one line behind another entry of one line.
    fn inserted(&self, behind: OriginIndex, entry: &Entry) -> Option<Inserted> {
        let What::Bool(value) = entry.value.what else { return None };
        let is_plain = |key: &str| {
            key.starts_with(|char: char| char.is_ascii_alphabetic())
                && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let before = &self.origins.entries[behind];
        let start = self.text[..before.key.start].rfind('\n').map_or(0, |newline| newline + 1);
        let end = before.end + self.text[before.end..].find('\n')? + 1;
        let is_one_line = !self.text[before.key.start..before.end].contains('\n')
            && self.text[start..before.key.start].bytes().all(|byte| matches!(byte, b' ' | b'-'))
            && before.key_style == Style::Plain
            && matches!(
                self.origins.nodes[before.value].style,
                Style::Plain | Style::SingleQuoted | Style::DoubleQuoted
            )
            && !self.origins.nodes[before.value].range.is_empty()
            && !self.text[before.end..end].contains('\r');
        (is_one_line && is_plain(&entry.key)).then(|| Inserted {
            at: end,
            column: before.key.start - start,
            says: format!("{}: {value}\n", entry.key),
        })
    }

    fn gather(&self, tree: &Tree, is_value: bool, all: &mut Vec<Block<'t>>) {
        if is_value
            && let Some(node) = tree.from
            && let Some(within) = self.same[node].clone()
            && let Some((start, lines, column)) = lines_of(self.text, &self.origins.nodes[node])
        {
            let inserted = self.inserted[within].iter();
            let inserted = inserted.map(|of| Inserted { at: of.at - start, ..of.clone() }).collect();
            return all.push(Block { node, lines, column, inserted });
        }
        let of_map = tree.is_map();
        tree.values().for_each(|value| self.gather(value, of_map, all));
    }
}

/// The lines of a block collection and where they begin, if it has them for itself and nothing in them depends on what stands around; and its column.
fn lines_of<'t>(text: &'t str, node: &NodeAt) -> Option<(usize, &'t str, usize)> {
    let is_block = matches!(node.style, Style::BlockList | Style::BlockMap);
    if !is_block || node.range.len() < BLOCK_BYTES_MIN {
        return None;
    }
    let start = text[..node.range.start].rfind('\n')? + 1;
    let column = node.range.start - start;
    let end = node.range.end + text[node.range.end..].find('\n')? + 1;
    let lines = &text[start..end];
    let is_indented = |line: &str| match line.find(|char: char| char != ' ') {
        // A comment further out, or text in quotes.
        Some(blanks) => {
            (blanks >= column && !line[blanks..].starts_with('\t')) || (blanks == 0 && line == "\r")
        }
        None => line.is_empty(),
    };
    (lines.lines().all(is_indented) && !keeps_line_ends(lines)).then_some((start, lines, column))
}

/// Whether a block of text may be in it of which the blank lines behind it are a part: `|+`.
fn keeps_line_ends(lines: &str) -> bool {
    lines.match_indices(['|', '>']).any(|(at, _)| {
        let rest = lines[at + 1..].trim_start_matches(|char: char| char.is_ascii_digit());
        rest.starts_with('+')
    })
}

/// A block where it stands.
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) indentation: usize,
}

/// Looks for a block behind a byte of a text, with what has come within it, each line as far in or out as the first.
pub(super) fn find(text: &str, from: usize, block: &Block<'_>) -> Option<Found> {
    let first = block.lines[block.column..].lines().next()?;
    let mut at = from;
    loop {
        let found = at + text[at..].find(first)?;
        let start = text[..found].rfind('\n').map_or(0, |newline| newline + 1);
        let indentation = found - start;
        if start >= from
            && text[start..found].bytes().all(|byte| byte == b' ')
            && let Some(end) = block.end_at(text, start, indentation)
            && ends(&text[end..], indentation)
        {
            return Some(Found { start, end, indentation });
        }
        at = found + first.len().max(1);
    }
}

impl Block<'_> {
    /// Where it ends if it stands at a byte of a text with another indentation.
    fn end_at(&self, text: &str, start: usize, indentation: usize) -> Option<usize> {
        let (mut at, mut done) = (start, 0);
        for Inserted { at: before, column, says } in &self.inserted {
            at = same_lines(text, at, &self.lines[done..*before], self.column, indentation)?;
            done = *before;
            let blanks = (column + indentation).checked_sub(self.column)?;
            let line = &text.as_bytes()[at..];
            if line.len() < blanks || line[..blanks].iter().any(|byte| *byte != b' ') {
                return None;
            }
            at += blanks;
            if !text.as_bytes()[at..].starts_with(says.as_bytes()) {
                return None;
            }
            at += says.len();
        }
        same_lines(text, at, &self.lines[done..], self.column, indentation)
    }
}

/// The end of lines that stand at a byte of a text with another indentation.
fn same_lines(text: &str, start: usize, lines: &str, column: usize, indentation: usize) -> Option<usize> {
    if column == indentation {
        return text.as_bytes()[start..].starts_with(lines.as_bytes()).then(|| start + lines.len());
    }
    let mut at = start;
    for line in lines.split_inclusive('\n') {
        let rest = &text.as_bytes()[at..];
        let content = match line.as_bytes() {
            b"\n" | b"\r\n" => line,
            _ => {
                if rest.len() < indentation || rest[..indentation].iter().any(|byte| *byte != b' ') {
                    return None;
                }
                at += indentation;
                &line[column..]
            }
        };
        if !text.as_bytes()[at..].starts_with(content.as_bytes()) {
            return None;
        }
        at += content.len();
    }
    Some(at)
}

/// Whether what comes behind a block cannot belong to it: the next line with something on it stands no further in.
fn ends(rest: &str, indentation: usize) -> bool {
    for line in rest.lines() {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        if !line.trim().is_empty() {
            return blanks <= indentation;
        }
        if !line.trim_end_matches('\r').is_empty() {
            return false;
        }
    }
    true
}
