//! Pods that wait for nodes, for room, for volumes.

use std::sync::Arc;

use replank_model::object::condition::{self, Condition, ConditionStatus};
use replank_model::object::pod::Pod;
use replank_model::object::{Kind, Object};
use replank_model::text::NodeName;
use replank_model::time::Span;
use serde_json::{Value, json};

use crate::World;
use crate::testing::{node, world};
use replank_apiserver::json::Method;

fn class(name: &str, value: i32) -> Value {
    json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name, "uid": name},
        "value": value})
}

fn wants(name: &str, cpu: &str, class: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"priorityClassName": class,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}})
}

fn pod(world: &World, name: &str) -> Option<Arc<Pod>> {
    match world.get(Kind::Pod, name) {
        Some(Object::Pod(pod)) => Some(pod),
        _ => None,
    }
}

fn node_of(world: &World, name: &str) -> Option<String> {
    pod(world, name)?.node.as_ref().map(ToString::to_string)
}

fn why(world: &World, name: &str, r#type: &str) -> Condition {
    let pod = pod(world, name).expect("it is there");
    condition::find(&pod.status.conditions, r#type).cloned().unwrap_or_default()
}

fn delete(world: &mut World, name: &str) {
    let path = format!("/api/v1/namespaces/shop/pods/{name}");
    assert_eq!(world.send(Method::Delete, &path, Value::Null).code, 200);
}

fn millis(world: &mut World, millis: i64) {
    world.pass(Span::from_millis(millis));
}

#[test]
fn a_pod_waits_for_a_node_that_can_take_it() {
    let mut world = world(vec![node("a", "x")]);
    let mut picky = wants("p", "1", "");
    picky["spec"]["nodeSelector"] = json!({"disk": "fast"});
    world.apply(picky);
    millis(&mut world, 20);
    let scheduled = why(&world, "p", "PodScheduled");
    assert_eq!((scheduled.status, &*scheduled.reason), (ConditionStatus::False, "Unschedulable"));
    assert!(
        scheduled.message.starts_with("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity")
    );
    // A node that it does not want, and a change that makes no difference to it.
    let mut other = node("b", "x");
    other["metadata"]["labels"]["disk"] = "slow".into();
    assert_eq!(world.send(Method::Post, "/api/v1/nodes", other).code, 201);
    millis(&mut world, 1000);
    assert_eq!(node_of(&world, "p"), None);
    world.send(Method::Patch, "/api/v1/nodes/b", json!({"metadata": {"labels": {"disk": "fast"}}}));
    millis(&mut world, 20);
    assert_eq!(node_of(&world, "p").as_deref(), Some("b"));
    assert_eq!(why(&world, "p", "PodScheduled").status, ConditionStatus::True);
}

#[test]
fn siblings_come_one_after_the_other_as_far_as_room_goes() {
    let mut world = world(vec![node("a", "x")]);
    for name in ["big", "s1", "s2", "s3"] {
        world.apply(wants(name, if name == "big" { "4" } else { "2" }, ""));
        millis(&mut world, 20);
    }
    assert_eq!(node_of(&world, "big").as_deref(), Some("a"));
    delete(&mut world, "big");
    millis(&mut world, 2000);
    assert_eq!(node_of(&world, "s1").as_deref(), Some("a"));
    assert_eq!(node_of(&world, "s2").as_deref(), Some("a"));
    assert_eq!(node_of(&world, "s3"), None);
}

#[test]
fn the_urgent_come_first() {
    let mut world = world(vec![node("a", "x"), class("high", 1000)]);
    world.apply(wants("first", "3", ""));
    world.apply(wants("urgent", "3", "high"));
    millis(&mut world, 100);
    assert_eq!(node_of(&world, "urgent").as_deref(), Some("a"));
    assert_eq!(node_of(&world, "first"), None);
    assert_eq!(pod(&world, "first").expect("there").status.nominated_node_name, None);
}

#[test]
fn room_is_made_for_an_urgent_pod() {
    let mut world = world(vec![node("a", "x"), class("high", 1000), class("mid", 10)]);
    world.apply(wants("low", "1", ""));
    world.apply(wants("mid", "3", "mid"));
    millis(&mut world, 1000);
    world.apply(wants("hi", "4", "high"));
    millis(&mut world, 8);
    assert_eq!(
        pod(&world, "hi").expect("there").status.nominated_node_name.as_ref().map(NodeName::as_str),
        Some("a")
    );
    assert_eq!(&*why(&world, "hi", "PodScheduled").reason, "Unschedulable");
    millis(&mut world, 42);
    for victim in ["low", "mid"] {
        let target = why(&world, victim, "DisruptionTarget");
        assert_eq!(&*target.reason, "PreemptionByScheduler");
        assert_eq!(&*target.message, "default-scheduler: preempting to accommodate a higher priority pod");
        assert!(pod(&world, victim).expect("there").is_terminating());
    }
    assert_eq!(node_of(&world, "hi"), None);
    // The victims stop after a second; the pod does not wait for their removal.
    millis(&mut world, 1050);
    let bound = pod(&world, "hi").expect("there");
    assert_eq!(bound.node.as_ref().map(NodeName::as_str), Some("a"));
    assert_eq!(bound.status.nominated_node_name, None);
    assert!(pod(&world, "mid").expect("still there").is_terminal());
}

#[test]
fn who_may_not_push_waits() {
    let mut world = world(vec![node("a", "x"), class("high", 1000)]);
    world.apply(wants("low", "4", ""));
    millis(&mut world, 1000);
    let mut polite = wants("hi", "4", "high");
    polite["spec"]["preemptionPolicy"] = "Never".into();
    let mut patient = class("patient", 2000);
    patient["preemptionPolicy"] = "Never".into();
    assert_eq!(world.send(Method::Post, "/apis/scheduling.k8s.io/v1/priorityclasses", patient).code, 201);
    polite["spec"]["priorityClassName"] = "patient".into();
    world.apply(polite);
    millis(&mut world, 1000);
    assert!(!pod(&world, "low").expect("there").is_terminating());
    assert!(
        why(&world, "hi", "PodScheduled").message.ends_with("not eligible due to preemptionPolicy=Never.")
    );
}

#[test]
fn the_more_urgent_takes_the_room_that_was_made_for_another() {
    let mut world = world(vec![node("a", "x"), class("high", 1000), class("higher", 2000)]);
    let mut slow = wants("low", "2", "");
    slow["metadata"]["annotations"] = json!({"fake.kubelet/stop-ms": "5000"});
    world.apply(slow);
    let mut mid = wants("mid", "2", "high");
    mid["metadata"]["annotations"] = json!({"fake.kubelet/stop-ms": "5000"});
    world.apply(mid);
    millis(&mut world, 1000);
    world.apply(wants("hi", "2", "high"));
    millis(&mut world, 100);
    assert_eq!(
        pod(&world, "hi").expect("there").status.nominated_node_name.as_ref().map(NodeName::as_str),
        Some("a")
    );
    world.apply(wants("higher", "4", "higher"));
    millis(&mut world, 100);
    assert_eq!(
        pod(&world, "higher").expect("there").status.nominated_node_name.as_ref().map(NodeName::as_str),
        Some("a")
    );
    assert_eq!(pod(&world, "hi").expect("there").status.nominated_node_name, None);
    assert!(pod(&world, "mid").expect("there").is_terminating());
    millis(&mut world, 6000);
    assert_eq!(node_of(&world, "higher").as_deref(), Some("a"));
    assert_eq!(node_of(&world, "hi"), None);
}

#[test]
fn gates_keep_a_pod_out_of_the_queue() {
    let mut world = world(vec![node("a", "x")]);
    let mut gated = wants("p", "1", "");
    gated["spec"]["schedulingGates"] = json!([{"name": "shop/quota"}]);
    world.apply(gated);
    millis(&mut world, 1000);
    assert_eq!(node_of(&world, "p"), None);
    assert_eq!(&*why(&world, "p", "PodScheduled").reason, "SchedulingGated");
    let path = "/api/v1/namespaces/shop/pods/p";
    assert_eq!(world.send(Method::Patch, path, json!({"spec": {"schedulingGates": null}})).code, 200);
    millis(&mut world, 20);
    assert_eq!(node_of(&world, "p").as_deref(), Some("a"));
}

fn volume_class(provisioner: &str) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "sc", "uid": "sc"},
        "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"})
}

fn claim(world: &mut World, name: &str) {
    world.apply(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "sc",
            "resources": {"requests": {"storage": "1Gi"}}}}));
}

fn with_claim(name: &str, claim: &str) -> Value {
    let mut pod = wants(name, "1", "");
    pod["spec"]["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]);
    pod
}

#[test]
fn a_volume_is_made_where_its_first_pod_goes() {
    let mut world = world(vec![node("a", "x"), volume_class("ebs.csi.aws.com")]);
    claim(&mut world, "c");
    millis(&mut world, 5000);
    let found = |world: &World| match world.get(Kind::PersistentVolumeClaim, "c") {
        Some(Object::PersistentVolumeClaim(claim)) => claim,
        _ => panic!("the claim is there"),
    };
    assert_eq!(found(&world).spec.volume_name, "");
    world.apply(with_claim("p", "c"));
    millis(&mut world, 10);
    assert_eq!(found(&world).meta.annotations.value("volume.kubernetes.io/selected-node"), Some("a"));
    assert_eq!(node_of(&world, "p"), None);
    millis(&mut world, 900);
    assert_eq!(node_of(&world, "p"), None, "it is looked only every second");
    millis(&mut world, 20_000);
    assert_eq!(node_of(&world, "p").as_deref(), Some("a"));
}

#[test]
fn a_volume_made_by_hand_decides_where_its_pod_goes() {
    let zone = json!([{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["y"]}]);
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v", "uid": "v"},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "sc",
            "local": {"path": "/data"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": zone}]}}}});
    let mut world =
        world(vec![node("a", "x"), node("b", "y"), volume_class("kubernetes.io/no-provisioner"), volume]);
    claim(&mut world, "c");
    claim(&mut world, "d");
    world.apply(with_claim("p", "c"));
    millis(&mut world, 2000);
    assert_eq!(node_of(&world, "p").as_deref(), Some("b"));
    world.apply(with_claim("q", "d"));
    millis(&mut world, 2000);
    assert!(
        why(&world, "q", "PodScheduled")
            .message
            .contains("2 node(s) didn't find available persistent volumes")
    );
}

#[test]
fn a_pod_whose_claim_goes_is_tried_again() {
    let mut world = world(vec![node("a", "x"), volume_class("ebs.csi.aws.com")]);
    claim(&mut world, "c");
    world.apply(with_claim("p", "c"));
    millis(&mut world, 10);
    let path = "/api/v1/namespaces/shop/persistentvolumeclaims/c";
    assert_eq!(world.send(Method::Delete, path, Value::Null).code, 200);
    millis(&mut world, 1100);
    assert!(why(&world, "p", "PodScheduled").message.contains("persistentvolumeclaim \"c\" not found"));
    claim(&mut world, "c");
    millis(&mut world, 20_000);
    assert_eq!(node_of(&world, "p").as_deref(), Some("a"));
}
