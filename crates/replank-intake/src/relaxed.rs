//! YAML that kubectl's reader takes and YAML's grammar does not: lines of quoted text that are indented less than what holds them,
//! tabs before lines that go on, tabs between tokens.
//!
//! libyaml, and go-yaml after it, skip blanks there whatever they are. [`relaxed`] writes such blanks as the grammar wants
//! them; none of them says anything. Line breaks stay where they are, so that lines keep their numbers.

use std::ops::Range;

/// A text with other blanks, and where its bytes come from.
#[derive(Debug, PartialEq, Eq)]
pub struct Relaxed {
    /// The text.
    pub text: String,
    /// Blanks that were written anew: where they stand in the new text, and where they stood. In order.
    moved: Vec<(Range<usize>, Range<usize>)>,
}

impl Relaxed {
    /// Where a byte of the new text stood.
    pub fn origin(&self, at: usize) -> usize {
        let before = self.moved.partition_point(|(new, _)| new.start <= at);
        let Some((new, old)) = before.checked_sub(1).map(|index| &self.moved[index]) else { return at };
        if at >= new.end { old.end + (at - new.end) } else { old.start + (at - new.start).min(old.len()) }
    }
}

/// The text with blanks as the grammar wants them. `None` where none would change.
pub fn relaxed(text: &str) -> Option<Relaxed> {
    let mut scanner =
        Scanner { text, bytes: text.as_bytes(), at: 0, depth: 0, key_column: 0, blanks: Vec::new() };
    scanner.all();
    let changed: Vec<(Range<usize>, String)> =
        scanner.blanks.into_iter().filter(|(range, blanks)| text[range.clone()] != **blanks).collect();
    if changed.is_empty() {
        return None;
    }
    let (mut out, mut moved, mut at) = (String::with_capacity(text.len() + 64), Vec::new(), 0);
    for (range, blanks) in changed {
        out.push_str(&text[at..range.start]);
        let start = out.len();
        out.push_str(&blanks);
        moved.push((start..out.len(), range.clone()));
        at = range.end;
    }
    out.push_str(&text[at..]);
    Some(Relaxed { text: out, moved })
}

struct Scanner<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    /// Open brackets and braces.
    depth: usize,
    /// The column of the key that the line is about, behind dashes.
    key_column: usize,
    /// Blanks, and what is to stand there.
    blanks: Vec<(Range<usize>, String)>,
}

/// Where on a line the scanner is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// A key may begin: at the start of a line, or behind a dash.
    Key,
    /// A value, behind a colon.
    Value,
    /// Something has been read.
    Rest,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn behind(&self, offset: usize) -> Option<u8> {
        self.bytes.get(self.at + offset).copied()
    }

    fn column(&self, at: usize) -> usize {
        at - self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    fn is_blank_behind(&self, offset: usize) -> bool {
        matches!(self.behind(offset), None | Some(b' ' | b'\t' | b'\n' | b'\r'))
    }

    /// Blanks from here on, written as so many spaces at least.
    fn skip_blanks(&mut self, least: usize) {
        let start = self.at;
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let count = self.at - start;
        if count < least || self.text[start..self.at].contains('\t') {
            self.blanks.push((start..self.at, " ".repeat(count.max(least))));
        }
    }

    /// Whether an anchor, an alias or a tag ends here.
    fn ends_word(&self) -> bool {
        self.is_blank_behind(0) || (self.depth > 0 && matches!(self.peek(), Some(b',' | b']' | b'}')))
    }

    fn skip_line(&mut self) {
        while !matches!(self.peek(), None | Some(b'\n')) {
            self.at += 1;
        }
    }

    fn all(&mut self) {
        let mut next = Next::Key;
        // Whether the line before may go on: it ended in a plain scalar.
        let mut is_plain = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' => {
                    self.at += 1;
                    next = Next::Key;
                    self.line_start(is_plain);
                    // Behind a blank line text may go on as well.
                    is_plain &= matches!(self.peek(), Some(b'\n' | b'\r'));
                }
                b'\r' | b' ' => self.at += 1,
                // Where a key may begin a tab is none of YAML for anybody.
                b'\t' if self.depth == 0 && next == Next::Key => self.at += 1,
                b'\t' => self.skip_blanks(0),
                b'#' if self.at == 0 || matches!(self.bytes[self.at - 1], b' ' | b'\t' | b'\n') => {
                    self.skip_line();
                    is_plain = false;
                }
                b'"' | b'\'' => {
                    self.begin(next);
                    self.quoted(byte);
                    (next, is_plain) = (Next::Rest, false);
                }
                b'[' | b'{' if self.depth > 0 || next != Next::Rest => {
                    self.begin(next);
                    self.depth += 1;
                    self.at += 1;
                    (next, is_plain) = (Next::Value, false);
                }
                b']' | b'}' if self.depth > 0 => {
                    self.depth -= 1;
                    self.at += 1;
                    next = Next::Rest;
                }
                b',' if self.depth > 0 => {
                    self.at += 1;
                    next = Next::Value;
                }
                b':' if self.depth > 0 || self.is_blank_behind(1) => {
                    self.at += 1;
                    (next, is_plain) = (Next::Value, false);
                }
                b'-' | b'?' if self.depth == 0 && next == Next::Key && self.is_blank_behind(1) => {
                    self.at += 1;
                }
                b'|' | b'>' if self.depth == 0 && next != Next::Rest => {
                    self.block_text();
                    (next, is_plain) = (Next::Key, false);
                }
                b'&' | b'*' | b'!' if next != Next::Rest => {
                    self.begin(next);
                    while !self.ends_word() {
                        self.at += 1;
                    }
                    // A value may follow what an anchor or a tag stands before.
                    next = if next == Next::Key { Next::Key } else { Next::Value };
                }
                _ => {
                    self.begin(next);
                    self.plain();
                    (next, is_plain) = (Next::Rest, true);
                }
            }
        }
    }

    /// What begins where a key may begin says how deep the line is.
    fn begin(&mut self, next: Next) {
        if self.depth == 0 && next == Next::Key {
            self.key_column = self.column(self.at);
        }
    }

    /// Blanks at the start of a line.
    fn line_start(&mut self, is_plain: bool) {
        let spaces = self.bytes[self.at..].iter().take_while(|byte| **byte == b' ').count();
        let has_tab = self.behind(spaces) == Some(b'\t');
        if self.depth > 0 {
            self.skip_blanks(0);
        } else if has_tab && is_plain && spaces > self.key_column {
            self.at += spaces;
            self.skip_blanks(0);
        }
    }

    /// A quoted scalar, from its quote on. Its lines are indented as its quote is, at least.
    fn quoted(&mut self, quote: u8) {
        let least = self.column(self.at) + 1;
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                // The byte behind it is no quote; a line's end is looked at below.
                b'\\' if quote == b'"' && !matches!(self.peek(), Some(b'\n' | b'\r')) => self.at += 1,
                b'\n' => {
                    let rest = &self.text[self.at..];
                    let is_marker = ["---", "..."].iter().any(|marker| rest.starts_with(marker))
                        && self.is_blank_behind(3);
                    if !is_marker {
                        self.skip_blanks(least);
                    }
                }
                byte if byte == quote => {
                    if quote == b'\'' && self.peek() == Some(quote) {
                        self.at += 1;
                    } else {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    /// A plain scalar on its line.
    fn plain(&mut self) {
        while let Some(byte) = self.peek() {
            let ends = match byte {
                b'\n' => true,
                b':' => {
                    self.is_blank_behind(1)
                        || (self.depth > 0
                            && matches!(self.behind(1), Some(b',' | b'[' | b']' | b'{' | b'}')))
                }
                b'#' => matches!(self.bytes[self.at - 1], b' ' | b'\t'),
                b',' | b'[' | b']' | b'{' | b'}' => self.depth > 0,
                _ => false,
            };
            if ends {
                return;
            }
            self.at += 1;
        }
    }

    /// A block of text: all lines that are indented more than the key.
    fn block_text(&mut self) {
        self.skip_line();
        while self.peek() == Some(b'\n') {
            let line = &self.bytes[self.at + 1..];
            let spaces = line.iter().take_while(|byte| **byte == b' ').count();
            let is_blank = matches!(line.get(spaces), None | Some(b'\n' | b'\r'));
            if !is_blank && spaces <= self.key_column {
                return;
            }
            self.at += 1;
            self.skip_line();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::relaxed;

    #[test]
    fn blanks_are_written_as_the_grammar_wants_them() {
        for (text, expected) in [
            ("a:\n  b: \"one\ntwo\"\n", "a:\n  b: \"one\n      two\"\n"),
            ("a: 'one\n\ttwo'\n", "a: 'one\n    two'\n"),
            ("a: {b:\t1,\n\tc: 2}\n", "a: {b: 1,\n c: 2}\n"),
            ("a: one\n  \ttwo\n", "a: one\n   two\n"),
            ("a:\t1\n", "a: 1\n"),
        ] {
            assert_eq!(relaxed(text).map(|of| of.text).as_deref(), Some(expected), "{text:?}");
        }
        for text in [
            "a: |\n  \tb\n  \"x\ny: 1\n",
            "a: 1\n",
            "# \t\"x\n",
            "a: \"x\\\"\"\nb: c\td\n",
            "a:\n\tb: 1\n",
            "a: \"x\n    y\"\n",
            "a: it's\tso\n",
        ] {
            assert_eq!(relaxed(text), None, "{text:?}");
        }
    }

    #[test]
    fn bytes_are_found_again() {
        let text = "a:\n  b: \"one\ntwo\"\nc: d\n";
        let relaxed = relaxed(text).unwrap();
        for word in ["a:", "one", "two", "c:", "d\n"] {
            let (new, old) = (relaxed.text.find(word).unwrap(), text.find(word).unwrap());
            assert_eq!(relaxed.origin(new), old, "{word}");
        }
        assert_eq!(relaxed.origin(relaxed.text.len()), text.len());
    }
}
