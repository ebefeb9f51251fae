//! Cluster roles that others are added up to (pkg/controller/clusterroleaggregation).

use replank_apiserver::Api;
use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use replank_model::selector::{LabelSelector, Selector};
use serde_json::Value;

use super::edit::{read, update};

/// The API group.
pub(super) const GROUP: &str = "rbac.authorization.k8s.io";

/// Writes the rules of all roles that are selected into a role, each once, in the order of their names.
pub(super) fn add_up(api: &mut Api, key: &Key) {
    let Some(mut role) = read(api, GROUP, "ClusterRole", key) else { return };
    let selectors = role.pointer("/aggregationRule/clusterRoleSelectors").and_then(Value::as_array);
    let selectors: Vec<Selector> = selectors
        .into_iter()
        .flatten()
        .filter_map(|selector| serde_json::from_value::<LabelSelector>(selector.clone()).ok()?.compile().ok())
        .collect();
    if selectors.is_empty() {
        return;
    }
    let others = api.view().others().filter(|other| &*other.kind == "ClusterRole" && other.group() == GROUP);
    let mut chosen: Vec<_> = others
        .filter(|other| other.meta.name != key.name)
        .filter(|other| selectors.iter().any(|selector| selector.matches(|key| other.meta.labels.value(key))))
        .collect();
    chosen.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
    let mut rules: Vec<Value> = Vec::new();
    for other in chosen {
        let rendered = render(&Object::Other(other.clone()));
        for rule in rendered.get("rules").and_then(Value::as_array).into_iter().flatten() {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    let known = role.get("rules").and_then(Value::as_array).cloned().unwrap_or_default();
    if known != rules {
        role["rules"] = rules.into();
        update(api, role);
    }
}
