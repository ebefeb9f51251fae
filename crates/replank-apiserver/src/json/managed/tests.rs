//! Who manages what after updates and applies, as a running 1.36.2 has it.

use replank_schema::types;
use serde_json::{Value, json};

use super::*;

fn keeper(subresource: &'static str) -> Keeper<'static> {
    Keeper {
        of: Part::Named(types().of_kind("", "v1", "ConfigMap").expect("it is served"), false),
        empty: json!({}),
        api_version: "v1".to_owned(),
        subresource,
        reset: &[],
        now: "2026-01-01T00:00:00Z".to_owned(),
        versions: None,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "what a test hands over is made for it")]
fn map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

#[test]
fn a_creation_is_managed_by_its_client_and_a_change_by_its_own() {
    let mut made = map(json!({"x": "1", "y": "1"}));
    keeper("").update(None, &mut made, "one").expect("it is one version");
    assert_eq!(
        made["metadata"]["managedFields"],
        json!([{"manager": "one", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {".": {}, "f:x": {}, "f:y": {}}}}])
    );
    let mut changed = made.clone();
    changed["data"]["x"] = "2".into();
    keeper("").update(Some(&made), &mut changed, "two").expect("it is one version");
    let managers = &changed["metadata"]["managedFields"];
    assert_eq!(managers[0]["fieldsV1"], json!({"f:data": {".": {}, "f:y": {}}}));
    assert_eq!(
        (&managers[1]["manager"], &managers[1]["fieldsV1"]),
        (&json!("two"), &json!({"f:data": {"f:x": {}}}))
    );
}

#[test]
fn an_apply_takes_away_what_it_names_no_more() {
    let keeper = keeper("");
    let made =
        keeper.apply(None, &map(json!({"x": "1", "y": "1"})), "one", false).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        made.object["metadata"]["managedFields"][0]["fieldsV1"],
        json!({"f:data": {"f:x": {}, "f:y": {}}})
    );
    let next = keeper.apply(Some(&made.object), &map(json!({"x": "1"})), "one", false);
    assert_eq!(next.unwrap_or_else(|e| panic!("{e}")).object["data"], json!({"x": "1"}));
}

#[test]
fn a_conflict_names_who_manages_the_field() {
    let keeper = keeper("");
    let mut made = map(json!({"x": "1"}));
    keeper.update(None, &mut made, "one").expect("it is one version");
    let refusal =
        keeper.apply(Some(&made), &map(json!({"x": "2"})), "two", false).err().expect("it is managed");
    assert_eq!(refusal.message, "Apply failed with 1 conflict: conflict with \"one\" using v1: .data.x");
    let taken =
        keeper.apply(Some(&made), &map(json!({"x": "2"})), "two", true).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(taken.object["data"]["x"], "2");
    let managers = taken.object["metadata"]["managedFields"].as_array().expect("there are managers").clone();
    assert_eq!(managers[0]["fieldsV1"], json!({"f:data": {"f:x": {}}}));
    assert_eq!(managers[1]["fieldsV1"], json!({"f:data": {}}));
}

#[test]
fn the_oldest_managers_are_joined() {
    let mut object = map(json!({}));
    keeper("").update(None, &mut object, "nobody").expect("it is one version");
    let mut object = map(json!({"k": "0"}));
    keeper("").update(None, &mut object, "m0").expect("it is one version");
    for number in 1..12 {
        let mut next = object.clone();
        next["data"][format!("k{number}")] = "1".into();
        keeper("").update(Some(&object), &mut next, &format!("m{number}")).expect("it is one version");
        object = next;
    }
    let managers = object["metadata"]["managedFields"].as_array().expect("there are managers").clone();
    assert_eq!(managers.len(), 10);
    assert!(managers.iter().any(|manager| manager["manager"] == "ancient-changes"));
}
