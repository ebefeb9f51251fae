//! Texts and the documents in them: YAML, JSON, several of them in one file, and what cannot be read.
//!
//! All of a text is parsed; of each document only the nodes are built that a scan asks for, with the place of each, and
//! scalars are borrowed from the text. What is broken is read once more, slowly, by `replank-intake`, which finds what can be
//! saved of it: the items of a list around a broken one, say.

mod document;
mod grown;
mod json;
mod node;
mod slow;
mod split;

pub use document::{Document, Found, Place, Unread};
#[cfg(test)]
mod tests;
mod want;
mod yaml;
use std::ops::Range;
use std::sync::Arc;

use crate::tree::{self, Origins, Tree};

pub use node::{At, Node, What};
pub(crate) use split::is_json;
use want::{OBJECT, Want};

use split::{Part, Parts};

/// A document's tree, with its places.
pub(crate) type Grown = (Tree, Origins);

/// Takes in what is found; of a document that was read as a tree, the tree, too.
type Each<'e, 't> = &'e mut dyn FnMut(Found<'t>, Option<Grown>);

/// Reads a text, and hands on what is in it.
pub fn read<'t>(name: &Arc<str>, text: &'t str, each: &mut dyn FnMut(Found<'t>)) {
    read_ahead(name, text, &|_| Way::Scan, &mut |found, _| each(found));
}

/// A document in YAML that is about to be read.
pub(crate) struct Ahead<'t> {
    /// Its part of the text, from the beginning of a line.
    pub(crate) part: &'t str,
    /// The same without markers and comments before what it says.
    pub(crate) content: &'t str,
    /// The first byte and the first line of the part.
    pub(crate) start: usize,
    pub(crate) line: u32,
}

/// How a document is read.
pub(crate) enum Way {
    /// Only what a scan asks for is built.
    Scan,
    /// The whole tree is built, and what a scan asks for is taken from that: it is parsed once. Without a tree are JSON, and YAML that repeats nodes or
    /// that only kubectl's reader takes.
    Grow,
    /// What a scan asks for is known already: it is not parsed.
    Known(Node<'static>),
}

/// The same; of each document in YAML it is asked how it is to be read.
pub(crate) fn read_ahead<'t>(
    name: &Arc<str>,
    text: &'t str,
    way: &dyn Fn(&Ahead<'_>) -> Way,
    each: Each<'_, 't>,
) {
    for part in Parts::new(text) {
        read_part(name, text, &part, way, each);
    }
}

/// Reads one document again, which begins on a line.
pub(crate) fn read_document<'t>(
    name: &Arc<str>,
    text: &'t str,
    range: Range<usize>,
    line: u32,
    each: &mut dyn FnMut(Found<'t>),
) {
    read_part(name, text, &Part { range, line }, &|_| Way::Scan, &mut |found, _| each(found));
}

/// Reads a text that is known to be a template: what has directives is not even tried as YAML. `marked` is the same text, byte
/// for byte, but for markers that are none, as they stand within a directive.
pub(crate) fn read_templates<'t>(
    name: &Arc<str>,
    text: &'t str,
    marked: &str,
    each: &mut dyn FnMut(Found<'t>),
) {
    for part in Parts::new(marked) {
        if is_template(&text[part.range.clone()]) {
            each(Found::Template { range: part.range, line: part.line, unread: None });
        } else {
            read_part(name, text, &part, &|_| Way::Scan, &mut |found, _| each(found));
        }
    }
}

fn read_part<'t>(
    name: &Arc<str>,
    text: &'t str,
    part: &Part,
    way: &dyn Fn(&Ahead<'_>) -> Way,
    each: Each<'_, 't>,
) {
    let Some(content) = split::content(text, part.range.clone()) else { return };
    if split::is_json(&text[content..part.range.end]) {
        return json_part(name, text, part, content, &mut |found| each(found, None));
    }
    let Part { range, line } = part.clone();
    let ahead =
        Ahead { part: &text[range.clone()], content: &text[content..range.end], start: range.start, line };
    let read = match way(&ahead) {
        Way::Scan => None,
        Way::Grow => grown_part(text, part).map(|(root, grown)| (root, Some(grown))),
        Way::Known(root) => Some((root, None)),
    };
    match read {
        Some((root, grown)) => each(Found::Document(Document { range, line, root }), grown),
        None => yaml_part(name, text, part, &mut |found| each(found, None)),
    }
}

/// A document as a tree, and what is kept of it.
fn grown_part<'t>(text: &'t str, part: &Part) -> Option<(Node<'t>, Grown)> {
    let (tree, origins) = tree::read_strictly(text, part.range.clone()).ok()??;
    let root = grown::node(text, &tree, &origins, part, &OBJECT)?;
    Some((root, (tree, origins)))
}

/// What is kept of a document that nobody has written yet; all of it has the same place.
pub(crate) fn unwritten(tree: &Tree) -> Node<'static> {
    grown::unwritten(tree, &OBJECT)
}

fn yaml_part<'t>(name: &Arc<str>, text: &'t str, part: &Part, each: &mut dyn FnMut(Found<'t>)) {
    match yaml::read(text, part.range.clone(), part.line, &OBJECT) {
        Ok(Some(root)) => {
            each(Found::Document(Document { range: part.range.clone(), line: part.line, root }));
        }
        Ok(None) => {}
        Err(wrong) => {
            let place = Place { source: name.clone(), line: wrong.line, column: wrong.column };
            if is_template(&text[part.range.clone()]) {
                let unread = Unread { place, why: format!("invalid YAML: {}", wrong.message) };
                each(Found::Template { range: part.range.clone(), line: part.line, unread: Some(unread) });
            } else {
                slow::read(name, text, part, each);
            }
        }
    }
}

/// Whether a text that is not YAML has the marks of Go templates, Jinja or ERB.
pub(crate) fn is_template(text: &str) -> bool {
    ["{{", "{%", "<%"].iter().any(|mark| text.contains(mark))
}

/// JSON values, one after the other.
fn json_part<'t>(
    name: &Arc<str>,
    text: &'t str,
    part: &Part,
    content: usize,
    each: &mut dyn FnMut(Found<'t>),
) {
    let whole = &text[..part.range.end];
    let mut reader = json::Reader::new(whole, part.range.start, part.line);
    reader.at = content;
    while reader.skip_white() {
        let start = reader.at;
        let (line, _) = reader.place(start);
        let want: &'static Want = if whole.as_bytes()[start] == b'[' { want::root_item() } else { &OBJECT };
        let result = reader.value(want);
        let (wrong, end) = match result {
            Ok(root) => {
                each(Found::Document(Document { range: start..reader.at, line, root }));
                continue;
            }
            Err(wrong) => (wrong, next_value(whole, wrong.at)),
        };
        let broken = Part { range: start..end, line };
        if start == content && end == part.range.end && !is_template(&whole[start..end]) {
            // Flow notation that begins like JSON, perhaps.
            match yaml::read(text, broken.range.clone(), line, &OBJECT) {
                Ok(Some(root)) => each(Found::Document(Document { range: start..end, line, root })),
                Ok(None) | Err(_) => slow::read(name, text, &broken, each),
            }
        } else if is_template(&whole[start..end]) {
            let (line_wrong, column) = reader.place(wrong.at);
            let place = Place { source: name.clone(), line: line_wrong, column };
            let unread = Unread { place, why: format!("invalid JSON: expected {}", wrong.expected) };
            each(Found::Template { range: start..end, line, unread: Some(unread) });
        } else {
            slow::read(name, text, &broken, each);
        }
        // Lines are counted up to there on the way.
        reader.place(end);
        reader.at = end;
    }
}

/// The next line that begins like a value, behind a byte.
fn next_value(text: &str, from: usize) -> usize {
    let mut at = from;
    while let Some(newline) = text.as_bytes()[at..].iter().position(|&byte| byte == b'\n') {
        at += newline + 1;
        if matches!(text.as_bytes().get(at), Some(b'{')) {
            return at;
        }
    }
    text.len()
}
