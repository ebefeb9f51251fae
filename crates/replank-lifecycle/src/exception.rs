//! Findings that somebody has looked at and lets be, each with a reason and a day on which that ends: the form of the file, and what comes of it. What a
//! finding is, and by which fields it is named, is up to whoever has findings.

use replank_intake::document::Found;
use replank_intake::limits::Limits;
use replank_intake::read;
use replank_intake::source::Source;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// One exception: a reason, a last day, and fields that name findings.
pub trait Exception: Clone + DeserializeOwned {
    /// What it is about.
    type Finding;
    /// The fields that name findings, as messages list them.
    const FIELDS: &'static str;

    /// Why.
    fn reason(&self) -> &str;
    /// The last day on which it holds, such as 2026-12-31.
    fn expires(&self) -> &str;
    /// Whether it has none of the fields, so that it would let everything be.
    fn names_nothing(&self) -> bool;
    /// Whether it is about a finding.
    fn is_about(&self, finding: &Self::Finding) -> bool;
    /// What else is wrong with it.
    fn flaw(&self) -> Option<String> {
        None
    }
}

/// Why a file of exceptions cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub enum ExceptionError {
    /// It is no YAML or JSON.
    #[error("{0}")]
    Text(String),
    /// It has another form.
    #[error(
        "expected a list of exceptions (`ignore:`, each with `reason`, `expires` and at least one of {fields}): {error}"
    )]
    Form {
        /// What an exception may name.
        fields: &'static str,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// One of them is not right.
    #[error("the exception {number} {flaw}")]
    Flaw {
        /// Which, from 1.
        number: usize,
        /// What is wrong with it.
        flaw: String,
    },
}

/// All of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exceptions<E> {
    list: Vec<E>,
}

/// Their outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sorted<F, E> {
    /// Findings that none lets be.
    pub left: Vec<F>,
    /// Findings that one lets be, with the first that does.
    pub waived: Vec<(F, E)>,
    /// Exceptions that have ended and would let something be.
    pub expired: Vec<E>,
    /// Exceptions that let nothing be.
    pub unused: Vec<E>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "E: DeserializeOwned")]
struct Written<E> {
    ignore: Vec<E>,
}

impl<E> Default for Exceptions<E> {
    fn default() -> Self {
        Self { list: Vec::new() }
    }
}

impl<E: Exception> Exceptions<E> {
    /// Reads them, YAML or JSON.
    ///
    /// # Errors
    /// Where the text is not such a list.
    pub fn read(text: &str) -> Result<Self, ExceptionError> {
        let mut values = Vec::new();
        let mut wrong = Vec::new();
        let source = Source::bytes("exceptions", text.as_bytes());
        read::read(vec![source], &Limits::default(), &mut |found| match found {
            Found::Document(document) => values.push(document.value),
            Found::List { .. } => {}
            Found::Problem(problem) => wrong.push(problem.to_string()),
        })
        .map_err(|fatal| ExceptionError::Text(fatal.to_string()))?;
        if let Some(wrong) = wrong.into_iter().next() {
            return Err(ExceptionError::Text(wrong));
        }
        let mut list = Vec::new();
        for value in values {
            let read = serde_json::from_value::<Written<E>>(value)
                .map_err(|error| ExceptionError::Form { fields: E::FIELDS, error })?;
            list.extend(read.ignore);
        }
        for (exception, number) in list.iter().zip(1..) {
            if let Some(flaw) = flaw(exception) {
                return Err(ExceptionError::Flaw { number, flaw });
            }
        }
        Ok(Self { list })
    }

    /// Whether one of them lets a finding be on a day, such as 2026-11-22.
    pub fn let_be(&self, finding: &E::Finding, today: &str) -> bool {
        self.list.iter().any(|exception| *today <= *exception.expires() && exception.is_about(finding))
    }

    /// Takes out what they let be on a day, such as 2026-11-22.
    pub fn apply(&self, findings: Vec<E::Finding>, today: &str) -> Sorted<E::Finding, E> {
        let mut sorted =
            Sorted { left: Vec::new(), waived: Vec::new(), expired: Vec::new(), unused: Vec::new() };
        let holds = |exception: &E| *today <= *exception.expires();
        let mut used = vec![false; self.list.len()];
        for finding in findings {
            let mut first = None;
            for (exception, used) in self.list.iter().zip(&mut used) {
                if exception.is_about(&finding) {
                    *used = true;
                    if holds(exception) && first.is_none() {
                        first = Some(exception.clone());
                    }
                }
            }
            match first {
                Some(exception) => sorted.waived.push((finding, exception)),
                None => sorted.left.push(finding),
            }
        }
        for (exception, used) in self.list.iter().zip(used) {
            match (used, holds(exception)) {
                (false, _) => sorted.unused.push(exception.clone()),
                (true, false) => sorted.expired.push(exception.clone()),
                (true, true) => {}
            }
        }
        sorted
    }
}

impl<F, E: Exception> Sorted<F, E> {
    /// What is to be said of the exceptions themselves.
    pub fn warnings(&self) -> Vec<String> {
        let expired = self.expired.iter();
        let expired =
            expired.map(|one| format!("an exception expired on {}: {}", one.expires(), one.reason()));
        let unused =
            self.unused.iter().map(|one| format!("an exception matches no finding: {}", one.reason()));
        expired.chain(unused).collect()
    }
}

fn flaw(exception: &impl Exception) -> Option<String> {
    if exception.reason().trim().is_empty() {
        return Some("has an empty reason".to_owned());
    }
    if exception.names_nothing() {
        return Some(names_nothing(exception));
    }
    if !is_day(exception.expires()) {
        return Some(format!("expires on \"{}\": expected a day such as 2026-12-31", exception.expires()));
    }
    exception.flaw()
}

fn names_nothing<E: Exception>(exception: &E) -> String {
    format!("(\"{}\") names none of {}: it would ignore everything", exception.reason(), E::FIELDS)
}

/// Whether a text is a day, such as 2026-12-31: days in this form are in order as texts.
fn is_day(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}
