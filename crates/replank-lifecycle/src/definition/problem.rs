//! Why a definition is refused, or cannot be judged.

use std::borrow::Cow;
use std::fmt;

use super::place::Place;

/// One thing that is wrong with a definition, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DefinitionProblem {
    /// The field, as the API server names it.
    pub path: String,
    /// What is wrong there, in words.
    pub what: Cow<'static, str>,
    /// Whether the server refuses it, or nobody here knows.
    pub judged: Judged,
}

/// How certain a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judged {
    /// The API server refuses it.
    Refused,
    /// It depends on something that is not computed here: the cost of an expression, a format, a pattern that a default has to
    /// match.
    Unknown,
}

impl fmt::Display for DefinitionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

/// Problems as they come.
#[derive(Debug, Default)]
pub(super) struct Problems(pub(super) Vec<DefinitionProblem>);

impl Problems {
    pub(super) fn refuse(&mut self, at: Place, what: impl Into<Cow<'static, str>>) {
        self.0.push(DefinitionProblem { path: at.into_text(), what: what.into(), judged: Judged::Refused });
    }

    pub(super) fn unknown(&mut self, at: Place, what: impl Into<Cow<'static, str>>) {
        self.0.push(DefinitionProblem { path: at.into_text(), what: what.into(), judged: Judged::Unknown });
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether anything was found since there were so many.
    pub(super) fn grew(&self, from: usize) -> bool {
        self.0.len() > from
    }
}
