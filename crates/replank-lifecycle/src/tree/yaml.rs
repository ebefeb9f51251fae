//! YAML into trees. The grammar is granit-parser's; what a scalar means is decided by replank-intake, as kubectl takes it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span, StructureStyle, Tag};
use replank_intake::relaxed::relaxed;
use replank_intake::scalar;
use rustc_hash::FxHashMap;

use super::{Entry, EntryAt, From, Notation, OriginIndex, Origins, Style, Tree, What};

/// Levels of nesting, as in replank-intake.
const DEPTH_MAX: usize = 100;
/// Nodes that the aliases of one document may repeat, as in replank-intake.
const ALIAS_NODES_MAX: usize = 400_000;
/// Bytes up to which a text is one that may come again.
const SHARED_BYTES_MAX: usize = 24;

pub(super) fn read(text: &str, range: Range<usize>) -> Result<Option<(Tree, Origins)>, String> {
    let why = match strict(text, range.clone()) {
        Ok(read) => return Ok(read),
        Err(why) => why,
    };
    // What kubectl's reader takes all the same.
    let Some(relaxed) = relaxed(&text[range.clone()]) else { return Err(why) };
    let Ok(read) = strict(&relaxed.text, 0..relaxed.text.len()) else { return Err(why) };
    Ok(read.map(|(tree, mut origins)| {
        origins.move_to(&|at| range.start + relaxed.origin(at));
        (tree, origins)
    }))
}

pub(super) fn strict(text: &str, range: Range<usize>) -> Result<Option<(Tree, Origins)>, String> {
    let mut options = Options::default();
    options.flow_nesting_limit = DEPTH_MAX;
    options.block_nesting_limit = DEPTH_MAX;
    options.emit_comments = false;
    let mut builder = Builder {
        text,
        offset: range.start,
        origins: Origins::with_room(Notation::Yaml, range.len()),
        stack: Vec::new(),
        root: None,
        anchors: FxHashMap::default(),
        repeated: 0,
        words: FxHashMap::default(),
    };
    for event in Parser::new_from_str_with_options(&text[range], options) {
        let (event, span) = event.map_err(|error| format!("invalid YAML: {}", error.info()))?;
        builder.event(event, span)?;
    }
    Ok(builder.root.map(|root| (root, builder.origins)))
}

enum Frame {
    Map {
        start: usize,
        style: Style,
        anchor: usize,
        entries: Vec<Entry>,
        merged: Vec<Entry>,
        written: Vec<OriginIndex>,
        key: Option<Key>,
    },
    List {
        start: usize,
        style: Style,
        anchor: usize,
        items: Vec<Tree>,
    },
}

/// A key that waits for its value.
struct Key {
    range: Range<usize>,
    style: Style,
    says: Arc<str>,
    merge: bool,
}

struct Builder<'t> {
    text: &'t str,
    offset: usize,
    origins: Origins,
    stack: Vec<Frame>,
    root: Option<Tree>,
    anchors: FxHashMap<usize, Tree>,
    repeated: usize,
    /// Short texts that were said before.
    words: FxHashMap<&'t str, Arc<str>>,
}

impl<'t> Builder<'t> {
    fn range(&self, span: &Span) -> Range<usize> {
        let range = span.byte_range().unwrap_or(0..0);
        self.offset + range.start..self.offset + range.end
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "granit's events are not exhaustive")]
    fn event(&mut self, event: Event<'t>, span: Span) -> Result<(), String> {
        let range = self.range(&span);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.scalar(text, style, anchor, tag.as_deref(), range)
            }
            Event::SequenceStart(style, anchor, _) => {
                let style = match style {
                    StructureStyle::Block => Style::BlockList,
                    StructureStyle::Flow => Style::FlowList,
                };
                self.awaits_value()?;
                self.stack.push(Frame::List { start: range.start, style, anchor, items: Vec::new() });
                Ok(())
            }
            Event::MappingStart(style, anchor, _) => {
                let style = match style {
                    StructureStyle::Block => Style::BlockMap,
                    StructureStyle::Flow => Style::FlowMap,
                };
                self.awaits_value()?;
                self.stack.push(Frame::Map {
                    start: range.start,
                    style,
                    anchor,
                    entries: Vec::new(),
                    merged: Vec::new(),
                    written: Vec::new(),
                    key: None,
                });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(range.end),
            Event::Alias(anchor) => self.alias(anchor, range),
            // Marks of the stream, and what the options switch off.
            _ => Ok(()),
        }
    }

    /// Lists and mappings are no keys.
    fn awaits_value(&self) -> Result<(), String> {
        match self.stack.last() {
            Some(Frame::Map { key: None, .. }) => {
                Err("a list or mapping as a key cannot be written in JSON".to_owned())
            }
            Some(Frame::Map { key: Some(_), .. } | Frame::List { .. }) | None => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        range: Range<usize>,
    ) -> Result<(), String> {
        let range = self.trimmed(range, style);
        // What is not written at all is handed on as a tilde.
        let text = if range.is_empty() && style == ScalarStyle::Plain { Cow::Borrowed("") } else { text };
        let plain = style == ScalarStyle::Plain;
        let our_style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::SingleQuoted,
            ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
            ScalarStyle::Literal | ScalarStyle::Folded => Style::BlockText,
        };
        let merge = plain && text == "<<";
        let is_key = matches!(self.stack.last(), Some(Frame::Map { key: None, .. }));
        let written = is_key.then(|| text.clone());
        let what = self.meaning(text, plain, tag)?;
        if let (Some(Frame::Map { key: awaited @ None, .. }), Some(text)) = (self.stack.last_mut(), written) {
            let says = match &what {
                What::Text(text) => text.clone(),
                What::Null | What::Bool(_) | What::Number(_) | What::List(_) | What::Map(_) => {
                    let says = if tag.is_some() {
                        Some(Arc::from(&*text))
                    } else {
                        scalar::key(&text).map(Arc::from)
                    };
                    says.ok_or_else(|| format!("`{text}` cannot be a key"))?
                }
            };
            *awaited = Some(Key { range, style: our_style, says, merge });
            if anchor != 0 {
                self.anchors.insert(anchor, Tree::of(what));
            }
            return Ok(());
        }
        let from = self.origins.node(range, our_style, what.clone());
        self.complete(Tree { what, from: Some(from) }, anchor)
    }

    /// What a scalar says.
    fn meaning(&mut self, text: Cow<'t, str>, plain: bool, tag: Option<&Tag>) -> Result<What, String> {
        let resolve = match tag.map(|tag| tag.core_suffix()) {
            None => plain,
            Some(Some("int" | "float" | "bool" | "null")) => true,
            Some(Some("binary")) => return Err("`!!binary`".to_owned()),
            Some(_) => false,
        };
        if !resolve || scalar::is_text(&text) {
            return Ok(What::Text(self.shared(text)));
        }
        let value = scalar::value(&text).ok_or_else(|| format!("`{text}` cannot be written in JSON"))?;
        Ok(Tree::from_value(&value).what)
    }

    /// A text, which short ones of the same words share: a schema says the same few over and over.
    fn shared(&mut self, text: Cow<'t, str>) -> Arc<str> {
        match text {
            Cow::Borrowed(text) if text.len() <= SHARED_BYTES_MAX => {
                self.words.entry(text).or_insert_with(|| Arc::from(text)).clone()
            }
            Cow::Borrowed(text) => Arc::from(text),
            Cow::Owned(text) => Arc::from(text),
        }
    }

    /// Of a block's text the parser tells the end where the next token begins. It ends with its last line that is not
    /// blank; with `+` all of its lines are in it.
    fn trimmed(&self, range: Range<usize>, style: ScalarStyle) -> Range<usize> {
        match style {
            ScalarStyle::Plain | ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => range,
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let header = self.text[..range.start].rfind(['|', '>']).unwrap_or(range.start);
                let header = &self.text[header..range.start];
                let keeps = header.lines().next().is_some_and(|line| line.contains('+'));
                let written = self.text[range.clone()].trim_end_matches([' ', '\t']);
                let written = if keeps { written } else { written.trim_end() };
                let written = written.strip_suffix('\n').unwrap_or(written);
                let written = written.strip_suffix('\r').unwrap_or(written);
                range.start..range.start + written.len()
            }
        }
    }

    fn close(&mut self, end: usize) -> Result<(), String> {
        let (tree, anchor) = match self.stack.pop() {
            Some(Frame::List { start, style, anchor, items }) => {
                let last =
                    items.last().and_then(|item| item.from).map(|from| self.origins.nodes[from].range.end);
                let end = if style == Style::FlowList { end } else { last.unwrap_or(end) };
                let from = self.origins.node(start..end.max(start), style, What::Null);
                self.origins.nodes[from].items = items.iter().filter_map(|item| item.from).collect();
                (Tree { what: What::List(items), from: Some(from) }, anchor)
            }
            Some(Frame::Map { start, style, anchor, mut entries, merged, written, .. }) => {
                let last = written.last().map(|index| self.origins.entries[*index].end);
                let end = if style == Style::FlowMap { end } else { last.unwrap_or(end) };
                let from = self.origins.node(start..end.max(start), style, What::Null);
                self.origins.nodes[from].entries = written;
                // The mapping's own keys win, and of several merged ones the first.
                for entry in merged {
                    if !entries.iter().any(|own| own.key == entry.key) {
                        entries.push(entry);
                    }
                }
                (Tree { what: What::Map(entries), from: Some(from) }, anchor)
            }
            None => return Ok(()),
        };
        self.complete(tree, anchor)
    }

    fn alias(&mut self, anchor: usize, range: Range<usize>) -> Result<(), String> {
        if let Some(Frame::Map { key: None, .. }) = self.stack.last() {
            return Err("an alias as a key".to_owned());
        }
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err("an alias stands within the node it refers to".to_owned());
        };
        self.repeated += weigh(anchored);
        if self.repeated > ALIAS_NODES_MAX {
            return Err("anchors and aliases repeat more than 400000 values".to_owned());
        }
        let what = anchored.copied().what;
        let from = self.origins.node(range, Style::Alias, What::Null);
        self.complete(Tree { what, from: Some(from) }, 0)
    }

    fn complete(&mut self, tree: Tree, anchor: usize) -> Result<(), String> {
        if anchor != 0 {
            self.anchors.insert(anchor, tree.clone());
        }
        let end_of_value = tree.from.map_or(0, |from| self.origins.nodes[from].range.end);
        match self.stack.last_mut() {
            None => {
                if self.root.is_none() && !tree.is_null() {
                    self.root = Some(tree);
                }
            }
            Some(Frame::List { items, .. }) => items.push(tree),
            Some(Frame::Map { entries, merged, written, key, .. }) => {
                let Some(Key { range, style, says, merge }) = key.take() else { return Ok(()) };
                let colon = colon(self.text, range.end);
                let at = EntryAt {
                    key: range,
                    key_style: style,
                    says: says.clone(),
                    colon,
                    end: end_of_value.max(colon),
                    value: tree.from.unwrap_or_default(),
                    merge,
                };
                let index = self.origins.entry(at);
                written.push(index);
                if merge {
                    merged.extend(merged_entries(&tree)?);
                } else if entries.iter().any(|entry| entry.key == says) {
                    return Err(format!("duplicate key `{says}`"));
                } else {
                    entries.push(Entry { key: says, value: tree, from: From::Text(index) });
                }
            }
        }
        Ok(())
    }
}

fn merged_entries(tree: &Tree) -> Result<Vec<Entry>, String> {
    let sources = match &tree.what {
        What::List(items) => &items[..],
        What::Map(_) => std::slice::from_ref(tree),
        What::Null | What::Bool(_) | What::Number(_) | What::Text(_) => {
            return Err("`<<` takes a mapping, or a list of mappings".to_owned());
        }
    };
    let of_all = sources.iter().flat_map(Tree::entries);
    Ok(of_all
        .map(|entry| Entry { key: entry.key.clone(), value: entry.value.copied(), from: From::Merged })
        .collect())
}

/// The byte behind the colon that follows a key. A flow mapping may have keys without one.
fn colon(text: &str, key_end: usize) -> usize {
    let rest = &text[key_end..];
    let trimmed = rest.trim_start();
    if trimmed.starts_with(':') { key_end + (rest.len() - trimmed.len()) + 1 } else { key_end }
}

fn weigh(tree: &Tree) -> usize {
    let within = tree.items().iter().map(weigh).sum::<usize>();
    1 + within + tree.entries().iter().map(|entry| weigh(&entry.value)).sum::<usize>()
}
