//! From the events of a YAML text to JSON trees, one for each document, or for each item of a list.

use std::collections::BTreeMap;

use serde_json::map::Entry;
use serde_json::{Map, Value};
use serde_saphyr::granit_parser::{Event, Marker, Options, Parser, Span, StructureStyle};

use crate::document::{Emit, ListHead, incomplete, lacks_type};
use crate::problem::{Lost, ProblemKind};
use crate::relaxed::relaxed;
use crate::window::bytes;
use crate::yaml::node::{Node, Wrong, scalar_node, weigh};
use crate::yaml::resume::{self, Again, Broken};

/// Duplicate keys reported of one document: more say nothing new.
const DUPLICATES_MAX: u32 = 10;

/// Reads the documents in a text (one, unless unusual line ends hide a marker) that begins on a line of its
/// source. Returns how many of them had no content.
pub(crate) fn read(text: &str, first_line: u64, emit: &mut Emit<'_>) -> u32 {
    // Where both are broken, what is written tells more of where.
    let relaxed = relaxed(text).filter(|relaxed| {
        !is_grammatical(text, options(emit)) && is_grammatical(&relaxed.text, options(emit))
    });
    let text = relaxed.as_ref().map_or(text, |relaxed| &relaxed.text);
    let mut builder = Builder {
        text,
        first_line,
        emit,
        stack: Vec::new(),
        list: None,
        anchors: BTreeMap::new(),
        spent: Spent::default(),
        documents: 0,
        empty: 0,
        between: false,
        again: Again::default(),
        document_bytes: text.len(),
    };
    while let Err(wrong) = builder.run() {
        if !builder.broken(wrong) {
            break;
        }
    }
    builder.empty
}

/// Whether a text is YAML as it stands.
fn is_grammatical(text: &str, options: Options) -> bool {
    Parser::new_from_str_with_options(text, options).all(|event| event.is_ok())
}

fn options(emit: &Emit<'_>) -> Options {
    let mut options = Options::default();
    // One more than allowed, so that the bound is noticed here, with our words. Two levels belong to a list.
    let depth = emit.limits.depth_max.saturating_add(3);
    options.flow_nesting_limit = depth;
    options.block_nesting_limit = depth;
    options.emit_comments = false;
    options
}

/// A mapping or sequence that is being read.
struct Frame {
    /// Its anchor, or 0.
    anchor: usize,
    start: Marker,
    kind: FrameKind,
}

enum FrameKind {
    Mapping(Mapping),
    Sequence(Vec<Value>),
    /// The items of the list that the document is; they are handed on as they are completed.
    Items,
}

#[derive(Default)]
struct Mapping {
    map: Map<String, Value>,
    merges: Vec<Map<String, Value>>,
    pending: Pending,
}

/// What comes next in a mapping.
#[derive(Default)]
enum Pending {
    #[default]
    Key,
    /// The value of this key, which stands there.
    Value(String, Marker),
    /// What is merged in.
    Merge,
}

/// A list whose items are handed on one by one.
#[derive(Default)]
struct List {
    head: ListHead,
    /// Position of the item that is being read, or comes next.
    item: u32,
    at: ItemAt,
    /// Line of the text on which the first item's dash stands; `None` in flow notation.
    dashes: Option<usize>,
    /// Items that lack a kind, while that of the list is still to come.
    deferred: Vec<(u32, u64, Value)>,
}

/// Where an item is.
#[derive(Clone, Copy)]
enum ItemAt {
    /// It begins on this line of the source.
    Line(u64),
    /// Behind the one before it, which began on this line.
    Behind(u64),
}

impl Default for ItemAt {
    fn default() -> Self {
        ItemAt::Line(0)
    }
}

impl List {
    /// Line of the item that is being read.
    fn line(&self) -> u64 {
        let (ItemAt::Line(line) | ItemAt::Behind(line)) = self.at;
        line
    }

    /// Which item is broken, by lines of a text that begins on this line.
    fn broken(&self, first_line: u64, wrong: u64) -> Broken {
        match self.at {
            ItemAt::Line(line) => Broken::On(line.saturating_sub(first_line)),
            ItemAt::Behind(line) => Broken::Behind {
                line: line.saturating_sub(first_line),
                wrong: wrong.saturating_sub(first_line),
            },
        }
    }
}

/// A node with an anchor, and what each alias to it adds.
struct Recorded {
    value: Value,
    nodes: usize,
    bytes: usize,
}

/// What a document has used of its bounds.
#[derive(Default)]
struct Spent {
    /// Values in the document or list item.
    nodes: usize,
    alias_nodes: usize,
    alias_bytes: usize,
    duplicates: u32,
}

struct Builder<'t, 'e, 'a> {
    /// What is being read, and the line of the source on which it begins.
    text: &'t str,
    first_line: u64,
    emit: &'e mut Emit<'a>,
    stack: Vec<Frame>,
    /// Set while the document is a list that is taken apart.
    list: Option<List>,
    anchors: BTreeMap<usize, Recorded>,
    spent: Spent,
    documents: u32,
    empty: u32,
    /// Whether the last document that began has ended.
    between: bool,
    /// What was read again behind broken items, and what that is measured by.
    again: Again,
    document_bytes: usize,
}

impl Builder<'_, '_, '_> {
    fn run(&mut self) -> Result<(), Wrong> {
        for event in Parser::new_from_str_with_options(self.text, options(self.emit)) {
            match event {
                Ok((event, span)) => self.event(event, span),
                Err(error) => Err(Wrong::yaml(*error.marker(), &error.info())),
            }
            .map_err(|wrong| wrong.in_template(self.text))?;
        }
        Ok(())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "granit's events are not exhaustive")]
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Wrong> {
        let at = span.start;
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                self.between = false;
                if self.documents > 1 {
                    self.emit.index += 1;
                }
                self.anchors.clear();
                self.spent = Spent::default();
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.start_node(at)?;
                let node = scalar_node(text, style, tag.as_deref(), at)?;
                self.complete(anchor, node, at)
            }
            Event::SequenceStart(style, anchor, _) => {
                self.start_node(at)?;
                let kind = match self.list_head(anchor) {
                    Some(head) => {
                        let line = self.line(at);
                        let list = self.list.get_or_insert_default();
                        (list.head, list.at) = (head, ItemAt::Line(line));
                        list.dashes = (style == StructureStyle::Block).then_some(at.line());
                        FrameKind::Items
                    }
                    None => FrameKind::Sequence(Vec::new()),
                };
                self.open(anchor, kind, at)
            }
            Event::MappingStart(_, anchor, _) => {
                self.start_node(at)?;
                self.open(anchor, FrameKind::Mapping(Mapping::default()), at)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(at),
            Event::Alias(anchor) => self.alias(anchor, at),
            Event::DocumentEnd => {
                self.between = true;
                Ok(())
            }
            // The events left are marks of the stream's structure, and what the options switch off.
            _ => Ok(()),
        }
    }

    fn line(&self, at: Marker) -> u64 {
        self.first_line + at.line().saturating_sub(1) as u64
    }

    /// Counts a node, keys aside. Each item of a list is counted for itself.
    fn start_node(&mut self, at: Marker) -> Result<(), Wrong> {
        if let Some(Frame { kind: FrameKind::Items, .. }) = self.stack.last() {
            self.list.get_or_insert_default().at = ItemAt::Line(self.line(at));
            self.spent.nodes = 0;
        }
        if let Some(Frame { kind: FrameKind::Mapping(Mapping { pending: Pending::Key, .. }), .. }) =
            self.stack.last()
        {
            return Ok(());
        }
        self.spent.nodes += 1;
        let max = self.emit.limits.nodes_max;
        if self.spent.nodes > max {
            return Err(Wrong::bound(at, "the number of values in one object", format!("{max} values")));
        }
        Ok(())
    }

    fn open(&mut self, anchor: usize, kind: FrameKind, at: Marker) -> Result<(), Wrong> {
        if let Some(Frame { kind: FrameKind::Mapping(Mapping { pending: Pending::Key, .. }), .. }) =
            self.stack.last()
        {
            return Err(Wrong::not_json(at, "a list or mapping as a key", "text"));
        }
        // The levels that a list puts around its items do not count.
        let of_list = match self.stack.iter().take(2).position(|frame| matches!(frame.kind, FrameKind::Items))
        {
            Some(position) => position + 1,
            None => 0,
        };
        let max = self.emit.limits.depth_max;
        if self.stack.len() >= max + of_list && !matches!(kind, FrameKind::Items) {
            return Err(Wrong::bound(at, "the nesting of one object", format!("{max} levels")));
        }
        self.stack.push(Frame { anchor, start: at, kind });
        Ok(())
    }

    /// What is known of the list whose items begin here, if the document is one: it has a key `items`, or
    /// consists of items only. Where it has an anchor it may be needed again, and is held.
    fn list_head(&self, anchor: usize) -> Option<ListHead> {
        if anchor != 0 {
            return None;
        }
        match self.stack.as_slice() {
            // Unless it is taken up again, a list without head.
            [] => Some(self.list.as_ref().map(|list| list.head.clone()).unwrap_or_default()),
            [Frame { anchor: 0, kind: FrameKind::Mapping(mapping), .. }] => match &mapping.pending {
                Pending::Value(key, _) if key == "items" => {
                    Some(head_of(&mapping.map)).filter(ListHead::can_be_list)
                }
                Pending::Value(..) | Pending::Key | Pending::Merge => None,
            },
            _ => None,
        }
    }

    fn close(&mut self, at: Marker) -> Result<(), Wrong> {
        let Some(Frame { anchor, start, kind }) = self.stack.pop() else { return Ok(()) };
        let value = match kind {
            FrameKind::Sequence(values) => Value::Array(values),
            FrameKind::Mapping(Mapping { mut map, merges, .. }) => {
                if self.stack.is_empty() && self.list.is_some() {
                    self.finish_list(&map, start);
                    return Ok(());
                }
                for (key, value) in merges.into_iter().flatten() {
                    map.entry(key).or_insert(value);
                }
                Value::Object(map)
            }
            FrameKind::Items => {
                match self.stack.last_mut() {
                    Some(Frame { kind: FrameKind::Mapping(mapping), .. }) => mapping.pending = Pending::Key,
                    _ => self.finish_list(&Map::new(), start),
                }
                return Ok(());
            }
        };
        if self.stack.is_empty() {
            let line = self.line(start);
            self.emit.document(line, value);
            return Ok(());
        }
        self.complete(anchor, Node::Value(value), at)
    }

    /// Puts a complete node where it belongs.
    fn complete(&mut self, anchor: usize, node: Node<'_>, at: Marker) -> Result<(), Wrong> {
        if anchor != 0 {
            let value = node.clone_value(at)?;
            let (nodes, bytes) = weigh(&value);
            self.charge(nodes, bytes, at)?;
            self.anchors.insert(anchor, Recorded { value, nodes, bytes });
        }
        let Some(frame) = self.stack.last_mut() else {
            let value = node.value(at)?;
            if value.is_null() {
                self.empty += 1;
                self.emit.index -= 1;
            } else {
                let line = self.line(at);
                self.emit.document(line, value);
            }
            return Ok(());
        };
        match &mut frame.kind {
            FrameKind::Sequence(values) => values.push(node.value(at)?),
            FrameKind::Items => {
                let value = node.value(at)?;
                self.item(value);
            }
            FrameKind::Mapping(mapping) => match std::mem::take(&mut mapping.pending) {
                Pending::Key => {
                    mapping.pending = match node {
                        Node::Merge => Pending::Merge,
                        node @ (Node::Scalar(..) | Node::Value(_)) => Pending::Value(node.key(at)?, at),
                    };
                }
                Pending::Merge => merge(node.value(at)?, mapping, at)?,
                Pending::Value(key, key_at) => {
                    if let Some(key) = insert(&mut mapping.map, key, node.value(at)?) {
                        self.duplicate(key, key_at);
                    }
                }
            },
        }
        Ok(())
    }

    fn duplicate(&mut self, key: String, at: Marker) {
        self.spent.duplicates += 1;
        if self.spent.duplicates <= DUPLICATES_MAX {
            let item = self.list.as_ref().map(|list| list.item);
            let at = (self.line(at), Some(at.col() as u64 + 1));
            self.emit.problem(item, Some(at), ProblemKind::DuplicateKey { key }, Lost::Nothing);
        }
    }

    fn alias(&mut self, anchor: usize, at: Marker) -> Result<(), Wrong> {
        self.start_node(at)?;
        let Some(Recorded { value, nodes, bytes }) = self.anchors.get(&anchor) else {
            return Err(Wrong::yaml(at, "the alias is inside the node it refers to"));
        };
        let (value, nodes, bytes) = (value.clone(), *nodes, *bytes);
        self.charge(nodes, bytes, at)?;
        self.complete(0, Node::Value(value), at)
    }

    fn charge(&mut self, nodes: usize, bytes_added: usize, at: Marker) -> Result<(), Wrong> {
        let limits = self.emit.limits;
        self.spent.alias_nodes += nodes;
        self.spent.alias_bytes += bytes_added;
        if self.spent.alias_nodes > limits.alias_nodes_max {
            let bound = format!("{} values", limits.alias_nodes_max);
            return Err(Wrong::bound(at, "the expansion of this document's anchors and aliases", bound));
        }
        if self.spent.alias_bytes > limits.alias_bytes_max {
            let bound = bytes(limits.alias_bytes_max as u64);
            return Err(Wrong::bound(at, "the expansion of this document's anchors and aliases", bound));
        }
        Ok(())
    }

    fn item(&mut self, mut value: Value) {
        let Some(list) = &mut self.list else { return };
        if list.head.kind.is_none() && lacks_type(&value) {
            list.deferred.push((list.item, list.line(), value));
        } else {
            list.head.fill(&mut value);
            self.emit.item(list.item, list.line(), value);
        }
        list.item += 1;
        list.at = ItemAt::Behind(list.line());
    }

    fn finish_list(&mut self, map: &Map<String, Value>, start: Marker) {
        let Some(list) = self.list.take() else { return };
        let head = if map.contains_key("kind") { head_of(map) } else { list.head };
        self.emit.list(&head);
        for (item, line, mut value) in list.deferred {
            head.fill(&mut value);
            self.emit.item(item, line, value);
        }
        if let Some(kind) = map.get("metadata").and_then(incomplete) {
            let line = self.line(start);
            self.emit.problem(None, Some((line, None)), kind, Lost::RestOfList);
        }
    }

    /// Reports what ended the reading. `true` where it can go on: with the next item of a list.
    fn broken(&mut self, Wrong { at, kind }: Wrong) -> bool {
        if self.between {
            self.emit.index += 1;
        }
        let line_and_column = (self.line(at), Some(at.col() as u64 + 1));
        let in_items = self.stack.iter().any(|frame| matches!(frame.kind, FrameKind::Items));
        let root = match self.stack.drain(..).next() {
            Some(Frame { kind: FrameKind::Mapping(Mapping { map, .. }), .. }) => map,
            _ => Map::new(),
        };
        let item = self.list.as_ref().map(|list| list.item).filter(|_| in_items);
        if let Some(list) = &mut self.list
            && let Some(first_item) = list.dashes
            && let Some(rest) =
                resume::behind(self.text, first_item, list.broken(self.first_line, line_and_column.0))
            && self.again.allows(&rest, self.document_bytes)
        {
            list.item += rest.items;
            if list.head.kind.is_none() {
                list.head = head_of(&root);
            }
            self.text = rest.text;
            self.first_line += rest.lines;
            list.at = ItemAt::Line(self.first_line);
            self.documents = 0;
            self.emit.problem(item, Some(line_and_column), kind, Lost::Item);
            return true;
        }
        let lost = if self.list.is_some() { Lost::RestOfList } else { Lost::Document };
        self.finish_list(&root, at);
        self.emit.problem(item, Some(line_and_column), kind, lost);
        false
    }
}

/// Inserts, the last value winning; gives the key back if it was there before.
fn insert(map: &mut Map<String, Value>, key: String, value: Value) -> Option<String> {
    match map.entry(key) {
        Entry::Vacant(entry) => {
            entry.insert(value);
            None
        }
        Entry::Occupied(mut entry) => {
            entry.insert(value);
            Some(entry.key().clone())
        }
    }
}

fn merge(value: Value, mapping: &mut Mapping, at: Marker) -> Result<(), Wrong> {
    const EXPECTED: &str = "`<<` takes a mapping, or a list of mappings";
    match value {
        Value::Object(map) => mapping.merges.push(map),
        Value::Array(values) => {
            for value in values {
                let Value::Object(map) = value else { return Err(Wrong::yaml(at, EXPECTED)) };
                mapping.merges.push(map);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            return Err(Wrong::yaml(at, EXPECTED));
        }
    }
    Ok(())
}

fn head_of(map: &Map<String, Value>) -> ListHead {
    let text = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
    ListHead { kind: text("kind"), api_version: text("apiVersion") }
}
