//! Words of a scenario's line: a head, a colon, clauses with a comma and a space between them.

use replank_model::object::meta::Key;
use replank_model::time::Span;
use serde_json::{Value, json};

use super::file::Flaw;

/// A line of the section `cluster`: `kind name: clause, clause`.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
    pub(super) clauses: Vec<Clause<'a>>,
}

/// A few words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clause<'a> {
    pub(super) line: usize,
    pub(super) text: &'a str,
}

impl<'a> Line<'a> {
    pub(super) fn read(number: usize, text: &'a str) -> Result<Self, Flaw> {
        let (head, rest) = text.split_once(": ").or_else(|| text.split_once(':')).unwrap_or((text, ""));
        let Some((kind, name)) = head.trim().split_once(' ') else {
            let message = format!("expected `kind name: clause, clause`, found {text:?}");
            return Err(Flaw::new(number, message));
        };
        let clauses = rest.split(", ").map(str::trim).filter(|text| !text.is_empty());
        let clauses = clauses.map(|text| Clause { line: number, text }).collect();
        Ok(Self { number, kind: kind.trim(), name: name.trim(), clauses })
    }

    pub(super) fn flaw(&self, message: impl Into<String>) -> Flaw {
        Flaw::new(self.number, message)
    }

    /// `namespace/name`.
    pub(super) fn key(&self) -> Result<Key, Flaw> {
        key(self.number, self.name)
    }
}

/// `namespace/name`.
pub(super) fn key(line: usize, text: &str) -> Result<Key, Flaw> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains(' ') => {
            Ok(Key::new(namespace, name))
        }
        Some(_) | None => Err(Flaw::new(line, format!("expected namespace/name, found {text:?}"))),
    }
}

impl<'a> Clause<'a> {
    pub(super) fn flaw(&self, expected: &str) -> Flaw {
        Flaw::new(self.line, format!("expected {expected}, found {:?}", self.text))
    }

    /// What follows these words, if the clause begins with them.
    pub(super) fn after(&self, words: &str) -> Option<&'a str> {
        let rest = self.text.strip_prefix(words)?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix(' ').map(str::trim) }
    }

    /// The number before one of these words: `3 nodes`, `1 node`.
    pub(super) fn count_of(&self, words: &[&str]) -> Option<(u32, &'a str)> {
        let (count, rest) = self.text.split_once(' ')?;
        let word = rest.split(' ').next()?;
        words.contains(&word).then(|| Some((count.parse().ok()?, rest[word.len()..].trim())))?
    }

    pub(super) fn span(&self, text: &str) -> Result<Span, Flaw> {
        span(text).ok_or_else(|| self.flaw("a duration such as 30s, 10m or 2d"))
    }

    /// `key=value`.
    pub(super) fn pair(&self, text: &'a str) -> Result<(&'a str, &'a str), Flaw> {
        text.split_once('=').ok_or_else(|| self.flaw("key=value"))
    }

    /// `key=value:Effect` or `key:Effect`, as a taint.
    pub(super) fn taint(&self, text: &str) -> Result<Value, Flaw> {
        taint(text).ok_or_else(|| self.flaw("a taint such as spot=true:NoSchedule"))
    }
}

pub(super) fn taint(text: &str) -> Option<Value> {
    let (head, effect) = text.rsplit_once(':')?;
    let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect);
    let (key, value) = head.split_once('=').unwrap_or((head, ""));
    known.then(|| json!({"key": key, "value": value, "effect": effect}))
}

/// A duration; besides what [`Span`] reads, `2d`.
pub(super) fn span(text: &str) -> Option<Span> {
    match text.strip_suffix('d') {
        Some(days) => days.parse::<i64>().ok().map(|days| Span::from_minutes(days * 24 * 60)),
        None => text.parse().ok(),
    }
}

/// `25%` stays text, `2` becomes a number.
pub(super) fn number_or_share(text: &str) -> Value {
    text.parse::<i32>().map_or_else(|_| text.into(), Value::from)
}
