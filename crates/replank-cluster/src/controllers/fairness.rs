//! The condition of a FlowSchema that says whether its priority level is there (apiserver `util/flowcontrol/apf_controller.go`).

use replank_apiserver::Api;
use replank_apiserver::json::{Method, Request, Wire};
use replank_model::object::meta::Key;
use replank_model::time::Time;
use serde_json::{Value, json};

use super::edit::{read, text};

pub(super) const GROUP: &str = "flowcontrol.apiserver.k8s.io";
pub(super) const SCHEMA: &str = "FlowSchema";
pub(super) const LEVEL: &str = "PriorityLevelConfiguration";

const MANAGER: &str = "api-priority-and-fairness-config-consumer-v1";

/// Those that exist whether or not anybody has made them.
const MANDATORY: [&str; 2] = ["catch-all", "exempt"];

/// FlowSchemas that refer to a level.
pub(super) fn of_level(api: &Api, level: &Key) -> Vec<Key> {
    let others = api.view().others().filter(|other| &*other.kind == SCHEMA && other.group() == GROUP);
    let keys: Vec<Key> = others.map(|other| other.meta.key()).collect();
    let refers = |key: &Key| {
        read(api, GROUP, SCHEMA, key).is_some_and(|schema| level_of(&schema) == level.name.as_str())
    };
    keys.into_iter().filter(refers).collect()
}

fn level_of(schema: &Value) -> &str {
    text(schema, "/spec/priorityLevelConfiguration/name")
}

/// Says whether the level of a FlowSchema is there.
pub(super) fn tell(api: &mut Api, key: &Key, now: Time) {
    let Some(schema) = read(api, GROUP, SCHEMA, key) else { return };
    let level = level_of(&schema);
    let is_there = MANDATORY.contains(&level) || read(api, GROUP, LEVEL, &Key::cluster(level)).is_some();
    let refers = format!("This FlowSchema references the {LEVEL} object named {level:?}");
    let (status, reason, message) = match is_there {
        true => ("False", "Found", format!("{refers} and it exists")),
        false => ("True", "NotFound", format!("{refers} but there is no such object")),
    };
    let conditions = schema.pointer("/status/conditions").and_then(Value::as_array);
    let is_told = |condition: &Value| {
        condition["type"] == "Dangling"
            && condition["status"] == status
            && condition["reason"] == reason
            && condition["message"] == *message
    };
    if conditions.is_some_and(|all| all.iter().any(is_told)) {
        return;
    }
    let condition = json!({"type": "Dangling", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": now.floor_seconds()});
    let name = key.name.as_str();
    let body = json!({"apiVersion": format!("{GROUP}/v1"), "kind": SCHEMA, "metadata": {"name": name},
        "status": {"conditions": [condition]}});
    // Somebody else may have been faster: the next change tells.
    drop(api.handle(&Request {
        method: Method::Patch,
        path: format!("/apis/{GROUP}/v1/flowschemas/{name}/status?fieldManager={MANAGER}&force=true"),
        content_type: "application/apply-patch+yaml".to_owned(),
        body,
        wire: Some(Wire::default()),
    }));
}
