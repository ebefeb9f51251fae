//! The expressions of a `retryStrategy` (argo-workflows docs/retries; language: github.com/expr-lang/expr), as far as a drain
//! needs them.
//!
//! Known are the variables `lastRetry.exitCode`, `.status`, `.duration`, `.message` and `retries`, all of them texts as the
//! controller gives them; literals, lists, arithmetic, comparison, `contains`, `startsWith`, `endsWith`, `in`, `not`, `and`, `or`, `?:`, and
//! the functions `asInt`, `asFloat`, `int`, `float`, `string`. What asks for more, and what compares a text with a number, has no
//! answer here: nobody is to be told that a step is run again where that is a guess.

use std::cmp::Ordering;

/// What a step whose attempt has ended looks like to an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct LastRetry {
    /// Exit code of the main container; absent reads as `-1`, as for a pod that was gone before it was read.
    pub exit_code: Option<i32>,
    /// `Failed` or `Error`.
    pub status: &'static str,
    /// Seconds that the attempt took, where that is known.
    pub seconds: Option<i64>,
    /// The message of its node.
    pub message: String,
    /// Attempts beyond the first.
    pub retries: i64,
}

/// Whether an expression holds; `None` where that cannot be told.
#[must_use]
pub fn holds(text: &str, last: &LastRetry) -> Option<bool> {
    // Parameters are put in before the controller reads the expression.
    let tokens = (!text.contains("{{")).then(|| tokens(text)).flatten()?;
    let mut reader = Reader { tokens: &tokens, last };
    let value = reader.choice()?;
    match (value, reader.tokens) {
        (Value::Bool(holds), []) => Some(holds),
        _ => None,
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Number(f64),
    Sign(&'static str),
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Value>),
    /// It cannot be told; what follows from it may be known all the same (`false && …`).
    Unknown,
}

/// Longer signs before those they begin with.
const SIGNS: [&str; 22] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")", "[", "]", ",", "+", "-", "*", "/", "%", "?",
    ":", ";",
];

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' | '\'' | '`' => {
                let (content, length) = quoted(rest, first)?;
                tokens.push(Token::Text(content));
                length
            }
            '0'..='9' => {
                let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
                tokens.push(Token::Number(rest[..length].parse().ok()?));
                length
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let is_end = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.');
                let length = rest.find(is_end).unwrap_or(rest.len());
                tokens.push(Token::Word(rest[..length].to_owned()));
                length
            }
            _ => {
                let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
                tokens.push(Token::Sign(sign));
                sign.len()
            }
        };
        rest = rest[length..].trim_start();
    }
    Some(tokens)
}

/// The content of a text in quotes, and how long it is with them.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut content = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, char)) = chars.next() {
        match char {
            _ if char == quote => return Some((content, at + 1)),
            '\\' if quote != '`' => match chars.next()?.1 {
                'n' => content.push('\n'),
                't' => content.push('\t'),
                plain @ ('\\' | '"' | '\'') => content.push(plain),
                _ => return None,
            },
            plain => content.push(plain),
        }
    }
    None
}

struct Reader<'a> {
    tokens: &'a [Token],
    last: &'a LastRetry,
}

impl Reader<'_> {
    fn take(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.tokens.first(), Some(Token::Sign(next)) if *next == sign);
        if is_next {
            self.tokens = &self.tokens[1..];
        }
        is_next
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_next = matches!(self.tokens.first(), Some(Token::Word(next)) if next == word);
        if is_next {
            self.tokens = &self.tokens[1..];
        }
        is_next
    }

    fn choice(&mut self) -> Option<Value> {
        let condition = self.or()?;
        if !self.take("?") {
            return Some(condition);
        }
        let yes = self.choice()?;
        if !self.take(":") {
            return None;
        }
        let no = self.choice()?;
        Some(match condition {
            Value::Bool(true) => yes,
            Value::Bool(false) => no,
            Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Unknown => Value::Unknown,
        })
    }

    fn or(&mut self) -> Option<Value> {
        let mut left = self.and()?;
        while self.take("||") || self.take_word("or") {
            let right = self.and()?;
            left = match (left, right) {
                (Value::Bool(true), _) | (_, Value::Bool(true)) => Value::Bool(true),
                (Value::Bool(false), Value::Bool(false)) => Value::Bool(false),
                _ => Value::Unknown,
            };
        }
        Some(left)
    }

    fn and(&mut self) -> Option<Value> {
        let mut left = self.compared()?;
        while self.take("&&") || self.take_word("and") {
            let right = self.compared()?;
            left = match (left, right) {
                (Value::Bool(false), _) | (_, Value::Bool(false)) => Value::Bool(false),
                (Value::Bool(true), Value::Bool(true)) => Value::Bool(true),
                _ => Value::Unknown,
            };
        }
        Some(left)
    }

    fn compared(&mut self) -> Option<Value> {
        let left = self.sum()?;
        for sign in ["==", "!=", "<=", ">=", "<", ">"] {
            if self.take(sign) {
                return Some(compare(sign, &left, &self.sum()?));
            }
        }
        let is_negated = self.take_word("not");
        for word in ["contains", "startsWith", "endsWith", "in", "matches"] {
            if self.take_word(word) {
                let found = within(word, &left, &self.sum()?);
                return Some(if is_negated { not(&found) } else { found });
            }
        }
        (!is_negated).then_some(left)
    }

    fn sum(&mut self) -> Option<Value> {
        let mut left = self.product()?;
        loop {
            let sign = ["+", "-"].into_iter().find(|sign| self.take(sign));
            let Some(sign) = sign else { return Some(left) };
            left = calculate(sign, left, self.product()?);
        }
    }

    fn product(&mut self) -> Option<Value> {
        let mut left = self.single()?;
        loop {
            let sign = ["*", "/", "%"].into_iter().find(|sign| self.take(sign));
            let Some(sign) = sign else { return Some(left) };
            left = calculate(sign, left, self.single()?);
        }
    }

    fn single(&mut self) -> Option<Value> {
        if self.take("!") || self.take_word("not") {
            return Some(not(&self.single()?));
        }
        if self.take("-") {
            return Some(calculate("-", Value::Number(0.0), self.single()?));
        }
        if self.take("(") {
            let value = self.choice()?;
            return self.take(")").then_some(value);
        }
        if self.take("[") {
            return self.items("]").map(Value::List);
        }
        let (token, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        match token {
            Token::Text(text) => Some(Value::Text(text.clone())),
            Token::Number(number) => Some(Value::Number(*number)),
            Token::Word(word) if self.take("(") => {
                let word = word.clone();
                let arguments = self.items(")")?;
                Some(call(&word, &arguments))
            }
            Token::Word(word) => Some(self.variable(word)),
            Token::Sign(_) => None,
        }
    }

    fn items(&mut self, end: &str) -> Option<Vec<Value>> {
        let mut items = Vec::new();
        if self.take(end) {
            return Some(items);
        }
        loop {
            items.push(self.choice()?);
            if self.take(end) {
                return Some(items);
            }
            if !self.take(",") {
                return None;
            }
        }
    }

    fn variable(&self, name: &str) -> Value {
        let last = self.last;
        match name {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "lastRetry.exitCode" => Value::Text(last.exit_code.unwrap_or(-1).to_string()),
            "lastRetry.status" => Value::Text(last.status.to_owned()),
            "lastRetry.duration" => {
                last.seconds.map_or(Value::Unknown, |seconds| Value::Text(seconds.to_string()))
            }
            "lastRetry.message" => Value::Text(last.message.clone()),
            "retries" => Value::Text(last.retries.to_string()),
            _ => Value::Unknown,
        }
    }
}

fn not(value: &Value) -> Value {
    match value {
        Value::Bool(value) => Value::Bool(!value),
        Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Unknown => Value::Unknown,
    }
}

fn compare(sign: &str, left: &Value, right: &Value) -> Value {
    let ordering = match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.partial_cmp(right),
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) if matches!(sign, "==" | "!=") => Some(left.cmp(right)),
        _ => None,
    };
    let Some(ordering) = ordering else { return Value::Unknown };
    Value::Bool(match sign {
        "==" => ordering == Ordering::Equal,
        "!=" => ordering != Ordering::Equal,
        "<" => ordering == Ordering::Less,
        ">" => ordering == Ordering::Greater,
        "<=" => ordering != Ordering::Greater,
        _ => ordering != Ordering::Less,
    })
}

fn within(word: &str, left: &Value, right: &Value) -> Value {
    match (word, left, right) {
        ("contains", Value::Text(text), Value::Text(part)) => Value::Bool(text.contains(part)),
        ("startsWith", Value::Text(text), Value::Text(part)) => Value::Bool(text.starts_with(part)),
        ("endsWith", Value::Text(text), Value::Text(part)) => Value::Bool(text.ends_with(part)),
        ("in", item, Value::List(items)) if !items.contains(&Value::Unknown) && *item != Value::Unknown => {
            Value::Bool(items.contains(item))
        }
        _ => Value::Unknown,
    }
}

fn calculate(sign: &str, left: Value, right: Value) -> Value {
    match (sign, left, right) {
        ("+", Value::Text(left), Value::Text(right)) => Value::Text(left + &right),
        ("+", Value::Number(left), Value::Number(right)) => Value::Number(left + right),
        ("-", Value::Number(left), Value::Number(right)) => Value::Number(left - right),
        ("*", Value::Number(left), Value::Number(right)) => Value::Number(left * right),
        ("/", Value::Number(left), Value::Number(right)) if right != 0.0 => Value::Number(left / right),
        ("%", Value::Number(left), Value::Number(right)) if right != 0.0 => Value::Number(left % right),
        _ => Value::Unknown,
    }
}

fn call(name: &str, arguments: &[Value]) -> Value {
    match (name, arguments) {
        ("asInt" | "int", [Value::Text(text)]) => {
            text.parse::<i32>().map_or(Value::Unknown, |number| Value::Number(f64::from(number)))
        }
        ("asFloat" | "float", [Value::Text(text)]) => text.parse().map_or(Value::Unknown, Value::Number),
        ("asInt" | "int" | "asFloat" | "float", [Value::Number(number)]) => Value::Number(*number),
        ("string", [Value::Text(text)]) => Value::Text(text.clone()),
        _ => Value::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deleted() -> LastRetry {
        LastRetry {
            exit_code: None,
            status: "Error",
            seconds: Some(90),
            message: "pod deleted".to_owned(),
            retries: 0,
        }
    }

    fn killed() -> LastRetry {
        let message = "main: Error (exit code 143)".to_owned();
        LastRetry { exit_code: Some(143), status: "Failed", seconds: Some(90), message, retries: 1 }
    }

    #[test]
    fn documented_expressions_are_worked_out() {
        for (text, of_killed, of_deleted) in [
            ("true", true, true),
            ("lastRetry.status == 'Error'", false, true),
            ("asInt(lastRetry.exitCode) >= 2", true, false),
            ("asInt(lastRetry.exitCode) == 143 || lastRetry.message contains \"pod deleted\"", true, true),
            ("lastRetry.exitCode not in ['143', '137']", false, true),
            ("!(lastRetry.exitCode in [\"143\"]) and lastRetry.status != \"Error\"", false, false),
            ("asInt(lastRetry.duration) < 60 * 2 and asInt(retries) < 1", false, true),
            ("lastRetry.status == 'Failed' ? asInt(lastRetry.exitCode) > 128 : false", true, false),
            ("asFloat(lastRetry.duration) % 60 == 30 && lastRetry.message startsWith `pod`", false, true),
            ("-1 == asInt(lastRetry.exitCode)", false, true),
        ] {
            assert_eq!(holds(text, &killed()), Some(of_killed), "{text}");
            assert_eq!(holds(text, &deleted()), Some(of_deleted), "{text}");
        }
    }

    #[test]
    fn what_is_not_known_has_no_answer_unless_the_rest_decides() {
        for text in [
            "lastRetry.message matches '^pod .*'",
            "workflow.status == 'Failed'",
            "lastRetry.exitCode > 128",
            "'{{inputs.parameters.n}}' == '1' && unknown",
            "lastRetry.status ==",
            "lastRetry.status == 'Error",
            "lastRetry.exitCode",
            "asInt('x') == 1",
            "",
            "true true",
            "1 / 0 == 1",
        ] {
            assert_eq!(holds(text, &deleted()), None, "{text}");
        }
        let whenever = LastRetry { seconds: None, ..deleted() };
        assert_eq!(holds("asInt(lastRetry.duration) < 120", &whenever), None);
        assert_eq!(holds("false && lastRetry.message matches 'x'", &deleted()), Some(false));
        assert_eq!(
            holds("lastRetry.message matches 'x' || lastRetry.status == 'Error'", &deleted()),
            Some(true)
        );
    }
}
