//! Defaults of CustomResourceDefinitions (apiextensions `pkg/apis/apiextensions/v1/defaults.go`), and the versions that objects are stored in.

use serde_json::{Value, json};

use super::super::answer::member;
use super::absent;

pub(super) fn fill(value: &mut Value) {
    let spec = member(value, "spec");
    absent(spec, "conversion", json!({"strategy": "None"}));
    if let Some(Value::Object(names)) = spec.get_mut("names") {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        if !kind.is_empty() {
            let defaults = [("singular", kind.to_lowercase()), ("listKind", format!("{kind}List"))];
            for (name, default) in defaults {
                let given = names.entry(name).or_insert(Value::Null);
                if given.as_str().unwrap_or_default().is_empty() {
                    *given = default.into();
                }
            }
        }
    }
}

/// What the status begins with.
pub(super) fn begin(value: &mut Value) {
    value["status"] = json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}});
    store(value);
}

/// Objects are stored in the storage version from here on.
pub(super) fn store(value: &mut Value) {
    let versions = value.pointer("/spec/versions").and_then(Value::as_array);
    let storage = versions.into_iter().flatten().find(|version| version["storage"] == true);
    let Some(name) = storage.map(|version| version["name"].clone()) else { return };
    let stored = &mut member(value, "status")["storedVersions"];
    let mut all = stored.as_array().cloned().unwrap_or_default();
    if !all.contains(&name) {
        all.push(name);
    }
    *stored = all.into();
}
