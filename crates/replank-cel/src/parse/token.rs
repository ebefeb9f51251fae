//! From text to tokens.

use crate::ast::Literal;
use crate::fault::Fault;

/// A token and where it begins, in characters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Name(String),
    /// A name in back quotes.
    Quoted(String),
    Literal(Literal),
    Mark(&'static str),
    End,
}

/// Longer ones come first.
const MARKS: [&str; 26] = [
    "==", "!=", "<=", ">=", "&&", "||", "[?", ".?", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".",
    ",", "(", ")", "[", "]", "{", "}",
];

/// Reads all tokens; the last one is the end.
///
/// # Errors
/// Where something is no token.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    let characters: Vec<char> = text.chars().collect();
    let mut reader = Reader { characters: &characters, at: 0 };
    let mut all = Vec::new();
    loop {
        reader.skip();
        let at = reader.at;
        let kind = reader.token()?;
        let is_end = kind == Kind::End;
        all.push(Token { at, kind });
        if is_end {
            return Ok(all);
        }
    }
}

struct Reader<'a> {
    characters: &'a [char],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).copied()
    }

    fn fault(&self, at: usize, what: &str) -> Fault {
        Fault { at, message: format!("Syntax error: {what}") }
    }

    fn skip(&mut self) {
        while let Some(next) = self.peek(0) {
            if next.is_whitespace() {
                self.at += 1;
            } else if next == '/' && self.peek(1) == Some('/') {
                while self.peek(0).is_some_and(|next| next != '\n') {
                    self.at += 1;
                }
            } else {
                return;
            }
        }
    }

    fn token(&mut self) -> Result<Kind, Fault> {
        let Some(first) = self.peek(0) else { return Ok(Kind::End) };
        if let Some(literal) = self.string()? {
            return Ok(Kind::Literal(literal));
        }
        if first.is_ascii_digit() || (first == '.' && self.peek(1).is_some_and(|next| next.is_ascii_digit()))
        {
            return self.number().map(Kind::Literal);
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let begin = self.at;
            while self.peek(0).is_some_and(|next| next.is_ascii_alphanumeric() || next == '_') {
                self.at += 1;
            }
            let name: String = self.characters[begin..self.at].iter().collect();
            return Ok(match name.as_str() {
                "true" => Kind::Literal(Literal::Bool(true)),
                "false" => Kind::Literal(Literal::Bool(false)),
                "null" => Kind::Literal(Literal::Null),
                _ => Kind::Name(name),
            });
        }
        if first == '`' {
            return self.quoted();
        }
        let starts =
            |mark: &&&str| mark.chars().enumerate().all(|(ahead, one)| self.peek(ahead) == Some(one));
        let Some(mark) = MARKS.iter().find(starts) else {
            return Err(self.fault(self.at, &format!("token recognition error at: '{first}'")));
        };
        self.at += mark.len();
        Ok(Kind::Mark(mark))
    }

    fn quoted(&mut self) -> Result<Kind, Fault> {
        let begin = self.at + 1;
        let length = self.characters[begin..].iter().position(|one| *one == '`');
        let Some(length) = length else {
            return Err(self.fault(self.at, "token recognition error at: '`'"));
        };
        self.at = begin + length + 1;
        Ok(Kind::Quoted(self.characters[begin..begin + length].iter().collect()))
    }

    fn number(&mut self) -> Result<Literal, Fault> {
        let begin = self.at;
        let is_hex = self.peek(0) == Some('0') && matches!(self.peek(1), Some('x' | 'X'));
        if is_hex {
            self.at += 2;
        }
        let is_digit = |one: char| if is_hex { one.is_ascii_hexdigit() } else { one.is_ascii_digit() };
        let mut is_float = false;
        while self.peek(0).is_some_and(is_digit) {
            self.at += 1;
        }
        if !is_hex && self.peek(0) == Some('.') && self.peek(1).is_some_and(|next| next.is_ascii_digit()) {
            is_float = true;
            self.at += 1;
            while self.peek(0).is_some_and(|next| next.is_ascii_digit()) {
                self.at += 1;
            }
        }
        if !is_hex && matches!(self.peek(0), Some('e' | 'E')) {
            let sign = usize::from(matches!(self.peek(1), Some('+' | '-')));
            if self.peek(1 + sign).is_some_and(|next| next.is_ascii_digit()) {
                is_float = true;
                self.at += 1 + sign;
                while self.peek(0).is_some_and(|next| next.is_ascii_digit()) {
                    self.at += 1;
                }
            }
        }
        let text: String = self.characters[begin..self.at].iter().collect();
        let radix = if is_hex { 16 } else { 10 };
        let digits = if is_hex { &text[2..] } else { &text };
        if is_float {
            return text
                .parse()
                .map(Literal::Double)
                .map_err(|_| self.fault(begin, "invalid double literal"));
        }
        if matches!(self.peek(0), Some('u' | 'U')) {
            self.at += 1;
            let read = u64::from_str_radix(digits, radix);
            return read.map(Literal::Uint).map_err(|_| self.fault(begin, "invalid uint literal"));
        }
        // The least number is written with a minus, which is not part of the literal.
        let read = u64::from_str_radix(digits, radix).ok().filter(|read| *read <= 1 << 63);
        match read {
            Some(read) => Ok(Literal::Int(i64::try_from(read).unwrap_or(i64::MIN))),
            None => Err(self.fault(begin, "invalid int literal")),
        }
    }

    /// A text or bytes, if there is one.
    fn string(&mut self) -> Result<Option<Literal>, Fault> {
        let (mut is_raw, mut is_bytes, mut ahead) = (false, false, 0);
        while let Some(next) = self.peek(ahead) {
            match next {
                'r' | 'R' if !is_raw => is_raw = true,
                'b' | 'B' if !is_bytes => is_bytes = true,
                _ => break,
            }
            ahead += 1;
        }
        let Some(quote) = self.peek(ahead).filter(|next| matches!(next, '"' | '\'')) else { return Ok(None) };
        let begin = self.at;
        let is_triple = self.peek(ahead + 1) == Some(quote) && self.peek(ahead + 2) == Some(quote);
        let width = if is_triple { 3 } else { 1 };
        self.at += ahead + width;
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            let Some(next) = self.peek(0) else {
                let rest: String = self.characters[begin..].iter().collect();
                return Err(self.fault(begin, &format!("token recognition error at: '{rest}'")));
            };
            if (0..width).all(|ahead| self.peek(ahead) == Some(quote)) {
                self.at += width;
                break;
            }
            self.at += 1;
            if next == '\\' && !is_raw {
                self.escape(is_bytes, &mut bytes)?;
            } else {
                bytes.extend(next.encode_utf8(&mut [0; 4]).bytes());
            }
        }
        Ok(Some(if is_bytes {
            Literal::Bytes(bytes)
        } else {
            Literal::Text(String::from_utf8_lossy(&bytes).into_owned())
        }))
    }

    fn escape(&mut self, is_bytes: bool, bytes: &mut Vec<u8>) -> Result<(), Fault> {
        let begin = self.at - 1;
        let Some(next) = self.peek(0) else { return Err(self.fault(begin, "unterminated escape")) };
        self.at += 1;
        let digits = match next {
            'x' | 'X' => 2,
            'u' => 4,
            'U' => 8,
            '0'..='3' => {
                self.at -= 1;
                3
            }
            _ => 0,
        };
        if digits == 0 {
            let plain = match next {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'a' => '\u{7}',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'v' => '\u{b}',
                '\\' | '"' | '\'' | '`' | '?' => next,
                _ => return Err(self.fault(begin, &format!("token recognition error at: '\\{next}'"))),
            };
            bytes.extend(plain.encode_utf8(&mut [0; 4]).bytes());
            return Ok(());
        }
        let radix = if next.is_ascii_digit() { 8 } else { 16 };
        let end = (self.at + digits).min(self.characters.len());
        let text: String = self.characters[self.at..end].iter().collect();
        self.at = end;
        let code = u32::from_str_radix(&text, radix).ok().filter(|_| text.len() == digits);
        let fault = self.fault(begin, "invalid escape");
        let Some(code) = code else { return Err(fault) };
        if let (true, Ok(byte), 2 | 3) = (is_bytes, u8::try_from(code), digits) {
            bytes.push(byte);
            return Ok(());
        }
        let Some(character) = char::from_u32(code) else { return Err(fault) };
        bytes.extend(character.encode_utf8(&mut [0; 4]).bytes());
        Ok(())
    }
}
