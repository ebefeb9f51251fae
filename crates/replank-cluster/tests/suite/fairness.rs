//! FlowSchemas say whether their priority level is there.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::ask::ask;
use super::wire::Served;

const SCHEMAS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
const LEVELS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
const JSON: &str = "application/json";

fn get(served: &Served, path: &str) -> Value {
    ask(served.connect(), ("GET", path, JSON), &[], &Value::Null).body
}

/// The condition of a FlowSchema, when it has this status.
fn dangling(served: &Served, name: &str, status: &str) -> Value {
    let began = Instant::now();
    loop {
        let schema = get(served, &format!("{SCHEMAS}/{name}"));
        let conditions = schema["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.iter().find(|one| one["type"] == "Dangling" && one["status"] == status);
        if found.is_some() {
            return schema;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{schema:#}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_flow_schema_says_whether_its_level_is_there() {
    let served = Served::begin(0);
    let own = dangling(&served, "catch-all", "False");
    assert_eq!(own["status"]["conditions"][0]["reason"], "Found", "{own:#}");
    let schema = json!({"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "metadata": {"name": "a"},
        "spec": {"matchingPrecedence": 9_000, "priorityLevelConfiguration": {"name": "slow"}}});
    let made = ask(served.connect(), ("POST", SCHEMAS, JSON), &[], &schema);
    assert_eq!(made.code, 201, "{:#}", made.body);
    let alone = dangling(&served, "a", "True");
    let told = &alone["status"]["conditions"][0];
    assert_eq!(told["reason"], "NotFound");
    assert_eq!(
        told["message"],
        "This FlowSchema references the PriorityLevelConfiguration object named \"slow\" but there is no such object"
    );
    let managers = alone["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let applied = managers.iter().find(|one| one["operation"] == "Apply").expect("it is applied");
    assert_eq!(
        (&applied["manager"], &applied["subresource"]),
        (&json!("api-priority-and-fairness-config-consumer-v1"), &json!("status"))
    );
    let level = json!({"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "slow"}, "spec": {"type": "Exempt", "exempt": {}}});
    let made = ask(served.connect(), ("POST", LEVELS, JSON), &[], &level);
    // Only the exempt level may be exempt: this one is refused, and the next is taken.
    assert_eq!(made.code, 422, "{:#}", made.body);
    let mut level = level;
    level["spec"] = json!({"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}});
    let made = ask(served.connect(), ("POST", LEVELS, JSON), &[], &level);
    assert_eq!(made.code, 201, "{:#}", made.body);
    assert_eq!(dangling(&served, "a", "False")["status"]["conditions"][0]["reason"], "Found");
    served.end();
}

#[test]
fn what_upstream_refuses_or_drops_without_its_gates() {
    let served = Served::begin(0);
    let post = |path: &str, body: &Value| ask(served.connect(), ("POST", path, JSON), &[], body);
    let both = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "both"}, "spec": {"defaultBackend":
        {"resource": {"kind": "a", "name": "b"}, "service": {"name": "s", "port": {"name": "http"}}}}});
    let refused = post("/apis/networking.k8s.io/v1/namespaces/default/ingresses", &both);
    assert_eq!(
        (refused.code, refused.message()),
        (
            422,
            "Ingress.networking.k8s.io \"both\" is invalid: spec.defaultBackend: Invalid value: \"\": cannot set both resource and service backends"
        )
    );
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "grouped"},
        "spec": {"schedulingGroup": {}, "containers": [{"name": "a", "image": "a"}]}});
    let made = post("/api/v1/namespaces/default/pods", &pod);
    assert_eq!((made.code, made.body["spec"].get("schedulingGroup")), (201, None), "{:#}", made.body);
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "none", "resourceVersion": "x"}});
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/none";
    let refused = ask(served.connect(), ("PUT", path, JSON), &[], &role);
    assert_eq!((refused.code, refused.message()), (500, "strconv.ParseUint: parsing \"x\": invalid syntax"));
    served.end();
}
