//! What is found in a source: documents, and what cannot be read.

use std::ops::Range;
use std::sync::Arc;

use super::node::Node;

/// Where something was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The path as it was given or found, or `<stdin>`.
    pub source: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

/// One document of a text, before lists are taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Document<'t> {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// The line on which its part of the text begins.
    pub line: u32,
    /// What is kept of it.
    pub root: Node<'t>,
}

/// A document, or a part of one, that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unread {
    /// Where it is wrong.
    pub place: Place,
    /// Why, in words.
    pub why: String,
}

/// What a text turns out to hold, in its order.
#[derive(Clone, Debug, PartialEq)]
pub enum Found<'t> {
    /// A document.
    Document(Document<'t>),
    /// What cannot be read.
    Unread(Unread),
    /// A document that is written in a template language and is YAML only once that has been worked out.
    Template {
        /// Its bytes in the text.
        range: Range<usize>,
        /// Its first line.
        line: u32,
        /// Why it is not YAML as it stands, where that was tried.
        unread: Option<Unread>,
    },
}
