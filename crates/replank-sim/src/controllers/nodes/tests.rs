//! Nodes that fall silent, and the consequences: taints, unready pods, evictions, garbage collection.

use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::{Kind, Object};
use replank_model::text::NodeName;
use replank_model::time::Span;
use serde_json::{Value, json};

use crate::World;
use crate::testing::{node, running, start, world};
use replank_apiserver::json::Method;

fn taints(world: &World, name: &str) -> Vec<String> {
    let node = world.view().node(&NodeName::from(name)).expect("the node is there");
    let mut taints: Vec<String> =
        node.spec.taints.iter().map(|taint| format!("{}:{}", taint.key, taint.effect)).collect();
    taints.sort();
    taints
}

fn is_ready(world: &World, pod: &str) -> Option<bool> {
    match world.get(Kind::Pod, pod) {
        Some(Object::Pod(pod)) => Some(pod.is_ready()),
        _ => None,
    }
}

/// Lets time pass until something holds; the milliseconds since the beginning.
fn when(world: &mut World, holds: impl Fn(&World) -> bool) -> i64 {
    for _ in 0..200_000 {
        if holds(world) {
            return world.elapsed();
        }
        world.pass(Span::from_millis(10));
    }
    panic!("it never happened");
}

fn post_ready(world: &mut World, name: &str, status: &str) {
    let body = json!({"status": {"conditions": [{"type": "Ready", "status": status, "reason": "Kubelet"}]}});
    let response = world.send(Method::Patch, &format!("/api/v1/nodes/{name}/status"), body);
    assert_eq!(response.code, 200);
}

fn tolerant(name: &str, node: &str, seconds: i64) -> Value {
    let mut pod = running(name, node);
    pod["spec"]["tolerations"] = ["not-ready", "unreachable"]
        .iter()
        .map(|key| {
            json!({"key": format!("node.kubernetes.io/{key}"), "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": seconds})
        })
        .collect();
    pod
}

const UNREACHABLE: [&str; 2] =
    ["node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/unreachable:NoSchedule"];

#[test]
fn a_silent_node_is_lost_after_the_grace_and_its_pods_with_it() {
    let mut world = world(vec![node("a", "x"), node("b", "y"), tolerant("p", "a", 3), running("q", "b")]);
    world.pass(Span::from_secs(3));
    world.silence(&NodeName::from("a"));
    let lost = when(&mut world, |world| is_ready(world, "p") == Some(false));
    assert!((53_000..=58_100).contains(&lost), "{lost}");
    world.pass(Span::from_millis(200));
    assert_eq!(taints(&world, "a"), UNREACHABLE);
    assert!(taints(&world, "b").is_empty());
    let evicted =
        when(&mut world, |world| world.get(Kind::Pod, "p").is_none_or(|pod| pod.meta().is_terminating()));
    assert!((3_000..3_300).contains(&(evicted - lost)), "{}", evicted - lost);
    let Some(Object::Pod(pod)) = world.get(Kind::Pod, "p") else { panic!("its kubelet cannot end it") };
    let target = condition::find(&pod.status.conditions, "DisruptionTarget").expect("it says why");
    assert_eq!((target.status, &*target.reason), (ConditionStatus::True, "DeletionByTaintManager"));
    assert_eq!(is_ready(&world, "q"), Some(true));
}

#[test]
fn a_node_that_says_it_is_not_ready_keeps_its_pods_ready() {
    let mut world = world(vec![node("a", "x"), node("b", "x"), tolerant("p", "a", 300)]);
    world.pass(Span::from_secs(1));
    post_ready(&mut world, "a", "False");
    world.pass(Span::from_millis(20));
    assert_eq!(taints(&world, "a"), ["node.kubernetes.io/not-ready:NoSchedule"]);
    world.pass(Span::from_millis(5200));
    assert_eq!(taints(&world, "a").len(), 2);
    assert_eq!(is_ready(&world, "p"), Some(true));
    post_ready(&mut world, "a", "True");
    world.pass(Span::from_millis(20));
    assert_eq!(taints(&world, "a"), ["node.kubernetes.io/not-ready:NoExecute"]);
    world.pass(Span::from_secs(5));
    assert!(taints(&world, "a").is_empty());
}

#[test]
fn a_pod_that_starts_on_a_node_that_has_just_become_ready_stays_ready() {
    let mut world = world(vec![node("a", "x"), node("b", "x")]);
    world.pass(Span::from_secs(1));
    post_ready(&mut world, "a", "False");
    world.pass(Span::from_secs(6));
    // The controller's next round is to come.
    post_ready(&mut world, "a", "True");
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"},
        "spec": {"nodeName": "a", "containers": [{"name": "c", "image": "x"}], "tolerations": [{"operator": "Exists"}]}});
    world.send(Method::Post, "/api/v1/namespaces/shop/pods", pod);
    let status = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    world.send(Method::Patch, "/api/v1/namespaces/shop/pods/p/status", status);
    world.pass(Span::from_secs(30));
    assert_eq!(is_ready(&world, "p"), Some(true));
}

#[test]
fn a_lost_cluster_keeps_its_pods() {
    let mut world = world(vec![node("a", "x"), node("b", "y"), tolerant("p", "a", 1), tolerant("q", "b", 1)]);
    world.silence(&NodeName::from("a"));
    world.silence(&NodeName::from("b"));
    world.pass(Span::from_secs(600));
    assert_eq!(taints(&world, "a"), UNREACHABLE[1..]);
    assert!(world.get(Kind::Pod, "p").is_some_and(|pod| !pod.meta().is_terminating()));
    world.wake(&NodeName::from("b"));
    post_ready(&mut world, "b", "True");
    world.pass(Span::from_secs(30));
    assert_eq!(taints(&world, "a"), UNREACHABLE);
    assert!(taints(&world, "b").is_empty());
}

#[test]
fn half_a_small_zone_lost_stops_evictions() {
    let mut world = world((1..=4).map(|n| node(&n.to_string(), "x")).collect());
    for name in ["1", "2", "3"] {
        world.silence(&NodeName::from(name));
    }
    world.pass(Span::from_secs(300));
    for name in ["1", "2", "3"] {
        assert_eq!(taints(&world, name), UNREACHABLE[1..]);
    }
}

#[test]
fn cordons_and_pressure_are_taints_too() {
    let mut world = world(vec![node("a", "x")]);
    world.send(Method::Patch, "/api/v1/nodes/a", json!({"spec": {"unschedulable": true}}));
    world.pass(Span::from_millis(20));
    assert_eq!(taints(&world, "a"), ["node.kubernetes.io/unschedulable:NoSchedule"]);
    let body = json!({"status": {"conditions": [{"type": "Ready", "status": "True"},
        {"type": "DiskPressure", "status": "True"}]}});
    world.send(Method::Patch, "/api/v1/nodes/a/status", body);
    world.send(Method::Patch, "/api/v1/nodes/a", json!({"spec": {"unschedulable": false}}));
    world.pass(Span::from_millis(20));
    assert_eq!(taints(&world, "a"), ["node.kubernetes.io/disk-pressure:NoSchedule"]);
}

#[test]
fn nothing_happens_while_nothing_happens() {
    let mut world = world(vec![node("a", "x"), running("p", "a")]);
    world.pass(Span::from_secs(60));
    let before = world.events();
    world.pass(Span::from_secs(86_400));
    assert_eq!(world.events(), before);
}

fn add_taint(world: &mut World, keys: &[&str]) {
    let taints: Vec<Value> = keys.iter().map(|key| json!({"key": key, "effect": "NoExecute"})).collect();
    world.send(Method::Patch, "/api/v1/nodes/a", json!({"spec": {"taints": taints}}));
}

/// A pod that tolerates the taint `m1` for 8 s and `m2` for 3 s.
fn bearing() -> Value {
    let mut pod = running("p", "a");
    pod["spec"]["tolerations"] = json!([
        {"key": "m1", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 8},
        {"key": "m2", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}]);
    pod
}

fn evicted_at(world: &mut World) -> i64 {
    when(world, |world| world.get(Kind::Pod, "p").is_none_or(|pod| pod.meta().is_terminating()))
}

#[test]
fn a_second_taint_does_not_bring_an_eviction_forward() {
    let mut world = world(vec![node("a", "x"), bearing()]);
    add_taint(&mut world, &["m1"]);
    world.pass(Span::from_secs(1));
    add_taint(&mut world, &["m1", "m2"]);
    assert_eq!(evicted_at(&mut world) / 100, 80);
}

#[test]
fn of_two_taints_at_once_the_shorter_counts() {
    let mut world = world(vec![node("a", "x"), bearing()]);
    add_taint(&mut world, &["m1", "m2"]);
    assert_eq!(evicted_at(&mut world) / 100, 30);
}

#[test]
fn an_eviction_is_taken_back_with_its_taint() {
    let mut world = world(vec![node("a", "x"), bearing()]);
    add_taint(&mut world, &["m2"]);
    world.pass(Span::from_secs(2));
    add_taint(&mut world, &[]);
    world.pass(Span::from_secs(60));
    assert!(world.get(Kind::Pod, "p").is_some());
}

#[test]
fn pods_of_a_deleted_node_go_after_the_quarantine() {
    let mut world = world(vec![node("a", "x"), running("p", "a")]);
    world.pass(Span::from_secs(1));
    world.silence(&NodeName::from("a"));
    world.send(Method::Delete, "/api/v1/nodes/a", Value::Null);
    let gone = when(&mut world, |world| world.get(Kind::Pod, "p").is_none());
    assert!((41_000..=61_100).contains(&gone), "{gone}");
}

#[test]
fn a_node_out_of_service_gives_its_pods_up() {
    let mut world = world(vec![node("a", "x"), node("b", "y"), tolerant("p", "a", 1)]);
    world.silence(&NodeName::from("a"));
    world.pass(Span::from_secs(70));
    assert!(world.get(Kind::Pod, "p").is_some_and(|pod| pod.meta().is_terminating()));
    let body =
        json!({"spec": {"taints": [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]}});
    world.send(Method::Patch, "/api/v1/nodes/a", body);
    world.pass(Span::from_millis(20_100));
    assert!(world.get(Kind::Pod, "p").is_none());
}

#[test]
fn a_pod_that_was_never_bound_does_not_wait_for_a_kubelet() {
    let ending = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop", "uid": "p",
        "deletionTimestamp": start(), "deletionGracePeriodSeconds": 30}, "spec": {"containers": []}});
    let mut world = world(vec![ending]);
    world.pass(Span::from_millis(20_100));
    assert!(world.get(Kind::Pod, "p").is_none());
}
