//! The string syntax of label selectors (`Lexer` and `Parser` in apimachinery 1.36, `pkg/labels/selector.go`).
//!
//! ```text
//! app=web,tier!=back,env in (prod,stage),track notin (),!canary,cpus>4
//! ```

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::label::{Operator, Requirement, Selector, label_key_error};
use super::validate::{FieldError, FieldErrors};

/// Why a text is not a label selector; reads as upstream's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// Something else was expected.
    #[error("{}found '{found}'{expected}", .expected.context())]
    Syntax {
        /// Empty at the end of the text.
        found: String,
        /// What could have stood there.
        expected: Expected,
    },
    /// A key that is not a label key.
    #[error("unable to parse requirement: {0}")]
    Key(FieldError),
    /// A requirement that breaks the rules of keys, values and operators.
    #[error("unable to parse requirement: {0}")]
    Requirement(FieldErrors),
}

/// What could have stood where something else was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The beginning of a requirement, at the start.
    Start,
    /// The beginning of a requirement, after a comma.
    StartAfterComma,
    /// A comma or the end, after a requirement.
    CommaOrEnd,
    /// A key, or the value after an operator.
    Identifier,
    /// An operator.
    Operator,
    /// The parenthesis before a set of values.
    OpenParenthesis,
    /// A value, or the end of an empty set.
    ValueOrClose,
    /// What follows a value in a set.
    CommaOrClose,
    /// A value in a set.
    CommaOrValue,
}

impl Expected {
    /// Within a requirement upstream says so.
    fn context(self) -> &'static str {
        match self {
            Self::Start | Self::StartAfterComma | Self::CommaOrEnd => "",
            Self::Identifier
            | Self::Operator
            | Self::OpenParenthesis
            | Self::ValueOrClose
            | Self::CommaOrClose
            | Self::CommaOrValue => "unable to parse requirement: ",
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => ", expected: !, identifier, or 'end of string'",
            Self::StartAfterComma => ", expected: identifier after ','",
            Self::CommaOrEnd => ", expected: ',' or 'end of string'",
            Self::Identifier => ", expected: identifier",
            Self::Operator => ", expected: in, notin, =, ==, !=, gt, lt",
            Self::OpenParenthesis => " expected: '('",
            Self::ValueOrClose => ", expected: ',', ')' or identifier",
            Self::CommaOrClose => ", expected: ',' or ')'",
            Self::CommaOrValue => ", expected: ',', or identifier",
        })
    }
}

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Parser { lexer: Lexer { text, position: 0 } }.selector().map(Self::new)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    End,
    Open,
    Close,
    Comma,
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    Greater,
    Less,
    /// `in` and `notin` are words too: only where an operator is due are they operators.
    Word(&'a str),
}

impl Token<'_> {
    fn text(&self) -> &str {
        match self {
            Self::End => "",
            Self::Open => "(",
            Self::Close => ")",
            Self::Comma => ",",
            Self::Not => "!",
            Self::Equals => "=",
            Self::DoubleEquals => "==",
            Self::NotEquals => "!=",
            Self::Greater => ">",
            Self::Less => "<",
            Self::Word(word) => word,
        }
    }

    fn instead_of(&self, expected: Expected) -> SelectorError {
        SelectorError::Syntax { found: self.text().to_owned(), expected }
    }
}

#[derive(Clone, Copy)]
struct Lexer<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Token<'a> {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.position), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.position += 1;
        }
        let double = |second: u8| bytes.get(self.position + 1) == Some(&second);
        let (token, length) = match bytes.get(self.position) {
            // Upstream takes a zero byte for the end of the text.
            None | Some(0) => (Token::End, 0),
            Some(b'(') => (Token::Open, 1),
            Some(b')') => (Token::Close, 1),
            Some(b',') => (Token::Comma, 1),
            Some(b'>') => (Token::Greater, 1),
            Some(b'<') => (Token::Less, 1),
            Some(b'=') if double(b'=') => (Token::DoubleEquals, 2),
            Some(b'=') => (Token::Equals, 1),
            Some(b'!') if double(b'=') => (Token::NotEquals, 2),
            Some(b'!') => (Token::Not, 1),
            Some(_) => return self.word(),
        };
        self.position += length;
        if token == Token::End { token } else { self.swallow_zero(token) }
    }

    fn word(&mut self) -> Token<'a> {
        let rest = &self.text[self.position..];
        let is_end = |byte: u8| b" \t\r\n=!(),><\0".contains(&byte);
        let length = rest.bytes().position(is_end).unwrap_or(rest.len());
        self.position += length;
        self.swallow_zero(Token::Word(&rest[..length]))
    }

    /// A zero byte that ends a token is read with it, and what follows is another token; only where a token should
    /// begin does it end the text.
    fn swallow_zero(&mut self, token: Token<'a>) -> Token<'a> {
        if self.text.as_bytes().get(self.position) == Some(&0) {
            self.position += 1;
        }
        token
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
}

impl<'a> Parser<'a> {
    fn take(&mut self) -> Token<'a> {
        self.lexer.next()
    }

    fn peek(&self) -> Token<'a> {
        { self.lexer }.next()
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, SelectorError> {
        let mut requirements = Vec::new();
        match self.peek() {
            Token::Word(_) | Token::Not => {}
            Token::End => return Ok(requirements),
            other @ (Token::Open
            | Token::Close
            | Token::Comma
            | Token::Equals
            | Token::DoubleEquals
            | Token::NotEquals
            | Token::Greater
            | Token::Less) => return Err(other.instead_of(Expected::Start)),
        }
        loop {
            requirements.push(self.requirement()?);
            match self.take() {
                Token::End => return Ok(requirements),
                Token::Comma => {}
                other @ (Token::Open
                | Token::Close
                | Token::Not
                | Token::Equals
                | Token::DoubleEquals
                | Token::NotEquals
                | Token::Greater
                | Token::Less
                | Token::Word(_)) => return Err(other.instead_of(Expected::CommaOrEnd)),
            }
            let next = self.peek();
            if !matches!(next, Token::Word(_) | Token::Not) {
                return Err(next.instead_of(Expected::StartAfterComma));
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let first = self.take();
        let (negated, token) = if first == Token::Not { (true, self.take()) } else { (false, first) };
        let Token::Word(key) = token else {
            return Err(token.instead_of(Expected::Identifier));
        };
        if let Some(error) = label_key_error("<nil>", key) {
            return Err(SelectorError::Key(error));
        }
        let (operator, values) = if negated {
            (Operator::DoesNotExist, Vec::new())
        } else if matches!(self.peek(), Token::End | Token::Comma) {
            (Operator::Exists, Vec::new())
        } else {
            self.restriction()?
        };
        Requirement::new(key.into(), operator, values).map_err(SelectorError::Requirement)
    }

    /// Operator and values; the values sorted, and each once.
    fn restriction(&mut self) -> Result<(Operator, Vec<Arc<str>>), SelectorError> {
        let operator = match self.take() {
            Token::Word("in") => Operator::In,
            Token::Word("notin") => Operator::NotIn,
            Token::Equals => Operator::Equals,
            Token::DoubleEquals => Operator::DoubleEquals,
            Token::NotEquals => Operator::NotEquals,
            Token::Greater => Operator::GreaterThan,
            Token::Less => Operator::LessThan,
            other
            @ (Token::End | Token::Open | Token::Close | Token::Comma | Token::Not | Token::Word(_)) => {
                return Err(other.instead_of(Expected::Operator));
            }
        };
        let mut values = match operator {
            Operator::In | Operator::NotIn => self.value_set()?,
            Operator::Equals
            | Operator::DoubleEquals
            | Operator::NotEquals
            | Operator::GreaterThan
            | Operator::LessThan
            | Operator::Exists
            | Operator::DoesNotExist => vec![self.value()?],
        };
        values.sort_unstable();
        values.dedup();
        Ok((operator, values.into_iter().map(Arc::from).collect()))
    }

    /// The value after an operator; nothing before a comma or the end is the empty value.
    fn value(&mut self) -> Result<&'a str, SelectorError> {
        if matches!(self.peek(), Token::End | Token::Comma) {
            return Ok("");
        }
        let token = self.take();
        let Token::Word(value) = token else { return Err(token.instead_of(Expected::Identifier)) };
        Ok(value)
    }

    /// `(a,b)`, with its parentheses. Nothing between commas, or between a comma and a parenthesis, is the empty value.
    fn value_set(&mut self) -> Result<Vec<&'a str>, SelectorError> {
        let token = self.take();
        if token != Token::Open {
            return Err(token.instead_of(Expected::OpenParenthesis));
        }
        match self.peek() {
            Token::Word(_) | Token::Comma => {}
            Token::Close => {
                self.take();
                return Ok(vec![""]);
            }
            other @ (Token::End
            | Token::Open
            | Token::Not
            | Token::Equals
            | Token::DoubleEquals
            | Token::NotEquals
            | Token::Greater
            | Token::Less) => return Err(other.instead_of(Expected::ValueOrClose)),
        }
        let mut values = Vec::new();
        loop {
            match self.take() {
                Token::Word(value) => {
                    values.push(value);
                    let next = self.peek();
                    if !matches!(next, Token::Comma | Token::Close) {
                        return Err(next.instead_of(Expected::CommaOrClose));
                    }
                }
                Token::Comma => {
                    if values.is_empty() || matches!(self.peek(), Token::Comma | Token::Close) {
                        values.push("");
                    }
                }
                Token::Close => return Ok(values),
                other @ (Token::End
                | Token::Open
                | Token::Not
                | Token::Equals
                | Token::DoubleEquals
                | Token::NotEquals
                | Token::Greater
                | Token::Less) => return Err(other.instead_of(Expected::CommaOrValue)),
            }
        }
    }
}
