//! What is kept of a document: the few nodes that somebody asks for, each with its place.

use std::borrow::Cow;

/// Where a node stands in its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct At {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// First byte.
    pub start: usize,
    /// The byte behind the last one.
    pub end: usize,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node<'t> {
    /// Its place. Of what an alias repeats, that of the alias's anchor.
    pub at: At,
    /// The value.
    pub what: What<'t>,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum What<'t> {
    /// `null`, `~` or nothing.
    Null,
    /// Text, a number or a boolean, as it is written.
    Scalar(Cow<'t, str>),
    /// A list.
    List(Vec<Node<'t>>),
    /// A mapping; of keys that are there twice, both.
    Map(Vec<(Cow<'t, str>, Node<'t>)>),
    /// It was read, and nobody had asked for it.
    Skipped,
}

impl<'t> Node<'t> {
    /// The value of a key; the last one where there are several, as kubectl takes it.
    pub fn get(&self, key: &str) -> Option<&Node<'t>> {
        self.entries().iter().rev().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The value below several keys.
    pub fn path(&self, keys: &[&str]) -> Option<&Node<'t>> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The same, held by nobody else, at other bytes and lines.
    pub(crate) fn moved<'o>(self, to: &dyn Fn(usize) -> usize, lines: &dyn Fn(u32) -> u32) -> Node<'o> {
        let At { line, column, start, end } = self.at;
        let what = match self.what {
            What::Null => What::Null,
            What::Scalar(text) => What::Scalar(Cow::Owned(text.into_owned())),
            What::List(items) => What::List(items.into_iter().map(|item| item.moved(to, lines)).collect()),
            What::Map(entries) => {
                let of = |(key, node): (Cow<'t, str>, Node<'t>)| {
                    (Cow::Owned(key.into_owned()), node.moved(to, lines))
                };
                What::Map(entries.into_iter().map(of).collect())
            }
            What::Skipped => What::Skipped,
        };
        Node { at: At { line: lines(line), column, start: to(start), end: to(end) }, what }
    }

    /// A scalar's text, unless it is empty.
    pub fn text(&self) -> Option<&str> {
        match &self.what {
            What::Scalar(text) if !text.is_empty() => Some(text),
            What::Scalar(_) | What::Null | What::List(_) | What::Map(_) | What::Skipped => None,
        }
    }

    /// The text of a key's scalar.
    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key)?.text()
    }

    /// The items of a list; none of anything else.
    pub fn items(&self) -> &[Node<'t>] {
        match &self.what {
            What::List(items) => items,
            What::Scalar(_) | What::Null | What::Map(_) | What::Skipped => &[],
        }
    }

    /// The entries of a mapping; none of anything else.
    pub fn entries(&self) -> &[(Cow<'t, str>, Node<'t>)] {
        match &self.what {
            What::Map(entries) => entries,
            What::Scalar(_) | What::Null | What::List(_) | What::Skipped => &[],
        }
    }

    /// The texts of a list.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.items().iter().filter_map(Node::text)
    }
}

/// From a value that was read elsewhere: all of it has one line.
pub(super) fn from_value(value: &serde_json::Value, at: At) -> Node<'static> {
    use serde_json::Value;
    let what = match value {
        Value::Null => What::Null,
        Value::Bool(value) => What::Scalar(value.to_string().into()),
        Value::Number(value) => What::Scalar(value.to_string().into()),
        Value::String(text) => What::Scalar(text.clone().into()),
        Value::Array(values) => What::List(values.iter().map(|value| from_value(value, at)).collect()),
        Value::Object(map) => {
            What::Map(map.iter().map(|(key, value)| (key.clone().into(), from_value(value, at))).collect())
        }
    };
    Node { at, what }
}
