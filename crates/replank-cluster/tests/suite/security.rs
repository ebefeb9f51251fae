//! Pod Security Standards, as labels of namespaces ask for them.

use serde_json::{Value, json};

use super::ask::{Answered, ask};
use super::wire::Served;

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const LABEL: &str = "pod-security.kubernetes.io/enforce";

#[expect(clippy::needless_pass_by_value, reason = "what a test hands over is made for it")]
fn send(served: &Served, method: &str, path: &str, content_type: &str, body: Value) -> Answered {
    ask(served.connect(), (method, path, content_type), &[], &body)
}

#[test]
fn a_namespace_refuses_pods_that_its_level_does_not_allow_and_warns_of_others() {
    let served = Served::begin(1);
    let namespace = |labels: Value| json!({"metadata": {"name": "strict", "labels": labels}});
    let wrong = send(&served, "POST", "/api/v1/namespaces", JSON, namespace(json!({LABEL: "x"})));
    let why = "Namespace \"strict\" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"x\": \
               must be one of privileged, baseline, restricted";
    assert_eq!((wrong.code, wrong.message()), (422, why));
    assert_eq!(send(&served, "POST", "/api/v1/namespaces", JSON, namespace(json!({}))).code, 201);
    let pods = "/api/v1/namespaces/strict/pods";
    let pod = |name: &str, spec: Value| {
        let mut pod =
            json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        spec.as_object()
            .into_iter()
            .flatten()
            .for_each(|(member, value)| pod["spec"][member] = value.clone());
        send(&served, "POST", pods, JSON, pod)
    };
    assert_eq!(pod("before", json!({"hostPID": true})).code, 201);
    let label = |level: &str| {
        send(
            &served,
            "PATCH",
            "/api/v1/namespaces/strict",
            MERGE,
            json!({"metadata": {"labels": {LABEL: level}}}),
        )
    };
    let warned = label("baseline").warnings();
    assert_eq!(
        warned,
        [
            "existing pods in namespace \"strict\" violate the new PodSecurity enforce level \"baseline:latest\"",
            "before: host namespaces"
        ]
    );
    let refused = pod("p", json!({"hostPID": true}));
    let why =
        "pods \"p\" is forbidden: violates PodSecurity \"baseline:latest\": host namespaces (hostPID=true)";
    assert_eq!((refused.code, refused.message()), (403, why));
    assert_eq!(pod("p", json!({})).code, 201);
    // Workloads are made all the same; their pods are not.
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"hostIPC": true, "containers": [{"name": "c", "image": "i"}]}});
    let set = json!({"metadata": {"name": "r"}, "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}});
    let made = send(&served, "POST", "/apis/apps/v1/namespaces/strict/replicasets", JSON, set);
    let why = "would violate PodSecurity \"baseline:latest\": host namespaces (hostIPC=true)";
    assert_eq!((made.code, made.warnings()), (201, vec![why.to_owned()]));
    let mut condition = Value::Null;
    for _ in 0..100 {
        let read = send(&served, "GET", "/apis/apps/v1/namespaces/strict/replicasets/r", JSON, Value::Null);
        condition = read.body["status"]["conditions"][0].clone();
        if !condition.is_null() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(condition["reason"], "FailedCreate");
    assert!(
        condition["message"].as_str().is_some_and(|why| why.contains("violates PodSecurity")),
        "{condition}"
    );
    served.end();
}
