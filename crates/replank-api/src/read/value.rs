//! Objects and lists as values, for encodings that are not put together from bytes.

use replank_apiserver::json::served_at;
use serde_json::{Value, json};

use super::list::Listed;
use super::written;
use crate::mirror::Stored;
use crate::route::Target;

/// One object.
#[must_use]
pub fn value(target: &Target, stored: &Stored) -> Value {
    let known = written::known(&target.resource, stored);
    let value = known.unwrap_or_else(|| served_at(&target.resource, &stored.object));
    match &target.older {
        Some(older) => older.shown(value),
        None => value,
    }
}

/// As [`value`], where an event has a version of its own: that of a deletion.
pub(super) fn value_at(target: &Target, stored: &Stored, version: Option<u64>) -> Value {
    let mut value = value(target, stored);
    if let Some(version) = version {
        value["metadata"]["resourceVersion"] = version.to_string().into();
    }
    value
}

/// A list. Items of built-in kinds do not repeat what the list's own kind says.
#[must_use]
pub fn list_value(target: &Target, listed: &Listed) -> Value {
    let items = listed.items.iter().map(|stored| {
        let mut item = value(target, stored);
        if !target.is_custom
            && let Value::Object(members) = &mut item
        {
            members.remove("kind");
            members.remove("apiVersion");
        }
        item
    });
    let items: Vec<Value> = items.collect();
    json!({"kind": format!("{}List", target.resource.name.kind), "apiVersion": target.api_version(),
        "metadata": list_metadata(target, listed), "items": items})
}

/// `metadata` of a list. Lists of custom resources always say where they go on, if only nowhere (`unstructured.UnstructuredList`).
pub(super) fn list_metadata(target: &Target, listed: &Listed) -> Value {
    let mut metadata = listed.metadata.clone();
    if target.is_custom
        && let Value::Object(members) = &mut metadata
    {
        members.entry("continue").or_insert_with(|| "".into());
    }
    metadata
}

#[cfg(test)]
mod tests {
    use replank_apiserver::ResourceType;

    use super::*;

    #[test]
    fn what_has_been_written_out_is_read_as_what_is_put_together() {
        let resource = ResourceType::built_in("apps", "v1", "deployments").expect("it is served").clone();
        let target = Target {
            resource: resource.clone(),
            namespace: None,
            name: None,
            part: None,
            is_custom: false,
            is_watch: false,
            older: None,
        };
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "b",
            "annotations": {"x": "\"y\"\n"}}, "spec": {"replicas": 3, "unknown": [1.5, null, {}]}});
        let stored =
            Stored::new(replank_model::object::Object::from_json(object).expect("it is well formed"));
        let together = value(&target, &stored);
        assert_eq!(written::known(&resource, &stored), None);
        written::tail(&resource, &stored);
        assert_eq!(written::known(&resource, &stored), Some(together.clone()));
        assert_eq!(value(&target, &stored), together);
    }

    #[test]
    fn lists_of_custom_resources_always_say_where_they_go_on() {
        let resource = ResourceType::built_in("", "v1", "configmaps").expect("it is served").clone();
        let listed = Listed { metadata: json!({"resourceVersion": "7"}), items: Vec::new() };
        let target = |is_custom| Target {
            resource: resource.clone(),
            namespace: None,
            name: None,
            part: None,
            is_custom,
            is_watch: false,
            older: None,
        };
        assert_eq!(list_metadata(&target(false), &listed), json!({"resourceVersion": "7"}));
        assert_eq!(list_metadata(&target(true), &listed), json!({"resourceVersion": "7", "continue": ""}));
    }
}
