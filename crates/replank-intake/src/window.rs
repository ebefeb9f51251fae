//! A part of a stream of text that is held in memory, with lines and offsets.

use std::io::{self, Read};

use memchr::{memchr_iter, memrchr};

use crate::limits::Limits;
use crate::open::{Text, failure};
use crate::problem::ProblemKind;

/// Bytes asked for at a time.
const READ_BYTES: usize = 64 * 1024;

/// How often all that was read may be read again, and how many bytes besides, so that a small input may be wrong
/// everywhere.
const AGAIN_TIMES: u64 = 4;
const AGAIN_BYTES: u64 = 64 << 20;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Holds the bytes from a mark on; those before it are forgotten when room is needed. Positions are counted
/// from the start of the stream.
pub(crate) struct Window {
    text: Text,
    held: Vec<u8>,
    /// Position of `held[0]`.
    base: u64,
    /// Index into `held` of the next byte.
    next: usize,
    /// Index into `held` of the first byte that is still needed.
    mark: usize,
    /// The last position whose line was asked for; never before the mark.
    known: Place,
    /// Bytes that were gone back to be read again.
    again: u64,
    end: End,
    input_bytes_max: u64,
}

/// A position and its line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) position: u64,
    /// From 1.
    pub(crate) line: u64,
    /// In characters, from 1.
    pub(crate) column: u64,
    /// Position of the first byte of that line.
    line_start: u64,
}

impl Place {
    /// Bytes before it on its line.
    pub(crate) fn indent(&self) -> u64 {
        self.position - self.line_start
    }
}

/// How taking a line ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Behind a line end.
    Line,
    /// At the end of the stream.
    End,
    /// Behind more than may be held.
    TooLong,
}

enum LineEnd {
    Passed,
    /// Not in what is at hand.
    Ahead,
    /// The stream has ended.
    Missing,
}

/// What is known of the end of the stream.
enum End {
    Ahead,
    Reached,
    /// Reading failed; the bytes before are all there is.
    Broken(ProblemKind),
}

impl Window {
    pub(crate) fn new(text: Text, limits: &Limits) -> Self {
        Self {
            text,
            held: Vec::new(),
            base: 0,
            next: 0,
            mark: 0,
            known: Place { position: 0, line: 1, column: 1, line_start: 0 },
            again: 0,
            end: End::Ahead,
            input_bytes_max: limits.input_bytes_max,
        }
    }

    /// The next byte, without going past it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        if self.next == self.held.len() && !self.fill() {
            return None;
        }
        Some(self.held[self.next])
    }

    /// The bytes at hand from the next one on; empty only at the end.
    #[inline]
    pub(crate) fn ahead(&mut self) -> &[u8] {
        if self.next == self.held.len() {
            self.fill();
        }
        &self.held[self.next..]
    }

    /// Whether the next bytes are these.
    pub(crate) fn at(&mut self, bytes: &[u8]) -> bool {
        while self.held.len() - self.next < bytes.len() {
            if !self.fill() {
                return false;
            }
        }
        self.held[self.next..].starts_with(bytes)
    }

    /// The byte that follows the next so many.
    pub(crate) fn byte_at(&mut self, distance: usize) -> Option<u8> {
        while self.held.len() - self.next <= distance {
            if !self.fill() {
                return None;
            }
        }
        Some(self.held[self.next + distance])
    }

    /// Whether the line that begins here has so many blanks and then this byte.
    pub(crate) fn at_indented(&mut self, indent: usize, byte: u8) -> bool {
        self.byte_at(indent) == Some(byte)
            && self.held[self.next..self.next + indent].iter().all(|byte| matches!(byte, b' ' | b'\t'))
    }

    /// Goes back to a position, unless it is forgotten: then nothing changes and the answer is `false`.
    pub(crate) fn rewind(&mut self, position: u64) -> bool {
        let held = position >= self.base + self.mark as u64;
        if held {
            self.next = self.index(position);
        }
        held
    }

    /// Goes back to a place that is not forgotten, to look at the text behind it with other external_changes. How much is read
    /// again in all is bounded, because an input can be made to ask for it again and again; where the bound is
    /// reached, or the place is forgotten, nothing changes and the answer is `false`.
    pub(crate) fn go_back(&mut self, place: Place) -> bool {
        let again = self.again + self.position().saturating_sub(place.position);
        let allowed = again <= AGAIN_BYTES + self.position() * AGAIN_TIMES;
        let goes = allowed && self.rewind(place.position);
        if goes {
            self.again = again;
            self.known = place;
        }
        goes
    }

    /// Goes back to the start of the line of a place, unless that is forgotten: then nothing changes and the answer
    /// is `false`.
    pub(crate) fn go_to_line_start(&mut self, place: Place) -> bool {
        let goes = self.rewind(place.line_start);
        if goes {
            self.known = Place { position: place.line_start, column: 1, ..place };
        }
        goes
    }

    #[inline]
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.next += bytes;
        assert!(self.next <= self.held.len(), "advanced past what was read");
    }

    /// Goes past a byte order mark, which programs put at the start of files and `cat` then in the middle.
    pub(crate) fn skip_bom(&mut self) {
        if self.peek() == Some(BOM[0]) && self.at(BOM) {
            self.advance(BOM.len());
        }
    }

    /// Goes past white space, and forgets it.
    pub(crate) fn skip_white(&mut self) {
        while self.skip_white_at_hand() {
            self.forget();
        }
        self.forget();
    }

    /// Goes past the white space at hand; whether more may follow.
    pub(crate) fn skip_white_at_hand(&mut self) -> bool {
        let ahead = self.ahead();
        let white = ahead.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        let more = white == ahead.len() && white > 0;
        self.advance(white);
        more
    }

    /// Goes past the rest of the line and its end, and forgets it. `false` at the end of the stream.
    pub(crate) fn skip_line(&mut self) -> bool {
        loop {
            self.forget();
            match self.line_end_at_hand() {
                LineEnd::Passed => return true,
                LineEnd::Ahead => {}
                LineEnd::Missing => return false,
            }
        }
    }

    /// Goes past the rest of a line of which nothing is needed. YAML takes a carriage return alone for a line
    /// end too, as old files have it.
    pub(crate) fn skip_to_break(&mut self) {
        loop {
            self.forget();
            let ahead = self.ahead();
            let all = ahead.len();
            match ahead.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
                Some(at) => return self.advance(at + 1),
                None if all == 0 => return,
                None => self.advance(all),
            }
        }
    }

    /// Goes past the rest of the line and its end, unless more than so many bytes since a position would have
    /// to be held.
    pub(crate) fn take_line(&mut self, start: u64, bytes_max: usize) -> Taken {
        loop {
            let end = self.line_end_at_hand();
            match end {
                _ if self.len_since(start) > bytes_max => return Taken::TooLong,
                LineEnd::Passed => return Taken::Line,
                LineEnd::Ahead => {}
                LineEnd::Missing => return Taken::End,
            }
        }
    }

    /// Goes past what is at hand of the line.
    fn line_end_at_hand(&mut self) -> LineEnd {
        let ahead = self.ahead();
        let all = ahead.len();
        match ahead.iter().position(|&byte| byte == b'\n') {
            Some(at) => {
                self.advance(at + 1);
                LineEnd::Passed
            }
            None if all == 0 => LineEnd::Missing,
            None => {
                self.advance(all);
                LineEnd::Ahead
            }
        }
    }

    /// Position of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.base + self.next as u64
    }

    /// Bytes before the next one are not needed any more.
    pub(crate) fn forget(&mut self) {
        self.mark = self.next;
    }

    /// The bytes from a position, which must not be forgotten, to the next byte.
    pub(crate) fn since(&self, position: u64) -> &[u8] {
        &self.held[self.index(position)..self.next]
    }

    /// Number of bytes from a position to the next byte.
    pub(crate) fn len_since(&self, position: u64) -> usize {
        self.next - self.index(position)
    }

    /// The place of the next byte.
    pub(crate) fn place(&mut self) -> Place {
        self.know(self.position())
    }

    /// Why the stream broke off, if it did and that was not asked for before.
    pub(crate) fn take_failure(&mut self) -> Option<ProblemKind> {
        match std::mem::replace(&mut self.end, End::Reached) {
            End::Broken(kind) => Some(kind),
            End::Ahead => {
                self.end = End::Ahead;
                None
            }
            End::Reached => None,
        }
    }

    /// Whether the stream broke off.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self.end, End::Broken(_))
    }

    fn index(&self, position: u64) -> usize {
        usize::try_from(position - self.base).expect("a position within what is held fits memory")
    }

    /// Counts lines up to a position, which does not lie before the one that was asked for last (or that the
    /// window was put back to).
    fn know(&mut self, position: u64) -> Place {
        assert!(position >= self.known.position, "lines are counted forwards");
        let from = self.index(self.known.position);
        let mut passed = &self.held[from..self.index(position).max(from)];
        if let Some(last) = memrchr(b'\n', passed) {
            self.known.line += memchr_iter(b'\n', &passed[..=last]).count() as u64;
            self.known.line_start = self.known.position + last as u64 + 1;
            self.known.column = 1;
            passed = &passed[last + 1..];
        }
        // All bytes but those that continue a character.
        let begins = |byte: &&u8| **byte & 0xc0 != 0x80;
        let characters = if passed.is_ascii() { passed.len() } else { passed.iter().filter(begins).count() };
        self.known.column += characters as u64;
        self.known.position = position.max(self.known.position);
        self.known
    }

    /// Reads on. `false` at the end.
    #[cold]
    fn fill(&mut self) -> bool {
        if !matches!(self.end, End::Ahead) {
            return false;
        }
        if self.mark >= self.held.len() / 2 {
            self.forget_before_mark();
        }
        let length = self.held.len();
        self.held.resize(length + READ_BYTES, 0);
        let read = loop {
            match self.text.reader.read(&mut self.held[length..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        let read = match read {
            Ok(0) => {
                self.end = End::Reached;
                0
            }
            Ok(read) if self.base + (length + read) as u64 > self.input_bytes_max => {
                let bound = bytes(self.input_bytes_max);
                self.end =
                    End::Broken(ProblemKind::Bound { what: "the size of the input, unpacked,", bound });
                0
            }
            Ok(read) => read,
            Err(error) => {
                self.end = End::Broken(failure(&error, self.text.packing));
                0
            }
        };
        self.held.truncate(length + read);
        read > 0
    }

    fn forget_before_mark(&mut self) {
        let mark = self.base + self.mark as u64;
        if self.known.position < mark {
            self.know(mark);
        }
        self.held.drain(..self.mark);
        self.base += self.mark as u64;
        self.next -= self.mark;
        self.mark = 0;
    }
}

/// A number of bytes for people.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(size, _)| count >= *size && count.is_multiple_of(*size)) {
        Some((size, unit)) => format!("{} {unit}", count / size),
        None => format!("{count} bytes"),
    }
}
