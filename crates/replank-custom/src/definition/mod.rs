//! Whether a CustomResourceDefinition is taken, in the server's words (apiextensions `pkg/apis/apiextensions/validation/validation.go`).

mod cost;
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

/// A text of a member; empty where there is none.
fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The items of a list; none where it is absent.
fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn is_true(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or(false)
}
