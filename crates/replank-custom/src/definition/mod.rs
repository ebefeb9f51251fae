//! Whether a CustomResourceDefinition is taken, in the server's words (apiextensions `pkg/apis/apiextensions/validation/validation.go`).

mod below;
mod cost;
mod member;
mod names;
mod rules;
mod schema;
mod structural;
mod update;
mod versions;

use serde_json::Value;

use crate::problem::Problem;

/// Everything that is wrong with a definition; `old` is its stored state.
#[must_use]
pub fn check(value: &Value, old: Option<&Value>) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(old) = old {
        update::check(value, old, &mut problems);
    } else {
        names::metadata(value, &mut problems);
    }
    let empty = Value::Null;
    let spec = value.get("spec").unwrap_or(&empty);
    names::check(spec, &mut problems);
    versions::check(spec, &mut problems);
    versions::conversion(spec, &mut problems);
    update::stored(value, &mut problems);
    if old.is_none() {
        names::approval(value, spec, &mut problems);
    }
    problems
}
