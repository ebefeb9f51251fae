//! Finds the end of an object or list that is at hand in full: most are, and then nothing has to be read on in between.
//!
//! The grammar is that of [`super::scan::value`]. What does not follow it, and what is not at hand, is left to that.

use memchr::memchr2;

/// What may come next inside a container.
#[derive(Clone, Copy)]
pub(super) enum State {
    /// A value: at the start, after a colon, after a comma in an array.
    Value,
    /// A value or the end of an array that has just begun.
    ValueOrEnd,
    /// A key or the end of an object that has just begun.
    KeyOrEnd,
    /// A key, after a comma.
    Key,
    /// What follows a value.
    After,
}

/// The containers that are open, one bit each: set for an object.
pub(super) struct Open {
    pub(super) bits: u128,
    pub(super) depth: usize,
}

impl Open {
    pub(super) fn push(&mut self, object: bool) {
        self.bits = self.bits << 1 | u128::from(object);
        self.depth += 1;
    }

    pub(super) fn pop(&mut self) {
        self.bits >>= 1;
        self.depth -= 1;
    }

    pub(super) fn in_object(&self) -> bool {
        self.bits & 1 == 1
    }
}

/// How many bytes the object or list has that begins here, if it ends here and is no deeper than this.
pub(super) fn value(text: &[u8], depth_max: usize) -> Option<usize> {
    if !matches!(text.first(), Some(b'{' | b'[')) {
        return None;
    }
    let mut open = Open { bits: 0, depth: 0 };
    let mut state = State::Value;
    let mut at = 0;
    loop {
        at = white(text, at);
        let next = *text.get(at)?;
        state = match (state, next) {
            (State::ValueOrEnd, b']') | (State::KeyOrEnd, b'}') => {
                open.pop();
                at += 1;
                State::After
            }
            (State::Value | State::ValueOrEnd, b'{' | b'[') => {
                if open.depth == depth_max {
                    return None;
                }
                open.push(next == b'{');
                at += 1;
                if next == b'{' { State::KeyOrEnd } else { State::ValueOrEnd }
            }
            (State::Value | State::ValueOrEnd, _) => {
                at = scalar(text, at)?;
                State::After
            }
            (State::Key | State::KeyOrEnd, b'"') => {
                at = white(text, string(text, at)?);
                if text.get(at) != Some(&b':') {
                    return None;
                }
                at += 1;
                State::Value
            }
            (State::Key | State::KeyOrEnd, _) => return None,
            (State::After, b',') => {
                at += 1;
                if open.in_object() { State::Key } else { State::Value }
            }
            (State::After, b'}' | b']') if open.in_object() == (next == b'}') => {
                open.pop();
                at += 1;
                State::After
            }
            (State::After, _) => return None,
        };
        if open.depth == 0 {
            return Some(at);
        }
    }
}

fn white(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

fn scalar(text: &[u8], at: usize) -> Option<usize> {
    let word = |word: &[u8]| text[at..].starts_with(word).then_some(at + word.len());
    match text.get(at)? {
        b'"' => string(text, at),
        b't' => word(b"true"),
        b'f' => word(b"false"),
        b'n' => word(b"null"),
        b'0'..=b'9' => number(text, at),
        b'-' if text.get(at + 1).is_some_and(u8::is_ascii_digit) => number(text, at),
        _ => None,
    }
}

/// Everything a number can consist of; it goes on behind what is at hand, perhaps.
fn number(text: &[u8], at: usize) -> Option<usize> {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    text[at..].iter().position(|byte| !is_part(byte)).map(|len| at + len)
}

/// Bytes up to which a string is short.
const SHORT: usize = 16;

/// Behind a string that begins here and has no control characters.
fn string(text: &[u8], at: usize) -> Option<usize> {
    let mut from = at + 1;
    // Most are short: no more than a look at each byte.
    while let Some(&byte) = text.get(from).filter(|_| from - at <= SHORT) {
        match byte {
            b'"' => return Some(from + 1),
            b'\\' => break,
            0..0x20 => return None,
            _ => from += 1,
        }
    }
    loop {
        let found = from + memchr2(b'"', b'\\', text.get(from..)?)?;
        if text[from..found].iter().fold(false, |is, byte| is | (*byte < 0x20)) {
            return None;
        }
        if text[found] == b'"' {
            return Some(found + 1);
        }
        if *text.get(found + 1)? < 0x20 {
            return None;
        }
        from = found + 2;
    }
}
