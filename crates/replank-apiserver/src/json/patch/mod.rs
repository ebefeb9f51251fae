//! Patches: JSON merge patch, strategic merge patch, JSON patch.

mod json_patch;
mod strategic;

use replank_model::object::Kind;
use serde_json::Value;

use crate::server::ApiError;
use crate::server::ResourceType;

/// The language of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchType {
    /// RFC 7386: members replace members, `null` removes, lists are whole.
    Merge,
    /// As merge, but lists of built-in kinds are merged by their items' keys.
    Strategic,
    /// RFC 6902: a list of operations.
    Json,
}

impl PatchType {
    /// The language of a content type.
    ///
    /// # Errors
    /// 415.
    pub fn of(content_type: &str) -> Result<Self, ApiError> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" => Ok(Self::Strategic),
            "application/json-patch+json" => Ok(Self::Json),
            _ => Err(ApiError::unsupported_media_type(&[
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/strategic-merge-patch+json",
            ])),
        }
    }
}

/// Applies a patch.
///
/// # Errors
/// 415 for a strategic patch of a kind whose lists have no keys, 422 for an operation that cannot be done.
pub(super) fn apply(
    resource: &ResourceType,
    kind: PatchType,
    value: &mut Value,
    patch: &Value,
) -> Result<(), ApiError> {
    match kind {
        PatchType::Merge => merge_patch(value, patch),
        PatchType::Strategic if resource.kind == Kind::Other && is_custom(resource) => {
            let accepted = ["application/json-patch+json", "application/merge-patch+json"];
            return Err(ApiError::unsupported_media_type(&accepted));
        }
        PatchType::Strategic => strategic::apply(value, patch),
        PatchType::Json => json_patch::apply(value, patch).map_err(|why| {
            let mut refusal = ApiError::bad_request(&why);
            (refusal.code, refusal.reason) = (422, "Invalid");
            refusal.message =
                format!("the server rejected our request due to an error in our request: {why}");
            refusal
        })?,
    }
    Ok(())
}

/// Whether a patch itself says which version it changes.
pub(super) fn names_version(kind: PatchType, patch: &Value) -> bool {
    match kind {
        PatchType::Merge | PatchType::Strategic => {
            patch.pointer("/metadata/resourceVersion").is_some_and(Value::is_string)
        }
        PatchType::Json => {
            patch.as_array().into_iter().flatten().any(|operation| {
                operation.get("path").is_some_and(|path| path == "/metadata/resourceVersion")
            })
        }
    }
}

/// Custom kinds have no keys of lists; the untyped built-in ones do.
fn is_custom(resource: &ResourceType) -> bool {
    let group = &*resource.name.group;
    group.contains('.') && !group.ends_with(".k8s.io")
}

/// Merges a JSON merge patch (RFC 7386) into a value: `null` removes a member, lists are replaced as a whole.
pub fn merge_patch(value: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = Value::Object(serde_json::Map::new());
    }
    let Value::Object(members) = value else { return };
    for (name, change) in changes {
        if change.is_null() {
            members.remove(name);
        } else {
            merge_patch(members.entry(name).or_insert(Value::Null), change);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn merge_follows_the_rfc() {
        let mut value = json!({"a": {"b": 1, "c": 2}, "l": [1, 2]});
        merge_patch(&mut value, &json!({"a": {"b": null, "d": {"e": null}}, "l": [3]}));
        assert_eq!(value, json!({"a": {"c": 2, "d": {}}, "l": [3]}));
    }
}
