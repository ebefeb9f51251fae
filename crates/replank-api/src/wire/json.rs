//! JSON, read as Go reads it: with its words for what is wrong, and with the members that stand twice.

use serde_json::{Map, Number, Value};

/// How deep values may be nested. Go stops at 10,000; nothing of the API comes near either.
const DEPTH_MAX: usize = 500;

/// A value, and the paths of members that stand twice in their object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Read {
    pub(super) value: Value,
    pub(super) duplicates: Vec<String>,
}

/// Reads a value.
///
/// # Errors
/// What Go's `encoding/json` says.
pub(super) fn read(bytes: &[u8]) -> Result<Read, String> {
    let mut parser = Parser { bytes, at: 0, path: String::new(), duplicates: Vec::new() };
    parser.blanks();
    let value = parser.value(0, "looking for beginning of value")?;
    parser.blanks();
    match parser.peek() {
        None => Ok(Read { value, duplicates: parser.duplicates }),
        Some(_) => Err(parser.unexpected("after top-level value")),
    }
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Of the value that is being read.
    path: String,
    duplicates: Vec<String>,
}

const END: &str = "unexpected end of JSON input";

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// What Go says of the byte that is next, which is not `context`.
    fn unexpected(&self, context: &str) -> String {
        let shown = match self.peek() {
            None => return END.to_owned(),
            Some(b'\'') => r"'\''".to_owned(),
            Some(b'"') => "'\"'".to_owned(),
            Some(b'\n') => r"'\n'".to_owned(),
            Some(b'\t') => r"'\t'".to_owned(),
            Some(b'\r') => r"'\r'".to_owned(),
            Some(b'\\') => r"'\\'".to_owned(),
            Some(byte @ (..0x20 | 0x7f)) => format!("'\\x{byte:02x}'"),
            // A byte is shown as the letter of that number.
            Some(byte) => format!("'{}'", char::from(byte)),
        };
        format!("invalid character {shown} {context}")
    }

    fn value(&mut self, depth: usize, context: &str) -> Result<Value, String> {
        if depth > DEPTH_MAX {
            return Err("exceeded max depth".to_owned());
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::String),
            Some(b't') => self.literal("true", Value::Bool(true)),
            Some(b'f') => self.literal("false", Value::Bool(false)),
            Some(b'n') => self.literal("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.unexpected(context)),
        }
    }

    fn literal(&mut self, word: &str, value: Value) -> Result<Value, String> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                let shown = char::from(expected);
                return Err(self.unexpected(&format!("in literal {word} (expecting '{shown}')")));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, String> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.unexpected("in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits("after decimal point in numeric literal")?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.some_digits("in exponent of numeric literal")?;
        }
        let text = std::str::from_utf8(&self.bytes[start..self.at]).unwrap_or_default();
        let whole =
            text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from)).ok();
        let number = whole.or_else(|| Number::from_f64(text.parse().ok()?));
        let kind = "Go value of type float64";
        number.map(Value::Number).ok_or_else(|| format!("json: cannot unmarshal number {text} into {kind}"))
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self, context: &str) -> Result<(), String> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected(context));
        }
        self.digits();
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(items));
        }
        loop {
            self.blanks();
            let length = self.path.len();
            self.path.push_str(&format!("[{}]", items.len()));
            items.push(self.value(depth + 1, "looking for beginning of value")?);
            self.path.truncate(length);
            self.blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Value::Array(items));
                }
                _ => return Err(self.unexpected("after array element")),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut members = Map::new();
        self.blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(members));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("looking for beginning of object key string"));
            }
            let key = self.string()?;
            self.blanks();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after object key"));
            }
            self.at += 1;
            self.blanks();
            let length = self.path.len();
            if !self.path.is_empty() {
                self.path.push('.');
            }
            self.path.push_str(&key);
            // It is told where it begins, before what is wrong inside of it.
            if members.contains_key(&key) && self.duplicates.len() < 100 {
                self.duplicates.push(self.path.clone());
            }
            let value = self.value(depth + 1, "looking for beginning of value")?;
            self.path.truncate(length);
            put(&mut members, key, value);
            self.blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Value::Object(members));
                }
                _ => return Err(self.unexpected("after object key:value pair")),
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut text: Vec<u8> = Vec::new();
        loop {
            let start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | ..0x20)) {
                self.at += 1;
            }
            text.extend_from_slice(&self.bytes[start..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(String::from_utf8(text)
                        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()));
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape(&mut text)?;
                }
                _ => return Err(self.unexpected("in string literal")),
            }
        }
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Result<(), String> {
        let meant = match self.peek() {
            Some(b'"') => b'"',
            Some(b'\\') => b'\\',
            Some(b'/') => b'/',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.at += 1;
                let first = self.hex()?;
                let letter = self.paired(first);
                text.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(self.unexpected("in string escape code")),
        };
        self.at += 1;
        text.push(meant);
        Ok(())
    }

    fn hex(&mut self) -> Result<u32, String> {
        let mut number = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.unexpected("in \\u hexadecimal character escape"));
            };
            number = number * 16 + digit;
            self.at += 1;
        }
        Ok(number)
    }

    /// A letter that may have been written in two halves; a half that stands alone is the letter for what cannot be read.
    fn paired(&mut self, first: u32) -> char {
        if (0xd800..0xdc00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            if let Ok(second @ 0xdc00..=0xdfff) = self.hex() {
                let number = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
            }
            self.at = before;
        }
        char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

/// Go decodes a member that stands twice into the same struct or map: the two are one.
fn put(members: &mut Map<String, Value>, key: String, value: Value) {
    match (members.get_mut(&key), value) {
        (Some(Value::Object(known)), Value::Object(more)) => {
            for (key, value) in more {
                put(known, key, value);
            }
        }
        (_, value) => drop(members.insert(key, value)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(text: &str) -> String {
        read(text.as_bytes()).expect_err(text)
    }

    #[test]
    fn values_are_read_as_serde_reads_them() {
        let texts = [
            r#"{"a": [1, -2.5e3, true, null, "x\u00e9\n\ud83d\ude00"], "b": {}, "c": 18446744073709551615}"#,
            "[]",
            " 0 ",
            "\"\"",
        ];
        for text in texts {
            let expected: Value = serde_json::from_str(text).expect(text);
            assert_eq!(read(text.as_bytes()), Ok(Read { value: expected, duplicates: Vec::new() }));
        }
    }

    #[test]
    fn what_is_wrong_is_told_in_the_words_of_go() {
        assert_eq!(error("{"), END);
        assert_eq!(error(""), END);
        assert_eq!(error("nonsense"), "invalid character 'o' in literal null (expecting 'u')");
        assert_eq!(error("kind: x"), "invalid character 'k' looking for beginning of value");
        assert_eq!(error("{} x"), "invalid character 'x' after top-level value");
        assert_eq!(error("{a"), "invalid character 'a' looking for beginning of object key string");
        assert_eq!(error("[1 2]"), "invalid character '2' after array element");
        assert_eq!(error("{\"a\":1 \"b\"}"), "invalid character '\"' after object key:value pair");
        assert_eq!(error("\x1f"), "invalid character '\\x1f' looking for beginning of value");
        assert_eq!(error("1.x"), "invalid character 'x' after decimal point in numeric literal");
        assert_eq!(error(&"[".repeat(5_000)), "exceeded max depth");
    }

    #[test]
    fn members_that_stand_twice_are_found_and_put_together() {
        let text =
            r#"{"metadata":{"name":"a","name":"b"},"spec":{"c":[{"x":1,"x":2}]},"data":{"a":"1"},"data":{}}"#;
        let found = read(text.as_bytes()).expect("it is JSON");
        assert_eq!(found.duplicates, ["metadata.name", "spec.c[0].x", "data"]);
        assert_eq!(
            found.value,
            json!({"metadata": {"name": "b"}, "spec": {"c": [{"x": 2}]}, "data": {"a": "1"}})
        );
    }
}
