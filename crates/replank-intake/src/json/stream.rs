//! JSON documents in a stream. Lists are taken apart on the way: only one item is held at a time.

use crate::document::{Emit, Found, ItemText, ListHead, Part, incomplete, lacks_type};
use crate::json::scan::{self, ScanError};
use crate::json::value::{self, ParseError};
use crate::limits::Limits;
use crate::problem::{Lost, ProblemKind};
use crate::window::{Place, Window};
use serde_json::Value;

/// Columns up to which the indentation of a list's items is used to find the next item after a broken one:
/// printed lists have 2 to 8.
const INDENT_MAX: u64 = 64;

/// A document that cannot be read on.
enum Broken {
    /// The window stands where the text is wrong.
    Here(ScanError),
    /// It was reported, and the window stands where reading can go on.
    Resumed,
}

impl From<ScanError> for Broken {
    fn from(error: ScanError) -> Self {
        Broken::Here(error)
    }
}

/// Where reading goes on after a value that is broken.
#[derive(PartialEq, Eq)]
enum Resumed {
    /// At the start of an item of the same list.
    Item,
    /// At something that can begin a document, or at the end.
    Document,
}

/// Where a unit (a document or an item) begins.
fn start(window: &mut Window) -> Place {
    window.forget();
    window.place()
}

/// Reads one document, from its `{` or `[`. Afterwards the window stands behind it, or, where it is broken, at
/// something that can begin the next document.
pub(crate) fn document(window: &mut Window, emit: &mut Emit<'_>) {
    let start = start(window);
    let result = if window.peek() == Some(b'[') {
        let mut list = List::default();
        let result = items(window, emit, &mut list);
        list.finish(emit);
        result
    } else {
        object(window, emit, start)
    };
    if let Err(Broken::Here(error)) = result {
        broken(window, emit, start, error, Lost::Document);
    }
}

fn broken(window: &mut Window, emit: &mut Emit<'_>, start: Place, error: ScanError, lost: Lost) {
    let wrong = Wrong::here(window, error);
    resume(window, start, None);
    wrong.report(window, emit, None, lost);
}

/// A member of a document that matters before the whole is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Member {
    Kind,
    ApiVersion,
    Metadata,
    Items,
    Other,
}

impl Member {
    const NAMED: [(Member, &'static str); 4] = [
        (Member::Kind, "kind"),
        (Member::ApiVersion, "apiVersion"),
        (Member::Metadata, "metadata"),
        (Member::Items, "items"),
    ];

    /// By the key as it is written, in quotes.
    fn of(key: &[u8]) -> Self {
        let named = |(_, name): &&(Member, &str)| {
            key.len() == name.len() + 2 && &key[1..=name.len()] == name.as_bytes()
        };
        Self::NAMED.iter().find(named).map_or(Member::Other, |&(member, _)| member)
    }
}

/// A document of which the members up to here are known.
#[derive(Default)]
struct Object {
    head: ListHead,
    /// Set once it turns out to be a list.
    list: Option<List>,
    seen: Vec<Member>,
}

fn object(window: &mut Window, emit: &mut Emit<'_>, start: Place) -> Result<(), Broken> {
    let mut object = Object::default();
    let result = object.members(window, emit, start);
    let Object { head, list, seen } = object;
    let Some(mut list) = list else {
        result?;
        if let Some(value) = unit(window, emit, None, start) {
            emit.document(start.line, value);
        }
        return Ok(());
    };
    list.head = head;
    emit.list(&list.head);
    list.finish(emit);
    for (member, name) in Member::NAMED {
        if seen.iter().filter(|&&seen| seen == member).count() > 1 {
            let kind = ProblemKind::DuplicateKey { key: name.into() };
            emit.problem(None, Some((start.line, None)), kind, Lost::Nothing);
        }
    }
    if let Err(Broken::Here(error)) = result {
        broken(window, emit, start, error, Lost::RestOfList);
    }
    Ok(())
}

impl Object {
    /// Goes past the members. Once one of them turns out to be the items of a list, the text before is
    /// forgotten.
    fn members(&mut self, window: &mut Window, emit: &mut Emit<'_>, start: Place) -> Result<(), Broken> {
        let mut from = start.position;
        window.advance(1);
        scan::white(window, from, emit.limits)?;
        if window.peek() == Some(b'}') {
            window.advance(1);
            return Ok(());
        }
        loop {
            scan::white(window, from, emit.limits)?;
            if window.peek() != Some(b'"') {
                return Err(ScanError::Unexpected { expected: "a key in double quotes" }.into());
            }
            let key = window.position();
            scan::string(window, from, emit.limits)?;
            let member = Member::of(window.since(key));
            scan::colon(window, from, emit.limits)?;
            self.member(member, from, window, emit, start)?;
            if self.list.is_some() {
                window.forget();
                from = window.position();
            }
            scan::white(window, from, emit.limits)?;
            match window.peek() {
                Some(b',') => window.advance(1),
                Some(b'}') => break,
                _ => return Err(ScanError::Unexpected { expected: "`,` or `}`" }.into()),
            }
        }
        window.advance(1);
        Ok(())
    }

    fn member(
        &mut self,
        member: Member,
        from: u64,
        window: &mut Window,
        emit: &mut Emit<'_>,
        start: Place,
    ) -> Result<(), Broken> {
        if member != Member::Other && self.seen.iter().filter(|&&seen| seen == member).count() < 2 {
            self.seen.push(member);
        }
        if member == Member::Items && window.peek() == Some(b'[') && self.head.can_be_list() {
            let list = self.list.get_or_insert_default();
            list.head = self.head.clone();
            return items(window, emit, list);
        }
        let value = window.position();
        scan::value(window, from, 1, emit.limits)?;
        let parsed = || serde_json::from_slice::<Value>(window.since(value)).ok();
        let text = || parsed().and_then(|value| value.as_str().map(str::to_owned));
        match member {
            Member::Kind => self.head.kind = text(),
            Member::ApiVersion => self.head.api_version = text(),
            Member::Metadata if self.list.is_some() || self.head.is_typed_list() => {
                if let Some(kind) = parsed().as_ref().and_then(incomplete) {
                    emit.problem(None, Some((start.line, None)), kind, Lost::RestOfList);
                }
            }
            Member::Metadata | Member::Items | Member::Other => {}
        }
        Ok(())
    }
}

/// A list whose items are handed on one by one.
#[derive(Default)]
struct List {
    head: ListHead,
    /// Items that lack a kind, while that of the list is still to come.
    deferred: Vec<Deferred>,
    deferred_bytes: usize,
}

struct Deferred {
    item: u32,
    start: Place,
    text: Box<[u8]>,
}

/// Reads the items of a list, from its `[` to behind its `]`.
fn items(window: &mut Window, emit: &mut Emit<'_>, list: &mut List) -> Result<(), Broken> {
    window.advance(1);
    let mut before = window.place().line;
    window.skip_white();
    if window.peek() == Some(b']') {
        window.advance(1);
        return Ok(());
    }
    // Items that begin their lines can be found again by their indentation.
    let mut indent = None;
    for item in 0.. {
        let start = start(window);
        if window.peek() == Some(b'{') {
            let here = start.indent();
            indent = Some(here).filter(|&here| start.line > before && here <= INDENT_MAX);
        }
        let mut lost = Lost::Item;
        let mut behind = start;
        let mut next = scan::value(window, start.position, 0, emit.limits);
        if next.is_ok() {
            list.item(window, emit, item, start);
            lost = Lost::Nothing;
            behind = window.place();
            next = scan::white(window, start.position, emit.limits);
        }
        match next.and_then(|()| separator(window)) {
            Ok(Separator::End) => return Ok(()),
            Ok(Separator::Comma) => {
                before = window.place().line;
                window.skip_white();
            }
            Err(error) => {
                let wrong = Wrong::here(window, error);
                // An item that was read need not be looked at again.
                let from = if lost == Lost::Item { start } else { behind };
                let resumed = resume(window, from, indent);
                let item = Some(item).filter(|_| lost == Lost::Item);
                match resumed {
                    Resumed::Item => {
                        before = window.place().line.saturating_sub(1);
                        window.skip_white();
                        wrong.report(window, emit, item, lost);
                    }
                    Resumed::Document => {
                        wrong.report(window, emit, item, Lost::RestOfList);
                        return Err(Broken::Resumed);
                    }
                }
            }
        }
    }
    Ok(())
}

enum Separator {
    Comma,
    End,
}

/// Goes past what follows an item.
fn separator(window: &mut Window) -> Result<Separator, ScanError> {
    let separator = match window.peek() {
        Some(b',') => Separator::Comma,
        Some(b']') => Separator::End,
        _ => return Err(ScanError::Unexpected { expected: "`,` or `]`" }),
    };
    window.advance(1);
    Ok(separator)
}

impl List {
    fn item(&mut self, window: &mut Window, emit: &mut Emit<'_>, item: u32, start: Place) {
        if emit.defers && self.deferred.is_empty() {
            let text = window.since(start.position);
            if self.head.kind.is_some() || names_type(text) {
                let (source, index, head) = (emit.source.clone(), emit.index, self.head.clone());
                let text = ItemText { source, index, item, start, head, text: text.into() };
                return (emit.each)(Part::Text(text));
            }
        }
        let bytes = window.len_since(start.position);
        let fits = self.deferred_bytes + bytes <= emit.limits.held_bytes_max;
        let value = if self.deferred.is_empty() || !fits {
            unit(window, emit, Some(item), start)
        } else {
            // The first one showed what this list is like; parsing waits until its kind is known.
            Some(Value::Null)
        };
        let Some(mut value) = value else { return };
        let waits = !self.deferred.is_empty() || self.head.kind.is_none() && lacks_type(&value);
        if waits && fits {
            self.deferred.push(Deferred { item, start, text: window.since(start.position).into() });
            self.deferred_bytes += bytes;
            return;
        }
        self.head.fill(&mut value);
        emit.item(item, start.line, value);
    }

    fn finish(&mut self, emit: &mut Emit<'_>) {
        for Deferred { item, start, text } in self.deferred.drain(..) {
            if let Some(mut value) = parse(&text, emit, Some(item), start) {
                self.head.fill(&mut value);
                emit.item(item, start.line, value);
            }
        }
    }
}

/// Reads the text of an item of a list.
pub(crate) fn read_item(text: &ItemText, limits: &Limits, each: &mut dyn FnMut(Found)) {
    let mut each = |part: Part| match part {
        Part::Found(found) => each(found),
        Part::Text(text) => read_item(&text, limits, each),
    };
    let source = text.source.clone();
    let mut emit = Emit { source, limits, index: text.index, defers: false, each: &mut each };
    if let Some(mut value) = parse(&text.text, &mut emit, Some(text.item), text.start) {
        text.head.fill(&mut value);
        emit.item(text.item, text.start.line, value);
    }
}

/// Whether the text of an object begins with its version or its kind, as kubectl prints it.
pub(crate) fn names_type(text: &[u8]) -> bool {
    fn behind<'t>(text: &'t [u8], what: &[u8]) -> Option<&'t [u8]> {
        text.trim_ascii_start().strip_prefix(what)
    }
    let first = behind(text, b"{")
        .and_then(|rest| behind(rest, b"\"apiVersion\"").or_else(|| behind(rest, b"\"kind\"")));
    let value = first.and_then(|rest| behind(rest, b":")).and_then(|rest| behind(rest, b"\""));
    value.is_some_and(|rest| rest.first().is_some_and(|&byte| byte != b'"'))
}

/// The tree of what lies between the start of a unit and the window's next byte; `None` where it was reported.
fn unit(window: &mut Window, emit: &mut Emit<'_>, item: Option<u32>, start: Place) -> Option<Value> {
    parse(window.since(start.position), emit, item, start)
}

fn parse(text: &[u8], emit: &mut Emit<'_>, item: Option<u32>, start: Place) -> Option<Value> {
    let lost = if item.is_some() { Lost::Item } else { Lost::Document };
    let text = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            let line = start.line + text[..at].iter().filter(|&&byte| byte == b'\n').count() as u64;
            let kind = ProblemKind::NotUtf8 { offset: start.position + at as u64, byte: text[at] };
            emit.problem(item, Some((line, None)), kind, lost);
            return None;
        }
    };
    match value::parse(text, emit.limits) {
        Ok(parsed) => {
            for key in parsed.duplicates {
                emit.problem(
                    item,
                    Some((start.line, None)),
                    ProblemKind::DuplicateKey { key },
                    Lost::Nothing,
                );
            }
            Some(parsed.value)
        }
        Err(ParseError::TooManyNodes) => {
            let bound = format!("{} values", emit.limits.nodes_max);
            let kind = ProblemKind::Bound { what: "the number of values in one object", bound };
            emit.problem(item, Some((start.line, Some(start.column))), kind, lost);
            None
        }
        Err(ParseError::Syntax(error)) => {
            let (line, column) = (error.line() as u64, error.column() as u64);
            let column = if line <= 1 { Some(start.column + column.max(1) - 1) } else { Some(column) };
            let message = error.to_string();
            let suffix = format!(" at line {} column {}", error.line(), error.column());
            let message = message.strip_suffix(&suffix).unwrap_or(&message).to_owned();
            let at = (start.line + line.max(1) - 1, column);
            emit.problem(item, Some(at), ProblemKind::JsonValue { message }, lost);
            None
        }
    }
}

/// Text that is wrong, with its place.
struct Wrong {
    at: (u64, Option<u64>),
    kind: ProblemKind,
}

impl Wrong {
    fn here(window: &mut Window, error: ScanError) -> Self {
        let kind = match error {
            ScanError::Unexpected { expected } => {
                ProblemKind::Json { expected: expected.into(), found: found(window) }
            }
            ScanError::Bound { what, bound } => ProblemKind::Bound { what, bound },
        };
        let Place { line, column, .. } = window.place();
        Self { at: (line, Some(column)), kind }
    }

    /// Where the stream broke off there is nothing wrong with the text; that it broke off is reported once for
    /// the whole source.
    fn report(self, window: &Window, emit: &mut Emit<'_>, item: Option<u32>, lost: Lost) {
        if !window.is_broken() {
            emit.problem(item, Some(self.at), self.kind, lost);
        }
    }
}

/// The next character, in words.
pub(crate) fn found(window: &mut Window) -> String {
    let ahead = window.ahead();
    let ahead = &ahead[..ahead.len().min(4)];
    match String::from_utf8_lossy(ahead).chars().next() {
        None => "the end of the input".into(),
        Some('\n' | '\r') => "the end of the line".into(),
        Some(c) if c.is_control() => format!("the control character {:#04x}", u32::from(c)),
        Some(c) => format!("`{c}`"),
    }
}

/// Goes to the next line that can begin a document, from behind one that has ended.
pub(crate) fn skip_to_document(window: &mut Window) {
    let place = window.place();
    resume(window, place, None);
}

/// Goes to the next line that can begin something, behind the one on which the broken text began: an item at the
/// indentation of the one that is broken, or, at the start of a line, a document. A bracket or quote that is missing
/// is noticed only after complete objects were read as parts, so these are read again.
fn resume(window: &mut Window, from: Place, indent: Option<u64>) -> Resumed {
    let wrong = window.place();
    let at_next_line = !window.go_back(from) && wrong.line > from.line && window.go_to_line_start(wrong);
    // What looked like an item may be the marker after a list that was cut off.
    let stays = at_next_line || window.place().indent() == 0 && at_marker(window);
    if !stays {
        window.skip_line();
    }
    loop {
        window.forget();
        if let Some(indent) = indent
            && window.at_indented(indent as usize, b'{')
        {
            return Resumed::Item;
        }
        if matches!(window.peek(), None | Some(b'{' | b'[')) || at_marker(window) {
            return Resumed::Document;
        }
        window.skip_line();
    }
}

fn at_marker(window: &mut Window) -> bool {
    window.at(b"---") || window.at(b"...")
}
