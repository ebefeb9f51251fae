//! Lists as tables say what single objects say.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::ask::ask;
use super::wire::Served;

const JSON: &str = "application/json";
const TABLE: &str = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io";

fn table(served: &Served, path: &str) -> Value {
    ask(served.connect(), ("GET", path, JSON), &[TABLE], &Value::Null).body
}

#[test]
fn a_list_has_the_rows_of_its_objects() {
    let served = Served::begin(0);
    let post = |path: &str, body: &Value| ask(served.connect(), ("POST", path, JSON), &[], body);
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"}, "versions": [{"name": "v1", "served": true,
            "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            "additionalPrinterColumns": [{"name": "Kind", "type": "string", "jsonPath": ".kind"},
                {"name": "Version", "type": "string", "jsonPath": ".apiVersion"}, {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]}]}});
    let made = post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition);
    assert_eq!(made.code, 201, "{:#}", made.body);
    let foos = "/apis/example.com/v1/namespaces/default/foos";
    let began = Instant::now();
    let foo = |name: &str| json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name}, "spec": {"size": 3}});
    while post(foos, &foo("a")).code != 201 {
        assert!(began.elapsed() < Duration::from_secs(30), "the resource is not served");
        std::thread::sleep(Duration::from_millis(20));
    }
    let made = post(
        "/api/v1/namespaces/default/pods",
        &json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": "b"}},
        "spec": {"schedulingGates": [{"name": "example.com/wait"}], "containers": [{"name": "c", "image": "i"}]}}),
    );
    assert_eq!(made.code, 201, "{:#}", made.body);
    for (path, name, cells) in [
        (foos, "a", json!(["a", "Foo", "example.com/v1", 3])),
        ("/api/v1/namespaces/default/pods", "p", json!(["p", "0/1", "SchedulingGated", "0"])),
    ] {
        let (list, one) = (table(&served, path), table(&served, &format!("{path}/{name}")));
        let row = |table: &Value| table["rows"][0].clone();
        let shown = row(&list)["cells"].as_array().cloned().unwrap_or_default();
        let wanted = cells.as_array().cloned().unwrap_or_default();
        assert_eq!(shown[..wanted.len()], wanted[..], "{list:#}");
        assert_eq!(row(&list)["object"], row(&one)["object"], "{path}");
        assert_eq!(list["columnDefinitions"], one["columnDefinitions"]);
    }
    served.end();
}
