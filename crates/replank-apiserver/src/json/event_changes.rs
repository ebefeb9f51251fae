//! What may change of an event: in `events.k8s.io` its series, and nothing else (`ValidateEventUpdate`).

use replank_model::time::Time;
use serde_json::Value;

use super::events;
use crate::server::{Cause, ResourceName, ResourceType};

/// Fields that stay as they are, by their names in the core group, in the order in which they are told.
const FIXED: [&str; 14] = [
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "reason",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingController",
    "reportingInstance",
];

/// Whether a resource is that of events as `events.k8s.io` has them.
pub(super) fn are(resource: &ResourceType) -> bool {
    (&*resource.name.group, &*resource.name.kind) == ("events.k8s.io", "Event")
}

/// What the refusal of a change names: the kind that both groups share.
pub(super) fn name() -> ResourceName {
    ResourceName { group: "".into(), plural: "events".into(), kind: "Event".into() }
}

/// What is wrong with a change.
pub(super) fn check(resource: &ResourceType, old: &Value, new: &Value) -> Vec<Cause> {
    let kept = |value: &Value| {
        let mut value = value.clone();
        events::keep(resource, &mut value);
        value
    };
    let (old, new) = (kept(old), kept(new));
    let mut causes = series(&old, &new);
    for name in FIXED {
        // The core group calls it a component.
        let member = if name == "reportingController" { "reportingComponent" } else { name };
        let (was, is) = (said(&old, member), said(&new, member));
        let same_moment = name == "eventTime" && moment(was) == moment(is);
        if was != is && !same_moment {
            let nothing = if was.is_some_and(Value::is_string) { "\"\"" } else { "null" };
            let shown = is.map_or_else(|| nothing.to_owned(), Value::to_string);
            causes.push(Cause::invalid(name, &shown, "field is immutable"));
        }
    }
    causes
}

fn series(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let Some(series) = said(new, "series").filter(|series| Some(*series) != said(old, "series")) else {
        return causes;
    };
    if series.get("count").and_then(Value::as_i64).unwrap_or(0) < 2 {
        causes.push(Cause::invalid("series.count", "\"\"", "should be at least 2"));
    }
    if series.get("lastObservedTime").is_none_or(Value::is_null) {
        causes.push(Cause::required("series.lastObservedTime", ""));
    }
    causes
}

/// A member that says something.
fn said<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    value.get(name).filter(|member| match member {
        Value::Null => false,
        Value::Object(members) => !members.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => true,
    })
}

fn moment(value: Option<&Value>) -> Option<Time> {
    value.and_then(Value::as_str).and_then(|text| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_series_of_an_event_changes() {
        let resource = ResourceType::built_in("events.k8s.io", "v1", "events").expect("it is served");
        let event = |note: &str, count: i64| json!({"note": note, "reportingController": "a/b", "series": {"count": count, "lastObservedTime": "2026-01-01T00:00:00Z"}});
        assert_eq!(check(resource, &event("a", 2), &event("a", 3)), []);
        let causes = check(resource, &event("a", 2), &event("b", 1));
        let told: Vec<String> = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field.as_deref().unwrap_or_default(), cause.message))
            .collect();
        assert_eq!(
            told,
            [
                "series.count: Invalid value: \"\": should be at least 2",
                "message: Invalid value: \"b\": field is immutable"
            ]
        );
    }
}
