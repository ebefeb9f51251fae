//! Finds the end of a JSON value in a stream without building it.
//!
//! The grammar of RFC 8259 is followed token by token, so that a value with a bracket missing is noticed where
//! it goes wrong and not at the end of the input. What numbers and strings hold is left to serde_json.

use super::at_hand::{self, Open, State};
use crate::limits::Limits;
use crate::window::{Window, bytes};

/// Why no end was found. The window stands at the byte that did not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScanError {
    /// Something else could have come.
    Unexpected { expected: &'static str },
    /// A bound was reached.
    Bound { what: &'static str, bound: String },
}

/// Goes past one value, from its first byte. `start` is where the unit it belongs to began, and `above` how many
/// levels of that are open around it, for the bounds.
pub(crate) fn value(window: &mut Window, start: u64, above: usize, limits: &Limits) -> Result<(), ScanError> {
    // One bit for each level must fit, and serde_json stops at 128.
    let limit = limits.depth_max.min(120);
    let depth_max = limit.saturating_sub(above);
    let bytes_max = limits.json_unit_bytes_max.saturating_sub(window.len_since(start));
    if let Some(len) = at_hand::value(window.ahead(), depth_max).filter(|&len| len <= bytes_max) {
        window.advance(len);
        return Ok(());
    }
    let mut open = Open { bits: 0, depth: 0 };
    let mut state = State::Value;
    loop {
        if open.depth > 0 {
            white(window, start, limits)?;
        }
        within(window, start, limits)?;
        let next = window.peek();
        match state {
            State::Value | State::ValueOrEnd => match next {
                Some(b']') if matches!(state, State::ValueOrEnd) => {
                    window.advance(1);
                    open.pop();
                    state = State::After;
                }
                Some(b @ (b'{' | b'[')) => {
                    if open.depth == depth_max {
                        let bound = format!("{limit} levels");
                        return Err(ScanError::Bound { what: "the nesting of one object", bound });
                    }
                    window.advance(1);
                    open.push(b == b'{');
                    state = if b == b'{' { State::KeyOrEnd } else { State::ValueOrEnd };
                }
                _ => {
                    scalar(window, start, limits)?;
                    state = State::After;
                }
            },
            State::Key | State::KeyOrEnd => match next {
                Some(b'}') if matches!(state, State::KeyOrEnd) => {
                    window.advance(1);
                    open.pop();
                    state = State::After;
                }
                Some(b'"') => {
                    string(window, start, limits)?;
                    colon(window, start, limits)?;
                    state = State::Value;
                }
                _ => {
                    let expected = match state {
                        State::KeyOrEnd => "a key in double quotes or `}`",
                        State::Key | State::Value | State::ValueOrEnd | State::After => {
                            "a key in double quotes"
                        }
                    };
                    return Err(ScanError::Unexpected { expected });
                }
            },
            State::After => match (next, open.in_object()) {
                (Some(b','), object) => {
                    window.advance(1);
                    state = if object { State::Key } else { State::Value };
                }
                (Some(b'}'), true) | (Some(b']'), false) => {
                    window.advance(1);
                    open.pop();
                }
                (_, true) => return Err(ScanError::Unexpected { expected: "`,` or `}`" }),
                (_, false) => return Err(ScanError::Unexpected { expected: "`,` or `]`" }),
            },
        }
        if open.depth == 0 {
            return within(window, start, limits);
        }
    }
}

/// Goes past white space within a unit.
pub(crate) fn white(window: &mut Window, start: u64, limits: &Limits) -> Result<(), ScanError> {
    while window.skip_white_at_hand() {
        within(window, start, limits)?;
    }
    Ok(())
}

fn within(window: &Window, start: u64, limits: &Limits) -> Result<(), ScanError> {
    if window.len_since(start) <= limits.json_unit_bytes_max {
        return Ok(());
    }
    let bound = bytes(limits.json_unit_bytes_max as u64);
    Err(ScanError::Bound { what: "the size of one object", bound })
}

/// Goes past white space, a colon, and white space.
pub(crate) fn colon(window: &mut Window, start: u64, limits: &Limits) -> Result<(), ScanError> {
    white(window, start, limits)?;
    if window.peek() != Some(b':') {
        return Err(ScanError::Unexpected { expected: "`:`" });
    }
    window.advance(1);
    white(window, start, limits)
}

fn scalar(window: &mut Window, start: u64, limits: &Limits) -> Result<(), ScanError> {
    match window.peek() {
        Some(b'"') => string(window, start, limits),
        Some(b't') => word(window, "true"),
        Some(b'f') => word(window, "false"),
        Some(b'n') => word(window, "null"),
        Some(b'-' | b'0'..=b'9') => number(window, start, limits),
        _ => Err(ScanError::Unexpected { expected: "a value" }),
    }
}

fn word(window: &mut Window, word: &'static str) -> Result<(), ScanError> {
    for &byte in word.as_bytes() {
        if window.peek() != Some(byte) {
            return Err(ScanError::Unexpected { expected: word });
        }
        window.advance(1);
    }
    Ok(())
}

/// Everything a number can consist of; serde_json says whether it is one.
fn number(window: &mut Window, start: u64, limits: &Limits) -> Result<(), ScanError> {
    // So that `---` is not mistaken for one.
    if window.peek() == Some(b'-') && !window.byte_at(1).is_some_and(|byte| byte.is_ascii_digit()) {
        return Err(ScanError::Unexpected { expected: "a value" });
    }
    loop {
        let ahead = window.ahead();
        let all = ahead.len();
        let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let part = ahead.iter().take_while(is_part).count();
        window.advance(part);
        if part < all || all == 0 {
            return Ok(());
        }
        within(window, start, limits)?;
    }
}

/// Goes past a string, from its opening quote.
pub(crate) fn string(window: &mut Window, start: u64, limits: &Limits) -> Result<(), ScanError> {
    const UNFINISHED: ScanError =
        ScanError::Unexpected { expected: "the closing quote of the string, on the same line" };
    window.advance(1);
    loop {
        let ahead = window.ahead();
        let all = ahead.len();
        if all == 0 {
            return Err(UNFINISHED);
        }
        match ahead.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20) {
            None => window.advance(all),
            Some(at) => {
                let byte = ahead[at];
                window.advance(at);
                match byte {
                    b'"' => {
                        window.advance(1);
                        return Ok(());
                    }
                    b'\\' => {
                        window.advance(1);
                        // A line end cannot be escaped; it is found by the next turn.
                        if window.peek().is_some_and(|escaped| escaped >= 0x20) {
                            window.advance(1);
                        }
                    }
                    b'\n' | b'\r' => return Err(UNFINISHED),
                    _ => {
                        return Err(ScanError::Unexpected {
                            expected: "control characters to be written as `\\u00xx`",
                        });
                    }
                }
            }
        }
        within(window, start, limits)?;
    }
}
