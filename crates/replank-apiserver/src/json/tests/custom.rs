//! Definitions, their objects, and policies: the whole way of a request.

use serde_json::{Value, json};

use super::{Method, api, send};
use crate::server::Api;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/shop/widgets";

fn definition(plural: &str, kind: &str) -> Value {
    let spec = json!({"type": "object", "required": ["size"], "properties": {
        "size": {"type": "integer", "minimum": 1},
        "color": {"type": "string", "default": "blue", "enum": ["blue", "red"]}},
        "x-kubernetes-validations": [{"rule": "self.color != 'red' || self.size < 5", "message": "red ones are small"}]});
    let status = json!({"type": "object", "properties": {"ready": {"type": "integer"}}});
    let version = json!({"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {"group": "example.com", "scope": "Namespaced", "versions": [version],
            "names": {"plural": plural, "kind": kind}}})
}

fn widget(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

fn with_widgets() -> Api {
    let mut api = api();
    let made = send(&mut api, Method::Post, DEFINITIONS, definition("widgets", "Widget"));
    assert_eq!(made.code, 201, "{}", made.body);
    api
}

/// What an answer says, and of which fields.
fn told(body: &Value) -> (String, Vec<String>) {
    let causes = body.pointer("/details/causes").and_then(Value::as_array);
    let fields = causes.into_iter().flatten().map(|cause| cause["field"].as_str().unwrap_or("").to_owned());
    (body["message"].as_str().unwrap_or("").to_owned(), fields.collect())
}

#[test]
fn a_definition_is_established_and_its_names_are_its_own() {
    let mut api = with_widgets();
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let got = send(&mut api, Method::Get, &path, Value::Null).body;
    assert_eq!(got["spec"]["names"]["listKind"], "WidgetList");
    assert_eq!(got["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(got["status"]["acceptedNames"]["singular"], "widget");
    let status = |body: &Value, of: &str| {
        let all = body["status"]["conditions"].as_array().cloned().unwrap_or_default();
        all.iter().find(|one| one["type"] == of).map(|one| (one["status"].clone(), one["reason"].clone()))
    };
    assert_eq!(status(&got, "Established"), Some((json!("True"), json!("InitialNamesAccepted"))));
    let made = send(&mut api, Method::Post, DEFINITIONS, definition("gadgets", "Widget"));
    assert_eq!(made.code, 201, "{}", made.body);
    let other = send(&mut api, Method::Get, &format!("{DEFINITIONS}/gadgets.example.com"), Value::Null).body;
    assert_eq!(status(&other, "NamesAccepted"), Some((json!("False"), json!("ListKindConflict"))));
    let gadgets = "/apis/example.com/v1/namespaces/shop/gadgets";
    assert_eq!(send(&mut api, Method::Get, gadgets, Value::Null).code, 404);
}

#[test]
fn objects_are_completed_pruned_and_refused_by_their_schema() {
    let mut api = with_widgets();
    let made = send(&mut api, Method::Post, WIDGETS, widget("a", &json!({"size": 3, "unknown": 1})));
    assert_eq!((made.code, &made.body["spec"]), (201, &json!({"size": 3, "color": "blue"})));
    for (spec, message, field) in [
        (
            json!({"size": "x"}),
            "spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \"string\"",
            "spec.size",
        ),
        (
            json!({"size": 0}),
            "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
            "spec.size",
        ),
        (json!({"size": 9, "color": "red"}), "spec: Invalid value: red ones are small", "spec"),
        (
            json!({"size": 1, "color": "green"}),
            "spec.color: Unsupported value: \"green\": supported values: \"blue\", \"red\"",
            "spec.color",
        ),
    ] {
        let refused = send(&mut api, Method::Post, WIDGETS, widget("b", &spec));
        let (text, fields) = told(&refused.body);
        assert_eq!(refused.code, 422);
        assert!(text.contains(message), "{text}");
        assert_eq!(fields[0], field);
    }
    // A default that comes later is seen on what is stored already.
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let mut changed = send(&mut api, Method::Get, &path, Value::Null).body;
    changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["late"] =
        json!({"type": "string", "default": "yes"});
    assert_eq!(send(&mut api, Method::Put, &path, changed).code, 200);
    let got = send(&mut api, Method::Get, &format!("{WIDGETS}/a"), Value::Null).body;
    assert_eq!(got["spec"]["late"], "yes");
}

#[test]
fn a_definition_goes_after_its_objects() {
    let mut api = with_widgets();
    let mut held = widget("held", &json!({"size": 1}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    assert_eq!(send(&mut api, Method::Post, WIDGETS, held).code, 201);
    assert_eq!(send(&mut api, Method::Post, WIDGETS, widget("free", &json!({"size": 1}))).code, 201);
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let going = send(&mut api, Method::Delete, &path, Value::Null);
    assert_eq!(going.body["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    assert_eq!(send(&mut api, Method::Get, &format!("{WIDGETS}/free"), Value::Null).code, 404);
    let refused = send(&mut api, Method::Post, WIDGETS, widget("late", &json!({"size": 1})));
    assert_eq!(refused.code, 403);
    let freed = json!({"metadata": {"finalizers": null}});
    assert_eq!(send(&mut api, Method::Patch, &format!("{WIDGETS}/held"), freed).code, 200);
    assert_eq!(send(&mut api, Method::Get, &path, Value::Null).code, 404);
}

#[test]
fn a_policy_refuses_what_breaks_it() {
    let mut api = api();
    let root = "/apis/admissionregistration.k8s.io/v1";
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "no-bad"}, "spec": {
            "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]},
            "variables": [{"name": "a", "expression": "has(object.data.a) ? object.data.a : ''"}],
            "validations": [{"expression": "variables.a != 'bad'", "reason": "Forbidden",
                "messageExpression": "'a is ' + variables.a"}]}});
    let made = send(&mut api, Method::Post, &format!("{root}/validatingadmissionpolicies"), policy.clone());
    assert_eq!(made.code, 201, "{}", made.body);
    assert_eq!(made.body["spec"]["matchConstraints"]["resourceRules"][0]["scope"], "*");
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "bound"}, "spec": {"policyName": "no-bad", "validationActions": ["Deny"]}});
    let made = send(&mut api, Method::Post, &format!("{root}/validatingadmissionpolicybindings"), binding);
    assert_eq!(made.code, 201, "{}", made.body);
    let config =
        |a: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": a}, "data": {"a": a}});
    let path = "/api/v1/namespaces/shop/configmaps";
    assert_eq!(send(&mut api, Method::Post, path, config("good")).code, 201);
    let refused = send(&mut api, Method::Post, path, config("bad"));
    let why = "configmaps \"bad\" is forbidden: ValidatingAdmissionPolicy 'no-bad' with binding 'bound' denied request: a is bad";
    assert_eq!((refused.code, told(&refused.body).0.as_str()), (403, why));
    let mut wrong = policy;
    wrong["spec"]["validations"][0]["expression"] = "foo == 1".into();
    let refused = send(&mut api, Method::Post, &format!("{root}/validatingadmissionpolicies"), wrong);
    assert!(told(&refused.body).0.contains("undeclared reference to 'foo'"), "{}", refused.body);
}
