//! Counts, shares and durations of a plan.

use replank_model::int_or_string::{IntOrString, Rounding};
use replank_model::text::Text;
use replank_model::time::Span;
use serde_json::Value;

use crate::plan::Surge;
use crate::plan::read::{At, Errors, text};

pub(super) const DURATION: &str = "a duration such as \"30s\", \"10m\" or \"6h\"";

/// A plain 0 or 0%: of no number of nodes anything else.
pub(super) fn is_zero(value: &IntOrString) -> bool {
    value.scaled(i64::from(i32::MAX), Rounding::Up) == Ok(0)
}

pub(super) fn nodes_or_percent(at: At<'_>, errors: &mut Errors) -> Option<IntOrString> {
    amount(at, "a number of nodes or a percentage such as \"25%\"", errors)
}

pub(super) fn surge(at: At<'_>, errors: &mut Errors) -> Option<Surge> {
    if at.value.as_str() == Some(Surge::PER_ZONE) {
        return Some(Surge::PerZone);
    }
    amount(at, "a number of nodes, a percentage such as \"25%\", or perZone", errors).map(Surge::Nodes)
}

fn amount(at: At<'_>, expected: &str, errors: &mut Errors) -> Option<IntOrString> {
    let value = match at.value {
        Value::Number(number) => {
            number.as_i64().and_then(|number| i32::try_from(number).ok()).map(IntOrString::Int)
        }
        Value::String(text) => Some(IntOrString::String(Text::from(text.as_str()))),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let share = value.as_ref().and_then(|value| value.scaled(100, Rounding::Up).ok());
    let is_percent = matches!(value, Some(IntOrString::String(_)));
    match (value, share) {
        (Some(value), Some(share)) if share >= 0 && (!is_percent || share <= 100) => Some(value),
        (Some(_) | None, Some(_) | None) => {
            let is_bare = at.value.as_str().is_some_and(|text| text.parse::<u32>().is_ok());
            errors.add(at, expected, is_bare.then(|| "remove the quotes".to_owned()));
            None
        }
    }
}

pub(super) fn span(at: At<'_>, errors: &mut Errors) -> Option<Span> {
    if let Some(number) = at.value.as_f64() {
        errors.add(at, DURATION, Some(format!("write \"{number}s\" if seconds are meant")));
        return None;
    }
    let text = text(at, DURATION, errors)?;
    match text.parse::<Span>() {
        Ok(span) if span >= Span::ZERO => Some(span),
        Ok(_) => {
            errors.add(at, DURATION, Some("remove the minus sign".to_owned()));
            None
        }
        Err(error) => {
            errors.add(at, DURATION, Some(error.to_string()));
            None
        }
    }
}

pub(super) fn positive_span(at: At<'_>, errors: &mut Errors) -> Option<Span> {
    let span = span(at, errors)?;
    if span == Span::ZERO {
        errors.add(at, "a duration above 0", None);
    }
    Some(span)
}
