//! What is wrong with a field, and how the API server says it (apimachinery `pkg/util/validation/field/errors.go`).

use std::fmt;

use crate::go::{JsonString, Quoted};
use crate::selector::validate::{FieldError as SelectorError, FieldProblem};

/// What kind of wrong (`field.ErrorType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// What it names is not there.
    NotFound,
    /// Something must be there.
    Required,
    /// It is there already.
    Duplicate,
    /// It breaks a rule.
    Invalid,
    /// It is none of the values that are known.
    NotSupported,
    /// It may not be there.
    Forbidden,
    /// It is too long to be shown.
    TooLong,
    /// A list has too many items.
    TooMany,
}

impl FieldErrorKind {
    /// The API's machine-readable name, as in a status' causes.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
        }
    }
}

/// One cause of a refusal (`field.Error`). Displays as the API server's message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// What kind of wrong.
    pub kind: FieldErrorKind,
    /// Where, as `spec.containers[0].image`.
    pub path: String,
    /// The value as the server shows it (a Go string literal, a number, JSON), where it shows one.
    pub value: Option<String>,
    /// Why, in words; may be empty.
    pub detail: String,
}

impl FieldError {
    /// All but the path, as in a status' causes.
    #[must_use]
    pub fn body(&self) -> String {
        let mut text = self.kind.words().to_owned();
        for part in self.value.iter().chain(Some(&self.detail).filter(|detail| !detail.is_empty())) {
            text.push_str(": ");
            text.push_str(part);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}

impl From<SelectorError> for FieldError {
    fn from(error: SelectorError) -> Self {
        let (kind, value) = match error.problem {
            FieldProblem::Required => (FieldErrorKind::Required, None),
            FieldProblem::Forbidden => (FieldErrorKind::Forbidden, None),
            FieldProblem::Invalid { shown } => (FieldErrorKind::Invalid, Some(shown)),
        };
        Self { kind, path: error.path, value, detail: error.detail }
    }
}

/// A value as the server shows it.
pub(super) struct Shown(Option<String>);

impl Shown {
    /// A plain Go string.
    pub(super) fn text(text: &str) -> Self {
        Self(Some(Quoted(text).to_string()))
    }

    /// A string of a type of its own (an operator, a policy, a resource's name): shown as JSON.
    pub(super) fn word(text: &str) -> Self {
        Self(Some(JsonString(text).to_string()))
    }

    /// A number or a boolean.
    pub(super) fn plain(value: impl fmt::Display) -> Self {
        Self(Some(value.to_string()))
    }

    /// What is JSON already.
    pub(super) fn json(json: String) -> Self {
        Self(Some(json))
    }

    /// Left out on purpose (`OmitValueType`).
    pub(super) fn omitted() -> Self {
        Self(None)
    }
}

/// Causes in the order in which they are found.
#[derive(Debug, Default)]
pub(super) struct Causes(Vec<FieldError>);

impl Causes {
    fn push(
        &mut self,
        kind: FieldErrorKind,
        path: impl Into<String>,
        shown: Shown,
        detail: impl Into<String>,
    ) {
        self.0.push(FieldError { kind, path: path.into(), value: shown.0, detail: detail.into() });
    }

    pub(super) fn into_vec(self) -> Vec<FieldError> {
        self.0
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes over what another check found.
    pub(super) fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Takes over what is wrong with a selector.
    pub(super) fn selector(&mut self, errors: Vec<SelectorError>) {
        self.0.extend(errors.into_iter().map(FieldError::from));
    }

    pub(super) fn required(&mut self, path: impl Into<String>, detail: impl Into<String>) {
        self.push(FieldErrorKind::Required, path, Shown::omitted(), detail);
    }

    pub(super) fn forbidden(&mut self, path: impl Into<String>, detail: impl Into<String>) {
        self.push(FieldErrorKind::Forbidden, path, Shown::omitted(), detail);
    }

    pub(super) fn invalid(&mut self, path: impl Into<String>, shown: Shown, detail: impl Into<String>) {
        self.push(FieldErrorKind::Invalid, path, shown, detail);
    }

    /// One cause per rule that a text breaks.
    pub(super) fn broken_rules(&mut self, path: &str, text: &str, rules: Vec<String>) {
        for rule in rules {
            self.invalid(path, Shown::text(text), rule);
        }
    }

    pub(super) fn not_found(&mut self, path: impl Into<String>, text: &str, detail: impl Into<String>) {
        self.push(FieldErrorKind::NotFound, path, Shown::text(text), detail);
    }

    pub(super) fn duplicate(&mut self, path: impl Into<String>, shown: Shown) {
        self.push(FieldErrorKind::Duplicate, path, shown, "");
    }

    pub(super) fn not_supported(&mut self, path: impl Into<String>, shown: Shown, supported: &[&str]) {
        let quoted: Vec<String> = supported.iter().map(|text| Quoted(text).to_string()).collect();
        let detail = format!("supported values: {}", quoted.join(", "));
        self.push(FieldErrorKind::NotSupported, path, shown, detail);
    }

    pub(super) fn too_long(&mut self, path: impl Into<String>, bytes_max: usize) {
        let detail = format!("may not be more than {bytes_max} bytes");
        self.push(FieldErrorKind::TooLong, path, Shown::omitted(), detail);
    }

    pub(super) fn too_many(&mut self, path: impl Into<String>, count: usize, most: usize) {
        let detail = format!("must have at most {most} items");
        self.push(FieldErrorKind::TooMany, path, Shown::plain(count), detail);
    }

    /// A number that may not be below zero (`ValidateNonnegativeField`).
    pub(super) fn not_negative(&mut self, path: impl Into<String>, number: i64) {
        if number < 0 {
            self.invalid(path, Shown::plain(number), "must be greater than or equal to 0");
        }
    }
}
