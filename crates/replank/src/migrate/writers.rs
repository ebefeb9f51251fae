//! Who writes an object in a version that is gone: the object is fine, its writer has to change.

use replank_model::object::{Object, render};
use serde::Serialize;
use serde_json::Value;

/// What `kubectl apply` notes of the manifest that it applied.
const LAST_APPLIED: &str = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";
/// Versions of workloads that are gone (Kubernetes 1.16).
const GONE: [&str; 3] = ["extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"];

/// A writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Writer {
    /// A field manager, or `kubectl apply` by the annotation that it leaves.
    pub(super) who: String,
    /// The version that it wrote.
    pub(super) version: String,
}

/// Writers of an object in versions that are gone, each once.
pub(super) fn of(object: &Object) -> Vec<Writer> {
    let value = render(object);
    let mut found: Vec<Writer> = Vec::new();
    let mut add = |who: &str, version: Option<&str>| {
        let Some(version) = version.filter(|version| GONE.contains(version)) else { return };
        let writer = Writer { who: who.to_owned(), version: version.to_owned() };
        if !found.contains(&writer) {
            found.push(writer);
        }
    };
    let applied = value.pointer(LAST_APPLIED).and_then(Value::as_str);
    let applied: Option<Value> = applied.and_then(|text| serde_json::from_str(text).ok());
    if let Some(applied) = &applied {
        add("kubectl apply", applied["apiVersion"].as_str());
    }
    for entry in value.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten() {
        add(entry["manager"].as_str().unwrap_or_default(), entry["apiVersion"].as_str());
    }
    found
}
