//! Pages of lists, and what a write leaves out.

use serde_json::{Value, json};

use super::ask::{Answered, ask};
use super::wire::Served;

#[expect(clippy::needless_pass_by_value, reason = "what a test hands over is made for it")]
fn send(served: &Served, method: &str, path: &str, body: Value) -> Answered {
    ask(served.connect(), (method, path, "application/json"), &[], &body)
}

#[test]
fn a_full_page_goes_on_where_anything_comes_after_it() {
    let served = Served::begin(1);
    let maps = "/api/v1/namespaces/default/configmaps";
    for (name, label) in [("a", "yes"), ("zz", "no")] {
        let map = json!({"metadata": {"name": name, "labels": {"page": label}}});
        assert_eq!(send(&served, "POST", maps, map).code, 201);
    }
    let first = send(&served, "GET", &format!("{maps}?limit=1&labelSelector=page%3Dyes"), Value::Null).body;
    assert_eq!(first["items"].as_array().map(Vec::len), Some(1));
    // Whether what comes is selected is not known yet, and how much of it neither.
    assert_eq!(first["metadata"]["remainingItemCount"], Value::Null);
    let token = first["metadata"]["continue"].as_str().expect("something comes after it");
    let next = format!("{maps}?limit=1&labelSelector=page%3Dyes&continue={token}");
    let rest = send(&served, "GET", &next, Value::Null).body;
    assert_eq!(
        (rest["items"].as_array().map(Vec::len), &rest["metadata"]["continue"]),
        (Some(0), &Value::Null)
    );
    let last = send(&served, "GET", &format!("{maps}?limit=1&labelSelector=page%3Dno"), Value::Null).body;
    assert_eq!(last["metadata"]["continue"], Value::Null);
    served.end();
}

#[test]
fn what_a_write_may_not_say_is_dropped() {
    let served = Served::begin(1);
    let node = json!({"metadata": {"name": "n"}, "spec": {"configSource": {}}, "status": {"config": {}, "phase": "Running"}});
    let made = send(&served, "POST", "/api/v1/nodes", node);
    assert_eq!(
        (made.code, &made.body["spec"]["configSource"], &made.body["status"]["config"]),
        (201, &Value::Null, &Value::Null)
    );
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]},
        "status": {"qosClass": "Guaranteed", "phase": "Failed"}});
    let made = send(&served, "POST", "/api/v1/namespaces/default/pods", pod);
    assert_eq!(
        (made.code, &made.body["status"]),
        (201, &json!({"phase": "Pending", "qosClass": "Guaranteed"}))
    );
    served.end();
}
