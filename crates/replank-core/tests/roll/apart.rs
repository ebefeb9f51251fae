//! Nodes that are apart from the order: dead ones, those whose drain is at a standstill, and those that are left at the end.

use replank_model::object::condition::ConditionStatus;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_protocol::command::NodeRole;
use replank_protocol::decision::End;
use replank_protocol::mark;
use replank_protocol::waiting::{RollEnd, RollWait, Subject, Waiting, WaitingOn};
use serde_json::{Value, json};

use crate::basics::shop;
use crate::stage::{Stage, job_pod, merge, node, object, plan, pod, replica_set, start, web};

const HOUR: Span = Span::from_minutes(60);
const DAY: Span = Span::from_minutes(24 * 60);
/// Longer ago than any plan here waits for a node to be Ready.
const LONG: Span = Span::from_minutes(180);

fn of(spec: Value) -> Stage {
    let mut all = json!({"target": {"kubernetesVersion": "1.36"}});
    merge(&mut all, spec);
    Stage::new(plan(&["web"], all), shop())
}

/// A node that has not been Ready since a moment; its pods have been deleted, and do not end.
fn silence(stage: &mut Stage, name: &str, since: Time) {
    let mut node = Node::clone(stage.truth.node(&NodeName::from(name)).expect("a node"));
    let ready = node.status.conditions.iter_mut().find(|condition| &*condition.r#type == "Ready");
    let ready = ready.expect("the condition of a node");
    (ready.status, ready.last_transition_time) = (ConditionStatus::Unknown, Some(since));
    stage.broken_nodes.insert(node.name());
    stage.put(node);
    let pods = stage.truth.sorted_pods_on(&NodeName::from(name));
    let pods: Vec<_> = pods.into_iter().map(|pod| (**pod).clone()).collect();
    for mut pod in pods {
        pod.meta.deletion_timestamp = Some(since + Span::from_minutes(6));
        stage.put(pod);
    }
}

/// The pods of a node cannot be evicted.
fn hold(stage: &mut Stage, name: &str) {
    let pods = stage.truth.sorted_pods_on(&NodeName::from(name));
    let keys: Vec<Key> = pods.into_iter().map(|pod| pod.meta.key()).collect();
    stage.stubborn.extend(keys);
}

/// The pods of a node do not end once they are evicted.
fn bind(stage: &mut Stage, name: &str) {
    let pods = stage.truth.sorted_pods_on(&NodeName::from(name));
    let pods: Vec<_> = pods.into_iter().map(|pod| (**pod).clone()).collect();
    for mut pod in pods {
        pod.meta.finalizers = vec!["example.com/hold".into()];
        stage.put(pod);
    }
}

fn is_cordoned(stage: &Stage, name: &str) -> bool {
    stage.truth.node(&NodeName::from(name)).expect("a node that is left").spec.unschedulable
}

fn begun(stage: &Stage, name: &str) -> Option<Time> {
    stage.when(&format!("/drain/{name}"))
}

fn blockers(end: End, stage: &Stage) -> Vec<Waiting> {
    match end {
        End::Blocked(blockers) => blockers,
        end @ (End::Done | End::RolledBack(_) | End::Cancelled(_) | End::Refused(_)) => {
            panic!("{end:?}\n{}", stage.story())
        }
    }
}

fn left(stage: &Stage) -> Vec<&str> {
    ["n0", "n1", "n2"].into_iter().filter(|name| stage.truth.node(&NodeName::from(*name)).is_some()).collect()
}

#[test]
fn a_dead_node_takes_no_slot_and_is_no_canary() {
    let mut stage = of(json!({"canary": {"nodes": 1, "soak": "30m"}}));
    silence(&mut stage, "n1", start() - LONG);
    stage.run_until("a canary is begun", HOUR, |stage| {
        begun(stage, "n0").is_some() || begun(stage, "n2").is_some()
    });
    assert!(begun(&stage, "n1").is_some(), "the dead one is begun without a turn\n{}", stage.story());
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    let ended = stage.done.iter().filter(|(_, command, _)| command.key.0.contains("/terminate/")).count();
    assert_eq!(ended, 3, "each once\n{}", stage.story());
}

#[test]
fn a_node_that_is_unready_for_a_moment_is_waited_for_and_drained_in_turn() {
    let mut stage = of(json!({"deadNodes": {"after": "40m"}, "budget": {"surge": 2}}));
    silence(&mut stage, "n1", start());
    stage.run_until("the others are begun", HOUR, |stage| {
        begun(stage, "n0").is_some() && begun(stage, "n2").is_some()
    });
    let until = Some(start() + Span::from_minutes(40));
    let waits = stage.last.waiting.iter().find(|waiting| waiting.what == Subject::Node("n1".into()));
    let on = WaitingOn::Roll(RollWait::NotReady { since: start(), until });
    assert_eq!(waits.map(|waiting| &waiting.on), Some(&on), "{}", stage.story());
    assert_eq!(begun(&stage, "n1"), None, "{}", stage.story());
    // It answers again: its pods end, and it serves.
    stage.broken_nodes.clear();
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    let at = begun(&stage, "n1").expect("it has its turn");
    assert!(at < start() + Span::from_minutes(40), "it is not dead\n{}", stage.story());
}

#[test]
fn a_dead_node_that_the_plan_leaves_is_named_and_keeps_nobody() {
    let mut stage = of(json!({"deadNodes": {"action": "leave"}, "budget": {"surge": 1}}));
    silence(&mut stage, "n1", start() - LONG);
    let end = stage.run(DAY);
    let blockers = blockers(end, &stage);
    let on = WaitingOn::Roll(RollWait::NotReady { since: start() - LONG, until: None });
    let named = blockers.iter().find(|waiting| waiting.what == Subject::Node("n1".into()));
    assert_eq!(named.map(|waiting| &waiting.on), Some(&on), "{blockers:?}");
    assert_eq!(begun(&stage, "n1"), None, "{}", stage.story());
}

#[test]
fn a_drain_at_a_standstill_gives_its_slot_and_its_share_of_the_surge() {
    let mut stage = of(json!({"budget": {"surge": 1}, "order": "oldest"}));
    hold(&mut stage, "n0");
    stage.run_until("another one is begun", HOUR, |stage| begun(stage, "n1").is_some());
    let waited = begun(&stage, "n1").expect("it was just seen") - begun(&stage, "n0").expect("the oldest");
    let patience = Span::from_minutes(10)..Span::from_minutes(12);
    assert!(patience.contains(&waited), "{waited}\n{}", stage.story());
    let role = stage.truth.node(&"n0".into()).and_then(|node| mark::of(node)).map(|found| found.mark.role);
    assert_eq!(role, Some(NodeRole::Postponed { times: 1 }), "{}", stage.story());
    let end = stage.run(DAY);
    blockers(end, &stage);
    assert_eq!(left(&stage), ["n0"], "{}", stage.story());
}

#[test]
fn a_postponed_node_is_taken_up_again_when_its_pods_can_go() {
    let mut stage = of(json!({"budget": {"surge": 1}, "order": "oldest"}));
    hold(&mut stage, "n0");
    stage.run_until("another one is begun", HOUR, |stage| begun(stage, "n1").is_some());
    stage.stubborn.clear();
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert!(stage.when("/drain/n0/1").is_some(), "{}", stage.story());
}

#[test]
fn nodes_that_come_to_a_standstill_each_time_are_left_alone_in_the_end() {
    let mut stage = of(json!({"budget": {"surge": 1}, "order": "oldest"}));
    for name in ["n0", "n1"] {
        hold(&mut stage, name);
    }
    let end = stage.run(DAY);
    let blockers = blockers(end, &stage);
    assert_eq!(left(&stage), ["n0", "n1"], "{}", stage.story());
    let given_up = WaitingOn::RollEnd(RollEnd::Postponed { times: 3 });
    assert!(blockers.iter().any(|waiting| waiting.on == given_up), "{blockers:?}\n{}", stage.story());
    for name in ["n0", "n1"] {
        let part = format!("/postpone/{name}/");
        let times = stage.done.iter().filter(|(_, command, _)| command.key.0.contains(&part)).count();
        assert!(times <= 3, "{name}: {times}");
    }
}

/// Whether n0 is cordoned at the end of a run that could not empty it, and what its mark says.
fn at_the_end(keep: fn(&mut Stage, &str), spec: Value) -> (bool, Option<NodeRole>) {
    let mut stage = of(spec);
    keep(&mut stage, "n0");
    let end = stage.run(DAY);
    blockers(end, &stage);
    assert_eq!(left(&stage), ["n0"], "{}", stage.story());
    let node = stage.truth.node(&"n0".into()).expect("it is left");
    let found = mark::of(node).map(|found| found.mark);
    // A later run may take it over at once.
    assert!(found.as_ref().is_none_or(|mark| mark.expires <= stage.now), "{found:?}");
    (node.spec.unschedulable, found.map(|mark| mark.role))
}

#[test]
fn what_is_left_is_cordoned_at_the_end_as_the_plan_says() {
    let begun = |word: &str| at_the_end(hold, json!({"order": "oldest", "atEnd": word}));
    assert!(matches!(at_the_end(hold, json!({"order": "oldest"})), (true, Some(NodeRole::Draining { .. }))));
    assert!(matches!(begun("keepBegun"), (true, Some(NodeRole::Draining { .. }))));
    assert!(matches!(begun("keep"), (true, Some(NodeRole::Draining { .. }))));
    assert_eq!(begun("uncordon"), (false, None));
}

#[test]
fn what_was_postponed_is_cordoned_again_where_the_plan_keeps_what_is_left() {
    let postponed =
        |word: &str| at_the_end(bind, json!({"order": "oldest", "budget": {"surge": 1}, "atEnd": word}));
    assert_eq!(postponed("keepBegun"), (false, None));
    assert_eq!(postponed("uncordon"), (false, None));
    assert_eq!(postponed("keep"), (true, Some(NodeRole::Queued)));
}

#[test]
fn what_was_never_begun_is_cordoned_at_the_end_as_the_plan_says() {
    // A group that launches nothing after its first new node: the deadline comes before the second.
    let kept = |word: &str| {
        let mut stage =
            of(json!({"order": "oldest", "budget": {"surge": 1}, "deadline": "8m", "atEnd": word,
            "pace": {"betweenNodes": "1h"}}));
        let end = stage.run(DAY);
        blockers(end, &stage);
        assert_eq!(left(&stage), ["n1", "n2"], "{}", stage.story());
        (is_cordoned(&stage, "n1"), is_cordoned(&stage, "n2"))
    };
    assert!(!kept("keepBegun").1);
    assert_eq!(kept("uncordon"), (false, false));
    assert_eq!(kept("keep"), (true, true));
}

#[test]
fn a_batch_pod_that_came_when_nodes_took_pods_again_has_kept_nobody() {
    // Nothing fits anywhere, and a pod of a Job has no node until the cordons are off.
    let spec = json!({"budget": {"surge": 0, "maxUnavailable": 1}, "progressDeadline": "10m"});
    let mut stage = of(spec);
    stage.run_until("all are cordoned", HOUR, |stage| {
        ["n0", "n1", "n2"].iter().all(|name| is_cordoned(stage, name))
    });
    let mut waiting = job_pod("late", "n0");
    merge(
        &mut waiting,
        json!({"spec": {"nodeName": null}, "status": {"phase": "Pending", "startTime": null, "conditions": null}}),
    );
    stage.put(object(waiting));
    let end = stage.run(DAY);
    let blockers = blockers(end, &stage);
    let late = Key::new("shop", "late");
    let found = stage.truth.pods.by_key(&late).and_then(|pod| pod.node.clone());
    assert!(found.is_some(), "it has a node in the end\n{}", stage.story());
    assert!(blockers.iter().all(|waiting| waiting.what != Subject::Pod(late.clone())), "{blockers:?}");
    assert_eq!(left(&stage), ["n0", "n1", "n2"], "{}", stage.story());
}

/// Three nodes in zones a, b, c. Jobs run on n1 for half an hour and on n2 for days; with the Job on n1 is a pod that can be in zone b only, and new nodes come up in c, a
/// and then b.
fn pinned(spec: Value) -> Stage {
    let mut objects = vec![replica_set("web", 1, "1")];
    objects.extend(["a", "b", "c"].iter().enumerate().map(|(at, zone)| node(&format!("n{at}"), "web", zone)));
    let mut bound = web("web-b", "n1", "web");
    merge(&mut bound, json!({"spec": {"nodeSelector": {"topology.kubernetes.io/zone": "b"}}}));
    objects.extend([bound, job_pod("short", "n1"), job_pod("long", "n2")]);
    let mut all =
        json!({"target": {"kubernetesVersion": "1.36"}, "batch": {"wait": "48h"}, "progressDeadline": "10m"});
    merge(&mut all, spec);
    let mut stage = Stage::new(plan(&["web"], all), objects);
    stage.prefers_last_zone = true;
    stage.jobs = vec![
        ("short".to_owned(), start() + Span::from_minutes(30) + Span::from_secs(7)),
        ("long".to_owned(), start() + DAY * 3),
    ];
    stage
}

#[test]
fn what_is_left_of_the_surge_is_taken_for_pods_that_have_no_room_on_the_new_nodes() {
    let mut stage = pinned(json!({"budget": {"surge": 2}}));
    stage.run_until("the pod that is bound to a zone has moved", HOUR * 2, |stage| left(stage) == ["n2"]);
    let group = &stage.truth.groups()["web"];
    assert!(group.size.desired <= 5, "no more than the surge\n{}", stage.story());
}

#[test]
fn a_run_goes_on_when_what_it_waited_for_has_ended_however_long_nothing_moved() {
    let mut objects = vec![replica_set("web", 2, "1")];
    objects.extend(["n0", "n1"].map(|name| node(name, "web", "a")));
    objects.extend([web("web-0", "n0", "web"), web("web-1", "n1", "web"), job_pod("short", "n1")]);
    let spec = json!({"target": {"kubernetesVersion": "1.36"}, "budget": {"surge": 1, "maxUnavailable": 1}, "progressDeadline": "10m"});
    let mut stage = Stage::new(plan(&["web"], spec), objects);
    stage.jobs = vec![("short".to_owned(), start() + Span::from_minutes(30) + Span::from_secs(7))];
    let later = start() + Span::from_minutes(25);
    stage.run_until("nothing moves any more", HOUR, |stage| stage.now >= later);
    // Somebody fills the new nodes: when the Job ends there is room on none of them, and a minute later it is asked for another one.
    let nodes = stage.truth.nodes.sorted();
    let new: Vec<String> =
        nodes.iter().map(|(_, node)| node.name().to_string()).filter(|name| name != "n1").collect();
    for (at, name) in new.iter().enumerate() {
        let big =
            json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2500m"}}}]}});
        stage.put(object(pod(&format!("big-{at}"), name, ("apps/v1", "ReplicaSet", "big"), big)));
    }
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
}

#[test]
fn room_that_is_there_already_counts() {
    // A run that went before has left a new node with room, and one node may be missing: nobody waits for the surge.
    let begin = |version: &str| {
        let mut objects = shop();
        let mut there = node("n3", "web", "a");
        there["status"]["nodeInfo"]["kubeletVersion"] = json!(version);
        objects.push(there);
        let spec =
            json!({"target": {"kubernetesVersion": "1.36"}, "budget": {"surge": 1, "maxUnavailable": 1}});
        let mut stage = Stage::new(plan(&["web"], spec), objects);
        stage.run_until("a pod is evicted", HOUR, |stage| stage.when("/evict/").is_some());
        stage.when("/evict/").expect("it was just seen") - start()
    };
    let (there, not_there) = (begin("v1.36.0"), begin("v1.34.2"));
    assert!(there < Span::from_secs(15), "{there}");
    assert!(not_there > Span::from_secs(45), "the first new node is waited for: {not_there}");
}
