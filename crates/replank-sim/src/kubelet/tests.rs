//! What nodes of a bad image do to their pods.

use replank_model::delta::Delta;
use replank_model::object::cloud::{
    GroupSize, HealthStatus, Instance, InstanceState, LaunchTemplate, Lifecycle, Market, NodeGroup,
    NodeProfile, NodeShape,
};
use replank_model::object::pod::Pod;
use replank_model::object::{Kind, Object};
use replank_model::text::{GroupName, InstanceId, NodeName};
use replank_model::time::Span;
use serde_json::{Value, json};

use super::{ImageFault, ImageName};
use crate::World;
use crate::testing::{node, world};
use replank_apiserver::DeleteOptions;

/// Two nodes of one group: `old` from the first launch template, `new` from the second.
fn stage() -> World {
    let of = |name: &str| {
        let mut node = node(name, "a");
        node["spec"] = json!({"providerID": format!("aws:///a/i-{name}")});
        node["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        node
    };
    let mut world = world(vec![of("old"), of("new")]);
    let template = |image: &str| LaunchTemplate {
        image: image.into(),
        profile: NodeProfile { shapes: vec![NodeShape::default()], ..NodeProfile::default() },
        ..LaunchTemplate::default()
    };
    let size = GroupSize { min: 0, max: 2, desired: 2 };
    let mut group = NodeGroup::new(GroupName::from("web"), size, vec!["a".into()], template("ami-old"));
    // Versions 2 to 6 were deleted.
    let versions = [group.current.clone(), group.current.at(7)];
    group.templates.insert(versions[1].clone(), template("ami-new"));
    world.request(|api| api.apply_cloud(Delta::Group(group.clone().into())));
    group.current = versions[1].clone();
    world.request(|api| api.apply_cloud(Delta::Group(group.into())));
    for (version, name) in versions.into_iter().zip(["old", "new"]) {
        let instance = Instance {
            id: InstanceId::from(format!("i-{name}").as_str()),
            group: GroupName::from("web"),
            zone: "a".into(),
            state: InstanceState::Running,
            template: version,
            launched: None,
            node: Some(NodeName::from(name)),
            lifecycle: Lifecycle::InService,
            market: Market::OnDemand,
            is_protected: false,
            health: HealthStatus::Healthy,
            targets: Vec::new(),
        };
        world.request(|api| api.apply_cloud(Delta::Instance(instance.into())));
    }
    world
}

fn make(world: &mut World, name: &str, node: &str) {
    world.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}}));
}

/// The pods of a DaemonSet that has one on every node.
fn daemons(world: &World) -> Vec<Pod> {
    let pods = world.view().pods.sorted();
    let all = pods.iter().filter(|(_, pod)| pod.meta.controller().is_some());
    all.map(|(_, pod)| Pod::clone(pod)).collect()
}

fn pod(world: &World, name: &str) -> Option<Pod> {
    match world.get(Kind::Pod, name) {
        Some(Object::Pod(pod)) => Some(Pod::clone(&pod)),
        _ => None,
    }
}

fn delete(world: &mut World, name: &str) {
    let key = pod(world, name).expect("it is there").meta.key();
    let deleted = world.request(|api| api.delete(Kind::Pod, &key, &DeleteOptions::default()));
    deleted.expect("it is there");
}

fn waiting(world: &World, name: &str) -> Value {
    let pod = pod(world, name).expect("it is there");
    let status = &pod.status.container_statuses[0];
    let reason = status.state.waiting.as_ref().map(|waiting| waiting.reason.to_string());
    json!([reason, status.restart_count, pod.is_ready()])
}

#[test]
fn a_kubelet_that_cannot_stop_pods_holds_them_until_it_recovers_or_its_instance_ends() {
    let mut world = stage();
    let image = ImageName::Named("ami-new".into());
    world.image_fault(&image, Some(ImageFault::CannotStop { after: Span::ZERO }));
    for (name, node) in [("a", "old"), ("b", "new"), ("c", "new")] {
        make(&mut world, name, node);
    }
    world.pass(Span::from_secs(10));
    assert!(pod(&world, "b").is_some_and(|pod| pod.is_ready()), "they start like others");
    delete(&mut world, "a");
    delete(&mut world, "b");
    world.pass(Span::from_minutes(10));
    assert!(pod(&world, "a").is_none());
    assert!(pod(&world, "b").is_some_and(|pod| pod.is_terminating()));
    assert!(world.image_was_met(&image));
    world.image_fault(&image, None);
    world.pass(Span::from_secs(5));
    assert!(pod(&world, "b").is_none(), "it is done as soon as it can be");
    world.image_fault(&image, Some(ImageFault::CannotStop { after: Span::ZERO }));
    delete(&mut world, "c");
    world.pass(Span::from_minutes(10));
    assert!(world.end_instance(&NodeName::from("new")));
    assert!(!world.end_instance(&NodeName::from("new")), "it ends already");
    world.pass(Span::from_minutes(10));
    assert!(pod(&world, "c").is_none(), "the end of the instance frees it");
}

#[test]
fn one_machine_may_be_unable_to_stop_pods_whatever_it_was_made_from() {
    let mut world = stage();
    make(&mut world, "a", "old");
    make(&mut world, "b", "new");
    world.pass(Span::from_secs(10));
    let only = ImageName::OfNode(NodeName::from("new"));
    world.image_fault(&only, Some(ImageFault::CannotStop { after: Span::ZERO }));
    delete(&mut world, "a");
    delete(&mut world, "b");
    world.pass(Span::from_minutes(10));
    assert!(pod(&world, "a").is_none());
    assert!(pod(&world, "b").is_some_and(|pod| pod.is_terminating()));
    world.image_fault(&only, None);
    world.pass(Span::from_secs(5));
    assert!(pod(&world, "b").is_none());
}

#[test]
fn an_image_may_be_well_for_a_while() {
    let mut world = stage();
    let image = ImageName::Named("ami-new".into());
    world.image_fault(&image, Some(ImageFault::CannotStop { after: Span::from_minutes(60) }));
    make(&mut world, "a", "new");
    make(&mut world, "b", "new");
    world.pass(Span::from_secs(10));
    delete(&mut world, "a");
    world.pass(Span::from_minutes(1));
    assert!(pod(&world, "a").is_none());
    assert!(!world.image_was_met(&image));
    world.pass(Span::from_minutes(60));
    delete(&mut world, "b");
    world.pass(Span::from_minutes(5));
    assert!(pod(&world, "b").is_some());
}

#[test]
fn containers_crash_and_are_started_again_ever_more_slowly() {
    let mut world = stage();
    world.image_fault(&ImageName::New, Some(ImageFault::Crashes));
    make(&mut world, "old", "old");
    make(&mut world, "bad", "new");
    world.apply(
        json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": {
        "selector": {"matchLabels": {"app": "agent"}}, "template": {"metadata": {"labels": {"app": "agent"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]}}}}),
    );
    // It runs from 0.5 s, crashes at 1.5 s, runs from 2 s, crashes at 3 s, and waits until 13 s.
    world.pass(Span::from_secs(5));
    assert_eq!(waiting(&world, "bad"), json!(["CrashLoopBackOff", 1, false]));
    let message = pod(&world, "bad").expect("it is there").status.container_statuses[0].state.clone();
    let message = message.waiting.expect("it waits").message.to_string();
    assert!(message.starts_with("back-off 10s restarting failed container=c pod=bad_shop("), "{message}");
    assert_eq!(waiting(&world, "old"), json!([null, 0, true]));
    let daemons = daemons(&world);
    assert!(daemons.len() == 2 && daemons.iter().all(Pod::is_ready), "{daemons:?}");
    world.pass(Span::from_secs(10));
    assert_eq!(waiting(&world, "bad"), json!(["CrashLoopBackOff", 2, false]));
    world.pass(Span::from_minutes(30));
    let last = pod(&world, "bad").expect("it is there").status.container_statuses[0].restart_count;
    assert!((8..14).contains(&last), "five minutes apart at last: {last}");
    world.image_fault(&ImageName::New, None);
    world.pass(Span::from_secs(1));
    assert_eq!(waiting(&world, "bad"), json!(["CrashLoopBackOff", last, false]), "the pause goes on");
    world.pass(Span::from_minutes(6));
    assert_eq!(waiting(&world, "bad"), json!([null, last + 1, true]), "the next start is the last");
}

#[test]
fn pods_that_run_crash_when_the_fault_begins() {
    let mut world = stage();
    make(&mut world, "bad", "new");
    world.pass(Span::from_secs(60));
    assert_eq!(waiting(&world, "bad"), json!([null, 0, true]));
    world.image_fault(&ImageName::New, Some(ImageFault::Crashes));
    world.pass(Span::from_secs(5));
    assert_eq!(waiting(&world, "bad"), json!(["CrashLoopBackOff", 1, false]));
}

#[test]
fn pods_of_an_image_that_slows_starts_get_ready_later() {
    let mut world = stage();
    world.image_fault(&ImageName::New, Some(ImageFault::SlowsStarts { by: Span::from_minutes(6) }));
    make(&mut world, "slow", "new");
    make(&mut world, "old", "old");
    world.pass(Span::from_minutes(5));
    assert_eq!(waiting(&world, "slow"), json!([null, 0, false]));
    assert_eq!(waiting(&world, "old"), json!([null, 0, true]));
    world.pass(Span::from_minutes(2));
    assert_eq!(waiting(&world, "slow"), json!([null, 0, true]));
}

#[test]
fn pods_of_an_image_that_restarts_them_come_back_each_time() {
    let mut world = stage();
    world.image_fault(&ImageName::New, Some(ImageFault::RestartsPods { every: Span::from_minutes(15) }));
    make(&mut world, "bad", "new");
    world.pass(Span::from_minutes(10));
    assert_eq!(waiting(&world, "bad"), json!([null, 0, true]));
    world.pass(Span::from_minutes(10));
    assert_eq!(waiting(&world, "bad"), json!([null, 1, true]));
    world.pass(Span::from_minutes(15));
    assert_eq!(waiting(&world, "bad"), json!([null, 2, true]), "ten minutes of running, and no pause");
    world.image_fault(&ImageName::New, None);
    world.pass(Span::from_minutes(60));
    assert_eq!(waiting(&world, "bad"), json!([null, 2, true]));
}

#[test]
fn a_fault_that_begins_anew_has_pods_restart_no_more_often() {
    let mut world = stage();
    let every = ImageFault::RestartsPods { every: Span::from_minutes(15) };
    world.image_fault(&ImageName::New, Some(every));
    make(&mut world, "bad", "new");
    world.pass(Span::from_minutes(5));
    world.image_fault(&ImageName::New, None);
    world.image_fault(&ImageName::New, Some(every));
    world.pass(Span::from_minutes(13));
    assert_eq!(waiting(&world, "bad"), json!([null, 1, true]));
    world.pass(Span::from_minutes(9));
    assert_eq!(waiting(&world, "bad"), json!([null, 1, true]), "what was due at 20m is of the run before");
    world.pass(Span::from_minutes(7));
    assert_eq!(waiting(&world, "bad"), json!([null, 2, true]));
}

#[test]
fn pods_are_kept_unready_and_ready_again_when_the_image_recovers() {
    let mut world = stage();
    make(&mut world, "first", "new");
    world.pass(Span::from_secs(10));
    world.image_fault(&ImageName::New, Some(ImageFault::KeepsUnready));
    make(&mut world, "second", "new");
    make(&mut world, "old", "old");
    world.pass(Span::from_minutes(5));
    assert_eq!(waiting(&world, "first"), json!([null, 0, false]));
    assert_eq!(waiting(&world, "second"), json!([null, 0, false]));
    assert_eq!(waiting(&world, "old"), json!([null, 0, true]));
    world.image_fault(&ImageName::New, None);
    world.pass(Span::from_secs(10));
    assert!(pod(&world, "first").is_some_and(|pod| pod.is_ready()));
    assert!(pod(&world, "second").is_some_and(|pod| pod.is_ready()));
}

#[test]
fn a_node_with_the_name_of_one_whose_machine_went_off_has_a_kubelet_of_its_own() {
    let mut world = stage();
    let id = InstanceId::from("i-new");
    assert!(world.end_instance(&NodeName::from("new")));
    world.pass(Span::from_minutes(10));
    assert!(world.view().node(&NodeName::from("new")).is_none(), "its instance has gone");
    assert!(world.view().instances().get(&id).is_none());

    let mut again = node("new", "a");
    again["spec"] = json!({"providerID": "aws:///a/i-another"});
    world.request(|api| api.apply_json(again)).expect("a node under the free name");
    make(&mut world, "p", "new");
    world.pass(Span::from_secs(30));
    assert!(pod(&world, "p").is_some_and(|pod| pod.is_ready()), "its kubelet starts the pod");
    world.pass(Span::from_minutes(5));
    let stays = world.view().node(&NodeName::from("new")).is_some_and(|node| node.is_ready());
    assert!(stays, "its kubelet is heard of");
    delete(&mut world, "p");
    world.pass(Span::from_minutes(1));
    assert!(pod(&world, "p").is_none(), "its kubelet stops the pod");
}

#[test]
fn a_node_of_a_machine_that_is_off_stays_silent() {
    let mut world = stage();
    world.silence(&NodeName::from("new"));
    make(&mut world, "p", "new");
    world.pass(Span::from_minutes(5));
    assert!(!pod(&world, "p").is_some_and(|pod| pod.is_ready()), "nobody starts it");
    let is_ready = world.view().node(&NodeName::from("new")).is_some_and(|node| node.is_ready());
    assert!(!is_ready, "the node is lost");
}

/// What a node's condition says, and the taints that it has.
fn state(world: &World, name: &str, condition: &str) -> Value {
    let Some(Object::Node(node)) = world.get(Kind::Node, name) else { panic!("no node {name}") };
    let taints: Vec<String> = node.spec.taints.iter().map(|taint| taint.key.to_string()).collect();
    json!([replank_model::object::condition::is_true(&node.status.conditions, condition), taints])
}

/// Phase and reason.
fn end(world: &World, name: &str) -> Value {
    let pod = pod(world, name).expect("it is there");
    json!([format!("{:?}", pod.status.phase), pod.status.reason.to_string()])
}

#[test]
fn a_node_under_pressure_is_tainted_and_its_kubelet_evicts_a_pod_every_ten_seconds() {
    let mut world = stage();
    let image = ImageName::Named("ami-new".into());
    let high = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"},
        "value": 1000});
    world.request(|api| api.apply_json(high)).expect("it is accepted");
    let put = |world: &mut World, name: &str, node: &str, more: Value| {
        let mut spec = json!({"nodeName": node, "containers": [{"name": "c", "image": "i",
            "resources": {"requests": {"memory": "1Gi"}}}]});
        for (key, value) in more.as_object().expect("fields") {
            spec[key] = value.clone();
        }
        world.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}));
    };
    put(&mut world, "important", "new", json!({"priorityClassName": "high"}));
    put(&mut world, "asks", "new", json!({}));
    make(&mut world, "takes", "new");
    put(&mut world, "critical", "new", json!({"priorityClassName": "system-cluster-critical"}));
    make(&mut world, "old", "old");
    world.pass(Span::from_secs(30));
    let fault = ImageFault::Troubles { with: super::NodeTrouble::Memory, after: Span::ZERO };
    world.image_fault(&image, Some(fault));
    world.pass(Span::from_secs(5));
    assert_eq!(state(&world, "new", "MemoryPressure"), json!([true, ["node.kubernetes.io/memory-pressure"]]));
    assert_eq!(state(&world, "old", "MemoryPressure"), json!([false, []]));
    assert!(world.image_was_met(&image));
    // One that requests nothing goes first, then the one of the least priority.
    assert_eq!(end(&world, "takes"), json!(["Failed", "Evicted"]));
    assert_eq!(end(&world, "asks"), json!(["Running", ""]));
    world.pass(Span::from_secs(10));
    assert_eq!(end(&world, "asks"), json!(["Failed", "Evicted"]));
    assert_eq!(end(&world, "important"), json!(["Running", ""]));
    world.pass(Span::from_secs(10));
    assert_eq!(end(&world, "important"), json!(["Failed", "Evicted"]));
    make(&mut world, "late", "new");
    world.pass(Span::from_minutes(2));
    assert_eq!(end(&world, "late"), json!(["Failed", "Evicted"]));
    assert_eq!(end(&world, "critical"), json!(["Running", ""]));
    assert_eq!(end(&world, "old"), json!(["Running", ""]));
    world.image_fault(&image, None);
    world.pass(Span::from_minutes(4));
    assert_eq!(state(&world, "new", "MemoryPressure")[0], json!(true), "it stays for five minutes");
    world.pass(Span::from_minutes(2));
    assert_eq!(state(&world, "new", "MemoryPressure"), json!([false, []]));
}

#[test]
fn pressure_begins_at_an_age_and_a_missing_network_evicts_nobody() {
    let mut world = stage();
    make(&mut world, "app", "new");
    world.pass(Span::from_secs(30));
    // The node is of 2026-01-01T00:00:00Z.
    let born: replank_model::time::Time = "2026-01-01T00:00:00Z".parse().expect("a time");
    let age = world.now() - born;
    let after = age + Span::from_minutes(20);
    let fault = |with| Some(ImageFault::Troubles { with, after });
    world.image_fault(&ImageName::New, fault(super::NodeTrouble::Network));
    world.pass(Span::from_minutes(19));
    assert_eq!(state(&world, "new", "NetworkUnavailable"), json!([false, []]));
    world.pass(Span::from_minutes(2));
    assert_eq!(
        state(&world, "new", "NetworkUnavailable"),
        json!([true, ["node.kubernetes.io/network-unavailable"]])
    );
    world.pass(Span::from_minutes(5));
    assert_eq!(end(&world, "app"), json!(["Running", ""]));
    world.image_fault(&ImageName::New, fault(super::NodeTrouble::Pid));
    world.pass(Span::from_secs(5));
    assert_eq!(state(&world, "new", "PIDPressure"), json!([true, ["node.kubernetes.io/pid-pressure"]]));
    assert_eq!(end(&world, "app"), json!(["Failed", "Evicted"]));
}

#[test]
fn without_dns_what_starts_waits_or_ends_and_what_runs_goes_on() {
    let mut world = stage();
    let put = |world: &mut World, name: &str, node: &str, labels: Value| {
        world.apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i", "readinessProbe": {"tcpSocket": {"port": 80}}}]}}));
    };
    put(&mut world, "before", "new", json!({}));
    world.pass(Span::from_minutes(1));
    world.image_fault(&ImageName::New, Some(ImageFault::BreaksDns));
    put(&mut world, "probed", "new", json!({}));
    put(&mut world, "coredns", "new", json!({"k8s-app": "kube-dns"}));
    make(&mut world, "plain", "new");
    make(&mut world, "old", "old");
    world.pass(Span::from_minutes(2));
    assert_eq!(waiting(&world, "before"), json!([null, 0, true]));
    assert_eq!(waiting(&world, "probed"), json!([null, 0, false]));
    assert_eq!(waiting(&world, "old"), json!([null, 0, true]));
    for name in ["coredns", "plain"] {
        let pod = pod(&world, name).expect("it is there");
        assert!(pod.status.container_statuses[0].restart_count >= 3, "{name}: {}", waiting(&world, name));
    }
    world.image_fault(&ImageName::New, None);
    world.pass(Span::from_minutes(6));
    assert_eq!(waiting(&world, "probed"), json!([null, 0, true]));
    assert!(pod(&world, "plain").is_some_and(|pod| pod.is_ready()));
}
