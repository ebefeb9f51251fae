//! Strategic merge patch (apimachinery `pkg/util/strategicpatch`): lists whose items have a key are merged item by item.

use serde_json::{Map, Value};

/// Lists that are merged, and the key of their items (`patchMergeKey` in the API types). A name that has one key in one
/// type and another in a second is told apart by what stands beside it.
const KEYS: &[(&str, &str)] = &[
    ("containers", "name"),
    ("initContainers", "name"),
    ("ephemeralContainers", "name"),
    ("volumes", "name"),
    ("imagePullSecrets", "name"),
    ("hostAliases", "ip"),
    ("topologySpreadConstraints", "topologyKey"),
    ("resourceClaims", "name"),
    ("schedulingGates", "name"),
    ("env", "name"),
    ("volumeMounts", "mountPath"),
    ("volumeDevices", "devicePath"),
    ("conditions", "type"),
    ("ownerReferences", "uid"),
    ("podIPs", "ip"),
    ("hostIPs", "ip"),
    ("addresses", "type"),
    ("secrets", "name"),
];

/// Lists of plain values that are merged as sets.
const SETS: [&str; 1] = ["finalizers"];

/// Directive inside an object or an item.
const DIRECTIVE: &str = "$patch";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";
const RETAIN: &str = "$retainKeys";

/// Applies a patch to an object.
pub(super) fn apply(value: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *value = patch.clone();
        return;
    };
    match changes.get(DIRECTIVE).and_then(Value::as_str) {
        Some("delete") => {
            *value = Value::Object(Map::new());
            return;
        }
        Some("replace") => {
            let mut whole = changes.clone();
            whole.remove(DIRECTIVE);
            *value = Value::Object(whole);
            return;
        }
        Some(_) | None => {}
    }
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Value::Object(members) = value else { return };
    if let Some(kept) = changes.get(RETAIN).and_then(Value::as_array) {
        members.retain(|name, _| kept.iter().any(|word| word == name));
    }
    for (name, change) in changes {
        if let Some(list) = name.strip_prefix(DELETE_FROM) {
            remove_from(members.get_mut(list), change);
        } else if !name.starts_with('$') {
            member(members, name, change);
        }
    }
    for (name, order) in changes {
        if let Some(list) = name.strip_prefix(ORDER) {
            reorder(members.get_mut(list), key_of(list, order), order);
        }
    }
}

fn member(members: &mut Map<String, Value>, name: &str, change: &Value) {
    match change {
        Value::Null => {
            members.remove(name);
        }
        Value::Object(_) => apply(members.entry(name).or_insert(Value::Null), change),
        Value::Array(items) => match (key_of(name, change), members.get_mut(name)) {
            (Some(key), Some(Value::Array(known))) => items_by_key(known, key, items),
            (Some(key), _) => {
                let mut fresh = Vec::new();
                items_by_key(&mut fresh, key, items);
                members.insert(name.to_owned(), Value::Array(fresh));
            }
            (None, Some(Value::Array(known))) if SETS.contains(&name) => {
                known.extend(items.iter().filter(|item| !known.contains(item)).cloned().collect::<Vec<_>>());
            }
            (None, _) => {
                members.insert(name.to_owned(), change.clone());
            }
        },
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            members.insert(name.to_owned(), change.clone());
        }
    }
}

/// The key by which a list's items are merged.
fn key_of(name: &str, items: &Value) -> Option<&'static str> {
    let has = |key: &str| {
        items.as_array().into_iter().flatten().any(|item| item.get(key).is_some_and(|key| !key.is_null()))
    };
    match name {
        // A container's ports have a containerPort, a Service's a port.
        "ports" if has("containerPort") => Some("containerPort"),
        "ports" if has("port") => Some("port"),
        // A node's taints are merged by key, tolerations are one whole.
        "taints" => Some("key"),
        _ => KEYS.iter().find(|(list, _)| *list == name).map(|(_, key)| *key),
    }
}

fn items_by_key(known: &mut Vec<Value>, key: &str, items: &[Value]) {
    let directive = |item: &Value| item.get(DIRECTIVE).and_then(Value::as_str).map(str::to_owned);
    if items.iter().any(|item| directive(item).as_deref() == Some("replace")) {
        *known = items.iter().filter(|item| directive(item).is_none()).cloned().collect();
        return;
    }
    for item in items {
        let same = |other: &Value| other.get(key).is_some() && other.get(key) == item.get(key);
        if directive(item).as_deref() == Some("delete") {
            known.retain(|other| !same(other));
            continue;
        }
        match known.iter_mut().find(|other| same(other)) {
            Some(other) => apply(other, item),
            None => {
                let mut fresh = Value::Object(Map::new());
                apply(&mut fresh, item);
                known.push(fresh);
            }
        }
    }
}

fn remove_from(list: Option<&mut Value>, removed: &Value) {
    if let (Some(Value::Array(list)), Value::Array(removed)) = (list, removed) {
        list.retain(|item| !removed.contains(item));
    }
}

/// Puts a list into the given order; items that it does not name keep their place behind.
fn reorder(list: Option<&mut Value>, key: Option<&str>, order: &Value) {
    let (Some(Value::Array(list)), Value::Array(order)) = (list, order) else { return };
    let place = |item: &Value| {
        let found = order.iter().position(|wanted| match key {
            Some(key) => wanted.get(key) == item.get(key),
            None => wanted == item,
        });
        found.unwrap_or(usize::MAX)
    };
    list.sort_by_key(place);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn containers_are_merged_by_name() {
        let mut value = json!({"spec": {"containers": [{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]},
            {"name": "b", "image": "1"}]}});
        apply(
            &mut value,
            &json!({"spec": {"containers": [{"name": "a", "image": "2", "env": [{"name": "Y", "value": "2"}]},
                {"name": "b", "$patch": "delete"}, {"name": "c", "image": "3"}]}}),
        );
        let expected = json!({"spec": {"containers": [
            {"name": "a", "image": "2", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]},
            {"name": "c", "image": "3"}]}});
        assert_eq!(value, expected);
    }

    #[test]
    fn directives_do_what_they_say() {
        let mut value = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            "finalizers": ["a", "b"], "tolerations": [{"key": "x"}]});
        apply(
            &mut value,
            &json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"},
                "$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"], "tolerations": [{"key": "y"}]}),
        );
        let expected = json!({"strategy": {"type": "Recreate"}, "finalizers": ["b", "c"],
            "tolerations": [{"key": "y"}]});
        assert_eq!(value, expected);
    }

    #[test]
    fn order_is_set_where_it_is_given() {
        let mut value = json!({"containers": [{"name": "a"}, {"name": "b"}]});
        apply(
            &mut value,
            &json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": [{"name": "a"}]}),
        );
        assert_eq!(value, json!({"containers": [{"name": "b"}, {"name": "a"}]}));
    }
}
