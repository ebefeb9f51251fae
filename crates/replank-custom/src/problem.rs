//! What is wrong with an object, in the server's words (apimachinery `pkg/util/validation/field/errors.go`).

use std::fmt;

use serde_json::Value;

/// A cause of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What kind of wrong.
    pub kind: ProblemKind,
    /// Where, such as `spec.list[0].name`.
    pub field: String,
    /// What is said of it, without the field.
    pub message: String,
}

/// What kind of wrong (`field.ErrorType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// Something must be there.
    Required,
    /// It is there already.
    Duplicate,
    /// It breaks a rule.
    Invalid,
    /// It has another type.
    TypeInvalid,
    /// It is none of the values that are known.
    NotSupported,
    /// It may not be there.
    Forbidden,
    /// It is too long.
    TooLong,
    /// It has too many items.
    TooMany,
}

impl ProblemKind {
    /// The word of a status' causes.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
        }
    }

    /// Whether rules in CEL are not asked once something is wrong in this way.
    #[must_use]
    pub fn stops_rules(self) -> bool {
        match self {
            Self::Required | Self::TypeInvalid | Self::TooLong | Self::TooMany | Self::NotSupported => true,
            Self::Duplicate | Self::Invalid | Self::Forbidden => false,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// A value as the server shows it.
#[must_use]
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => "\"null\"".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => go_number(number),
        Value::String(text) => quoted(text),
        Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// A number as Go's `%v` writes it.
#[must_use]
pub fn go_number(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => go_float(float),
        Some(_) | None => number.to_string(),
    }
}

/// A float as Go's `%v` writes it: the shortest that reads back, with an exponent below -4 and from 21 on.
#[must_use]
pub fn go_float(float: f64) -> String {
    if float == 0.0 || !float.is_finite() {
        return if float == 0.0 { "0".to_owned() } else { float.to_string() };
    }
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..21).contains(&exponent) {
        return float.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// A text in quotes, as Go's `%q` writes it.
#[must_use]
pub fn quoted(text: &str) -> String {
    replank_model::go::quoted(text)
}

impl Problem {
    /// It breaks a rule; `value` is shown as it is.
    pub fn invalid(field: impl Into<String>, value: &str, why: &str) -> Self {
        let message = format!("Invalid value: {value}: {why}");
        Self { kind: ProblemKind::Invalid, field: field.into(), message }
    }

    /// It has another type.
    pub fn of_type(field: impl Into<String>, value: &str, why: &str) -> Self {
        Self { kind: ProblemKind::TypeInvalid, ..Self::invalid(field, value, why) }
    }

    /// Something must be there.
    pub fn required(field: impl Into<String>, why: &str) -> Self {
        let message =
            if why.is_empty() { "Required value".to_owned() } else { format!("Required value: {why}") };
        Self { kind: ProblemKind::Required, field: field.into(), message }
    }

    /// It may not be there.
    pub fn forbidden(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() { "Forbidden".to_owned() } else { format!("Forbidden: {why}") };
        Self { kind: ProblemKind::Forbidden, field: field.into(), message }
    }

    /// It is there already; `value` is shown as it is.
    pub fn duplicate(field: impl Into<String>, value: &str) -> Self {
        let message = format!("Duplicate value: {value}");
        Self { kind: ProblemKind::Duplicate, field: field.into(), message }
    }

    /// It is none of the values that are known; `value` is shown as it is.
    pub fn not_supported(field: impl Into<String>, value: &str, known: &[String]) -> Self {
        let known: Vec<String> = known.iter().map(|one| quoted(one)).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", known.join(", "));
        Self { kind: ProblemKind::NotSupported, field: field.into(), message }
    }

    /// A text is longer than so many bytes.
    pub fn too_long(field: impl Into<String>, most: u64) -> Self {
        let message = format!("Too long: may not be more than {most} bytes");
        Self { kind: ProblemKind::TooLong, field: field.into(), message }
    }

    /// There are more items than so many.
    pub fn too_many(field: impl Into<String>, count: usize, most: u64) -> Self {
        let items = if most == 1 { "item" } else { "items" };
        let message = format!("Too many: {count}: must have at most {most} {items}");
        Self { kind: ProblemKind::TooMany, field: field.into(), message }
    }
}
