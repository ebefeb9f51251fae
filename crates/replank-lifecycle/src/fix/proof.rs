//! Whether a text that was written says what it has to: it is read again, and compared.
//!
//! Mostly a large part of it was only moved ([`super::moved`]). In the place of such lines a single key is read, so that the whole document is not
//! parsed a second time. Where anything is unusual all of it is read.

use rustc_hash::FxHashMap;

use super::moved::{Found, blocks, find};
use crate::tree::{self, Notation, OriginIndex, Origins, Style, Tree, What};

/// Levels up to which nothing can be nested too deeply for a parser, with those that a conversion adds.
const DEPTH_MAX: usize = 80;
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
    let blocks = blocks(before, origins, tree);
    let mut short = Shortened { text: String::new(), blocks: FxHashMap::default() };
    let mut at = 0;
    for block in blocks {
        let Some(Found { start, end, indentation }) = find(written, at, &block) else { continue };
        let number = short.blocks.len();
        let dash = if origins.nodes[block.node].style == Style::BlockList { "- " } else { "" };
        let colon = if dash.is_empty() { ":" } else { "" };
        short.text.push_str(&written[at..start]);
        short.text.push_str(&format!("{}{dash}{STAND_IN}{number}{colon}\n", " ".repeat(indentation)));
        short.blocks.insert(block.node, number);
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
                    entries.len() == 1 && *entries[0].key == *name && entries[0].value.is_null()
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
                    && a.iter().enumerate().all(|(at, entry)| {
                        // Mostly they stand in the same order.
                        let found = b.get(at).filter(|of| of.key == entry.key);
                        let found = found.or_else(|| b.iter().find(|of| of.key == entry.key));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Entry;

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

    /// The same text as in [`proved`], where every object of the schema has got a mark besides.
    fn proved_with_marks(schema: &str, written: &str) -> (Result<(), String>, usize) {
        fn mark(tree: &mut Tree) {
            for entry in tree.entries_mut().into_iter().flatten() {
                mark(&mut entry.value);
            }
            if tree.text_at(&["type"]) == Some("object") {
                tree.insert_behind(Entry::new("x-mark", Tree::of(What::Bool(true))), &["type"]);
            }
        }
        let text = format!("kind: A\nvalidation:\n  schema:\n{schema}other: 1\n");
        let (mut tree, origins) = tree::read(&text, 0..text.len(), Notation::Yaml).unwrap().unwrap();
        let mut validation = tree.take("validation").unwrap();
        let mut of = validation.value.take("schema").unwrap();
        mark(&mut of.value);
        tree.insert_behind(of.under("moved"), &["kind"]);
        let blocks = shortened(&text, &origins, &tree, written).map_or(0, |short| short.blocks.len());
        (holds(&text, &origins, &tree, written), blocks)
    }

    /// With an object within, whose type comes last.
    const MARKED: &str = "    type: object # why\n    # it has\n    properties:\n      image:\n        description: |\n          type: object\n\n          more\n        type: object\n      note: {type: string, description: \"so that it is long enough to be looked for\"}\n";

    fn with_marks(blanks: usize) -> String {
        let marked = MARKED.replace("# why\n", "# why\n    x-mark: true\n").replace(
            "        type: object\n      note",
            "        type: object\n        x-mark: true\n      note",
        );
        indented(&marked, blanks)
    }

    #[test]
    fn what_was_moved_with_lines_of_its_own_between_is_not_read_again() {
        for blanks in [2, 4, 8] {
            let written = format!("kind: A\nmoved:\n{}other: 1\n", with_marks(blanks));
            assert_eq!(proved_with_marks(MARKED, &written), (Ok(()), 1), "{written}");
        }
    }

    #[test]
    fn lines_between_that_say_something_else_are_seen() {
        let marked = with_marks(2);
        for wrong in [
            marked.replace("      x-mark", "     x-mark"),
            marked.replace("      x-mark", "        x-mark"),
            marked.replacen("  x-mark: true\n", "", 1),
            marked.replacen("x-mark: true", "x-mark: false", 1),
            marked.replacen("x-mark: true", "y-mark: true", 1),
            marked.replacen("  x-mark: true\n", "  x-mark: true\n  y-mark: true\n", 1),
            marked.replace("        more", "        x-mark: true"),
        ] {
            assert_ne!(wrong, marked);
            let written = format!("kind: A\nmoved:\n{wrong}other: 1\n");
            assert!(proved_with_marks(MARKED, &written).0.is_err(), "{written}");
        }
    }

    #[test]
    fn behind_what_is_more_than_a_line_nothing_is_taken_for_granted() {
        for schema in [
            MARKED.replace("        type: object\n      note", "        type:\n          object\n      note"),
            MARKED.replace(
                "        type: object\n      note",
                "        type: >-\n          object\n      note",
            ),
        ] {
            let written = format!("kind: A\nmoved:\n{}other: 1\n", with_marks(4));
            let (proof, blocks) = proved_with_marks(&schema, &written);
            assert_eq!((proof, blocks), (Ok(()), 0), "{schema}");
        }
    }
}
