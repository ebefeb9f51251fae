//! Events in both of their groups.

use serde_json::{Value, json};

use super::{api, send};
use crate::json::Method;

const CORE: &str = "/api/v1/namespaces/shop/events";
const OTHER: &str = "/apis/events.k8s.io/v1/namespaces/shop/events";

#[test]
fn an_event_is_one_in_both_groups() {
    let mut api = api();
    let event = json!({"metadata": {"name": "e"}, "eventTime": "2026-01-01T00:00:00.000000Z", "action": "Do", "type": "Normal",
        "reason": "Test", "reportingController": "me", "reportingInstance": "me-1", "note": "hi",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "shop"}});
    let made = send(&mut api, Method::Post, OTHER, event);
    assert_eq!((made.code, &made.body["note"]), (201, &json!("hi")), "{}", made.body);
    let core = send(&mut api, Method::Get, &format!("{CORE}/e"), Value::Null).body;
    assert_eq!((&core["apiVersion"], &core["message"]), (&json!("v1"), &json!("hi")));
    assert_eq!((&core["involvedObject"]["name"], core.get("regarding")), (&json!("p"), None));
    for (path, field, count) in [
        (CORE, "source=me", 1),
        (CORE, "reportingComponent=me", 1),
        (CORE, "involvedObject.name=p", 1),
        (CORE, "involvedObject.name=q", 0),
        (OTHER, "reportingController=me", 1),
        (OTHER, "regarding.name=p", 1),
        (OTHER, "regarding.name=q", 0),
    ] {
        let list = send(&mut api, Method::Get, &format!("{path}?fieldSelector={field}"), Value::Null).body;
        assert_eq!(list["items"].as_array().map(Vec::len), Some(count), "{path} {field}: {list}");
    }
    let patched = send(&mut api, Method::Patch, &format!("{OTHER}/e"), json!({"note": "ho"}));
    assert_eq!((patched.code, &patched.body["note"]), (200, &json!("ho")), "{}", patched.body);
    let core = send(&mut api, Method::Get, &format!("{CORE}/e"), Value::Null).body;
    assert_eq!(core["message"], "ho");
    assert_eq!(send(&mut api, Method::Delete, &format!("{OTHER}/e"), Value::Null).code, 200);
    assert_eq!(send(&mut api, Method::Get, &format!("{CORE}/e"), Value::Null).code, 404);
}
