//! The few rules of Go's standard library that show through in Kubernetes' texts: how a string is quoted in a
//! message, what counts as an integer, how a list of strings is written as JSON.

use std::fmt::{self, Write as _};

/// Why a text is not an integer (`strconv.NumError`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumError {
    /// `strconv.ErrSyntax`.
    Syntax,
    /// `strconv.ErrRange`.
    Range,
}

impl fmt::Display for NumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "invalid syntax",
            Self::Range => "value out of range",
        })
    }
}

/// `strconv.ParseUint(text, 10, 64)`.
///
/// Digits are taken from the left and an overflow ends the reading, so that a text which is both too long and
/// malformed further on counts as out of range.
pub(crate) fn parse_uint(text: &[u8]) -> Result<u64, NumError> {
    if text.is_empty() {
        return Err(NumError::Syntax);
    }
    text.iter().try_fold(0u64, |value, byte| {
        if !byte.is_ascii_digit() {
            return Err(NumError::Syntax);
        }
        let digit = u64::from(byte - b'0');
        value.checked_mul(10).and_then(|tens| tens.checked_add(digit)).ok_or(NumError::Range)
    })
}

/// `strconv.ParseInt(text, 10, 64)`, and `strconv.Atoi`.
pub(crate) fn parse_int(text: &[u8]) -> Result<i64, NumError> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let size = parse_uint(digits)?;
    let value = if negative { 0i64.checked_sub_unsigned(size) } else { i64::try_from(size).ok() };
    value.ok_or(NumError::Range)
}

/// A text as a Go string literal, as `%q` writes it.
#[must_use]
pub fn quoted(text: &str) -> String {
    Quoted(text).to_string()
}

/// `%q`: a Go string literal. Printable characters stay as they are, in whatever script.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                '\u{7}' => f.write_str("\\a")?,
                '\u{8}' => f.write_str("\\b")?,
                '\u{c}' => f.write_str("\\f")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\u{b}' => f.write_str("\\v")?,
                ' '..='~' => f.write_char(character)?,
                '\0'..='\u{7f}' => write!(f, "\\x{:02x}", u32::from(character))?,
                _ if is_print(character) => f.write_char(character)?,
                '\u{80}'..='\u{ffff}' => write!(f, "\\u{:04x}", u32::from(character))?,
                _ => write!(f, "\\U{:08x}", u32::from(character))?,
            }
        }
        f.write_char('"')
    }
}

/// `strconv.IsPrint` beyond ASCII: letters, marks, numbers, punctuation and symbols.
///
/// The standard library knows them too, but says so only in how it escapes a string; there the marks (which Go
/// prints) are escaped at the start alone, hence the letter in front.
fn is_print(character: char) -> bool {
    let text: String = ['a', character].iter().collect();
    text.escape_debug().count() == 2
}

/// A list of strings as `encoding/json` writes it, with the HTML characters escaped.
pub(crate) struct JsonList<'a>(pub(crate) &'a [&'a str]);

impl fmt::Display for JsonList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            // What gets here empty is a nil slice upstream.
            return f.write_str("null");
        }
        for (index, text) in self.0.iter().enumerate() {
            f.write_char(if index == 0 { '[' } else { ',' })?;
            write!(f, "{}", JsonString(text))?;
        }
        f.write_char(']')
    }
}

/// A string as `encoding/json` writes it, with the HTML characters escaped.
pub(crate) struct JsonString<'a>(pub(crate) &'a str);

impl fmt::Display for JsonString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_json_string(f, self.0)
    }
}

fn write_json_string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(f, "\\{character}")?,
            '\u{8}' => f.write_str("\\b")?,
            '\u{c}' => f.write_str("\\f")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                write!(f, "\\u{:04x}", u32::from(character))?;
            }
            _ => f.write_char(character)?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_strconv_reads_them() {
        assert_eq!(parse_int(b"-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(parse_int(b"+7"), Ok(7));
        assert_eq!(parse_int(b"007"), Ok(7));
        for text in ["", "+", "-", "+-1", "1_0", "0x1", " 1", "1 ", "١"] {
            assert_eq!(parse_int(text.as_bytes()), Err(NumError::Syntax), "{text}");
        }
        assert_eq!(parse_int(b"9223372036854775808"), Err(NumError::Range));
        assert_eq!(parse_int(b"99999999999999999999x"), Err(NumError::Range));
        assert_eq!(parse_int(b"9999999999999999999x"), Err(NumError::Syntax));
        assert_eq!(parse_uint(b"18446744073709551615"), Ok(u64::MAX));
        assert_eq!(parse_uint(b"+1"), Err(NumError::Syntax));
    }

    #[test]
    fn strings_are_quoted_as_fmt_quotes_them() {
        let quoted = |text| Quoted(text).to_string();
        assert_eq!(quoted("a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(quoted("\u{7}\n\t\0\u{7f}"), r#""\a\n\t\x00\x7f""#);
        assert_eq!(quoted("wéb 名 e\u{301}"), "\"wéb 名 e\u{301}\"");
        assert_eq!(quoted("\u{a0}\u{200b}\u{feff}\u{e0001}"), r#""\u00a0\u200b\ufeff\U000e0001""#);
    }

    #[test]
    fn lists_are_written_as_json() {
        assert_eq!(JsonList(&[]).to_string(), "null");
        assert_eq!(JsonList(&["", "a<\"\n\u{2028}\u{1}é"]).to_string(), r#"["","a\u003c\"\n\u2028\u0001é"]"#);
    }
}
