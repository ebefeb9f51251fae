//! Label selectors of an object, and what they say of a template's labels.

use serde_json::Value;

use super::error::{Causes, Shown};
use super::field::Field;
use super::show;
use crate::reader;
use crate::selector::{LabelSelector, Selector};

/// A selector as the API has it; `None` if it is absent.
fn read(field: &Field<'_>) -> Option<LabelSelector> {
    field.is_set().then(|| reader::read(field.value).unwrap_or_default())
}

/// What is wrong with a selector by itself (`ValidateLabelSelector`).
pub(super) fn at(field: &Field<'_>, causes: &mut Causes) {
    if let Some(selector) = read(field) {
        causes.selector(selector.validate(&field.path));
    }
}

/// The selector for matching, if it can be compiled (`LabelSelectorAsSelector`); one that is absent selects nothing.
pub(super) fn compiled(field: &Field<'_>) -> Option<Selector> {
    LabelSelector::compile_option(read(field).as_ref()).ok()
}

/// A selector as the server shows it.
pub(super) fn shown(field: &Field<'_>) -> Shown {
    show::shown("v1.LabelSelector", field.value)
}

/// Whether it is there and empty, so that it selects everything.
pub(super) fn is_empty(field: &Field<'_>) -> bool {
    field.is_set() && field.child("matchLabels").is_empty() && field.child("matchExpressions").is_empty()
}

/// Whether a selector matches labels.
pub(super) fn matches(selector: &Selector, labels: &Field<'_>) -> bool {
    selector.matches(|key| labels.value.get(key).and_then(Value::as_str))
}

/// That a template's labels are not selected.
pub(super) fn mismatch(labels: &Field<'_>, causes: &mut Causes) {
    causes.invalid(&labels.path, show::map(labels.value), "`selector` does not match template `labels`");
}
