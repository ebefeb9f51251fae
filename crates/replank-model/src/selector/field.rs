//! Field selectors (apimachinery 1.36, `pkg/fields/selector.go`): `spec.nodeName=a,status.phase!=Running`.
//!
//! In a value `\`, `,` and `=` stand behind a backslash. Which fields there are is the caller's to say.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Whether a field must have a value or must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldOperator {
    /// `=` or `==`.
    Equals,
    /// `!=`.
    NotEquals,
}

impl FieldOperator {
    /// `=` or `!=`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Equals => "=",
            Self::NotEquals => "!=",
        }
    }
}

/// One condition on one field.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldTerm {
    /// As `metadata.name`.
    pub field: Arc<str>,
    /// How it relates to the value.
    pub operator: FieldOperator,
    /// Without the escapes.
    pub value: Arc<str>,
}

/// Conditions that must all hold. Displays as it is written, with the value escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldSelector {
    terms: Arc<[FieldTerm]>,
}

/// Why a text is not a field selector; reads as upstream's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldSelectorError {
    /// A term without an operator.
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    Term {
        /// All of it.
        selector: String,
        /// The part without an operator.
        term: String,
    },
    /// A backslash before something else, or at the end.
    #[error("invalid field selector: invalid escape sequence: {sequence}")]
    Escape {
        /// The backslash and what follows.
        sequence: String,
    },
    /// A comma or an equals sign in a value; upstream names it by its number.
    #[error("invalid field selector: unescaped character in value: {}", u32::from(*.character))]
    Unescaped {
        /// Which.
        character: char,
    },
}

impl FieldSelector {
    /// The terms, sorted as they were written.
    pub fn terms(&self) -> &[FieldTerm] {
        &self.terms
    }

    /// Whether it restricts nothing.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether an object is selected, given its fields by name. A field that is not there is empty. Allocates nothing.
    pub fn matches<'a>(&self, field: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.matches_texts(|name| Cow::Borrowed(field(name).unwrap_or("")))
    }

    /// As [`Self::matches`], where the text of a field may have to be put together.
    pub fn matches_texts<'a>(&self, mut text: impl FnMut(&str) -> Cow<'a, str>) -> bool {
        self.terms.iter().all(|term| {
            let is_equal = *text(&term.field) == *term.value;
            match term.operator {
                FieldOperator::Equals => is_equal,
                FieldOperator::NotEquals => !is_equal,
            }
        })
    }

    /// The value that the field must have, if a term asks for one (`RequiresExactMatch`).
    pub fn exact_value(&self, field: &str) -> Option<&Arc<str>> {
        let is_exact = |term: &&FieldTerm| term.operator == FieldOperator::Equals && *term.field == *field;
        self.terms.iter().find(is_exact).map(|term| &term.value)
    }
}

impl FromStr for FieldSelector {
    type Err = FieldSelectorError;

    fn from_str(text: &str) -> Result<Self, FieldSelectorError> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let unknown = || FieldSelectorError::Term { selector: text.to_owned(), term: part.to_owned() };
            let (field, operator, value) = split_term(part).ok_or_else(unknown)?;
            let value = unescape(value)?;
            // Upstream drops a term of which nothing is left ("=" or "!=").
            if !(field.is_empty() && value.is_empty()) {
                terms.push(FieldTerm { field: field.into(), operator, value: value.into() });
            }
        }
        Ok(Self { terms: terms.into() })
    }
}

/// Cut at the commas that have no backslash before them.
fn split_terms(text: &str) -> Vec<&str> {
    let mut after_backslash = false;
    text.split(|character| {
        let is_separator = character == ',' && !after_backslash;
        after_backslash = character == '\\' && !after_backslash;
        is_separator
    })
    .collect()
}

/// Cut at the first operator.
fn split_term(term: &str) -> Option<(&str, FieldOperator, &str)> {
    let (at, found) =
        term.match_indices(['!', '=']).find(|(at, found)| *found == "=" || term[*at..].starts_with("!="))?;
    let (field, rest) = (&term[..at], &term[at..]);
    if found == "!" {
        return Some((field, FieldOperator::NotEquals, &rest["!=".len()..]));
    }
    let value = rest.strip_prefix("==").unwrap_or(&rest["=".len()..]);
    Some((field, FieldOperator::Equals, value))
}

fn unescape(value: &str) -> Result<String, FieldSelectorError> {
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                other => {
                    let sequence = ['\\'].into_iter().chain(other).collect();
                    return Err(FieldSelectorError::Escape { sequence });
                }
            },
            ',' | '=' => return Err(FieldSelectorError::Unescaped { character }),
            _ => plain.push(character),
        }
    }
    Ok(plain)
}

impl fmt::Display for FieldTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.field, self.operator.name())?;
        self.value.chars().try_for_each(|character| match character {
            '\\' | ',' | '=' => write!(f, "\\{character}"),
            _ => write!(f, "{character}"),
        })
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{term}")?;
        }
        Ok(())
    }
}
