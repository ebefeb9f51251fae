//! What may change of a pod (`ValidatePodUpdate`), and what admission fills in when one is changed.

use replank_custom::problem::quoted;
use replank_model::admission::add_default_tolerations;
use serde_json::Value;

use super::answer::member;
use super::rules;
use crate::json::members::{list, text};
use crate::server::Cause;

/// Fills in what a change leaves out: tolerations that every pod has, and the priority, which stays (plugins DefaultTolerationSeconds and Priority).
pub(super) fn admit(old: &Value, new: &mut Value) {
    let was = old.get("spec").cloned().unwrap_or_default();
    let spec = member(new, "spec");
    for name in ["priority", "preemptionPolicy"] {
        if spec.get(name).is_none_or(Value::is_null)
            && let Some(value) = was.get(name).filter(|value| !value.is_null())
        {
            spec[name] = value.clone();
        }
    }
    if let Value::Object(spec) = spec {
        add_default_tolerations(spec);
    }
}

/// What is wrong with a change, in the form in which both states are written.
pub(super) fn check(old: &Value, new: &Value) -> Vec<Cause> {
    let empty = Value::Null;
    let (was, is) = (old.get("spec").unwrap_or(&empty), new.get("spec").unwrap_or(&empty));
    let mut causes = Vec::new();
    for name in ["containers", "initContainers"] {
        let (had, has) = (list(was, name), list(is, name));
        if had.len() != has.len() {
            let why = "pod updates may not add or remove containers";
            causes.push(Cause::forbidden(format!("spec.{name}"), why));
            return causes;
        }
        for (at, container) in has.iter().enumerate() {
            let (image, at) = (text(container, "image"), format!("spec.{name}[{at}].image"));
            if image.is_empty() {
                causes.push(Cause::required(at, ""));
            } else if image.trim() != image {
                causes.push(Cause::invalid(
                    at,
                    &quoted(image),
                    "must not have leading or trailing whitespace",
                ));
            }
        }
    }
    if !deadline(was, is, &mut causes) {
        return causes;
    }
    tolerations(was, is, &mut causes);
    gates(was, is, &mut causes);
    if same(was, is) {
        return causes;
    }
    let mut munged = munged(was, is.clone());
    if !list(was, "schedulingGates").is_empty() {
        narrowed(was, &mut munged, &mut causes);
    }
    if !same(was, &munged) {
        let text = rules::difference(&rules::pod_spec(was), &rules::pod_spec(&munged));
        let why = "pod updates may not change fields other than `spec.containers[*].image`,\
                   `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to \
                   existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                   previously negative)";
        causes.push(Cause::forbidden("spec", &format!("{why}\n{text}")));
    }
    causes
}

/// A deadline may be set and brought nearer; false where nothing else is looked at.
fn deadline(was: &Value, is: &Value, causes: &mut Vec<Cause>) -> bool {
    let at = "spec.activeDeadlineSeconds";
    let of = |spec: &Value| spec.get("activeDeadlineSeconds").and_then(Value::as_i64);
    let why = match (of(was), of(is)) {
        (_, Some(seconds)) if !(0..=i64::from(i32::MAX)).contains(&seconds) => {
            "must be between 0 and 2147483647, inclusive"
        }
        (Some(had), Some(has)) if had < has => "must be less than or equal to previous value",
        (Some(_), None) => {
            let why = "must not update from a positive integer to nil value";
            causes.push(Cause::invalid(at, "null", why));
            return true;
        }
        (Some(_) | None, Some(_) | None) => return true,
    };
    causes.push(Cause::invalid(at, &of(is).unwrap_or(0).to_string(), why));
    false
}

/// Of a toleration only the seconds may change.
fn tolerations(was: &Value, is: &Value, causes: &mut Vec<Cause>) {
    let bare = |one: &Value| {
        let mut one = one.clone();
        if let Some(members) = one.as_object_mut() {
            members.remove("tolerationSeconds");
        }
        one
    };
    let has: Vec<Value> = list(is, "tolerations").iter().map(bare).collect();
    if list(was, "tolerations").iter().any(|one| !has.contains(&bare(one))) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        causes.push(Cause::forbidden("spec.tolerations", why));
    }
}

/// Gates may be taken away, not added.
fn gates(was: &Value, is: &Value, causes: &mut Vec<Cause>) {
    let had = list(was, "schedulingGates");
    for (at, gate) in list(is, "schedulingGates").iter().enumerate() {
        if !had.contains(gate) {
            let why = "only deletion is allowed, but found new scheduling gate";
            let name = text(gate, "name");
            causes.push(Cause::forbidden(
                format!("spec.schedulingGates[{at}].name"),
                &format!("{why} '{name}'"),
            ));
        }
    }
}

/// A new spec with all that may change as it was.
fn munged(was: &Value, mut is: Value) -> Value {
    for name in ["containers", "initContainers"] {
        let new = is.get_mut(name).and_then(Value::as_array_mut);
        for (old, new) in list(was, name).iter().zip(new.into_iter().flatten()) {
            new["image"] = old.get("image").cloned().unwrap_or_default();
        }
    }
    for free in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        put(&mut is, free, was.get(free));
    }
    let grace = |spec: &Value| spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64);
    if grace(was).is_some_and(|seconds| seconds < 0) && grace(&is) == Some(1) {
        put(&mut is, "terminationGracePeriodSeconds", was.get("terminationGracePeriodSeconds"));
    }
    is
}

/// A pod that waits for its gates may be bound to fewer nodes.
fn narrowed(was: &Value, munged: &mut Value, causes: &mut Vec<Cause>) {
    let selector =
        |spec: &Value| spec.get("nodeSelector").and_then(Value::as_object).cloned().unwrap_or_default();
    let (had, has) = (selector(was), selector(munged));
    if had != has {
        if had.iter().any(|(key, value)| has.get(key) != Some(value)) {
            let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
            causes.push(Cause::invalid("spec.nodeSelector", &Value::Object(has).to_string(), why));
        }
        put(munged, "nodeSelector", was.get("nodeSelector"));
    }
    let of = |spec: &Value| spec.pointer("/affinity/nodeAffinity").filter(|one| !one.is_null()).cloned();
    let (had, has) = (of(was), of(munged));
    if had == has {
        return;
    }
    affinity(had.as_ref(), has.as_ref(), causes);
    let is_bare = |spec: &Value| spec.get("affinity").is_none_or(Value::is_null);
    let has_others = ["podAffinity", "podAntiAffinity"]
        .iter()
        .any(|name| munged.pointer(&format!("/affinity/{name}")).is_some_and(|one| !one.is_null()));
    if is_bare(was) && !has_others {
        put(munged, "affinity", None);
    } else if !(is_bare(munged) && had.is_none()) {
        put(member(munged, "affinity"), "nodeAffinity", had.as_ref());
    }
}

fn affinity(had: Option<&Value>, has: Option<&Value>, causes: &mut Vec<Cause>) {
    let at = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let terms = |of: Option<&Value>| {
        let path = "/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
        of.and_then(|of| of.pointer(path)).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let (had, has) = (terms(had), terms(has));
    if !had.is_empty() && had.len() != has.len() {
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        causes.push(Cause::invalid(at, &Value::from(has).to_string(), why));
        return;
    }
    for (index, (old, new)) in had.iter().zip(&has).enumerate() {
        let is_added_to = |name: &str| {
            let (had, has) = (list(old, name), list(new, name));
            has.starts_with(had)
                && !(had.is_empty() && !has.is_empty() && list(old, "matchExpressions").is_empty())
        };
        if !is_added_to("matchExpressions") || !is_added_to("matchFields") {
            let why = "only additions are allowed (no mutations or deletions)";
            causes.push(Cause::invalid(format!("{at}[{index}]"), &new.to_string(), why));
        }
    }
}

fn put(spec: &mut Value, name: &str, value: Option<&Value>) {
    if let Value::Object(members) = spec {
        match value {
            Some(value) => drop(members.insert(name.to_owned(), value.clone())),
            None => drop(members.remove(name)),
        }
    }
}

/// Whether two specs say the same: members that Go never leaves out, such as `resources: {}`, say nothing.
fn same(one: &Value, other: &Value) -> bool {
    fn bare(value: &Value) -> Value {
        let mut value = value.clone();
        drop_empty(&mut value);
        value
    }
    fn drop_empty(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.values_mut().for_each(drop_empty);
                members.retain(|_, member| {
                    !member.is_null() && member.as_object().is_none_or(|one| !one.is_empty())
                });
            }
            Value::Array(items) => items.iter_mut().for_each(drop_empty),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    bare(one) == bare(other)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "a test writes it where it is needed")]
    fn told(old: Value, new: Value) -> Vec<String> {
        let found = check(&json!({ "spec": old }), &json!({ "spec": new }));
        found.iter().map(|one| format!("{}: {}", one.field.as_deref().unwrap_or(""), one.message)).collect()
    }

    #[test]
    fn containers_are_not_added_and_deadlines_only_come_nearer() {
        let spec = |deadline: Value| json!({"containers": [{"name": "a", "image": "a"}], "activeDeadlineSeconds": deadline});
        let more = json!({"containers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]});
        assert_eq!(
            told(spec(json!(null)), more),
            ["spec.containers: Forbidden: pod updates may not add or remove containers"]
        );
        assert_eq!(
            told(spec(json!(5)), spec(json!(6))),
            ["spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value"]
        );
        assert!(told(spec(json!(6)), spec(json!(5))).is_empty());
    }

    #[test]
    fn a_gated_pod_is_narrowed_and_nothing_else() {
        let spec = |selector: Value, host: bool| {
            json!({"containers": [{"name": "a", "image": "a"}], "schedulingGates": [{"name": "g/g"}], "nodeSelector": selector,
                "hostNetwork": host})
        };
        assert!(told(spec(json!({}), false), spec(json!({"a": "b"}), false)).is_empty());
        assert_eq!(
            told(spec(json!({"a": "b"}), false), spec(json!({"a": "c"}), false)),
            [
                "spec.nodeSelector: Invalid value: {\"a\":\"c\"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            ]
        );
        let other = told(spec(json!({}), false), spec(json!({}), true));
        assert!(
            other[0].starts_with("spec: Forbidden: pod updates may not change fields other than"),
            "{other:?}"
        );
    }

    #[test]
    fn a_change_gets_what_every_pod_has() {
        let old = json!({"spec": {"priority": 7, "preemptionPolicy": "Never"}});
        let mut new =
            json!({"spec": {"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]}});
        admit(&old, &mut new);
        assert_eq!(
            (&new["spec"]["priority"], &new["spec"]["preemptionPolicy"]),
            (&json!(7), &json!("Never"))
        );
        let keys: Vec<&str> = list(&new["spec"], "tolerations").iter().map(|one| text(one, "key")).collect();
        assert_eq!(keys, ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]);
    }
}
