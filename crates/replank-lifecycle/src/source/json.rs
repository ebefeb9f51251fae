//! JSON, checked to the last byte, of which only what is wanted is built.
//!
//! serde_json tells no places; this reader knows nothing else besides, and borrows what has no escapes.

use std::borrow::Cow;

use super::node::{At, Node, What};
use super::want::Want;

/// Levels: serde_json's own bound. Each is a frame of the stack.
const DEPTH_MAX: u32 = 128;

/// Where text stops being JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotJson {
    /// The byte.
    pub(super) at: usize,
    /// What could have come.
    pub(super) expected: &'static str,
}

type Read<T> = Result<T, NotJson>;

/// Reads values of one text, one after the other.
pub(super) struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    /// The next byte.
    pub(super) at: usize,
    lines: Lines,
}

/// Lines are counted on the way, from one asked place to the next.
struct Lines {
    line: u32,
    line_start: usize,
    counted: usize,
}

impl<'t> Reader<'t> {
    /// A text from a byte on, which stands at the start of a line.
    pub(super) fn new(text: &'t str, at: usize, line: u32) -> Self {
        Self { text, bytes: text.as_bytes(), at, lines: Lines { line, line_start: at, counted: at } }
    }

    /// The line and column of a byte that is not before one asked for earlier.
    pub(super) fn place(&mut self, byte: usize) -> (u32, u32) {
        let lines = &mut self.lines;
        if byte > lines.counted {
            let between = &self.bytes[lines.counted..byte];
            let newlines = between.iter().filter(|&&byte| byte == b'\n').count();
            if newlines > 0 {
                lines.line += newlines as u32;
                let last = between.iter().rposition(|&byte| byte == b'\n').unwrap_or(0);
                lines.line_start = lines.counted + last + 1;
            }
            lines.counted = byte;
        }
        (lines.line, (byte.saturating_sub(lines.line_start)) as u32 + 1)
    }

    /// Goes past white space; whether anything is left.
    pub(super) fn skip_white(&mut self) -> bool {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.at < self.bytes.len()
    }

    fn expected<T>(&self, expected: &'static str) -> Read<T> {
        Err(NotJson { at: self.at, expected })
    }

    /// One value, from its first byte.
    pub(super) fn value(&mut self, want: &'static Want) -> Read<Node<'t>> {
        self.nested(want, DEPTH_MAX)
    }

    fn nested(&mut self, want: &'static Want, depth: u32) -> Read<Node<'t>> {
        if matches!(want, Want::Nothing) {
            self.skip(depth)?;
            return Ok(Node { at: At::default(), what: What::Skipped });
        }
        let start = self.at;
        let (line, column) = self.place(start);
        let what = match self.bytes.get(start) {
            Some(b'{') => What::Map(self.object(want, depth)?),
            Some(b'[') => What::List(self.array(want, depth)?),
            Some(b'"') => What::Scalar(self.string()?),
            Some(b'n') => {
                self.word("null")?;
                What::Null
            }
            Some(_) | None => {
                self.scalar()?;
                What::Scalar(Cow::Borrowed(&self.text[start..self.at]))
            }
        };
        Ok(Node { at: At { line, column, start, end: self.at }, what })
    }

    fn object(&mut self, want: &'static Want, depth: u32) -> Read<Vec<(Cow<'t, str>, Node<'t>)>> {
        let mut entries = Vec::new();
        self.members(depth, |reader, depth| {
            let key = reader.string()?;
            reader.colon()?;
            let want = want.key(&key);
            let node = reader.nested(want, depth)?;
            if !matches!(want, Want::Nothing) {
                entries.push((key, node));
            }
            Ok(())
        })?;
        Ok(entries)
    }

    /// The members of an object, from its brace, each taken in by `each` from its key's quote on.
    fn members(&mut self, depth: u32, mut each: impl FnMut(&mut Self, u32) -> Read<()>) -> Read<()> {
        let depth = self.deeper(depth)?;
        self.at += 1;
        self.skip_white();
        if self.bytes.get(self.at) == Some(&b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.bytes.get(self.at) != Some(&b'"') {
                return self.expected("a key in double quotes");
            }
            each(self, depth)?;
            self.skip_white();
            match self.bytes.get(self.at) {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(_) | None => return self.expected("`,` or `}`"),
            }
            self.skip_white();
        }
    }

    fn array(&mut self, want: &'static Want, depth: u32) -> Read<Vec<Node<'t>>> {
        let mut items = Vec::new();
        let want = want.item();
        self.elements(depth, |reader, depth| {
            items.push(reader.nested(want, depth)?);
            Ok(())
        })?;
        Ok(items)
    }

    fn elements(&mut self, depth: u32, mut each: impl FnMut(&mut Self, u32) -> Read<()>) -> Read<()> {
        let depth = self.deeper(depth)?;
        self.at += 1;
        self.skip_white();
        if self.bytes.get(self.at) == Some(&b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            each(self, depth)?;
            self.skip_white();
            match self.bytes.get(self.at) {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(_) | None => return self.expected("`,` or `]`"),
            }
            self.skip_white();
        }
    }

    fn deeper(&self, depth: u32) -> Read<u32> {
        match depth.checked_sub(1) {
            Some(depth) => Ok(depth),
            None => self.expected("at most 128 levels"),
        }
    }

    fn colon(&mut self) -> Read<()> {
        self.skip_white();
        if self.bytes.get(self.at) != Some(&b':') {
            return self.expected("`:`");
        }
        self.at += 1;
        self.skip_white();
        Ok(())
    }

    /// Past a value that nobody asks for.
    fn skip(&mut self, depth: u32) -> Read<()> {
        match self.bytes.get(self.at) {
            Some(b'{') => self.members(depth, |reader, depth| {
                reader.skip_string()?;
                reader.colon()?;
                reader.skip(depth)
            }),
            Some(b'[') => self.elements(depth, Self::skip),
            Some(b'"') => self.skip_string().map(|_| ()),
            Some(_) | None => self.scalar(),
        }
    }

    fn scalar(&mut self) -> Read<()> {
        match self.bytes.get(self.at) {
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) | None => self.expected("a value"),
        }
    }

    fn word(&mut self, word: &'static str) -> Read<()> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return self.expected("a value");
        }
        self.at += word.len();
        Ok(())
    }

    /// RFC 8259, section 6.
    fn number(&mut self) -> Read<()> {
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(_) | None => self.digits()?,
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Read<()> {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return self.expected("a digit");
        }
        self.at += count;
        Ok(())
    }

    /// The text of a string, from its quote.
    fn string(&mut self) -> Read<Cow<'t, str>> {
        let start = self.at;
        let escaped = self.skip_string()?;
        let written = &self.text[start..self.at];
        if !escaped {
            return Ok(Cow::Borrowed(&written[1..written.len() - 1]));
        }
        // Which escapes there are, and halves of surrogate pairs, is serde_json's business.
        serde_json::from_str(written)
            .map(Cow::Owned)
            .map_err(|_| NotJson { at: start, expected: "a string with valid escapes" })
    }

    /// Past a string, from its quote; whether it has escapes.
    fn skip_string(&mut self) -> Read<bool> {
        self.at += 1;
        let mut escaped = false;
        loop {
            let plain = plain_length(&self.bytes[self.at..]);
            self.at += plain;
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) | None => return self.expected("the closing quote of the string, on the same line"),
            }
        }
    }

    fn escape(&mut self) -> Read<()> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u')
                if self
                    .bytes
                    .get(self.at + 2..self.at + 6)
                    .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) =>
            {
                self.at += 6;
            }
            Some(_) | None => return self.expected("a valid escape"),
        }
        Ok(())
    }
}

/// Bytes before the next quote, backslash or control character. Eight at a time: most of JSON is text.
fn plain_length(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    let mut length = 0;
    for word in words {
        if has_special(u64::from_le_bytes(*word)) {
            break;
        }
        length += 8;
    }
    let special = |byte: &u8| matches!(byte, b'"' | b'\\') || *byte < 0x20;
    length + bytes[length..].iter().position(special).unwrap_or(bytes.len() - length)
}

/// Whether one of eight bytes is below 0x20, a quote or a backslash (the usual carry trick; it may also say yes of a byte
/// behind such a one, which does no harm).
fn has_special(word: u64) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word & HIGH;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    below(word, 0x20) | equal(b'"') | equal(b'\\') != 0
}
