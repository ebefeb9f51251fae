//! Somebody else replaces the nodes: the run drains them, and waits.

use std::collections::BTreeSet;

use replank_model::object::Object;
use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::time::{Span, Time};
use replank_protocol::command::{Effect, KubernetesEffect, NodeRole};
use replank_protocol::decision::End;
use replank_protocol::intent::Intent;
use replank_protocol::mark;
use replank_protocol::record::{self, RunRecord};
use replank_protocol::waiting::{RollEnd, Waiting, WaitingOn};
use serde_json::{Value, json};

use crate::basics::shop;
use crate::stage::{Stage, job_pod, node, object, plan};

const DAY: Span = Span::from_minutes(24 * 60);

fn spec() -> Value {
    json!({"provider": "external", "budget": null, "target": {"kubernetesVersion": "1.36"}})
}

/// The shop, and a node of another group with room for the pods of one node.
fn objects() -> Vec<Value> {
    let mut objects = shop();
    objects.push(node("spare", "other", "a"));
    objects
}

/// With somebody who replaces each node so long after it is empty.
fn stage(spec: Value, replaces_after: Option<Span>) -> Stage {
    let mut stage = Stage::new(plan(&["web"], spec), objects());
    stage.replaces_after = replaces_after;
    stage
}

#[test]
fn every_node_is_drained_and_its_successor_waited_for() {
    let mut stage = stage(spec(), Some(Span::from_minutes(5)));
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    let web: Vec<_> = stage.truth.nodes.sorted().into_iter().map(|(_, node)| node.clone()).collect();
    assert_eq!(web.len(), 4);
    for node in web {
        assert_eq!(mark::of(&node), None);
        assert!(!node.spec.unschedulable);
        let is_new = node.meta.name.as_str().starts_with("web-");
        assert_eq!(&*node.status.node_info.kubelet_version == "v1.36.0", is_new, "{}", node.meta.name);
    }
    let evictions = stage.done.iter().filter(|(_, command, _)| {
        matches!(command.effect, Effect::Kubernetes(KubernetesEffect::Evict { .. }))
    });
    assert_eq!(evictions.count(), 6, "every pod moves once\n{}", stage.story());
    for kind in ["replacement", "successor", "available"] {
        assert!(stage.seen.contains_key(kind), "{kind}: {:?}", stage.seen.keys());
    }
    assert!(stage.done.iter().all(|(_, command, _)| matches!(command.effect, Effect::Kubernetes(_))));
    assert!(record::all(&stage.truth).is_empty(), "the record goes at the end");
}

fn node_of(stage: &Stage, name: &str) -> Node {
    Node::clone(stage.truth.node(&name.into()).expect("it is there"))
}

fn role(stage: &Stage, name: &str) -> Option<NodeRole> {
    mark::of(&node_of(stage, name)).map(|found| found.mark.role)
}

/// Names of nodes that bear a role, in order.
fn with_role(stage: &Stage, wanted: NodeRole) -> Vec<String> {
    let nodes = stage.truth.nodes.sorted();
    let found =
        nodes.iter().filter(|(_, node)| mark::of(node).is_some_and(|found| found.mark.role == wanted));
    found.map(|(_, node)| node.meta.name.to_string()).collect()
}

fn kinds(why: &[Waiting]) -> BTreeSet<&'static str> {
    why.iter().map(|waiting| waiting.on.kind()).collect()
}

/// No mark is left, and nothing is cordoned.
fn assert_is_clean(stage: &Stage) {
    for (_, node) in stage.truth.nodes.sorted() {
        assert_eq!(mark::of(node), None, "{}\n{}", node.meta.name, stage.story());
        let is_ours = node.spec.taints.iter().any(|taint| taint.key.starts_with("replank.dev"));
        assert!(!node.spec.unschedulable && !is_ours, "{}", stage.story());
    }
}

#[test]
fn where_there_are_no_other_nodes_pods_move_onto_old_ones_until_their_turn_comes() {
    let mut stage = Stage::new(plan(&["web"], spec()), shop());
    stage.replaces_after = Some(Span::from_minutes(5));
    stage.run_until("a drain", DAY, |stage| stage.when("/drain/").is_some());
    stage.tick();
    assert_eq!(with_role(&stage, NodeRole::Listed).len(), 2, "{}", stage.story());
    for name in with_role(&stage, NodeRole::Listed) {
        let node = node_of(&stage, &name);
        assert!(!node.spec.unschedulable, "it takes pods");
        assert_eq!(node.spec.taints.len(), 1, "and others come before it");
    }
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert_is_clean(&stage);
}

#[test]
fn where_all_old_nodes_are_cordoned_the_pod_is_named_that_has_no_room() {
    let mut with = spec();
    with["external"] = json!({"oldNodes": "cordon"});
    let mut stage = Stage::new(plan(&["web"], with), shop());
    stage.replaces_after = Some(Span::from_minutes(5));
    let End::Blocked(why) = stage.run(DAY) else { panic!("{}", stage.story()) };
    assert!(kinds(&why).contains("room"), "{why:?}");
    assert!(stage.when("/evict/").is_none(), "{}", stage.story());
    for name in ["n0", "n1", "n2"] {
        assert!(!node_of(&stage, name).spec.unschedulable, "what was not begun is released");
    }
}

#[test]
fn a_node_that_nobody_replaces_is_named_and_no_other_is_begun() {
    let mut with = spec();
    with["external"] = json!({"wait": "2h"});
    let mut stage = stage(with, None);
    stage.run_until("an empty node", DAY, |stage| !with_role(stage, NodeRole::Drained).is_empty());
    let since = stage.now;
    let End::Blocked(why) = stage.run(DAY) else { panic!("{}", stage.story()) };
    assert!(kinds(&why).contains("notReplaced"), "{why:?}");
    let waited = stage.now - since;
    assert!(waited >= Span::from_minutes(119) && waited <= Span::from_minutes(185), "{waited}");
    assert_eq!(stage.keys_done().iter().filter(|key| key.0.contains("/drain/")).count(), 1);
    assert_eq!(with_role(&stage, NodeRole::Drained).len(), 1, "it stays as it is, for somebody may yet come");
    assert!(record::all(&stage.truth).len() == 1, "it may be undone");
    // Somebody has come, and the plan is run again.
    stage.replaces_after = Some(Span::ZERO);
    for _ in 0..120 {
        stage.tick();
    }
    stage.remove(Object::Other(record::all(&stage.truth)[0].holder.clone()));
    stage.run_again("later");
    stage.replaces_after = Some(Span::from_minutes(1));
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert_is_clean(&stage);
}

#[test]
fn a_successor_that_does_not_come_is_named() {
    let mut with = spec();
    with["external"] = json!({"wait": "2h"});
    let mut stage = stage(with, Some(Span::from_minutes(1)));
    stage.barren.insert("web".into());
    stage.run_until("a node that is gone", DAY, |stage| stage.truth.nodes.sorted().len() == 3);
    let gone = stage.now;
    // What is waited for since when outlives whoever waits.
    for _ in 0..600 {
        assert_eq!(stage.tick(), None, "{}", stage.story());
    }
    assert!(stage.resume());
    let End::Blocked(why) = stage.run(DAY) else { panic!("{}", stage.story()) };
    let missing = why.iter().find_map(|waiting| {
        let WaitingOn::RollEnd(RollEnd::NoSuccessor { ready, wanted, since, .. }) = &waiting.on else {
            return None;
        };
        Some((*ready, *wanted, *since))
    });
    let (ready, wanted, since) = missing.unwrap_or_else(|| panic!("{why:?}"));
    assert_eq!((ready, wanted), (2, 3));
    assert!(since - gone <= Span::from_secs(3), "{since}");
    assert_eq!(stage.keys_done().iter().filter(|key| key.0.contains("/drain/")).count(), 1);
}

#[test]
fn a_new_node_that_is_not_as_the_plan_says_is_named_and_not_drained_again() {
    let mut stage = stage(spec(), Some(Span::from_minutes(1)));
    stage.brings = Some("v1.35.0");
    let End::Blocked(why) = stage.run(DAY) else { panic!("{}", stage.story()) };
    assert!(kinds(&why).contains("otherNode"), "{why:?}");
    assert!(why.iter().any(|waiting| waiting.to_string().contains("v1.35.0")), "{why:?}");
    let new: Vec<_> = stage.truth.nodes.sorted();
    let new = new.iter().filter(|(_, node)| node.meta.name.as_str().starts_with("web-"));
    for (_, node) in new {
        assert_eq!(mark::of(node), None, "{}", stage.story());
    }
}

#[test]
fn a_node_whose_kubelet_was_upgraded_in_place_is_its_own_successor() {
    let mut stage = stage(spec(), None);
    for _ in 0..3 {
        stage.run_until("an empty node", DAY, |stage| !with_role(stage, NodeRole::Drained).is_empty());
        let name = with_role(&stage, NodeRole::Drained)[0].clone();
        let mut node = node_of(&stage, &name);
        node.status.node_info.kubelet_version = "v1.36.1".into();
        stage.put(node);
        for _ in 0..3 {
            if stage.tick().is_some() {
                break;
            }
        }
        assert_eq!(role(&stage, &name), None, "it is released\n{}", stage.story());
    }
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert_is_clean(&stage);
    assert_eq!(stage.truth.nodes.sorted().len(), 4, "no node has come or gone");
    // A process that is killed in between leaves a node that another one uncordons, as the record says.
    let last = |word: &str| {
        let done = stage.done.iter().filter(|(_, command, _)| command.key.0.contains(word));
        done.map(|(at, _, _)| *at).max().unwrap_or_else(|| panic!("no {word}\n{}", stage.story()))
    };
    assert!(last("/record-end/") > last("/release/"), "{}", stage.story());
}

/// Somebody upgrades the kubelet of the node that is empty; it is not Ready from then on.
fn upgraded_and_away(stage: &mut Stage) -> String {
    stage.run_until("an empty node", DAY, |stage| !with_role(stage, NodeRole::Drained).is_empty());
    let name = with_role(stage, NodeRole::Drained)[0].clone();
    let mut away = node_of(stage, &name);
    away.status.node_info.kubelet_version = "v1.36.1".into();
    stage.broken_nodes.insert(away.name());
    stage.put(with_ready(away, stage.now, ConditionStatus::Unknown));
    name
}

fn with_ready(mut node: Node, at: Time, status: ConditionStatus) -> Node {
    let mut ready = condition::find(&node.status.conditions, "Ready").expect("it has one").clone();
    (ready.status, ready.last_transition_time) = (status, Some(at));
    node.status.conditions = vec![ready].into();
    node
}

#[test]
fn a_node_that_is_not_ready_after_its_upgrade_is_waited_for() {
    let mut stage = stage(spec(), None);
    for _ in 0..3 {
        let name = upgraded_and_away(&mut stage);
        let drains = stage.keys_done().len();
        for _ in 0..300 {
            assert_eq!(stage.tick(), None, "{}", stage.story());
        }
        assert_eq!(role(&stage, &name), Some(NodeRole::Drained), "{}", stage.story());
        assert_eq!(stage.keys_done().len(), drains, "nothing else is begun\n{}", stage.story());
        assert!(stage.seen.contains_key("nodeReady"), "{:?}", stage.seen.keys());
        stage.broken_nodes.clear();
        stage.put(with_ready(node_of(&stage, &name), stage.now, ConditionStatus::True));
        stage.run_until("its release", DAY, |stage| role(stage, &name).is_none());
    }
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert_is_clean(&stage);
}

#[test]
fn a_node_that_never_is_ready_after_its_upgrade_is_named_and_left_uncordoned() {
    let mut stage = stage(spec(), None);
    let name = upgraded_and_away(&mut stage);
    let End::Blocked(why) = stage.run(DAY) else { panic!("{}", stage.story()) };
    assert!(kinds(&why).contains("instanceLate"), "{why:?}");
    assert!(why.iter().any(|waiting| waiting.to_string().contains(&name)), "{why:?}");
    assert_is_clean(&stage);
    let mut stage = self::stage(spec(), None);
    upgraded_and_away(&mut stage);
    stage.tick();
    stage.core.intend(Intent::Cancelled);
    assert!(matches!(stage.run(DAY), End::Cancelled(_)), "{}", stage.story());
    assert_is_clean(&stage);
}

/// A canary allows nothing on new nodes: what was on the node before it was upgraded is not on trial, and neither is the node.
#[test]
fn a_canary_that_is_not_ready_after_its_upgrade_in_place_is_waited_for() {
    let mut with = spec();
    with["canary"] = json!({"nodes": 1, "soak": "10m"});
    let agent = json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "shop", "uid": "agent"},
        "spec": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}},
        "status": {"desiredNumberScheduled": 4, "numberReady": 4}});
    let away = |minutes: i64| {
        let mut stage = Stage::new(plan(&["web"], with.clone()), [objects(), vec![agent.clone()]].concat());
        let name = upgraded_and_away(&mut stage);
        // The node controller says so of its pods when it has not heard of the kubelet for a while.
        let key = Key::new("shop", &*format!("agent-{name}"));
        let mut pod = Pod::clone(stage.truth.pods.by_key(&key).expect("each node has one"));
        let mut ready = condition::find(&pod.status.conditions, "Ready").expect("it was Ready").clone();
        (ready.status, ready.last_transition_time) = (ConditionStatus::False, Some(stage.now));
        pod.status.conditions = vec![ready].into();
        stage.put(pod);
        let until = stage.now + Span::from_minutes(minutes);
        let mut end = None;
        while stage.now < until && end.is_none() {
            end = stage.tick();
        }
        (stage, name, end)
    };
    let (mut stage, name, end) = away(12);
    assert_eq!(end, None, "{}", stage.story());
    stage.broken_nodes.clear();
    stage.put(with_ready(node_of(&stage, &name), stage.now, ConditionStatus::True));
    stage.run_until("its release", DAY, |stage| role(stage, &name).is_none());
    let (stage, name, end) = away(24 * 60);
    let Some(End::Blocked(why)) = end else { panic!("{end:?}\n{}", stage.story()) };
    assert!(kinds(&why).contains("instanceLate"), "{why:?}");
    assert!(why.iter().any(|waiting| waiting.to_string().contains(&name)), "{why:?}");
    assert_is_clean(&stage);
}

#[test]
fn without_a_node_that_may_be_missing_a_new_one_comes_first() {
    let mut with = spec();
    with["budget"] = json!({"surge": 0, "maxUnavailable": 0});
    let mut stage = Stage::new(plan(&["web"], with), shop());
    stage.replaces_after = Some(Span::from_minutes(1));
    stage.run_until("a wait", DAY, |stage| stage.seen.contains_key("available"));
    for _ in 0..300 {
        assert_eq!(stage.tick(), None, "{}", stage.story());
    }
    assert!(stage.when("/drain/").is_none(), "{}", stage.story());
    // Somebody adds one.
    let mut extra = node("added", "web", "a");
    extra["metadata"]["creationTimestamp"] = stage.now.to_string().into();
    extra["status"]["nodeInfo"]["kubeletVersion"] = "v1.36.0".into();
    stage.put(object(extra));
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    let evictions = stage.keys_done().into_iter().filter(|key| key.0.contains("/evict/"));
    assert_eq!(evictions.count(), 6, "every pod moves once\n{}", stage.story());
}

#[test]
fn a_canary_is_over_when_its_successor_is_ready_and_has_been_watched() {
    let mut with = spec();
    with["canary"] = json!({"nodes": 1, "soak": "10m"});
    let mut stage = stage(with, Some(Span::from_minutes(1)));
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    let drains: Vec<Time> = stage
        .done
        .iter()
        .filter(|(_, command, result)| command.key.0.contains("/drain/") && result.is_ok())
        .map(|(at, _, _)| *at)
        .collect();
    assert_eq!(drains.len(), 3);
    // A minute until it is replaced, 20 s until it is gone, 50 s until the next is Ready.
    assert!(drains[1] - drains[0] >= Span::from_secs(600 + 120), "{}", stage.story());
    assert!(drains[2] - drains[1] < Span::from_minutes(8), "{}", stage.story());
    assert!(stage.seen.contains_key("soak"), "{:?}", stage.seen.keys());
}

#[test]
fn what_was_called_off_leaves_nothing_and_tells_what_stays_replaced() {
    for (intent, is_right) in [
        (Intent::Cancelled, (|end| matches!(end, End::Cancelled(_))) as fn(&End) -> bool),
        (Intent::Undo, |end| matches!(end, End::RolledBack(_))),
    ] {
        for seconds in [0, 4, 15, 60, 120, 200, 330] {
            let mut stage = stage(spec(), Some(Span::from_minutes(1)));
            for _ in 0..seconds {
                assert_eq!(stage.tick(), None, "{}", stage.story());
            }
            let replaced = 4 - stage
                .truth
                .nodes
                .sorted()
                .iter()
                .filter(|(_, node)| !node.meta.name.as_str().starts_with("web-"))
                .count();
            stage.core.intend(intent);
            let end = stage.run(DAY);
            assert!(is_right(&end), "{seconds}: {end:?}\n{}", stage.story());
            assert_is_clean(&stage);
            let is_halted = !record::all(&stage.truth).is_empty();
            assert_eq!(is_halted, seconds > 0, "that the run has halted stays written, where it had begun");
            if is_halted {
                let done = stage.done.len();
                assert!(stage.resume());
                let again = stage.run(DAY);
                assert!(is_right(&again), "{seconds}: {again:?}\n{}", stage.story());
                assert_eq!(stage.done.len(), done, "{}", stage.story());
            }
            let (End::Cancelled(why) | End::RolledBack(why)) = end else { panic!("{end:?}") };
            assert_eq!(kinds(&why).contains("replacedByOthers"), replaced > 0, "{seconds}: {why:?}");
        }
    }
}

#[test]
fn whoever_decides_may_die_at_any_moment() {
    let fresh = || stage(spec(), Some(Span::from_minutes(1)));
    let mut sound = fresh();
    assert_eq!(sound.run(DAY), End::Done, "{}", sound.story());
    let evictions = |stage: &Stage| {
        let keys = stage.keys_done().into_iter().filter(|key| key.0.contains("/evict/"));
        keys.collect::<Vec<_>>()
    };
    let length = (sound.now - sound.options.started).as_secs();
    for moment in (1..length).step_by(11) {
        let mut stage = fresh();
        let ended = (0..moment).find_map(|_| stage.tick());
        assert_eq!(ended, None, "{}", stage.story());
        if !stage.resume() {
            stage.restart();
        }
        let now = stage.now;
        stage.drops = Box::new(move |at| (at - now).as_secs() % 7 == 0);
        assert_eq!(stage.run(DAY), End::Done, "after {moment} s\n{}", stage.story());
        let moved = evictions(&stage);
        assert_eq!(moved.iter().collect::<BTreeSet<_>>().len(), 6, "after {moment} s\n{}", stage.story());
        assert!(record::all(&stage.truth).is_empty());
        assert_is_clean(&stage);
    }
}

#[test]
fn a_record_that_somebody_deletes_is_written_again_with_what_it_said() {
    let mut stage = stage(spec(), Some(Span::from_minutes(1)));
    stage.run_until("a node that is gone", DAY, |stage| stage.truth.nodes.sorted().len() == 3);
    stage.tick();
    let before = record::all(&stage.truth)[0].record.clone().expect("it can be read");
    stage.remove(Object::Other(record::all(&stage.truth)[0].holder.clone()));
    for _ in 0..5 {
        stage.tick();
    }
    let after = record::all(&stage.truth)[0].record.clone().expect("it can be read");
    let original = |record: &RunRecord| record.groups["web"].notes.get(mark::ORIGINAL_SIZE).cloned();
    assert_eq!(original(&after), original(&before));
    assert_eq!(original(&after).as_deref(), Some("v1 0/3/3"));
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
}

#[test]
fn a_node_that_a_person_has_cordoned_is_none_that_takes_pods() {
    // Nodes with batch pods are cordoned all at once where others take pods; these may be as the plan says already, or go without a wait.
    for (others, is_cordoned, wanted) in [
        (&["v1.36.0"][..], false, 3),
        (&["v1.36.0"], true, 1),
        (&["v1.34.2", "v1.34.2"], false, 3),
        (&["v1.34.2", "v1.34.2"], true, 1),
    ] {
        let mut objects = shop();
        for (number, name) in ["n0", "n1", "n2"].into_iter().enumerate() {
            objects.push(job_pod(&format!("crunch-{number}"), name));
        }
        for (number, version) in others.iter().enumerate() {
            let mut other = node(&format!("other-{number}"), "web", "a");
            other["status"]["nodeInfo"]["kubeletVersion"] = (*version).into();
            if is_cordoned {
                other["spec"]["unschedulable"] = true.into();
            }
            objects.push(other);
        }
        let mut stage = Stage::new(plan(&["web"], spec()), objects);
        for _ in 0..10 {
            assert_eq!(stage.tick(), None, "{}", stage.story());
        }
        let cordoned = ["n0", "n1", "n2"].iter().filter(|name| node_of(&stage, name).spec.unschedulable);
        assert_eq!(cordoned.count(), wanted, "{others:?}, cordoned: {is_cordoned}\n{}", stage.story());
    }
}
