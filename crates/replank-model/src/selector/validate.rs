//! What a label key and a label value may be, and how an invalid field is reported.
//!
//! Sources (apimachinery 1.36): `pkg/api/validate/content/{kube,dns,errors}.go`,
//! `pkg/util/validation/field/errors.go`, `pkg/util/errors/errors.go`.

use std::fmt;

use crate::go::{JsonList, JsonString, Quoted};

/// Longest label value, and longest name part of a label key, in bytes.
const NAME_MAX: usize = 63;
/// Longest prefix of a label key, in bytes.
const SUBDOMAIN_MAX: usize = 253;

const NAME_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                         validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_RULE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
                          '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
                          'my_value',  or '12345', regex used for validation is \
                          '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' \
                              or '.', and must start and end with an alphanumeric character (e.g. 'example.com', \
                              regex used for validation is \
                              '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn too_long(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

/// `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`, of any length.
fn is_name(text: &str) -> bool {
    let within = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    match text.as_bytes() {
        [] => false,
        [only] => only.is_ascii_alphanumeric(),
        [first, middle @ .., last] => {
            first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() && middle.iter().all(within)
        }
    }
}

/// Dot-separated RFC 1123 labels in lower case, of any length.
fn is_subdomain(text: &str) -> bool {
    let is_end = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.split('.').all(|label| match label.as_bytes() {
        [] => false,
        [only] => is_end(only),
        [first, middle @ .., last] => {
            is_end(first) && is_end(last) && middle.iter().all(|byte| is_end(byte) || *byte == b'-')
        }
    })
}

/// Whether nothing is wrong with `key` as a label's key.
pub(super) fn is_label_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let is_prefix = |prefix: &str| prefix.len() <= SUBDOMAIN_MAX && is_subdomain(prefix);
    name.len() <= NAME_MAX && is_name(name) && prefix.is_none_or(is_prefix)
}

/// Whether nothing is wrong with `value` as a label's value.
pub(super) fn is_label_value(value: &str) -> bool {
    value.is_empty() || value.len() <= NAME_MAX && is_name(value)
}

/// What is wrong with `key` as a label's key; empty if nothing is (`IsLabelKey`).
pub fn label_key_problems(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut parts = key.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(prefix), Some(name), None) => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                problems.extend(
                    subdomain_problems(prefix).into_iter().map(|problem| format!("prefix part {problem}")),
                );
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > NAME_MAX {
        problems.push(format!("name part {}", too_long(NAME_MAX)));
    }
    if !is_name(name) {
        problems.push(format!("name part {NAME_RULE}"));
    }
    problems
}

fn subdomain_problems(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > SUBDOMAIN_MAX {
        problems.push(too_long(SUBDOMAIN_MAX));
    }
    if !is_subdomain(text) {
        problems.push(SUBDOMAIN_RULE.to_owned());
    }
    problems
}

/// What is wrong with `value` as a label's value; empty if nothing is (`IsLabelValue`).
pub fn label_value_problems(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > NAME_MAX {
        problems.push(too_long(NAME_MAX));
    }
    if !value.is_empty() && !is_name(value) {
        problems.push(VALUE_RULE.to_owned());
    }
    problems
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldProblem {
    /// Something must be there.
    Required,
    /// Nothing may be there.
    Forbidden,
    /// What is there is not valid; it is shown as the API server shows it.
    Invalid {
        /// A Go string literal, or JSON.
        shown: String,
    },
}

impl FieldProblem {
    /// The API's machine-readable name, as in a status' causes.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Forbidden => "FieldValueForbidden",
            Self::Invalid { .. } => "FieldValueInvalid",
        }
    }
}

/// An invalid field (`field.Error`). Displays as the API server's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {}{detail}", problem_text(.problem))]
pub struct FieldError {
    /// Where, as `spec.selector.matchExpressions[0].key`.
    pub path: String,
    /// What.
    pub problem: FieldProblem,
    /// Why, in words.
    pub detail: String,
}

fn problem_text(problem: &FieldProblem) -> String {
    match problem {
        FieldProblem::Required => "Required value: ".to_owned(),
        FieldProblem::Forbidden => "Forbidden: ".to_owned(),
        FieldProblem::Invalid { shown } => format!("Invalid value: {shown}: "),
    }
}

impl FieldError {
    pub(crate) fn required(path: String, detail: &str) -> Self {
        Self { path, problem: FieldProblem::Required, detail: detail.to_owned() }
    }

    pub(crate) fn forbidden(path: String, detail: &str) -> Self {
        Self { path, problem: FieldProblem::Forbidden, detail: detail.to_owned() }
    }

    pub(crate) fn invalid(path: String, value: &str, detail: impl Into<String>) -> Self {
        let shown = Quoted(value).to_string();
        Self { path, problem: FieldProblem::Invalid { shown }, detail: detail.into() }
    }

    /// A text of a type of its own, which is shown as JSON.
    pub(crate) fn invalid_word(path: String, value: &str, detail: &str) -> Self {
        let shown = JsonString(value).to_string();
        Self { path, problem: FieldProblem::Invalid { shown }, detail: detail.to_owned() }
    }

    pub(crate) fn invalid_list(path: String, values: &[&str], detail: &str) -> Self {
        let shown = JsonList(values).to_string();
        Self { path, problem: FieldProblem::Invalid { shown }, detail: detail.to_owned() }
    }
}

/// At least one invalid field, reported together (`utilerrors.Aggregate`): one message stands alone, several in
/// brackets, each once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FieldErrors(Vec<FieldError>);

impl FieldErrors {
    /// `Ok` if there are none.
    pub(crate) fn check(errors: Vec<FieldError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self(errors)) }
    }

    /// Each of them, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &FieldError> {
        self.0.iter()
    }
}

impl fmt::Display for FieldErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut messages: Vec<String> = Vec::new();
        for message in self.0.iter().map(ToString::to_string) {
            if !messages.contains(&message) {
                messages.push(message);
            }
        }
        match messages.as_slice() {
            [only] => f.write_str(only),
            several => write!(f, "[{}]", several.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_held_to_their_rules() {
        for key in ["a", "A-b_c.9", "example.com/a", "a.b-c.d/E", &"x".repeat(63)] {
            assert!(label_key_problems(key).is_empty() && is_label_key(key), "{key}");
        }
        let count = |key: &str| {
            assert!(!is_label_key(key), "{key}");
            label_key_problems(key).len()
        };
        assert_eq!(count(""), 2);
        assert_eq!(count("/"), 3);
        assert_eq!(count("a/b/c"), 1);
        assert_eq!(count("-a"), 1);
        assert_eq!(count(&format!("{}/{}", "A".repeat(254), "-".repeat(64))), 4);
        assert_eq!(count("a..b/c"), 1);
        for value in ["", "a", "1.2_3-x", &"x".repeat(63)] {
            assert!(label_value_problems(value).is_empty() && is_label_value(value), "{value}");
        }
        assert_eq!(label_value_problems(&"é".repeat(32)).len(), 2);
        assert!(!is_label_value("é") && !is_label_value(&"x".repeat(64)));
    }

    #[test]
    fn several_errors_stand_in_brackets_and_each_once() {
        let error = FieldError::required("a".to_owned(), "b");
        let other = FieldError::forbidden("c".to_owned(), "d");
        let text = |errors: &[&FieldError]| {
            FieldErrors(errors.iter().map(|error| (*error).clone()).collect()).to_string()
        };
        assert_eq!(text(&[&error, &error]), "a: Required value: b");
        assert_eq!(text(&[&error, &other, &error]), "[a: Required value: b, c: Forbidden: d]");
    }
}
