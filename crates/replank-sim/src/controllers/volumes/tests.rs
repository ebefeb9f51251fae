//! Claims that find, get and give back volumes, and volumes that follow their pods.

use replank_model::object::volume::{ClaimPhase, PersistentVolume, PersistentVolumeClaim, VolumePhase};
use replank_model::object::{Kind, Object};
use replank_model::text::NodeName;
use replank_model::time::Span;
use serde_json::{Value, json};

use crate::World;
use crate::testing::{node, world};
use replank_apiserver::json::Method;

const CLAIMS: &str = "/api/v1/namespaces/shop/persistentvolumeclaims";
const PODS: &str = "/api/v1/namespaces/shop/pods";

fn class(provisioner: &str, mode: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "sc", "uid": "sc"},
        "provisioner": provisioner, "volumeBindingMode": mode})
}

fn by_hand(name: &str, size: &str, policy: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name, "uid": name, "finalizers": ["kubernetes.io/pv-protection"]},
        "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "sc",
            "hostPath": {"path": "/data"}, "persistentVolumeReclaimPolicy": policy}})
}

fn claim(world: &mut World, name: &str, size: &str) {
    world.apply(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "sc", "resources": {"requests": {"storage": size}}}}));
}

fn pod(name: &str, node: &str, claim: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]}})
}

fn found(world: &World, name: &str) -> Option<PersistentVolumeClaim> {
    match world.get(Kind::PersistentVolumeClaim, name) {
        Some(Object::PersistentVolumeClaim(claim)) => Some(PersistentVolumeClaim::clone(&claim)),
        _ => None,
    }
}

fn volume(world: &World, name: &str) -> Option<PersistentVolume> {
    match world.get(Kind::PersistentVolume, name) {
        Some(Object::PersistentVolume(volume)) => Some(PersistentVolume::clone(&volume)),
        _ => None,
    }
}

fn phase(world: &World, name: &str) -> Option<ClaimPhase> {
    found(world, name)?.status.phase
}

fn is_running(world: &World, pod: &str) -> bool {
    matches!(world.get(Kind::Pod, pod), Some(Object::Pod(pod)) if pod.is_ready())
}

fn delete(world: &mut World, path: &str) {
    assert_eq!(world.send(Method::Delete, path, Value::Null).code, 200);
}

#[test]
fn the_smallest_volume_that_suffices_is_taken_and_released() {
    let mut world = world(vec![
        class("kubernetes.io/no-provisioner", "Immediate"),
        by_hand("big", "9Gi", "Retain"),
        by_hand("fit", "2Gi", "Retain"),
        by_hand("small", "1Gi", "Retain"),
    ]);
    world.pass(Span::from_secs(1));
    assert_eq!(volume(&world, "fit").expect("there").status.phase, Some(VolumePhase::Available));
    claim(&mut world, "c", "2Gi");
    world.pass(Span::from_millis(100));
    assert_eq!(phase(&world, "c"), Some(ClaimPhase::Bound));
    assert_eq!(found(&world, "c").expect("there").spec.volume_name, "fit");
    assert_eq!(volume(&world, "fit").expect("there").status.phase, Some(VolumePhase::Bound));
    delete(&mut world, &format!("{CLAIMS}/c"));
    world.pass(Span::from_millis(100));
    assert!(found(&world, "c").is_none());
    assert_eq!(volume(&world, "fit").expect("kept").status.phase, Some(VolumePhase::Released));
}

#[test]
fn a_claim_waits_for_a_volume_and_is_offered_one_at_the_next_resync() {
    let mut world = world(vec![class("kubernetes.io/no-provisioner", "Immediate")]);
    claim(&mut world, "c", "1Gi");
    world.pass(Span::from_secs(1));
    assert_eq!(phase(&world, "c"), Some(ClaimPhase::Pending));
    let mut volume = by_hand("late", "1Gi", "Retain");
    volume["metadata"] = json!({"name": "late"});
    assert_eq!(world.send(Method::Post, "/api/v1/persistentvolumes", volume).code, 201);
    world.pass(Span::from_millis(15_100));
    assert_eq!(phase(&world, "c"), Some(ClaimPhase::Bound));
}

#[test]
fn a_driver_makes_a_volume_and_deletes_it_with_its_claim() {
    let mut world = world(vec![class("ebs.csi.aws.com", "Immediate"), node("a", "x"), node("b", "y")]);
    claim(&mut world, "c", "1Gi");
    world.pass(Span::from_secs(5));
    let name = found(&world, "c").expect("there").spec.volume_name;
    let made = volume(&world, name.as_str()).expect("it was made");
    let required = made.spec.node_affinity.and_then(|affinity| affinity.required).expect("it is in a zone");
    let zone = &required.node_selector_terms[0].match_expressions[0].values[0];
    assert!(["x", "y"].contains(&&**zone));
    delete(&mut world, &format!("{CLAIMS}/c"));
    world.pass(Span::from_secs(6));
    assert!(volume(&world, name.as_str()).is_none());
}

#[test]
fn a_claim_in_use_stays_until_its_pod_is_gone() {
    let mut world = world(vec![
        class("kubernetes.io/no-provisioner", "Immediate"),
        by_hand("v", "1Gi", "Retain"),
        node("a", "x"),
    ]);
    claim(&mut world, "c", "1Gi");
    world.apply(pod("p", "a", "c"));
    world.pass(Span::from_secs(2));
    assert!(is_running(&world, "p"));
    delete(&mut world, &format!("{CLAIMS}/c"));
    world.pass(Span::from_secs(60));
    assert!(found(&world, "c").is_some());
    delete(&mut world, &format!("{PODS}/p"));
    world.pass(Span::from_secs(2));
    assert!(found(&world, "c").is_none());
}

/// A world with a volume of a driver, in use by pod `p` on node `a`.
fn attached() -> World {
    let mut world = world(vec![class("ebs.csi.aws.com", "Immediate"), node("a", "x"), node("b", "x")]);
    claim(&mut world, "c", "1Gi");
    world.apply(pod("p", "a", "c"));
    world.pass(Span::from_secs(15));
    assert!(is_running(&world, "p"), "it has its volume");
    assert_eq!(on(&world), ["a"]);
    world
}

/// Nodes that list a volume as attached.
fn on(world: &World) -> Vec<String> {
    let nodes = world.view().nodes.sorted();
    let with = nodes.iter().filter(|(_, node)| !node.status.volumes_attached.is_empty());
    with.map(|(_, node)| node.meta.name.to_string()).collect()
}

#[test]
fn a_pod_starts_when_its_volume_is_off_the_old_node_and_on_the_new_one() {
    let mut world = attached();
    world.apply(pod("q", "b", "c"));
    world.pass(Span::from_secs(60));
    assert!(!is_running(&world, "q"), "one node at a time");
    delete(&mut world, &format!("{PODS}/p"));
    world.pass(Span::from_millis(2500));
    assert!(!is_running(&world, "q"), "it takes a while");
    world.pass(Span::from_secs(20));
    assert!(is_running(&world, "q"));
    assert_eq!(on(&world), ["b"]);
    assert_eq!(world.view().volume_attachments.len(), 1);
}

#[test]
fn a_silent_node_holds_its_volumes_for_six_minutes() {
    let mut world = attached();
    world.silence(&NodeName::from("a"));
    world.send(Method::Delete, &format!("{PODS}/p"), json!({"gracePeriodSeconds": 0}));
    world.apply(pod("q", "b", "c"));
    world.pass(Span::from_secs(355));
    assert_eq!(on(&world), ["a"]);
    world.pass(Span::from_secs(30));
    assert!(is_running(&world, "q"));
}

#[test]
fn a_node_out_of_service_lets_go_at_once() {
    let mut world = attached();
    world.silence(&NodeName::from("a"));
    world.send(Method::Delete, &format!("{PODS}/p"), json!({"gracePeriodSeconds": 0}));
    world.apply(pod("q", "b", "c"));
    world.pass(Span::from_secs(60));
    let body =
        json!({"spec": {"taints": [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]}});
    world.send(Method::Patch, "/api/v1/nodes/a", body);
    world.pass(Span::from_secs(20));
    assert!(is_running(&world, "q"));
}

#[test]
fn an_ephemeral_volume_lives_and_dies_with_its_pod() {
    let mut world = world(vec![
        class("kubernetes.io/no-provisioner", "Immediate"),
        by_hand("v", "1Gi", "Retain"),
        node("a", "x"),
    ]);
    world.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"nodeName": "a", "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec":
                {"accessModes": ["ReadWriteOnce"], "storageClassName": "sc", "resources": {"requests": {"storage": "1Gi"}}}}}}]}}));
    world.pass(Span::from_secs(2));
    assert_eq!(phase(&world, "p-scratch"), Some(ClaimPhase::Bound));
    assert!(is_running(&world, "p"));
    delete(&mut world, &format!("{PODS}/p"));
    world.pass(Span::from_secs(2));
    assert!(found(&world, "p-scratch").is_none());
}
