//! What becomes of dependents, on ConfigMaps.

use replank_model::object::meta::Key;
use replank_model::object::{Kind, Object};
use replank_model::time::Span;
use serde_json::{Value, json};

use crate::World;
use crate::testing::world;
use replank_apiserver::json::Method;
use replank_apiserver::{Api, DeleteOptions};

const MAPS: &str = "/api/v1/namespaces/shop/configmaps";

fn map(world: &mut World, name: &str, owners: &[(&str, bool)], finalizers: &[&str]) {
    let references: Vec<Value> = owners
        .iter()
        .map(|(owner, blocks)| {
            let uid = uid(world, owner).unwrap_or_else(|| "nobody".to_owned());
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "blockOwnerDeletion": blocks})
        })
        .collect();
    world.apply(json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "ownerReferences": references, "finalizers": finalizers}}));
}

fn get(world: &mut World, name: &str) -> Option<Value> {
    let response = world.send(Method::Get, &format!("{MAPS}/{name}"), Value::Null);
    (response.code == 200).then_some(response.body)
}

fn uid(world: &mut World, name: &str) -> Option<String> {
    get(world, name)?.pointer("/metadata/uid")?.as_str().map(str::to_owned)
}

fn owners(world: &mut World, name: &str) -> Vec<String> {
    let found = get(world, name).expect("it is there");
    let references = found["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    references.iter().map(|owner| owner["name"].as_str().unwrap_or_default().to_owned()).collect()
}

fn delete(world: &mut World, name: &str, propagation: &str) {
    let body = json!({"propagationPolicy": propagation});
    assert_eq!(world.send(Method::Delete, &format!("{MAPS}/{name}"), body).code, 200);
}

fn there(world: &mut World, names: &[&str]) -> Vec<bool> {
    names.iter().map(|name| get(world, name).is_some()).collect()
}

fn second(world: &mut World) {
    world.pass(Span::from_secs(1));
}

#[test]
fn background_takes_the_dependents_afterwards() {
    let mut world = world(Vec::new());
    map(&mut world, "a", &[], &[]);
    map(&mut world, "b", &[("a", true)], &[]);
    map(&mut world, "c", &[("b", false)], &[]);
    delete(&mut world, "a", "Background");
    assert_eq!(there(&mut world, &["a", "b", "c"]), [false, true, true]);
    second(&mut world);
    assert_eq!(there(&mut world, &["a", "b", "c"]), [false, false, false]);
}

#[test]
fn foreground_waits_for_those_that_block() {
    let mut world = world(Vec::new());
    map(&mut world, "a", &[], &[]);
    map(&mut world, "held", &[("a", true)], &["example.com/hold"]);
    map(&mut world, "free", &[("a", true)], &[]);
    map(&mut world, "below", &[("held", true)], &[]);
    delete(&mut world, "a", "Foreground");
    second(&mut world);
    assert_eq!(there(&mut world, &["a", "held", "free", "below"]), [true, true, false, false]);
    let released = json!({"metadata": {"finalizers": null}});
    world.send(Method::Patch, &format!("{MAPS}/held"), released);
    second(&mut world);
    assert_eq!(there(&mut world, &["a", "held"]), [false, false]);
}

#[test]
fn foreground_does_not_wait_for_those_that_do_not_block() {
    let mut world = world(Vec::new());
    map(&mut world, "a", &[], &[]);
    map(&mut world, "held", &[("a", false)], &["example.com/hold"]);
    delete(&mut world, "a", "Foreground");
    second(&mut world);
    assert_eq!(there(&mut world, &["a", "held"]), [false, true]);
}

#[test]
fn orphans_lose_the_name_and_stay() {
    let mut world = world(Vec::new());
    map(&mut world, "a", &[], &[]);
    map(&mut world, "b", &[("a", true)], &[]);
    delete(&mut world, "a", "Orphan");
    assert!(get(&mut world, "a").is_some(), "it waits for its dependents to be freed");
    second(&mut world);
    assert_eq!(there(&mut world, &["a", "b"]), [false, true]);
    assert!(owners(&mut world, "b").is_empty());
}

#[test]
fn an_owner_that_never_was_takes_its_dependent_along() {
    let mut world = world(Vec::new());
    map(&mut world, "live", &[], &[]);
    map(&mut world, "lost", &[("ghost", true)], &[]);
    map(&mut world, "kept", &[("ghost", true), ("live", false)], &[]);
    second(&mut world);
    assert_eq!(there(&mut world, &["lost", "kept"]), [false, true]);
    assert_eq!(owners(&mut world, "kept"), ["live"]);
}

#[test]
fn a_reference_to_something_else_of_that_uid_counts_for_nothing() {
    let mut world = world(Vec::new());
    map(&mut world, "a", &[], &[]);
    let uid = uid(&mut world, "a").expect("it has one");
    world.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b",
        "ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": "a", "uid": uid}]}}));
    second(&mut world);
    assert!(get(&mut world, "b").is_none());
}

#[test]
fn owners_that_a_snapshot_lacks_are_taken_to_be_there() {
    let orphan = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "shop", "uid": "b",
        "ownerReferences": [{"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "elsewhere"}]}});
    let mut world = world(vec![orphan]);
    second(&mut world);
    assert!(get(&mut world, "b").is_some());
}

#[test]
fn objects_that_own_each_other_in_a_circle_go_all() {
    let mut world = world(Vec::new());
    map(&mut world, "a", &[], &[]);
    map(&mut world, "b", &[("a", true)], &[]);
    map(&mut world, "c", &[("b", true)], &[]);
    let last = uid(&mut world, "c").expect("it is there");
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": last, "blockOwnerDeletion": true});
    let mut first = get(&mut world, "a").expect("it is there");
    first["metadata"]["ownerReferences"] = json!([owner]);
    assert_eq!(world.send(Method::Put, &format!("{MAPS}/a"), first).code, 200);
    delete(&mut world, "a", "Foreground");
    second(&mut world);
    assert_eq!(there(&mut world, &["a", "b", "c"]), [false; 3]);
}

#[test]
fn a_pod_goes_with_whoever_manages_it_and_takes_along_what_it_owns() {
    for propagation in ["Background", "Foreground"] {
        let mut world = world(Vec::new());
        map(&mut world, "a", &[], &[]);
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": uid(&mut world, "a"),
            "controller": true, "blockOwnerDeletion": true});
        world.apply(
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "c", "image": "i"}]}}),
        );
        let Some(Object::Pod(pod)) = world.get(Kind::Pod, "p") else { panic!("it is there") };
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod.meta.uid.as_str()});
        world.apply(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "b", "ownerReferences": [owner]}}));
        second(&mut world);
        assert_eq!(there(&mut world, &["a", "b"]), [true, true]);
        delete(&mut world, "a", propagation);
        second(&mut world);
        assert_eq!(there(&mut world, &["a", "b"]), [false, false], "{propagation}");
        assert!(world.get(Kind::Pod, "p").is_none(), "{propagation}");
    }
}

#[test]
fn a_pod_that_is_named_as_an_owner_before_it_is_told_of_takes_along_what_it_owns() {
    // It takes the slot of a pod that goes at the same moment, and the collector hears first of what names it.
    let played = |of_second: &str| {
        let mut world = world(Vec::new());
        map(&mut world, "a", &[], &[]);
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": uid(&mut world, "a"), "controller": true});
        let pod = |name: &str| {
            json!({"apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": "shop", "ownerReferences": [owner]},
                "spec": {"containers": [{"name": "c", "image": "i"}]}})
        };
        world.request(|api| api.apply_json(pod("first"))).expect("it is accepted");
        second(&mut world);
        let slot = |world: &World, name: &str| world.view().pods.find(&Key::new("shop", name));
        let before = slot(&world, "first").expect("it is there");
        let owned = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned", "namespace": "shop",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "second", "uid": of_second}]}});
        world.request(|api| {
            api.apply_json(owned).expect("it is accepted");
            let deleted = api.delete(Kind::Pod, &Key::new("shop", "first"), &DeleteOptions::default());
            deleted.expect("it is there");
            api.apply_json(pod("second")).expect("it is accepted");
        });
        assert_eq!(slot(&world, "second"), Some(before), "it is in the slot of the first");
        let Some(Object::Pod(made)) = world.get(Kind::Pod, "second") else { panic!("it is there") };
        (world, made.meta.uid.to_string())
    };
    // Uids are drawn by name and moment: the first time round tells which one it will have.
    let (_, drawn) = played("unknown");
    let (mut world, same) = played(&drawn);
    assert_eq!(drawn, same);
    second(&mut world);
    assert_eq!(there(&mut world, &["owned"]), [true]);
    let gone = |api: &mut Api| api.delete(Kind::Pod, &Key::new("shop", "second"), &DeleteOptions::default());
    world.request(gone).expect("it is there");
    second(&mut world);
    assert_eq!(there(&mut world, &["owned"]), [false]);
}
