//! From text to a tree, in one pass.

use std::borrow::Cow;
use std::cell::Cell;

use memchr::{memchr2, memchr3};

use super::node::{Content, Node, State, Tree};

/// Levels of objects and lists: objects of clusters have a dozen.
const DEPTH_MAX: usize = 32;

/// Members of an object whose keys are in no order: each is compared with all before it.
const UNSORTED_MAX: usize = 64;

/// Reads a text from its start on. Every method answers `None` where the text is not what it reads.
#[derive(Debug)]
pub(crate) struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    nodes: Vec<Node<'t>>,
}

impl<'t> Parser<'t> {
    pub(crate) fn new(text: &'t str) -> Option<Self> {
        u32::try_from(text.len()).ok()?;
        Some(Self { text, at: 0, depth: 0, nodes: Vec::with_capacity(96) })
    }

    /// The tree of an object that is all of the text. Members for which `takes` knows where they end are not read: it is asked with the key, the text and
    /// where in it the value begins.
    pub(crate) fn object(mut self, takes: &mut dyn FnMut(&str, &'t str, usize) -> Taken) -> Option<Tree<'t>> {
        self.white();
        self.value("", &mut Some(takes))?;
        self.white();
        let is_object = matches!(self.nodes.first()?.content, Content::Object { .. });
        (self.at == self.text.len() && is_object).then_some(Tree { nodes: self.nodes })
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn white(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
        }
    }

    fn literal(&mut self, word: &str) -> Option<()> {
        self.text[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    fn push(&mut self, key: &'t str, content: Content<'t>, from: usize) -> usize {
        let at = self.nodes.len();
        let (from, to) = (narrow(from), narrow(self.at));
        let next = narrow(at + 1);
        self.nodes.push(Node { key, content, span: (from, to), next, state: Cell::new(State::Untold) });
        at
    }

    fn value(&mut self, key: &'t str, takes: &mut Takes<'_, 't>) -> Option<()> {
        let from = self.at;
        match self.byte()? {
            b'{' => return self.members(key, takes),
            b'[' => return self.items(key),
            b'"' => {
                let text = self.string()?;
                self.push(key, Content::Text(text), from);
            }
            b't' => {
                self.literal("true")?;
                self.push(key, Content::Bool(true), from);
            }
            b'f' => {
                self.literal("false")?;
                self.push(key, Content::Bool(false), from);
            }
            b'n' => {
                self.literal("null")?;
                self.push(key, Content::Null, from);
            }
            b'-' | b'0'..=b'9' => {
                let number = self.number()?;
                self.push(key, number, from);
            }
            _ => return None,
        }
        Some(())
    }

    fn members(&mut self, key: &'t str, takes: &mut Takes<'_, 't>) -> Option<()> {
        let own = self.begin(key, Content::Object { is_sorted: true })?;
        self.white();
        if self.byte()? == b'}' {
            return self.end(own);
        }
        let mut is_sorted = true;
        let mut last = None;
        let mut number = 0;
        loop {
            self.white();
            let Cow::Borrowed(key) = self.string()? else { return None };
            number += 1;
            if last.is_some_and(|last| last >= key) {
                is_sorted = false;
            }
            if !is_sorted && (number > UNSORTED_MAX || self.has(own, key)) {
                return None;
            }
            last = Some(key);
            self.white();
            self.literal(":")?;
            self.white();
            let taken = match takes.take() {
                Some(takes_one) => {
                    let taken = takes_one(key, self.text, self.at);
                    *takes = Some(takes_one);
                    taken
                }
                None => Taken::Not,
            };
            match taken {
                Taken::UpTo(end) => self.at = end,
                Taken::GivenUp => return None,
                Taken::Not => {
                    let before = self.nodes.len();
                    self.value(key, &mut None)?;
                    // What is `null` is as if it were not there.
                    if matches!(self.nodes[before].content, Content::Null) {
                        self.nodes[before].state.set(State::Said);
                    }
                }
            }
            self.white();
            match self.byte()? {
                b',' => self.at += 1,
                b'}' => break,
                _ => return None,
            }
        }
        self.nodes[own].content = Content::Object { is_sorted };
        self.end(own)
    }

    /// Whether an object has a member with this key so far.
    fn has(&self, own: usize, key: &str) -> bool {
        let mut at = own + 1;
        while let Some(node) = self.nodes.get(at) {
            if node.key == key {
                return true;
            }
            at = node.next as usize;
        }
        false
    }

    fn items(&mut self, key: &'t str) -> Option<()> {
        let own = self.begin(key, Content::List)?;
        self.white();
        if self.byte()? == b']' {
            return self.end(own);
        }
        loop {
            self.white();
            self.value("", &mut None)?;
            self.white();
            match self.byte()? {
                b',' => self.at += 1,
                b']' => return self.end(own),
                _ => return None,
            }
        }
    }

    fn begin(&mut self, key: &'t str, content: Content<'t>) -> Option<usize> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let own = self.push(key, content, self.at);
        self.at += 1;
        Some(own)
    }

    fn end(&mut self, own: usize) -> Option<()> {
        self.at += 1;
        self.depth -= 1;
        let (next, end) = (narrow(self.nodes.len()), narrow(self.at));
        let node = self.nodes.get_mut(own)?;
        node.next = next;
        node.span.1 = end;
        Some(())
    }

    fn string(&mut self) -> Option<Cow<'t, str>> {
        self.literal("\"")?;
        let from = self.at;
        let bytes = self.text.as_bytes();
        let end = from + memchr2(b'"', b'\\', &bytes[from..])?;
        if bytes[end] == b'"' {
            self.at = end + 1;
            let text = &self.text[from..end];
            return (!has_control(text)).then_some(Cow::Borrowed(text));
        }
        self.at = string_end(bytes, end)?;
        serde_json::from_str(&self.text[from - 1..self.at]).ok().map(Cow::Owned)
    }

    /// An integer; others are left to `serde_json`.
    fn number(&mut self) -> Option<Content<'t>> {
        let from = self.at;
        let is_negative = self.byte() == Some(b'-');
        self.at += usize::from(is_negative);
        let digits = self.at;
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        let is_plain = match &self.text.as_bytes()[digits..self.at] {
            [] => false,
            [b'0', rest @ ..] => rest.is_empty() && !is_negative,
            [_, ..] => true,
        };
        if !is_plain || matches!(self.byte(), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        let text = &self.text[from..self.at];
        if is_negative {
            text.parse().ok().map(Content::Signed)
        } else {
            text.parse().ok().map(Content::Unsigned)
        }
    }
}

/// Asked what becomes of the members of the outermost object.
type Takes<'f, 't> = Option<&'f mut dyn FnMut(&str, &'t str, usize) -> Taken>;

/// What becomes of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is read.
    Not,
    /// It is not, and ends there.
    UpTo(usize),
    /// No tree is wanted.
    GivenUp,
}

/// Texts are no longer than that.
fn narrow(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

pub(crate) fn has_control(text: &str) -> bool {
    text.bytes().fold(false, |found, byte| found | (byte < 0x20))
}

/// Behind the closing quote of a string, from within it.
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Behind an object that begins here, by its braces alone.
pub(crate) fn skip(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes.get(from) != Some(&b'{') {
        return None;
    }
    let (mut at, mut open) = (from + 1, 1_usize);
    while open > 0 {
        at += memchr3(b'"', b'{', b'}', bytes.get(at..)?)?;
        match bytes[at] {
            b'"' => at = string_end(bytes, at + 1)?,
            b'{' => {
                open += 1;
                at += 1;
            }
            _ => {
                open -= 1;
                at += 1;
            }
        }
    }
    Some(at)
}
