//! Reads sources, one document after the other.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use crate::document::{Emit, Found, Part};
use crate::json;
use crate::limits::Limits;
use crate::open::{self, Text};
use crate::problem::{self, Lost, Problem, ProblemKind};
use crate::source::{self, Fatal, Input, PassedOver, Source, read_problem};
use crate::window::{Place, Taken, Window, bytes};
use crate::yaml;

/// What was read, apart from what was found in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Names of the sources that were read, in their order.
    pub sources: Vec<Arc<str>>,
    /// Those of them without any document: empty, or comments only.
    pub empty_sources: Vec<Arc<str>>,
    /// Documents without content (comments, `null`), which kubectl skips too.
    pub empty_documents: u64,
    /// Files in directories that were not read.
    pub passed_over: Vec<PassedOver>,
}

/// Reads all documents of all sources and hands each on, with what is wrong in between.
///
/// Sources are read in their order, the files of a directory sorted by name. Nothing of a list is held: its
/// items are handed on one by one. Values are any JSON; whether one is a Kubernetes object is for the caller
/// to see ([`crate::check::identify`]).
///
/// # Errors
/// Where a source that was named cannot be found or opened at all; nothing is read then.
pub fn read(sources: Vec<Source>, limits: &Limits, each: &mut dyn FnMut(Found)) -> Result<Report, Fatal> {
    let mut each = |part: Part| match part {
        Part::Found(found) => each(found),
        Part::Text(text) => json::stream::read_item(&text, limits, each),
    };
    parts(sources, limits, false, &mut each)
}

/// As [`read`], with items of lists as text if `defers`, where others can read them.
///
/// # Errors
/// As there.
pub(crate) fn parts(
    sources: Vec<Source>,
    limits: &Limits,
    defers: bool,
    each: &mut dyn FnMut(Part),
) -> Result<Report, Fatal> {
    let inputs = source::find(sources, limits)?;
    let mut report = Report { passed_over: inputs.passed_over, ..Report::default() };
    for problem in inputs.problems {
        each(Part::Found(Found::Problem(problem)));
    }
    for input in inputs.inputs {
        let (name, reader): (_, Box<dyn Read + Send>) = match input {
            Input::Open { name, reader } => (name, reader),
            Input::File { name, path } => match File::open(path) {
                Ok(file) => (name, Box::new(file)),
                Err(error) => {
                    let place = problem::Place::source(name);
                    let kind = read_problem(&error);
                    each(Part::Found(Found::Problem(Problem { place, kind, lost: Lost::Source })));
                    continue;
                }
            },
        };
        report.sources.push(name.clone());
        match open::open(reader) {
            Ok(text) => {
                let emit = Emit { source: name, limits, index: 0, defers, each: &mut *each };
                one(text, emit, &mut report);
            }
            Err(kind) => {
                let place = problem::Place::source(name);
                each(Part::Found(Found::Problem(Problem { place, kind, lost: Lost::Source })));
            }
        }
    }
    Ok(report)
}

fn one(text: Text, mut emit: Emit<'_>, report: &mut Report) {
    let mut window = Window::new(text, emit.limits);
    let mut stream = Stream { window: &mut window, emit: &mut emit, empty: 0 };
    while stream.next() {}
    report.empty_documents += u64::from(stream.empty);
    let failure = window.take_failure();
    if let Some(kind) = failure {
        let line = window.place().line;
        emit.problem(None, Some((line, None)), kind, Lost::RestOfSource);
    } else if emit.index == 0 {
        report.empty_sources.push(emit.source);
    }
}

struct Stream<'s, 'a> {
    window: &'s mut Window,
    emit: &'s mut Emit<'a>,
    empty: u32,
}

/// What a line begins with.
enum Line {
    End,
    /// Nothing but white space or a comment.
    Blank,
    /// `---` or `...` with nothing but a comment behind it.
    Marker,
    Json,
    Yaml,
}

impl Stream<'_, '_> {
    /// Takes in the next line, or the document that begins on it. `false` at the end.
    fn next(&mut self) -> bool {
        self.window.forget();
        self.window.skip_bom();
        self.window.forget();
        match self.line() {
            Line::End => return false,
            Line::Blank | Line::Marker => self.window.skip_to_break(),
            Line::Json => {
                self.window.skip_white();
                self.emit.index += 1;
                json::stream::document(self.window, self.emit);
                self.after_json();
            }
            Line::Yaml => {
                self.emit.index += 1;
                self.yaml();
            }
        }
        true
    }

    /// Looks at a line from its start, and stays there.
    fn line(&mut self) -> Line {
        let start = self.window.position();
        let line = if self.window.peek().is_none() {
            Line::End
        } else if self.at_marker() {
            self.window.advance(3);
            match self.first_on_line() {
                None | Some(b'#') => Line::Marker,
                Some(_) => Line::Yaml,
            }
        } else {
            match self.first_on_line() {
                None | Some(b'#') => Line::Blank,
                Some(b'{' | b'[') if self.at_json() => Line::Json,
                Some(_) => Line::Yaml,
            }
        };
        self.window.rewind(start);
        line
    }

    /// Whether `---` or `...` stands here, and not `-----BEGIN` or `...text`.
    fn at_marker(&mut self) -> bool {
        MARKERS.iter().any(|marker| self.window.at(marker)) && {
            let behind = self.window.byte_at(3);
            behind.is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
        }
    }

    /// Goes past blanks; the byte behind them unless it ends the line.
    fn first_on_line(&mut self) -> Option<u8> {
        let mut blanks = 0;
        while blanks < BLANKS_MAX && matches!(self.window.peek(), Some(b' ' | b'\t' | b'\r')) {
            self.window.advance(1);
            blanks += 1;
        }
        self.window.peek().filter(|&byte| byte != b'\n')
    }

    /// Whether the bracket that comes next begins JSON objects; YAML's own flow notation looks alike, and reads
    /// the rest of JSON as well.
    fn at_json(&mut self) -> bool {
        let mut in_object = false;
        for distance in 0..BLANKS_MAX {
            match self.window.byte_at(distance) {
                Some(b' ' | b'\t' | b'\r' | b'\n') => {}
                Some(b'[') if !in_object => {}
                Some(b'{') if !in_object => in_object = true,
                Some(b'"' | b'}') => return in_object,
                Some(_) | None => return false,
            }
        }
        false
    }

    /// Behind a JSON document: another, a comment or a marker may come.
    fn after_json(&mut self) {
        self.window.skip_white();
        self.window.forget();
        if matches!(self.window.peek(), None | Some(b'{' | b'[' | b'#')) || self.at_marker() {
            return;
        }
        let kind = ProblemKind::Json {
            expected: "another document or the end of the input".into(),
            found: json::stream::found(self.window),
        };
        let place = self.window.place();
        json::stream::skip_to_document(self.window);
        self.emit.problem(None, Some((place.line, Some(place.column))), kind, Lost::Document);
    }

    /// Reads the YAML document that begins on this line, up to the next marker.
    fn yaml(&mut self) {
        let Place { position: start, line: first_line, .. } = self.window.place();
        if !self.take_until_marker(start) {
            let bound = bytes(self.emit.limits.held_bytes_max as u64);
            let kind = ProblemKind::Bound { what: "the size of one document", bound };
            self.emit.problem(None, Some((first_line, None)), kind, Lost::Document);
            return;
        }
        if self.window.is_broken() {
            // What is there of the document may well be valid, and is not what was written.
            return;
        }
        let text = self.window.since(start);
        match text_of(text, start) {
            Ok(text) => self.empty += yaml::build::read(text, first_line, self.emit),
            Err((at, kind)) => {
                let line = first_line + text[..at].iter().filter(|&&byte| byte == b'\n').count() as u64;
                self.emit.problem(None, Some((line, None)), kind, Lost::Document);
            }
        }
    }

    /// Goes to the next marker or the end; `false` where the text is too long to be held.
    fn take_until_marker(&mut self, start: u64) -> bool {
        let bytes_max = self.emit.limits.held_bytes_max;
        // Directives stand before the marker of their own document.
        let mut directives = self.window.peek() == Some(b'%');
        loop {
            match self.window.take_line(start, bytes_max) {
                Taken::Line => {}
                Taken::End => return true,
                Taken::TooLong => {
                    let at_line_start = self.window.place().indent() == 0;
                    if !(at_line_start && self.at_boundary()) {
                        while self.window.skip_line() && !self.at_boundary() {}
                    }
                    return false;
                }
            }
            match self.window.peek() {
                Some(b'-') if directives && self.at_marker() => directives = false,
                _ if self.at_boundary() => return true,
                Some(b'%') => {}
                _ => directives = directives && self.at_blank_line(),
            }
        }
    }

    /// Whether nothing but blanks or a comment stands on the line that begins here.
    fn at_blank_line(&mut self) -> bool {
        for distance in 0..BLANKS_MAX {
            match self.window.byte_at(distance) {
                Some(b' ' | b'\t') => {}
                Some(b'\r') => return self.window.byte_at(distance + 1) == Some(b'\n'),
                Some(byte) => return matches!(byte, b'#' | b'\n'),
                None => return true,
            }
        }
        false
    }

    /// Whether a line begins here that ends a document.
    fn at_boundary(&mut self) -> bool {
        match self.window.peek() {
            Some(b'-' | b'.') => self.at_marker(),
            // A file with a byte order mark, put behind another one.
            Some(0xef) => self.window.at(b"\xef\xbb\xbf---"),
            _ => false,
        }
    }
}

/// Blanks looked at to tell what a line is; more are left to the parser.
const BLANKS_MAX: usize = 1 << 16;

const MARKERS: [[u8; 3]; 2] = [*b"---", *b"..."];

/// The text of a document, or the index of the byte that does not belong in text.
fn text_of(bytes: &[u8], start: u64) -> Result<&str, (usize, ProblemKind)> {
    let is_control = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r') || *byte == 0x7f;
    if let Some(at) = bytes.iter().position(is_control) {
        let kind = ProblemKind::ControlCharacter { offset: start + at as u64, byte: bytes[at] };
        return Err((at, kind));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        (at, ProblemKind::NotUtf8 { offset: start + at as u64, byte: bytes[at] })
    })
}
