//! Which writes a policy is asked about (apiserver `pkg/admission/plugin/policy/matching`).

use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::selector::{LabelSelector, Selector};
use serde_json::Value;

use super::attempt::Attempt;
use crate::server::Api;

/// Whether a write is one that constraints are about.
pub(in super::super) fn matches(api: &Api, constraints: &Value, attempt: &Attempt<'_>) -> bool {
    if !constraints.is_object() {
        return true;
    }
    let rules = |name: &str| constraints.get(name).and_then(Value::as_array).filter(|all| !all.is_empty());
    let any = |all: &Vec<Value>| all.iter().any(|rule| fits(rule, attempt));
    !rules("excludeResourceRules").is_some_and(any)
        && rules("resourceRules").is_none_or(any)
        && in_namespace(api, &constraints["namespaceSelector"], attempt)
        && has_labels(&constraints["objectSelector"], attempt)
}

fn fits(rule: &Value, attempt: &Attempt<'_>) -> bool {
    let has = |name: &str, word: &str| {
        let words = rule.get(name).and_then(Value::as_array);
        words.into_iter().flatten().filter_map(Value::as_str).any(|one| one == "*" || one == word)
    };
    let resource = attempt.resource;
    let (plural, part) = (&*resource.name.plural, attempt.subresource);
    let words = rule.get("resources").and_then(Value::as_array);
    let is_resource = words.into_iter().flatten().filter_map(Value::as_str).any(|word| {
        let (of, of_part) = word.split_once('/').unwrap_or((word, ""));
        (of == "*" || of == plural) && (of_part == part || of_part == "*" || word == "*/*")
    });
    let scope = rule.get("scope").and_then(Value::as_str).unwrap_or("*");
    let is_scope = match scope {
        "Namespaced" => resource.is_namespaced,
        "Cluster" => !resource.is_namespaced,
        _ => true,
    };
    let names = rule.get("resourceNames").and_then(Value::as_array).filter(|all| !all.is_empty());
    let is_named = names.is_none_or(|all| all.iter().any(|one| one == attempt.name));
    has("apiGroups", &resource.name.group)
        && has("apiVersions", &resource.version)
        && has("operations", attempt.operation)
        && is_resource
        && is_scope
        && is_named
}

/// The selector that a value is; everything where there is none.
pub(super) fn selector(value: &Value) -> Option<Selector> {
    if value.is_null() {
        return Some(Selector::everything());
    }
    serde_json::from_value::<LabelSelector>(value.clone()).ok()?.compile().ok()
}

fn in_namespace(api: &Api, value: &Value, attempt: &Attempt<'_>) -> bool {
    let Some(selector) = selector(value) else { return false };
    let is_namespace =
        &*attempt.resource.name.plural == "namespaces" && attempt.resource.name.group.is_empty();
    if is_namespace {
        return [attempt.object, attempt.old]
            .into_iter()
            .flatten()
            .next()
            .is_some_and(|of| selects(&selector, of));
    }
    if attempt.namespace.is_empty() {
        return true;
    }
    match api.view().namespaces.by_key(&Key::cluster(attempt.namespace)) {
        Some(namespace) => {
            let object = Object::Namespace(namespace.clone());
            let labels = &object.meta().labels;
            selector.matches(|key| labels.value(key))
        }
        None => false,
    }
}

fn has_labels(value: &Value, attempt: &Attempt<'_>) -> bool {
    let Some(selector) = selector(value) else { return false };
    // What has no metadata has no labels, not even none.
    let has_metadata = |of: &&Value| attempt.of.is_none() || of.get("metadata").is_some();
    selector.is_empty()
        || [attempt.object, attempt.old]
            .into_iter()
            .flatten()
            .filter(has_metadata)
            .any(|of| selects(&selector, of))
}

fn selects(selector: &Selector, object: &Value) -> bool {
    let labels = object.pointer("/metadata/labels");
    selector.matches(|key| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str))
}
