//! Whether a text that was written says what it has to: it is read again, and compared.
//!
//! Mostly a large part of it was only moved. Lines of a block collection that are the same as before but for their indentation, and behind which
//! nothing stands further in, say the same as before, wherever they are: in block notation a node depends on the indentation of its parent alone. In
//! their place a single key is read, so that the whole document is not parsed a second time. Where anything is unusual all of it is read.

use rustc_hash::FxHashMap;

use crate::tree::{self, NodeAt, Notation, OriginIndex, Origins, Style, Tree, What};

/// Levels up to which nothing can be nested too deeply for a parser, with those that a conversion adds.
const DEPTH_MAX: usize = 80;
/// Bytes from which on a block is worth being looked for.
const BLOCK_BYTES_MIN: usize = 120;
/// The key that stands for a block, with its number.
const STAND_IN: &str = "replank-block-";

/// Whether a document that was written says what a tree says, which was made from another text.
///
/// # Errors
/// In words, why it does not.
pub(super) fn holds(before: &str, origins: &Origins, tree: &Tree, written: &str) -> Result<(), String> {
    if let Some(short) = shortened(before, origins, tree, written)
        && let Ok(Some((again, _))) = tree::read_strictly(&short.text, 0..short.text.len())
        && short.says(tree, &again)
    {
        return Ok(());
    }
    match tree::read(written, 0..written.len(), origins.notation) {
        Ok(Some((again, _))) if again.says(tree) => Ok(()),
        Ok(_) => Err("an anchor, an alias or `<<` is where the change would be".to_owned()),
        Err(why) => Err(why),
    }
}

/// A document with stand-ins for the blocks of nodes.
struct Shortened {
    text: String,
    blocks: FxHashMap<OriginIndex, usize>,
}

/// A document without the blocks that are in it as they were. `None` where that is not sure, or not worth it.
fn shortened(before: &str, origins: &Origins, tree: &Tree, written: &str) -> Option<Shortened> {
    let repeats = origins.nodes.iter().any(|node| node.style == Style::Alias)
        || origins.entries.iter().any(|entry| entry.merge);
    if origins.notation == Notation::Json || repeats || depth(tree) > DEPTH_MAX {
        return None;
    }
    let mut blocks = Vec::new();
    gather(before, origins, tree, false, &mut blocks);
    let mut short = Shortened { text: String::new(), blocks: FxHashMap::default() };
    let mut at = 0;
    for Block { node, lines, column } in blocks {
        let Some(Found { start, end, indentation }) = find(written, at, lines, column) else { continue };
        let number = short.blocks.len();
        let dash = if origins.nodes[node].style == Style::BlockList { "- " } else { "" };
        let colon = if dash.is_empty() { ":" } else { "" };
        short.text.push_str(&written[at..start]);
        short.text.push_str(&format!("{}{dash}{STAND_IN}{number}{colon}\n", " ".repeat(indentation)));
        short.blocks.insert(node, number);
        at = end;
    }
    short.text.push_str(&written[at..]);
    (short.text.len() < written.len() / 4 * 3).then_some(short)
}

impl Shortened {
    /// Whether the text, as it was read, says what a tree says.
    fn says(&self, tree: &Tree, again: &Tree) -> bool {
        if let Some(number) = tree.from.and_then(|from| self.blocks.get(&from)) {
            let name = format!("{STAND_IN}{number}");
            return match &again.what {
                What::List(items) => items.len() == 1 && items[0].as_text() == Some(&name),
                What::Map(entries) => {
                    entries.len() == 1 && entries[0].key == name && entries[0].value.is_null()
                }
                What::Null | What::Bool(_) | What::Number(_) | What::Text(_) => false,
            };
        }
        match (&tree.what, &again.what) {
            (What::List(a), What::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.says(a, b))
            }
            (What::Map(a), What::Map(b)) => {
                a.len() == b.len()
                    && a.iter().all(|entry| {
                        let found = b.iter().find(|of| of.key == entry.key);
                        found.is_some_and(|found| self.says(&entry.value, &found.value))
                    })
            }
            (a, b) => a.is_same_scalar(b),
        }
    }
}

fn depth(tree: &Tree) -> usize {
    1 + tree.values().map(depth).max().unwrap_or(0)
}

/// A collection that has not changed, and its lines.
struct Block<'t> {
    node: OriginIndex,
    lines: &'t str,
    column: usize,
}

/// Gathers the outermost blocks that have not changed, in order. Whether the tree itself has not.
fn gather<'t>(
    text: &'t str,
    origins: &Origins,
    tree: &Tree,
    is_value: bool,
    all: &mut Vec<Block<'t>>,
) -> bool {
    let first = all.len();
    let mut unchanged = origins.is_in_place(tree);
    let of_map = tree.is_map();
    for value in tree.values() {
        unchanged &= gather(text, origins, value, of_map, all);
    }
    if unchanged
        && is_value
        && let Some(node) = tree.from
        && let Some((lines, column)) = lines_of(text, &origins.nodes[node])
    {
        all.truncate(first);
        all.push(Block { node, lines, column });
    }
    unchanged
}

/// The lines of a block collection, if it has them for itself and nothing in them depends on what stands around; and its column.
fn lines_of<'t>(text: &'t str, node: &NodeAt) -> Option<(&'t str, usize)> {
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
    (lines.lines().all(is_indented) && !keeps_line_ends(lines)).then_some((lines, column))
}

/// Whether a block of text may be in it of which the blank lines behind it are a part: `|+`.
fn keeps_line_ends(lines: &str) -> bool {
    lines.match_indices(['|', '>']).any(|(at, _)| {
        let rest = lines[at + 1..].trim_start_matches(|char: char| char.is_ascii_digit());
        rest.starts_with('+')
    })
}

/// A block where it stands.
struct Found {
    start: usize,
    end: usize,
    indentation: usize,
}

/// Looks for lines behind a byte of a text, each as far in or out as the first.
fn find(text: &str, from: usize, lines: &str, column: usize) -> Option<Found> {
    let first = lines[column..].lines().next()?;
    let mut at = from;
    loop {
        let found = at + text[at..].find(first)?;
        let start = text[..found].rfind('\n').map_or(0, |newline| newline + 1);
        let indentation = found - start;
        if start >= from
            && text[start..found].bytes().all(|byte| byte == b' ')
            && let Some(end) = same_lines(text, start, lines, column, indentation)
            && ends(&text[end..], indentation)
        {
            return Some(Found { start, end, indentation });
        }
        at = found + first.len().max(1);
    }
}

/// The end of lines that stand at a byte of a text with another indentation.
fn same_lines(text: &str, start: usize, lines: &str, column: usize, indentation: usize) -> Option<usize> {
    if column == indentation {
        return text[start..].starts_with(lines).then(|| start + lines.len());
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

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = "    type: object\n    properties:\n      # what it is\n      image: {type: string, description: \"a\n          b\"}\n      note:\n        description: |\n          first\n\n            second\n        type: string\n";

    /// A text, the tree that it says with its schema under another key, and the blocks of which only stand-ins are read in `written`.
    fn proved(schema: &str, written: &str) -> (Result<(), String>, usize) {
        let text = format!("kind: A\nvalidation:\n  schema:\n{schema}other: 1\n");
        let (mut tree, origins) = tree::read(&text, 0..text.len(), Notation::Yaml).unwrap().unwrap();
        let mut validation = tree.take("validation").unwrap();
        let of = validation.value.take("schema").unwrap();
        tree.insert_behind(of.under("moved"), &["kind"]);
        let blocks = shortened(&text, &origins, &tree, written).map_or(0, |short| short.blocks.len());
        (holds(&text, &origins, &tree, written), blocks)
    }

    /// Its lines with so many blanks in the place of four.
    fn indented(schema: &str, blanks: usize) -> String {
        let moved = |line: &str| match line.strip_prefix("    ") {
            Some(rest) => format!("{}{rest}\n", " ".repeat(blanks)),
            None => format!("{line}\n"),
        };
        schema.lines().map(moved).collect()
    }

    #[test]
    fn what_was_moved_is_not_read_again() {
        for blanks in [2, 4, 8] {
            let written = format!("kind: A\nmoved:\n{}other: 1\n", indented(SCHEMA, blanks));
            assert_eq!(proved(SCHEMA, &written), (Ok(()), 1), "{written}");
        }
    }

    #[test]
    fn what_was_moved_and_says_something_else_is_seen() {
        let moved = indented(SCHEMA, 2);
        for wrong in [
            // One word less, one line further in.
            format!("kind: A\nmoved:\n{}other: 1\n", moved.replace("second", "third")),
            format!("kind: A\nmoved:\n{}other: 1\n", moved.replace("  note:", "   note:")),
            // Something behind it belongs to it; it is elsewhere, or there twice.
            format!("kind: A\nmoved:\n{moved}  more: 1\nother: 1\n"),
            format!("kind: A\nmoved:\n{moved}      more: 1\nother: 1\n"),
            format!("kind: A\nother: 1\nmoved: {{}}\nelse:\n{moved}"),
            format!("kind: A\nmoved: |\n{moved}other: 1\n"),
            format!("kind: A\nmoved:\n- x:\n{}other: 1\n", indented(SCHEMA, 4)),
        ] {
            assert!(proved(SCHEMA, &wrong).0.is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_depends_on_where_it_stands_is_read_again() {
        for schema in [
            SCHEMA.replace("|\n", "|+\n"),
            SCHEMA.replace("      note:", "# why\n      note:"),
            SCHEMA.replace("first\n\n", "first\n            \n"),
        ] {
            let written = format!("kind: A\nmoved:\n{}other: 1\n", indented(&schema, 4));
            assert_eq!(proved(&schema, &written), (Ok(()), 0), "{written}");
        }
    }
}
