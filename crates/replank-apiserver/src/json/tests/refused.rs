//! What a server says of bodies that are read, and no good.

use serde_json::{Value, json};

use super::{api, send};
use crate::json::{Method, Repeated, Request, Response, Wire};
use crate::server::Caller;

#[test]
fn keys_that_stand_twice_are_told_by_their_lines() {
    let mut api = api();
    let body =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "2"}});
    let duplicates = vec![Repeated::Line(5, "name".to_owned()), Repeated::Line(8, "a".to_owned())];
    let mut ask = |method: Method, path: &str, validation: &str| -> Response {
        api.handle(&Request {
            method,
            path: format!("{path}?fieldManager=me&dryRun=All&fieldValidation={validation}"),
            content_type: "application/apply-patch+yaml".to_owned(),
            body: body.clone(),
            wire: Some(Wire {
                named: None,
                connect: None,
                user_agent: String::new(),
                duplicates: duplicates.clone(),
                spoken: None,
                caller: Caller::default(),
            }),
        })
    };
    let lines = "yaml: unmarshal errors:\n  line 5: key \"name\" already set in map\n  line 8: key \"a\" already set in map";
    let (one, all) = ("/api/v1/namespaces/shop/configmaps/m", "/api/v1/namespaces/shop/configmaps");
    let applied = ask(Method::Patch, one, "Strict");
    let why = format!("error strict decoding YAML: error converting YAML to JSON: {lines}");
    assert_eq!((applied.code, applied.body["message"].as_str()), (400, Some(&*why)));
    let made = ask(Method::Post, all, "Strict");
    let head = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: ";
    assert_eq!((made.code, made.body["message"].as_str()), (400, Some(&*format!("{head}{lines}"))));
    let warned = ["line 5: key \"name\" already set in map", "line 8: key \"a\" already set in map"];
    for (method, path) in [(Method::Patch, one), (Method::Post, all)] {
        let made = ask(method, path, "Warn");
        assert_eq!((made.code, made.warnings), (201, warned.map(str::to_owned).to_vec()));
        assert!(ask(method, path, "Ignore").warnings.is_empty());
    }
}

#[test]
fn conditions_of_webhooks_are_compiled() {
    let mut api = api();
    let with = |expression: &str| -> Value {
        json!({"metadata": {"name": "hooks"}, "webhooks": [{"name": "a.example.com", "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://example.com/x"},
            "matchConditions": [{"name": "one", "expression": expression}]}]})
    };
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let refused = send(&mut api, Method::Post, path, with("... [] bad"));
    let cause = &refused.body["details"]["causes"][0];
    assert_eq!((refused.code, &cause["field"]), (422, &json!("webhooks[0].matchConditions[0].expression")));
    assert!(cause["message"].as_str().is_some_and(|text| text.contains("compilation failed")), "{cause}");
    let without = send(&mut api, Method::Post, path, with("namespaceObject.metadata.name == 'a'"));
    assert_eq!(without.code, 422, "webhooks know no namespaceObject");
    assert_eq!(send(&mut api, Method::Post, path, with("object.metadata.name == 'a'")).code, 201);
    let path = format!("{path}/hooks");
    let changed = json!({"webhooks": with("1 + 1")["webhooks"]});
    assert_eq!(send(&mut api, Method::Patch, &path, changed).code, 422);
}

#[test]
fn a_pod_that_does_not_name_its_resources_can_be_labelled_by_a_client() {
    let mut api = api();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    api.apply_json(pod).expect("it is valid");
    let mut patch = |body: Value| {
        let patched = api.handle(&Request {
            method: Method::Patch,
            path: "/api/v1/namespaces/shop/pods/p".to_owned(),
            content_type: "application/strategic-merge-patch+json".to_owned(),
            body,
            wire: Some(Wire::default()),
        });
        patched.code
    };
    assert_eq!(patch(json!({"metadata": {"labels": {"a": "b"}}})), 200);
    assert_eq!(
        patch(json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}})),
        422
    );
}
