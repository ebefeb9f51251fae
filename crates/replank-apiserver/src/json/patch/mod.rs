//! Patches: JSON merge patch, strategic merge patch, JSON patch.

mod json_patch;
mod strategic;

use replank_model::object::Kind;
use replank_schema::types;
use serde_json::Value;

use super::form;
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
    /// Server-side apply: a configuration that its manager wants to be true.
    Apply,
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
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ => Err(ApiError::unsupported_media()),
        }
    }
}

/// Operations of one JSON patch, as upstream.
const OPERATIONS_MAX: usize = 10_000;

/// Whether objects of a resource can be patched in a language.
///
/// # Errors
/// 415 for a strategic patch of a kind whose lists have no keys.
pub(super) fn check_type(resource: &ResourceType, kind: PatchType) -> Result<(), ApiError> {
    match kind {
        PatchType::Strategic if resource.kind == Kind::Other && is_custom(resource) => {
            Err(ApiError::unsupported_media_type(&[
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/apply-patch+yaml",
            ]))
        }
        PatchType::Strategic | PatchType::Merge | PatchType::Json | PatchType::Apply => Ok(()),
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
        PatchType::Merge if patch.is_null() => return Err(ApiError::bad_request("Invalid JSON Patch")),
        PatchType::Merge => match not_an_object(patch) {
            None => merge_patch(value, patch),
            Some(why) => return Err(ApiError::bad_request(&format!("error decoding patch: {why}"))),
        },
        PatchType::Strategic if patch.is_null() => {}
        PatchType::Strategic => match not_an_object(patch) {
            None => {
                let name = &resource.name;
                strategic::apply(types().of_kind(&name.group, &resource.version, &name.kind), value, patch)?;
            }
            Some(why) => return Err(ApiError::bad_request(&why)),
        },
        PatchType::Apply => return Err(ApiError::unprocessable()),
        PatchType::Json => {
            operations(patch)?;
            json_patch::apply(value, patch).map_err(|_| ApiError::unprocessable())?;
        }
    }
    still_an_object(value)
}

/// Applies a JSON patch; what is wrong with it is told.
///
/// # Errors
/// Which operation cannot be done.
pub(super) fn apply_json(value: &mut Value, patch: &Value) -> Result<(), String> {
    json_patch::apply(value, patch)
}

/// What Go says of a patch that is no object.
fn not_an_object(patch: &Value) -> Option<String> {
    let word = form::word_for(patch);
    (!patch.is_object())
        .then(|| format!("json: cannot unmarshal {word} into Go value of type map[string]interface {{}}"))
}

/// A JSON patch is a list of operations, and not too long a one.
fn operations(patch: &Value) -> Result<(), ApiError> {
    let Value::Array(operations) = patch else {
        let word = form::word_for(patch);
        let why = "into Go value of type []handlers.jsonPatchOp";
        return Err(ApiError::bad_request(&format!(
            "error decoding patch: json: cannot unmarshal {word} {why}"
        )));
    };
    if operations.len() > OPERATIONS_MAX {
        return Err(ApiError::too_many_operations(OPERATIONS_MAX, operations.len()));
    }
    Ok(())
}

/// What is left of an object whose root a patch has put something else in the place of.
fn still_an_object(value: &Value) -> Result<(), ApiError> {
    const GO_HEAD: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
                           \"json:\\\"kind,omitempty\\\"\" }";
    match value {
        Value::Object(_) => Ok(()),
        Value::Array(_) => Err(ApiError::invalid_patch(
            &value.to_string(),
            &format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type {GO_HEAD}"
            ),
        )),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(ApiError::unprocessable()),
    }
}

/// Whether a patch itself says which version it changes.
pub(super) fn names_version(kind: PatchType, patch: &Value) -> bool {
    match kind {
        PatchType::Merge | PatchType::Strategic | PatchType::Apply => {
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
    let name = &resource.name;
    types().of_kind(&name.group, &resource.version, &name.kind).is_none()
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
    fn a_root_that_is_no_object_is_refused() {
        let maps = ResourceType::built_in("", "v1", "configmaps").expect("they are served");
        let put = |root: Value| {
            let mut value = json!({"metadata": {"name": "a"}});
            let patch = json!([{"op": "replace", "path": "", "value": root}]);
            apply(maps, PatchType::Json, &mut value, &patch).expect_err("it is no object")
        };
        let refusal = put(json!([]));
        assert_eq!((refusal.code, refusal.causes.len()), (422, 1));
        assert!(refusal.message.starts_with(" \"\" is invalid: patch: Invalid value: \"[]\": couldn't get"));
        assert_eq!(
            put(Value::Null).message,
            "the server rejected our request due to an error in our request"
        );
    }

    #[test]
    fn merge_follows_the_rfc() {
        let mut value = json!({"a": {"b": 1, "c": 2}, "l": [1, 2]});
        merge_patch(&mut value, &json!({"a": {"b": null, "d": {"e": null}}, "l": [3]}));
        assert_eq!(value, json!({"a": {"c": 2, "d": {}}, "l": [3]}));
    }
}
