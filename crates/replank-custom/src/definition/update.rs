//! What may not change, and which versions objects may be stored in.

use serde_json::Value;

use super::member::{is_true, list, text};
use crate::problem::{Problem, quoted};

pub(super) fn check(value: &Value, old: &Value, problems: &mut Vec<Problem>) {
    // Once it is served, a definition means the same objects.
    let is_established = list(old.get("status").unwrap_or(&Value::Null), "conditions")
        .iter()
        .any(|condition| text(condition, "type") == "Established" && text(condition, "status") == "True");
    for (path, always) in [("group", true), ("scope", false), ("names.plural", true), ("names.kind", false)] {
        let pointer = format!("/spec/{}", path.replace('.', "/"));
        let (is, was) = (value.pointer(&pointer), old.pointer(&pointer));
        if is != was && (always || is_established) {
            let is = is.and_then(Value::as_str).unwrap_or_default();
            problems.push(Problem::invalid(format!("spec.{path}"), &quoted(is), "field is immutable"));
        }
    }
}

/// Versions in which objects are stored are versions still.
pub(super) fn stored(value: &Value, problems: &mut Vec<Problem>) {
    let empty = Value::Null;
    let status = value.get("status").unwrap_or(&empty);
    let stored = list(status, "storedVersions");
    let versions = list(value.get("spec").unwrap_or(&empty), "versions");
    if stored.is_empty() {
        problems.push(Problem::invalid(
            "status.storedVersions",
            "null",
            "must have at least one stored version",
        ));
        return;
    }
    for (index, name) in stored.iter().filter_map(Value::as_str).enumerate() {
        if !versions.iter().any(|version| text(version, "name") == name) {
            let why = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {name} and removes {name} from \
                 status.storedVersions"
            );
            problems.push(Problem::invalid(format!("status.storedVersions[{index}]"), &quoted(name), &why));
        }
    }
    let of_storage = versions.iter().rfind(|version| is_true(version, "storage"));
    if let Some(name) = of_storage.map(|version| text(version, "name"))
        && !stored.iter().any(|one| one == name)
    {
        let shown = Value::Array(stored.to_vec()).to_string();
        let why = format!("must have the storage version {name}");
        problems.push(Problem::invalid("status.storedVersions", &shown, &why));
    }
}
