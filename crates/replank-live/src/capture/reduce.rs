//! What is left out of an object: what nobody needs to rehearse with, and what is nobody's business.

use serde_json::{Map, Value, json};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Variables whose values are read: how long proxies go on serving ([docs/connections.md]).
const READ: [&str; 4] = [
    "PROXY_CONFIG",
    "TERMINATION_DRAIN_DURATION_SECONDS",
    "EXIT_ON_ZERO_ACTIVE_CONNECTIONS",
    "MINIMUM_DRAIN_DURATION",
];

/// Leaves out what does not belong into a snapshot.
pub(crate) fn reduce(object: &mut Value) {
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        managed_fields(meta);
        last_applied(meta);
    }
    if object["kind"] == "CustomResourceDefinition" {
        schemas(object);
    }
    variables(object);
}

/// A ConfigMap that nobody asked for: that it is there, and who wrote it.
pub(super) fn empty(config_map: &mut Value) {
    if let Some(members) = config_map.as_object_mut() {
        members.remove("data");
        members.remove("binaryData");
    }
}

/// Who writes, when and at which version, and not which fields: `replank scan` reads no more.
fn managed_fields(meta: &mut Map<String, Value>) {
    let entries = meta.get_mut("managedFields").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten() {
        let annotation = format!("f:{LAST_APPLIED}");
        let owns = entry["fieldsV1"]["f:metadata"]["f:annotations"].get(&annotation).is_some();
        let fields =
            if owns { json!({"f:metadata": {"f:annotations": {annotation: {}}}}) } else { json!({}) };
        entry["fieldsV1"] = fields;
    }
}

/// What was applied last, as far as it says what it was: `replank scan` reads at which version.
fn last_applied(meta: &mut Map<String, Value>) {
    let Some(annotation) = meta.get_mut("annotations").and_then(|all| all.get_mut(LAST_APPLIED)) else {
        return;
    };
    let applied: Value =
        annotation.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let metadata =
        json!({"name": applied["metadata"]["name"], "namespace": applied["metadata"]["namespace"]});
    let kept = json!({"apiVersion": applied["apiVersion"], "kind": applied["kind"], "metadata": metadata});
    *annotation = kept.to_string().into();
}

/// A definition without its schemas: what counts is which resources it declares, and how they are scaled; of Argo's Rollouts also what of a `workloadRef` they know.
pub(crate) fn schemas(object: &mut Value) {
    let is_of_rollouts = object["metadata"]["name"] == "rollouts.argoproj.io";
    let versions = object["spec"]["versions"].as_array_mut();
    for version in versions.into_iter().flatten() {
        let Some(schema) = version.get("schema") else { continue };
        let mut kept = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let known = schema.pointer("/openAPIV3Schema/properties/spec/properties").filter(|_| is_of_rollouts);
        if let Some(known) = known {
            let mut spec = kept.clone();
            spec["properties"] = known
                .get("workloadRef")
                .map_or_else(|| json!({}), |reference| json!({"workloadRef": reference}));
            kept["properties"] = json!({"spec": spec});
        }
        version["schema"] = json!({"openAPIV3Schema": kept});
    }
}

/// Values of environment variables, wherever containers are described. References to Secrets and ConfigMaps hold none.
pub(crate) fn variables(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if name == "env" {
                    member.as_array_mut().into_iter().flatten().for_each(variable);
                }
                variables(member);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(variables),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn variable(variable: &mut Value) {
    let is_read = variable["name"].as_str().is_some_and(|name| READ.contains(&name));
    if let Some(members) = variable.as_object_mut().filter(|_| !is_read) {
        members.remove("value");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_schemas_what_a_workload_ref_may_say_stays() {
        let definition = |name: &str, spec: Value| {
            let schema =
                json!({"openAPIV3Schema": {"properties": {"spec": spec, "status": {"type": "object"}}}});
            let mut object = json!({"metadata": {"name": name}, "spec": {"versions": [{"name": "v1alpha1", "schema": schema}]}});
            schemas(&mut object);
            object.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties").cloned()
        };
        let reference =
            json!({"workloadRef": {"type": "object", "properties": {"kind": {"type": "string"}}}});
        let mut spec = json!({"properties": reference});
        spec["properties"]["paused"] = json!({"type": "boolean"});
        assert_eq!(definition("rollouts.argoproj.io", spec.clone()), Some(reference));
        assert_eq!(
            definition("rollouts.argoproj.io", json!({"properties": {"paused": {}}})),
            Some(json!({}))
        );
        assert_eq!(definition("rollouts.argoproj.io", json!({"type": "object"})), None);
        assert_eq!(definition("others.argoproj.io", spec), None);
    }

    #[test]
    fn no_value_of_a_variable_stays_wherever_it_stands() {
        let container = json!({"name": "c", "env": [{"name": "PASSWORD", "value": "hunter2"},
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            {"name": "MINIMUM_DRAIN_DURATION", "value": "5s"}]});
        let applied = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"template": {"spec": {"containers": [container]}}}});
        let mut object = json!({"kind": "Deployment", "metadata": {"name": "web",
                "annotations": {LAST_APPLIED: applied.to_string()},
                "managedFields": [{"manager": "kubectl", "operation": "Update", "apiVersion": "apps/v1",
                    "fieldsV1": {"f:metadata": {"f:annotations": {format!("f:{LAST_APPLIED}"): {}}}, "f:spec": {"f:replicas": {}}}}]},
            "spec": {"template": {"spec": {"containers": [container], "initContainers": [container]}}}});
        reduce(&mut object);
        let text = object.to_string();
        assert!(!text.contains("hunter2"), "{text}");
        assert_eq!(text.matches("secretKeyRef").count(), 2);
        assert_eq!(text.matches("5s").count(), 2);
        assert!(!text.contains("f:replicas") && text.contains("f:annotations"));
        let kept: Value = serde_json::from_str(
            object["metadata"]["annotations"][LAST_APPLIED].as_str().expect("it is kept"),
        )
        .expect("it is JSON");
        assert_eq!(kept["apiVersion"], "apps/v1");
    }
}
