//! What rows look at of an object, read from its JSON: the rest is passed over, for to put it together costs most of the time of a table.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Members that no row looks at, wherever they stand.
const OF_ALL: &[&str] = &["managedFields"];

/// Those of a pod: what is told of its containers is how they stand, and how many there are.
const OF_PODS: &[&str] = &[
    "managedFields",
    "annotations",
    "labels",
    "ownerReferences",
    "volumes",
    "tolerations",
    "affinity",
    "topologySpreadConstraints",
    "env",
    "envFrom",
    "resources",
    "allocatedResources",
    "volumeMounts",
    "ports",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "image",
    "imageID",
    "containerID",
    "message",
];

/// What rows of a resource of the server's own look at of an object.
///
/// # Errors
/// What is no JSON.
pub(super) fn seen(group: &str, plural: &str, object: &[u8]) -> serde_json::Result<Value> {
    let passed = if (group, plural) == ("", "pods") { OF_PODS } else { OF_ALL };
    let mut reader = serde_json::Deserializer::from_slice(object);
    Seen { passed }.deserialize(&mut reader)
}

#[derive(Clone, Copy)]
struct Seen {
    passed: &'static [&'static str],
}

impl<'de> DeserializeSeed<'de> for Seen {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seen {
    type Value = Value;

    fn expecting(&self, into: &mut fmt::Formatter<'_>) -> fmt::Result {
        into.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element_seed(self)? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = from.next_key::<String>()? {
            if self.passed.contains(&name.as_str()) {
                from.next_value::<IgnoredAny>()?;
            } else {
                members.insert(name, from.next_value_seed(self)?);
            }
        }
        Ok(members.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table::{Columns, Include};

    /// A pod with something in each member that rows of pods look at, and in those that they do not.
    fn pod(state: &Value) -> Value {
        let status = |name: &str, state: &Value| {
            json!({"name": name, "image": "a:1", "imageID": "x", "containerID": "y", "ready": true, "started": true, "restartCount": 2, "state": state,
                "lastState": {"terminated": {"finishedAt": "2026-01-01T00:00:00Z", "exitCode": 1, "reason": "Error", "message": "m"}}})
        };
        let container = |name: &str| {
            json!({"name": name, "image": "a:1", "env": [{"name": "A", "value": "1"}], "resources": {"requests": {"cpu": "1"}},
                "volumeMounts": [], "restartPolicy": "Always", "livenessProbe": {"exec": {}}})
        };
        json!({"metadata": {"name": "a", "labels": {"name": "b"}, "creationTimestamp": "2026-01-01T00:00:00Z",
                "managedFields": [{"fieldsV1": {"f:spec": {}}}], "deletionTimestamp": null},
            "spec": {"nodeName": "n", "containers": [container("x"), container("y")], "initContainers": [container("s")],
                "readinessGates": [{"conditionType": "gate"}], "tolerations": [{"operator": "Exists"}], "volumes": [{"name": "v"}]},
            "status": {"phase": "Running", "nominatedNodeName": "m", "podIPs": [{"ip": "10.0.0.1"}],
                "conditions": [{"type": "Ready", "status": "True", "message": "m"}, {"type": "Initialized", "status": "True"},
                    {"type": "gate", "status": "True"}],
                "containerStatuses": [status("x", state), status("y", &json!({"running": {}}))],
                "initContainerStatuses": [status("s", &json!({"running": {}}))]}})
    }

    #[test]
    fn rows_are_the_same_as_of_whole_objects() {
        let columns = |group: &str, plural: &str| {
            let known = replank_schema::columns(group, "v1", plural).expect("it has columns");
            Columns::Known(group.to_owned(), plural.to_owned(), known)
        };
        let pods = columns("", "pods");
        for state in [
            json!({"running": {}}),
            json!({"waiting": {"reason": "CrashLoopBackOff", "message": "m"}}),
            json!({"terminated": {"exitCode": 0, "reason": "Completed"}}),
            json!({"terminated": {"exitCode": 3, "signal": 9}}),
        ] {
            let whole = pod(&state);
            let seen = seen("", "pods", whole.to_string().as_bytes()).expect("it is JSON");
            assert!(seen.to_string().len() < whole.to_string().len() * 3 / 4, "{seen}");
            let row = |object: &Value| pods.row(object, 1_800_000_000_000, Include::None, "v1");
            assert_eq!(row(&seen), row(&whole), "{state}");
        }
    }

    #[test]
    fn other_resources_keep_all_but_managed_fields() {
        let whole = json!({"metadata": {"name": "a", "labels": {"image": "x"}, "managedFields": [{}]}, "spec": {"image": [1, 1.5, -2, null, true]}});
        let mut less = whole.clone();
        less["metadata"].as_object_mut().map(|members| members.remove("managedFields"));
        assert_eq!(seen("apps", "deployments", whole.to_string().as_bytes()).expect("it is JSON"), less);
        assert!(seen("", "pods", b"{").is_err());
    }
}
