//! What is sent of a change: the difference between two states of an object, and nothing else.
//!
//! A state that was read is not whole: what no decision reads was left out. A patch of the difference leaves what was not read as it is, where the whole object would take it away.

use replank_model::object::meta::ResourceVersion;
use replank_model::text::Uid;
use serde_json::{Map, Value, json};

/// One operation of a JSON patch (RFC 6902).
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operation {
    /// A member gets a value, whether it had one or not.
    Add(String, Value),
    /// A member goes.
    Remove(String),
}

/// What makes one state of the other. Lists are replaced as a whole: the test of the version sees to it that nobody else has changed them.
pub(super) fn between(old: &Value, new: &Value) -> Vec<Operation> {
    let mut operations = Vec::new();
    members("", old.as_object(), new.as_object(), &mut operations);
    operations
}

fn members(
    at: &str,
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
    operations: &mut Vec<Operation>,
) {
    let empty = Map::new();
    let (old, new) = (old.unwrap_or(&empty), new.unwrap_or(&empty));
    for (name, value) in new {
        let path = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        match (old.get(name), value) {
            (Some(known), value) if known == value => {}
            (Some(Value::Object(known)), Value::Object(value)) => {
                members(&path, Some(known), Some(value), operations);
            }
            (_, value) => operations.push(Operation::Add(path, value.clone())),
        }
    }
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        operations.push(Operation::Remove(format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))));
    }
}

/// The patch, conditional on incarnation and version.
pub(super) fn tested(uid: &Uid, version: ResourceVersion, operations: &[Operation]) -> Vec<u8> {
    let tests = [
        json!({"op": "test", "path": "/metadata/uid", "value": uid.as_str()}),
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": version.0.to_string()}),
    ];
    let all: Vec<Value> = tests.into_iter().chain(operations.iter().map(Operation::json)).collect();
    Value::Array(all).to_string().into_bytes()
}

impl Operation {
    fn json(&self) -> Value {
        match self {
            Self::Add(path, value) => json!({"op": "add", "path": path, "value": value}),
            Self::Remove(path) => json!({"op": "remove", "path": path}),
        }
    }

    /// Whether an object is as the operation makes it.
    pub(super) fn is_in(&self, object: &Value) -> bool {
        match self {
            Self::Add(path, value) => object.pointer(path) == Some(value),
            Self::Remove(path) => object.pointer(path).is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_sent() {
        let old = json!({"metadata": {"name": "n", "annotations": {"a/b": "1", "c": "2"}}, "spec": {"taints": [{"key": "k"}]}});
        let new = json!({"metadata": {"name": "n", "annotations": {"a/b": "1", "d~e/f": "3"}},
            "spec": {"taints": [{"key": "k"}, {"key": "l"}], "unschedulable": true}});
        let operations = between(&old, &new);
        assert_eq!(
            operations,
            [
                Operation::Add("/metadata/annotations/d~0e~1f".into(), json!("3")),
                Operation::Remove("/metadata/annotations/c".into()),
                Operation::Add("/spec/taints".into(), json!([{"key": "k"}, {"key": "l"}])),
                Operation::Add("/spec/unschedulable".into(), json!(true)),
            ]
        );
        assert!(operations.iter().all(|operation| operation.is_in(&new)));
        assert!(!operations.iter().any(|operation| operation.is_in(&old)));
        assert_eq!(between(&new, &new), []);
    }

    #[test]
    fn a_map_that_is_not_there_is_added_as_one() {
        let (old, new) = (json!({"metadata": {}}), json!({"metadata": {"annotations": {"a": "1"}}}));
        let operations = between(&old, &new);
        assert_eq!(operations, [Operation::Add("/metadata/annotations".into(), json!({"a": "1"}))]);
        let patch: Value =
            serde_json::from_slice(&tested(&"u".into(), ResourceVersion(7), &operations)).expect("JSON");
        assert_eq!(patch[0], json!({"op": "test", "path": "/metadata/uid", "value": "u"}));
        assert_eq!(patch[1], json!({"op": "test", "path": "/metadata/resourceVersion", "value": "7"}));
    }
}
