//! YAML, parsed wholly, of which only what is wanted is built.
//!
//! The grammar is granit-parser's. Scalars are kept as they are written: API versions, kinds and names are text, and what
//! `on` or `017` would mean is asked by nobody here (replank-intake knows).

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::{Event, Marker, Options, Parser, ScalarStyle, Span};
use replank_intake::relaxed::relaxed;
use rustc_hash::FxHashMap;

use super::node::{At, Node, What};
use super::want::{self, Want};

/// Levels of nesting, as in replank-intake.
const DEPTH_MAX: usize = 100;
/// Nodes that the aliases of one document may repeat, as in replank-intake.
const ALIAS_NODES_MAX: usize = 400_000;

/// Where and why text is not YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotYaml {
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) message: String,
}

/// Reads the one document in a part of a text that begins on a line. `None` where it has no content.
pub(super) fn read<'t>(
    text: &'t str,
    part: Range<usize>,
    first_line: u32,
    want: &'static Want,
) -> Result<Option<Node<'t>>, NotYaml> {
    let wrong = match strict(text, part.clone(), first_line, want) {
        Ok(read) => return Ok(read),
        Err(wrong) => wrong,
    };
    // What kubectl's reader takes all the same.
    let Some(relaxed) = relaxed(&text[part.clone()]) else { return Err(wrong) };
    match strict(&relaxed.text, 0..relaxed.text.len(), first_line, want) {
        Ok(root) => Ok(root.map(|root| root.moved(&|at| part.start + relaxed.origin(at), &|line| line))),
        Err(_) => Err(wrong),
    }
}

fn strict<'t>(
    text: &'t str,
    part: Range<usize>,
    first_line: u32,
    want: &'static Want,
) -> Result<Option<Node<'t>>, NotYaml> {
    let mut options = Options::default();
    options.flow_nesting_limit = DEPTH_MAX;
    options.block_nesting_limit = DEPTH_MAX;
    options.emit_comments = false;
    let mut builder = Builder {
        offset: part.start,
        first_line,
        want,
        stack: Vec::new(),
        root: None,
        anchors: FxHashMap::default(),
        repeated: 0,
    };
    for event in Parser::new_from_str_with_options(&text[part], options) {
        match event {
            Ok((event, span)) => builder.event(event, span)?,
            Err(error) => return Err(builder.wrong(*error.marker(), &error.info())),
        }
    }
    Ok(builder.root)
}

enum Frame<'t> {
    Map {
        want: &'static Want,
        at: At,
        anchor: usize,
        entries: Vec<(Cow<'t, str>, Node<'t>)>,
        merges: Vec<Node<'t>>,
        key: Key<'t>,
    },
    List {
        want: &'static Want,
        at: At,
        anchor: usize,
        items: Vec<Node<'t>>,
    },
    /// Something that nobody asks for, and how many levels of it are open within.
    Skip {
        within: usize,
    },
}

/// What a mapping waits for.
enum Key<'t> {
    Awaited,
    Read(Cow<'t, str>),
    Merge,
}

struct Builder<'t> {
    offset: usize,
    first_line: u32,
    want: &'static Want,
    stack: Vec<Frame<'t>>,
    root: Option<Node<'t>>,
    anchors: FxHashMap<usize, Node<'t>>,
    repeated: usize,
}

/// What is to become of the node that begins.
enum Next {
    Keep(&'static Want),
    Key,
    /// It is the value of a key that is merged: all of it.
    Skip,
}

impl<'t> Builder<'t> {
    fn wrong(&self, at: Marker, message: &str) -> NotYaml {
        NotYaml {
            line: self.first_line + (at.line() as u32).saturating_sub(1),
            column: at.col() as u32 + 1,
            message: message.to_owned(),
        }
    }

    fn at(&self, span: Span) -> At {
        let range = span.byte_range().unwrap_or(0..0);
        At {
            line: self.first_line + (span.start.line() as u32).saturating_sub(1),
            column: span.start.col() as u32 + 1,
            start: self.offset + range.start,
            end: self.offset + range.end,
        }
    }

    fn next(&self) -> Next {
        match self.stack.last() {
            None => Next::Keep(self.want),
            Some(Frame::Skip { .. }) => Next::Skip,
            Some(Frame::List { want, .. }) => Next::Keep(want.item()),
            Some(Frame::Map { key: Key::Awaited, .. }) => Next::Key,
            Some(Frame::Map { key: Key::Merge, .. }) => Next::Keep(&Want::All),
            Some(Frame::Map { want, key: Key::Read(key), .. }) => Next::Keep(want.key(key)),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "granit's events are not exhaustive")]
    fn event(&mut self, event: Event<'t>, span: Span) -> Result<(), NotYaml> {
        match event {
            Event::Scalar(text, style, anchor, tag) => self.scalar(text, style, anchor, tag.is_some(), span),
            Event::SequenceStart(_, anchor, _) => {
                let at = self.at(span);
                self.open(anchor, span, |want| Frame::List { want, at, anchor, items: Vec::new() })
            }
            Event::MappingStart(_, anchor, _) => {
                let at = self.at(span);
                self.open(anchor, span, |want| Frame::Map {
                    want,
                    at,
                    anchor,
                    entries: Vec::new(),
                    merges: Vec::new(),
                    key: Key::Awaited,
                })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(anchor) => self.alias(anchor, span),
            // Marks of the stream, and what the options switch off.
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        anchor: usize,
        tagged: bool,
        span: Span,
    ) -> Result<(), NotYaml> {
        let next = self.next();
        let keep = match next {
            Next::Key => {
                let merge = text == "<<" && style == ScalarStyle::Plain;
                if anchor != 0 {
                    let at = self.at(span);
                    self.anchors.insert(anchor, Node { at, what: What::Scalar(text.clone()) });
                }
                self.key(if merge { Key::Merge } else { Key::Read(text) });
                return Ok(());
            }
            Next::Keep(Want::Nothing) | Next::Skip => false,
            Next::Keep(_) => true,
        };
        if anchor == 0 && !keep {
            self.complete(Node { at: At::default(), what: What::Skipped });
            return Ok(());
        }
        let plain_null =
            style == ScalarStyle::Plain && !tagged && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
        let node = Node { at: self.at(span), what: if plain_null { What::Null } else { What::Scalar(text) } };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        self.complete(if keep { node } else { Node { at: At::default(), what: What::Skipped } });
        Ok(())
    }

    fn key(&mut self, read: Key<'t>) {
        if let Some(Frame::Map { key, .. }) = self.stack.last_mut() {
            *key = read;
        }
    }

    fn open(
        &mut self,
        anchor: usize,
        span: Span,
        frame: impl FnOnce(&'static Want) -> Frame<'t>,
    ) -> Result<(), NotYaml> {
        if self.stack.len() > DEPTH_MAX {
            return Err(self.wrong(span.start, "nested too deeply"));
        }
        // What an alias may repeat is kept whole.
        let want = match (self.next(), anchor) {
            (Next::Key, _) => {
                return Err(self.wrong(span.start, "a list or mapping as a key cannot be written in JSON"));
            }
            (Next::Keep(want), 0) => want,
            (Next::Skip, 0) => &Want::Nothing,
            (Next::Keep(_) | Next::Skip, _) => &Want::All,
        };
        let root = self.stack.is_empty();
        match (want, self.stack.last_mut()) {
            (Want::Nothing, Some(Frame::Skip { within })) => *within += 1,
            (Want::Nothing, _) => self.stack.push(Frame::Skip { within: 0 }),
            (want, _) => {
                let frame = frame(want);
                // A bare list at the root is one of objects.
                let frame = match frame {
                    Frame::List { at, anchor, items, .. } if root => {
                        Frame::List { want: want::root_item(), at, anchor, items }
                    }
                    other @ (Frame::Map { .. } | Frame::List { .. } | Frame::Skip { .. }) => other,
                };
                self.stack.push(frame);
            }
        }
        Ok(())
    }

    fn close(&mut self, span: Span) -> Result<(), NotYaml> {
        if let Some(Frame::Skip { within }) = self.stack.last_mut()
            && *within > 0
        {
            *within -= 1;
            return Ok(());
        }
        let Some(frame) = self.stack.pop() else { return Ok(()) };
        let end = self.at(span).end;
        let (node, anchor) = match frame {
            Frame::Skip { .. } => (Node { at: At::default(), what: What::Skipped }, 0),
            Frame::List { mut at, anchor, items, .. } => {
                at.end = end;
                (Node { at, what: What::List(items) }, anchor)
            }
            Frame::Map { mut at, anchor, mut entries, merges, .. } => {
                at.end = end;
                self.merge(&mut entries, merges, span)?;
                (Node { at, what: What::Map(entries) }, anchor)
            }
        };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        self.complete(node);
        Ok(())
    }

    /// The mapping's own keys win, and of several merged ones the first.
    fn merge(
        &self,
        entries: &mut Vec<(Cow<'t, str>, Node<'t>)>,
        merges: Vec<Node<'t>>,
        span: Span,
    ) -> Result<(), NotYaml> {
        for merged in merges {
            let sources = match merged.what {
                What::List(items) => items,
                What::Map(_) => vec![merged],
                What::Null | What::Scalar(_) | What::Skipped => {
                    return Err(self.wrong(span.start, "`<<` takes a mapping, or a list of mappings"));
                }
            };
            for source in sources {
                let What::Map(more) = source.what else {
                    return Err(self.wrong(span.start, "`<<` takes a mapping, or a list of mappings"));
                };
                for (key, node) in more {
                    if !entries.iter().any(|(own, _)| *own == key) {
                        entries.push((key, node));
                    }
                }
            }
        }
        Ok(())
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), NotYaml> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(self.wrong(span.start, "the alias is inside the node it refers to"));
        };
        match self.next() {
            Next::Key => {
                let key = node.text().map(|text| Cow::Owned(text.to_owned()));
                let Some(key) = key else {
                    return Err(
                        self.wrong(span.start, "a list or mapping as a key cannot be written in JSON")
                    );
                };
                self.key(Key::Read(key));
            }
            Next::Skip | Next::Keep(Want::Nothing) => {
                self.complete(Node { at: At::default(), what: What::Skipped });
            }
            Next::Keep(_) => {
                let nodes = weigh(node);
                let node = node.clone();
                self.repeated += nodes;
                if self.repeated > ALIAS_NODES_MAX {
                    return Err(self.wrong(span.start, "anchors and aliases repeat more than 400000 values"));
                }
                self.complete(node);
            }
        }
        Ok(())
    }

    fn complete(&mut self, node: Node<'t>) {
        match self.stack.last_mut() {
            None => {
                if !matches!(node.what, What::Null) && self.root.is_none() {
                    self.root = Some(node);
                }
            }
            Some(Frame::Skip { .. }) => {}
            Some(Frame::List { items, .. }) => items.push(node),
            Some(Frame::Map { entries, merges, key, .. }) => match std::mem::replace(key, Key::Awaited) {
                Key::Awaited => {}
                Key::Merge => merges.push(node),
                Key::Read(key) if !matches!(node.what, What::Skipped) => entries.push((key, node)),
                Key::Read(_) => {}
            },
        }
    }
}

fn weigh(node: &Node<'_>) -> usize {
    match &node.what {
        What::Null | What::Scalar(_) | What::Skipped => 1,
        What::List(items) => 1 + items.iter().map(weigh).sum::<usize>(),
        What::Map(entries) => 1 + entries.iter().map(|(_, node)| weigh(node)).sum::<usize>(),
    }
}
