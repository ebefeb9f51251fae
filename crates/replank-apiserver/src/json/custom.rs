//! Custom resources: what their schema takes out of a body, fills in and refuses (apiextensions `customresource_handler.go` and
//! `registry/customresource/strategy.go`).

use replank_custom::object::{drop_nulls, embedded, fill, prune, repeated, validate};
use replank_custom::{Problem, rules};
use serde_json::Value;

use super::go::go_type;
use crate::server::{ApiError, Cause, ResourceType};

/// Takes in a body of a custom resource: what the schema does not know goes, defaults come. The paths of what has gone.
///
/// # Errors
/// 400 where metadata cannot be read.
pub(super) fn take_in(resource: &ResourceType, value: &mut Value) -> Result<Vec<String>, ApiError> {
    let Some(custom) = &resource.custom else { return Ok(Vec::new()) };
    let kind = &resource.name.kind;
    let given = value["kind"].as_str().filter(|kind| !kind.is_empty()).unwrap_or(kind).to_owned();
    let unreadable = |why: &str| {
        let version = &resource.version;
        ApiError::bad_request(&format!(
            "{given} in version \"{version}\" cannot be handled as a {kind}: {why}"
        ))
    };
    let mut unknown = Vec::new();
    if let Some(metadata) = value.get_mut("metadata") {
        if let Some(why) = embedded::unreadable(metadata) {
            return Err(unreadable(&why));
        }
        for member in ["labels", "annotations"] {
            // Go's map of strings reads null as "".
            for one in metadata.get_mut(member).and_then(Value::as_object_mut).into_iter().flatten() {
                if one.1.is_null() {
                    *one.1 = "".into();
                }
            }
        }
        let dropped = embedded::drop_unknown(metadata);
        unknown.extend(dropped.iter().map(|name| format!("metadata.{name}")));
        embedded::drop_empty(metadata);
    }
    unknown.extend(prune(value, &custom.schema));
    unknown.extend(embedded::coerce(value, &custom.schema).map_err(|why| unreadable(&why))?);
    drop_nulls(value, &custom.schema);
    fill(value, &custom.schema);
    Ok(unknown)
}

/// What a stored object is served as: of the schema as it is today.
pub(super) fn bring_out(resource: &ResourceType, value: &mut Value) {
    let Some(custom) = &resource.custom else { return };
    prune(value, &custom.schema);
    drop_nulls(value, &custom.schema);
    fill(value, &custom.schema);
}

/// What is wrong with an object; `old` is its stored state.
pub(super) fn check(resource: &ResourceType, old: Option<&Value>, value: &Value) -> Vec<Cause> {
    let Some(custom) = &resource.custom else { return Vec::new() };
    let mut problems = validate(value, old, &custom.schema);
    problems.extend(replicas(resource, value));
    problems.extend(embedded::check(value, &custom.schema));
    let repeats = repeated(value, &custom.schema);
    let was = old.map(|old| repeated(old, &custom.schema)).unwrap_or_default();
    problems.extend(repeats.into_iter().filter(|problem| !was.contains(problem)));
    // Some are found twice.
    let mut once: Vec<Problem> = Vec::new();
    for problem in problems {
        if !once.contains(&problem) {
            once.push(problem);
        }
    }
    if once.iter().any(|problem| problem.kind.stops_rules()) {
        if custom.schema.has_rules() {
            once.push(Problem::invalid("<nil>", "null", UNCHECKED));
        }
    } else {
        once.extend(rules::broken(value, old, &custom.schema, &custom.program));
    }
    once.into_iter().map(cause).collect()
}

/// Of a write of the status alone, the messages count paths from there on; fields are those of the whole object (`ValidateStatusUpdate`).
pub(super) fn told_of_status(resource: &ResourceType, causes: &mut [Cause]) {
    if resource.custom.is_none() {
        return;
    }
    for cause in causes {
        let Some(below) = cause.field.as_deref().and_then(|field| field.strip_prefix("status")) else {
            continue;
        };
        let (whole, part) =
            (format!("status{below} in body "), format!("{} in body ", below.trim_start_matches('.')));
        cause.message = cause.message.replacen(&whole, &part, 1);
    }
}

/// What is said of rules that were not asked; `None` where there are none.
pub(super) fn unchecked(resource: &ResourceType) -> Option<Cause> {
    let custom = resource.custom.as_ref()?;
    custom.schema.has_rules().then(|| cause(Problem::invalid("<nil>", "null", UNCHECKED)))
}

pub(super) fn cause(problem: Problem) -> Cause {
    Cause { reason: problem.kind.reason(), message: problem.message, field: Some(problem.field) }
}

const UNCHECKED: &str = "some validation rules were not checked because the object was invalid; correct the existing \
                         errors to complete validation";

/// The numbers that the scale subresource reads (`ValidateScaleSpec`, `ValidateScaleStatus`).
fn replicas(resource: &ResourceType, value: &Value) -> Vec<Problem> {
    let Some(scale) = &resource.scale else { return Vec::new() };
    let paths = [&*scale.spec_replicas_path, &*scale.status_replicas_path];
    paths.into_iter().filter_map(|path| replicas_at(path, value)).collect()
}

fn replicas_at(path: &str, value: &Value) -> Option<Problem> {
    let text = super::form::go_map;
    let of_type = |value: &Value, wanted: &str| {
        let why = format!(
            "{path} accessor error: {} is of the type {}, expected {wanted}",
            text(value),
            go_type(value)
        );
        Some(Problem::invalid(path, "0", &why))
    };
    let mut at = value;
    for name in path.split('.').filter(|name| !name.is_empty()) {
        if !at.is_object() {
            return of_type(at, "map[string]interface{}");
        }
        at = at.get(name)?;
    }
    match at.as_i64() {
        None => of_type(at, "int64"),
        Some(number) if number < 0 => {
            Some(Problem::invalid(path, &number.to_string(), "should be a non-negative integer"))
        }
        Some(number) if number > i64::from(i32::MAX) => {
            let why = format!("should be less than or equal to {}", i32::MAX);
            Some(Problem::invalid(path, &number.to_string(), &why))
        }
        Some(_) => None,
    }
}
