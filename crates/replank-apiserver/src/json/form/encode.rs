//! What the server writes of an object: structs and numbers that Go never leaves out, and nothing of what it does.

use replank_schema::{GoForm, GoId, GoStruct, GoTypes, GoZero, go_types};
use serde_json::{Map, Value};

use super::own;
use crate::server::ResourceType;

/// Brings an object of a Go type into the form in which it is written. Members that the type does not have stay.
pub(in crate::json) fn encode(of: GoId, value: &mut Value) {
    write(go_types(), of, value, false);
}

/// As [`encode_kind`], before the object is stored: an empty list is one.
pub(in crate::json) fn encode_sent(resource: &ResourceType, value: &mut Value) {
    if let Some(of) = go_types().of_kind(&resource.name.group, &resource.version, &resource.name.kind) {
        write(go_types(), of, value, true);
    }
}

/// As [`encode`], by the OpenAPI name of the type.
pub(in crate::json) fn encode_named(name: &str, value: &mut Value) {
    if let Some(of) = go_types().named(name) {
        encode(of, value);
    }
}

/// As [`encode`], by the resource that the object is one of; a custom resource stays as it is.
pub(in crate::json) fn encode_kind(resource: &ResourceType, value: &mut Value) {
    if let Some(of) = go_types().of_kind(&resource.name.group, &resource.version, &resource.name.kind) {
        encode(of, value);
    }
}

/// As [`encode`], by the kind and version that the object names; what is no built-in kind stays as it is.
pub(in crate::json) fn encode_object(value: &mut Value) {
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    if let Some(of) = go_types().of_kind(group, version, kind) {
        encode(of, value);
    }
}

fn write(types: &'static GoTypes, of: GoId, value: &mut Value, is_sent: bool) {
    match (&types.get(of).form, value) {
        (GoForm::Pointer(inner), value) => write(types, *inner, value, is_sent),
        (GoForm::List(item), Value::Array(items)) => {
            items.iter_mut().for_each(|one| write(types, *item, one, is_sent));
        }
        (GoForm::Map(item), Value::Object(members)) => {
            members.values_mut().for_each(|one| write(types, *item, one, is_sent));
        }
        (GoForm::Struct(of), Value::Object(members)) => structure(types, of, members, is_sent),
        (
            GoForm::List(_)
            | GoForm::Map(_)
            | GoForm::Struct(_)
            | GoForm::Own(_)
            | GoForm::Bytes
            | GoForm::Text
            | GoForm::Bool
            | GoForm::Int(_)
            | GoForm::Float,
            _,
        ) => {}
    }
}

fn structure(
    types: &'static GoTypes,
    of: &'static GoStruct,
    members: &mut Map<String, Value>,
    is_sent: bool,
) {
    for member in &of.members {
        let form = &types.get(member.of).form;
        match members.get_mut(&member.name) {
            Some(value) if !value.is_null() => {
                write(types, member.of, value, is_sent);
                if !is_sent && member.zero == GoZero::Kept && is_empty_collection(form, value) {
                    // The storage does not tell an empty list from none.
                    *value = Value::Null;
                } else if member.zero != GoZero::Kept && is_zero(form, value) {
                    members.remove(&member.name);
                }
            }
            Some(_) | None => match zero(types, member.of, member.zero) {
                Some(zero) => {
                    members.insert(member.name.clone(), zero);
                }
                None => {
                    members.remove(&member.name);
                }
            },
        }
    }
}

fn is_empty_collection(form: &GoForm, value: &Value) -> bool {
    match (form, value) {
        (GoForm::List(_), Value::Array(items)) => items.is_empty(),
        (GoForm::Map(_), Value::Object(members)) => members.is_empty(),
        (
            GoForm::List(_)
            | GoForm::Map(_)
            | GoForm::Pointer(_)
            | GoForm::Struct(_)
            | GoForm::Own(_)
            | GoForm::Bytes
            | GoForm::Text
            | GoForm::Bool
            | GoForm::Int(_)
            | GoForm::Float,
            _,
        ) => false,
    }
}

/// Whether a plain member is Go's zero; behind a pointer nothing is, and structs do not count as empty.
fn is_zero(form: &GoForm, value: &Value) -> bool {
    match (form, value) {
        (GoForm::Bytes | GoForm::Text, Value::String(text)) => text.is_empty(),
        (GoForm::Bool, Value::Bool(is)) => !is,
        (GoForm::Int(_) | GoForm::Float, Value::Number(number)) => number.as_f64() == Some(0.0),
        (form, value) => is_empty_collection(form, value),
    }
}

/// What is written of a member that is not there.
fn zero(types: &'static GoTypes, of: GoId, written: GoZero) -> Option<Value> {
    if written == GoZero::OmitZero {
        return None;
    }
    match &types.get(of).form {
        GoForm::Struct(inner) => {
            let mut members = Map::new();
            structure(types, inner, &mut members, false);
            Some(Value::Object(members))
        }
        GoForm::Own(of) => Some(own::zero(*of)),
        GoForm::Pointer(_) | GoForm::List(_) | GoForm::Map(_) | GoForm::Bytes => {
            (written == GoZero::Kept).then_some(Value::Null)
        }
        GoForm::Text => (written == GoZero::Kept).then(|| "".into()),
        GoForm::Bool => (written == GoZero::Kept).then(|| false.into()),
        GoForm::Int(_) | GoForm::Float => (written == GoZero::Kept).then(|| 0.into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(kind: (&str, &str, &str), mut value: Value) -> Value {
        encode(go_types().of_kind(kind.0, kind.1, kind.2).expect("it is served"), &mut value);
        value
    }

    #[test]
    fn what_go_never_leaves_out_is_there() {
        let budget = written(
            ("policy", "v1", "PodDisruptionBudget"),
            json!({"spec": {}, "status": {"expectedPods": 3}}),
        );
        assert_eq!(
            budget["status"],
            json!({"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 3})
        );
        let slice = written(("discovery.k8s.io", "v1", "EndpointSlice"), json!({"addressType": "IPv4"}));
        assert_eq!((&slice["endpoints"], &slice["ports"]), (&Value::Null, &Value::Null));
        assert!(slice.as_object().is_some_and(|members| members.contains_key("endpoints")));
    }

    #[test]
    fn zeros_are_left_out_but_behind_pointers() {
        let deployment = written(
            ("apps", "v1", "Deployment"),
            json!({"spec": {"replicas": 0, "minReadySeconds": 0, "paused": false}, "status": {"replicas": 0}}),
        );
        assert_eq!(deployment["spec"]["replicas"], 0);
        assert_eq!(deployment["spec"].get("minReadySeconds"), None);
        assert_eq!(deployment["spec"].get("paused"), None);
        assert_eq!(deployment["status"], json!({}));
    }
}
