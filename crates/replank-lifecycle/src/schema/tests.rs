use crate::table::Gvk;
use serde_json::json;

use super::*;
use crate::table::{Product, Stage, Table};

fn problems(object: &serde_json::Value) -> Vec<String> {
    Schema::embedded().check(object).iter().map(ToString::to_string).collect()
}

fn gvk(api_version: &str, kind: &str) -> Gvk {
    Gvk::of(api_version, kind)
}

#[test]
fn the_types_are_all_there() {
    let schema = Schema::embedded();
    assert_eq!(schema.types.len(), 584);
    assert_eq!(schema.kinds().count(), 141);
}

#[test]
fn what_is_served_agrees_with_the_lifecycle_table() {
    // Two sources of facts: whatever the types serve, the table has as served at 1.36.
    let (schema, table) = (Schema::embedded(), Table::embedded());
    let mut looked_up = 0;
    for gvk in schema.kinds() {
        let Some(row) = table.lookup_gvk(gvk) else { continue };
        looked_up += 1;
        assert_ne!(row.stage(SCHEMA_OF), Stage::Removed, "{gvk}");
        assert_ne!(row.stage(SCHEMA_OF), Stage::ToCome, "{gvk}");
    }
    assert!(looked_up > 100, "{looked_up} kinds have rows");
    // And no version that the table says is gone has a type.
    let gone = table
        .rows()
        .iter()
        .filter(|row| row.product == Product::Kubernetes && row.stage(SCHEMA_OF) == Stage::Removed);
    for row in gone {
        assert!(!schema.serves(&row.gvk), "{}", row.gvk);
    }
}

#[test]
fn an_object_of_its_type_is_accepted() {
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "creationTimestamp": null, "labels": {"a": "b"}},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [
                {"name": "c", "image": "i", "resources": {"requests": {"cpu": 1, "memory": "1Gi"}}},
            ]}},
        },
    });
    assert_eq!(problems(&object), [""; 0]);
    assert!(Schema::embedded().serves(&gvk("v1", "PodList")));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "creationTimestamp": "yesterday", "labels": {"example.com/a": 1}},
        "spec": {
            "replicas": "3", "rollbackTo": {}, "minReadySeconds": 3_000_000_000_u32,
            "template": {"spec": {"containers": [
                {"name": "c", "image": "i", "imagePullPolicy": "Sometimes", "resources": {"limits": {"cpu": "fast"}}},
            ]}},
        },
    });
    assert_eq!(
        problems(&object),
        [
            "metadata.creationTimestamp: expected a time such as 2026-01-31T12:00:00Z, found text",
            "metadata.labels[example.com/a]: expected text, found a number",
            "spec.selector: required",
            "spec.minReadySeconds: the number is too large",
            "spec.replicas: expected an integer, found text",
            "spec.rollbackTo: unknown field",
            "spec.template.spec.containers[0].imagePullPolicy: `Sometimes`: expected one of Always, IfNotPresent, Never",
            "spec.template.spec.containers[0].resources.limits.cpu: expected a quantity such as 500m or 2Gi, found text",
        ]
    );
}

#[test]
fn versions_that_are_gone_and_what_is_no_object_are_told() {
    let old = json!({"apiVersion": "extensions/v1beta1", "kind": "Ingress"});
    assert_eq!(problems(&old), ["Kubernetes 1.36 does not serve extensions/v1beta1 Ingress"]);
    assert_eq!(problems(&json!({"kind": "Ingress"})), ["apiVersion and kind are required"]);
    assert_eq!(problems(&json!([])), ["apiVersion and kind are required"]);
}

#[test]
fn schemas_of_custom_resources_are_looked_into() {
    let crd = |schema: serde_json::Value| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "sites.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": {"plural": "sites", "kind": "Site"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
            },
        })
    };
    let good = json!({
        "type": "object", "additionalProperties": false, "default": {"a": [1]},
        "properties": {"a": {"type": "array", "items": {"type": "string"}}, "b": {"x-kubernetes-int-or-string": true}},
    });
    assert_eq!(problems(&crd(good)), [""; 0]);
    let bad = json!({"properties": {"a": {"items": {"typ": "string"}}, "b": {"additionalProperties": "no"}}});
    let at = "spec.versions[0].schema.openAPIV3Schema.properties";
    assert_eq!(
        problems(&crd(bad)),
        [
            format!("{at}.a.items.typ: unknown field"),
            format!("{at}.b.additionalProperties: expected a schema or a boolean, found text"),
        ]
    );
}

#[test]
fn what_nests_without_end_is_refused() {
    let mut schema = json!({"type": "object"});
    for _ in 0..300 {
        schema = json!({"type": "object", "properties": {"a": schema}});
    }
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "sites", "kind": "Site"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    assert!(problems(&crd).iter().any(|problem| problem.ends_with("nested too deeply")));
}
