//! Parts of objects: those that lead to what does not run, and those that are written on their own.

use serde_json::{Value, json};

use super::ask::{Answered, ask};
use super::wire::Served;

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const PODS: &str = "/api/v1/namespaces/default/pods";

#[expect(clippy::needless_pass_by_value, reason = "what a test hands over is made for it")]
fn send(served: &Served, method: &str, path: &str, content_type: &str, body: Value) -> Answered {
    ask(served.connect(), (method, path, content_type), &[], &body)
}

#[expect(clippy::needless_pass_by_value, reason = "what a test hands over is made for it")]
fn pod(name: &str, more: Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]}});
    for (member, value) in more.as_object().into_iter().flatten() {
        pod["spec"][member] = value.clone();
    }
    pod
}

#[test]
fn what_leads_to_containers_says_that_nothing_runs() {
    let served = Served::begin(1);
    let post = |path: &str, body: Value| assert_eq!(send(&served, "POST", path, JSON, body).code, 201);
    post(PODS, pod("p", json!({"nodeName": "node-1"})));
    post(PODS, pod("q", json!({"schedulingGates": [{"name": "a/b"}]})));
    let get = |path: &str| send(&served, "GET", path, JSON, Value::Null);
    let log = get(&format!("{PODS}/p/log?container=a&previous=false"));
    // The container may not have begun yet.
    assert!(log.code == 200 || log.message().ends_with("is waiting to start: ContainerCreating"), "{log:?}");
    let missing = get(&format!("{PODS}/x/log"));
    assert_eq!((missing.code, missing.message()), (404, "pods \"x\" not found"));
    let several = "a container name must be specified for pod p, choose one of: [a b]";
    assert_eq!(get(&format!("{PODS}/p/log")).message(), several);
    assert_eq!(get(&format!("{PODS}/p/exec?container=z")).message(), "container z is not valid for pod p");
    assert_eq!(get(&format!("{PODS}/q/log?container=a")).code, 204);
    let homeless = get(&format!("{PODS}/q/attach?container=a"));
    assert_eq!((homeless.code, homeless.message()), (400, "pod q does not have a host assigned"));
    assert_eq!(get(&format!("{PODS}/p/exec?container=a&command=ls")).message(), "Upgrade request required");
    for (part, upgrade) in
        [("exec?container=a", "websocket"), ("attach?container=a", "SPDY/3.1"), ("portforward", "websocket")]
    {
        let path = format!("{PODS}/p/{part}");
        let headers = ["Connection: Upgrade", &format!("Upgrade: {upgrade}")];
        let refused = ask(served.connect(), ("POST", &path, JSON), &headers, &Value::Null);
        assert_eq!(
            (refused.code, &refused.body["kind"], &refused.body["reason"]),
            (400, &json!("Status"), &json!("BadRequest"))
        );
        assert!(refused.message().contains("nothing runs"), "{refused:?}");
    }
    let node = get("/api/v1/nodes/node-1/proxy/logs/");
    assert_eq!((node.code, &node.body["reason"]), (503, &json!("ServiceUnavailable")));
    assert!(node.message().starts_with("error trying to reach service: "), "{node:?}");
    let services = "/api/v1/namespaces/default/services";
    post(
        services,
        json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "selector": {"no": "pod"}}}),
    );
    let service = get(&format!("{services}/s:80/proxy/x"));
    assert_eq!((service.code, service.message()), (503, "no endpoints available for service \"s\""));
    assert_eq!(
        get(&format!("{services}/s:81/proxy")).message(),
        "no service port 81 found for service \"s\""
    );
    assert_eq!(get(&format!("{services}/a:b:c:d/proxy")).message(), "invalid service request \"a:b:c:d\"");
    served.end();
}

#[test]
fn a_scale_is_applied_and_its_replicas_have_an_owner() {
    let served = Served::begin(1);
    let path = "/apis/apps/v1/namespaces/default/deployments";
    let deployment = json!({"metadata": {"name": "d"}, "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "d"}},
        "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}}});
    assert_eq!(send(&served, "POST", &format!("{path}?fieldManager=one"), JSON, deployment).code, 201);
    let scale = |replicas: u64| json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": replicas}});
    let apply =
        |query: &str, body: Value| send(&served, "PATCH", &format!("{path}/d/scale?{query}"), APPLY, body);
    let conflict = apply("fieldManager=two", scale(2));
    let why = "Apply failed with 1 conflict: conflict with \"one\" using autoscaling/v1: .spec.replicas";
    assert_eq!((conflict.code, conflict.message()), (409, why));
    let applied = apply("fieldManager=two&force=true", scale(2));
    assert_eq!((applied.code, &applied.body["spec"]), (200, &json!({"replicas": 2})));
    let read = send(&served, "GET", &format!("{path}/d"), JSON, Value::Null);
    let managers = read.body["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let two = managers.iter().find(|entry| entry["manager"] == "two").expect("it is written down");
    assert_eq!(
        (&two["subresource"], &two["fieldsV1"]),
        (&json!("scale"), &json!({"f:spec": {"f:replicas": {}}}))
    );
    let one = managers.iter().find(|entry| entry["manager"] == "one").expect("the rest is still theirs");
    assert_eq!(one["fieldsV1"]["f:spec"].get("f:replicas"), None);
    // What Go never leaves out is nobody's: a template's own fields have no entry for themselves.
    assert_eq!(one["fieldsV1"]["f:spec"].get("."), None);
    assert_eq!(
        send(&served, "PATCH", &format!("{path}/x/scale?fieldManager=two"), APPLY, scale(1)).code,
        404
    );
    served.end();
}

#[test]
fn parts_of_a_pod_are_written_alone() {
    let served = Served::begin(1);
    let gated = pod(
        "p",
        json!({"schedulingGates": [{"name": "a/b"}], "containers": [{"name": "a", "image": "a",
        "resources": {"requests": {"cpu": "1"}}}]}),
    );
    assert_eq!(send(&served, "POST", PODS, JSON, gated).code, 201);
    let with = |image: &str| json!({"metadata": {"labels": {"x": "y"}}, "spec": {"ephemeralContainers": [{"name": "e", "image": image}]}});
    let debug = |image: &str| {
        send(
            &served,
            "PATCH",
            &format!("{PODS}/p/ephemeralcontainers"),
            "application/strategic-merge-patch+json",
            with(image),
        )
    };
    let debugged = debug("x");
    assert_eq!((debugged.code, debugged.body["metadata"].get("labels")), (200, None));
    let changed = debug("y");
    assert!(
        changed.code == 422
            && changed.message().contains("existing ephemeral containers \"e\" may not be changed"),
        "{changed:?}"
    );
    let resize = |requests: Value| {
        let body = json!({"spec": {"containers": [{"name": "a", "resources": {"requests": requests}}]}});
        send(&served, "PATCH", &format!("{PODS}/p/resize"), "application/strategic-merge-patch+json", body)
    };
    assert_eq!(resize(json!({"cpu": "2"})).code, 200);
    let removed = send(
        &served,
        "PATCH",
        &format!("{PODS}/p/resize"),
        MERGE,
        json!({"spec": {"containers": [{"name": "a", "image": "a"}]}}),
    );
    let best = "Pod \"p\" is invalid: [spec: Invalid value: \"Burstable\": Pod QOS Class may not change as a result of resizing, \
                spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed]";
    assert_eq!((removed.code, removed.message()), (422, best));
    served.end();
}
