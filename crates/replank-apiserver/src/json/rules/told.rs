//! Events (`pkg/apis/core/validation/events.go`).

use replank_custom::problem::quoted;
use replank_model::selector::validate::label_key_problems;
use serde_json::Value;

use super::field::refuse_all;
use crate::json::members::text;
use crate::server::Cause;

/// A text, and how long it may be.
const LENGTHS: [(&str, usize); 3] = [("reportingInstance", 128), ("action", 128), ("reason", 128)];
/// How long the sentence may be.
const NOTE_MAX: usize = 1024;

/// What is wrong with an event; `is_new`: as `events.k8s.io` has it. Those that say when they happened are looked at more closely.
pub(super) fn event(value: &Value, is_new: bool, causes: &mut Vec<Cause>) {
    let (subject, controller, note) = match is_new {
        true => ("regarding", "reportingController", "note"),
        false => ("involvedObject", "reportingComponent", "message"),
    };
    let namespace = value.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
    let of = value.get(subject).map(|of| text(of, "namespace")).unwrap_or_default();
    let has_time = value.get("eventTime").is_some_and(|time| !time.is_null());
    let fits = match (has_time, of.is_empty()) {
        (false, true) => namespace == "default",
        (false, false) => of == namespace,
        (true, true) => matches!(namespace, "default" | "kube-system"),
        (true, false) => true,
    };
    if !fits {
        causes.push(Cause::invalid(
            "involvedObject.namespace",
            &quoted(of),
            "does not match event.namespace",
        ));
    }
    if has_time {
        let who = text(value, controller);
        if who.is_empty() {
            causes.push(Cause::required(controller, ""));
        }
        refuse_all(who, controller, label_key_problems(who), causes);
        for (name, most) in LENGTHS {
            if text(value, name).is_empty() {
                causes.push(Cause::required(name, ""));
            }
            too_long(text(value, name), name, most, causes);
        }
        too_long(text(value, note), "message", NOTE_MAX, causes);
    }
    if is_new {
        strict(value, causes);
    }
}

fn too_long(given: &str, field: &str, most: usize, causes: &mut Vec<Cause>) {
    if given.len() > most {
        causes.push(Cause::invalid(field, "\"\"", &format!("can have at most {most} characters")));
    }
}

/// What the newer group asks for besides.
fn strict(value: &Value, causes: &mut Vec<Cause>) {
    if !matches!(text(value, "type"), "Normal" | "Warning") {
        causes.push(Cause::invalid("type", "\"\"", &format!("has invalid value: {}", text(value, "type"))));
    }
    let says = |name: &str| {
        value.get(name).is_some_and(|member| match member {
            Value::Null => false,
            Value::Number(number) => number.as_i64() != Some(0),
            Value::Object(members) => {
                members.values().any(|one| one.as_str().is_some_and(|text| !text.is_empty()))
            }
            Value::Bool(_) | Value::String(_) | Value::Array(_) => true,
        })
    };
    for (name, field) in [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("deprecatedSource", "source"),
    ] {
        if says(name) {
            causes.push(Cause::invalid(field, "\"\"", "needs to be unset"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: &Value, is_new: bool) -> Vec<String> {
        let mut causes = Vec::new();
        event(value, is_new, &mut causes);
        causes.into_iter().filter_map(|cause| cause.field).collect()
    }

    #[test]
    fn an_event_that_says_when_it_happened_says_who_saw_it() {
        let meta = json!({"namespace": "a"});
        let old = json!({"metadata": meta, "involvedObject": {"namespace": "b"}});
        assert_eq!(fields(&old, false), ["involvedObject.namespace"]);
        let new = json!({"metadata": meta, "regarding": {"namespace": "b"}, "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "x.example.com/y", "reportingInstance": "i", "action": "A", "reason": "R", "type": "Normal"});
        assert_eq!(fields(&new, true), [""; 0]);
        let mut counted = new.clone();
        counted["deprecatedCount"] = 1.into();
        counted["reason"] = "".into();
        assert_eq!(fields(&counted, true), ["reason", "count"]);
    }
}
