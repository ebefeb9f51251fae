use serde_json::{Value, json};

use super::{Judged, check};

fn definition(schema: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "sites.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "sites", "kind": "Site"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

fn paths(object: &Value) -> Vec<String> {
    check(object)
        .into_iter()
        .map(|problem| match problem.judged {
            Judged::Refused => problem.path.replace("spec.versions[0].schema.openAPIV3Schema", "$"),
            Judged::Unknown => format!("? {}", problem.path),
        })
        .collect()
}

#[test]
fn what_is_structural_is_taken() {
    let good = json!({
        "type": "object",
        "properties": {
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}}},
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "list": {"type": "array", "items": {"type": "string"}, "default": ["a"]},
            }},
        },
    });
    assert_eq!(paths(&definition(&good)), [""; 0]);
}

#[test]
fn each_rule_has_its_place() {
    for (schema, expected) in [
        (json!({}), "$.type"),
        (json!({"type": "object", "properties": {"a": {"type": "array"}}}), "$.properties[a].items"),
        (json!({"type": "object", "properties": {"a": {"type": "bool"}}}), "$.properties[a].type"),
        (
            json!({"type": "object", "properties": {"metadata": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}),
            "$.properties[metadata]",
        ),
        (
            json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
            "$.properties[metadata]",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "(?=a)"}}}),
            "$.properties[a].pattern",
        ),
        (json!({"type": "object", "additionalProperties": true}), "$.additionalProperties"),
        (
            json!({"type": "object", "anyOf": [{"required": ["a"], "properties": {"a": {}}}]}),
            "$.properties[a]",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}}),
            "$.properties[a].default",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "object", "default": {"b": 1}}}}),
            "$.properties[a].default",
        ),
    ] {
        assert_eq!(paths(&definition(&schema)), [expected], "{schema}");
    }
}

#[test]
fn what_is_not_computed_is_told_apart() {
    let rule = json!({"type": "object", "x-kubernetes-validations": [{"rule": "true"}]});
    let [one] = &check(&definition(&rule))[..] else { panic!("{:?}", check(&definition(&rule))) };
    assert_eq!(one.judged, Judged::Unknown);
}

#[test]
fn what_stands_around_the_schemas_is_asked_for() {
    let mut object = definition(&json!({"type": "object"}));
    object["metadata"]["name"] = json!("site.example.com");
    object["spec"]["scope"] = json!("");
    object["spec"]["versions"][0]["storage"] = json!(false);
    object["spec"]["versions"][0]["additionalPrinterColumns"] =
        json!([{"name": "a", "type": "text", "jsonPath": "spec"}]);
    assert_eq!(
        paths(&object),
        [
            "metadata.name",
            "spec.scope",
            "spec.versions[0].additionalPrinterColumns[0].type",
            "spec.versions[0].additionalPrinterColumns[0].JSONPath",
            "spec.versions"
        ]
    );
}
