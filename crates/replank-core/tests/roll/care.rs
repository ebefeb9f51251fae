//! Waves, windows, pauses, health, retention, refusal.

use std::collections::BTreeMap;

use replank_core::Preflight;
use replank_model::object::Object;
use replank_model::object::cloud::GroupSize;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::{ContainerState, ContainerStatus, ContainerTerminated, Pod};
use replank_model::time::{Span, Time};
use replank_protocol::decision::End;
use replank_protocol::intent::Intent;
use replank_protocol::mark::{self, Ailment, Illness, Whose};
use replank_protocol::waiting::{RollWait, RunEnd, Subject, Waiting, WaitingOn};
use serde_json::{Value, json};

use crate::basics::shop;
use crate::stage::{Stage, budget, node, object, plan, replica_set, start, web};

const HOUR: Span = Span::from_minutes(60);
const DAY: Span = Span::from_minutes(24 * 60);

fn stage(spec: Value) -> Stage {
    let mut all = json!({"target": {"kubernetesVersion": "1.36"}});
    crate::stage::merge(&mut all, spec);
    Stage::new(plan(&["web"], all), shop())
}

/// When drains were begun.
fn drains(stage: &Stage) -> Vec<Span> {
    let begun =
        stage.done.iter().filter(|(_, command, result)| command.key.0.contains("/drain/") && result.is_ok());
    begun.map(|(at, ..)| *at - start()).collect()
}

fn cordoned(stage: &Stage) -> usize {
    stage.truth.nodes.sorted().iter().filter(|(_, node)| node.spec.unschedulable).count()
}

fn as_before(stage: &Stage) {
    assert_eq!(
        stage.truth.groups()["web"].size,
        GroupSize { min: 0, max: 3, desired: 3 },
        "{}",
        stage.story()
    );
    for (_, node) in stage.truth.nodes.sorted() {
        assert_eq!(mark::of(node), None, "{}", stage.story());
    }
}

#[test]
fn between_waves_the_run_stands_still_and_old_nodes_take_pods() {
    let mut stage = stage(json!({"waves": [1, "60%", "100%"], "bake": "2h"}));
    stage.run_until("the first wave baked", HOUR, |stage| {
        matches!(stage.seen.get("bake"), Some((_, WaitingOn::Roll(RollWait::Bake { wave: 1, .. }))))
    });
    stage.run_until("what was not begun is released", HOUR, |stage| cordoned(stage) == 0);
    assert_eq!(stage.run(DAY), End::Done);
    let drains = drains(&stage);
    assert_eq!(drains.len(), 3, "{}", stage.story());
    assert!(drains[1] - drains[0] > Span::from_minutes(120), "{drains:?}");
    assert!(drains[2] - drains[1] > Span::from_minutes(120), "{drains:?}");
    as_before(&stage);
    assert!(stage.truth.groups()["web"].tags.is_empty());
}

#[test]
fn a_bake_outlives_a_restart() {
    let mut stage = stage(json!({"waves": [1, "100%"], "bake": "1h"}));
    stage.run_until("a bake", HOUR, |stage| stage.seen.contains_key("bake"));
    let Some((_, WaitingOn::Roll(RollWait::Bake { until, .. }))) = stage.seen.get("bake").cloned() else {
        panic!()
    };
    for _ in 0..1000 {
        stage.tick();
    }
    stage.restart();
    stage.tick();
    let again = stage.last.waiting.iter().find(|waiting| waiting.on.kind() == "bake");
    assert_eq!(
        again.map(|waiting| waiting.on.clone()),
        Some(WaitingOn::Roll(RollWait::Bake { wave: 1, until }))
    );
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
}

#[test]
fn outside_of_the_windows_nothing_is_begun_and_no_pod_is_moved() {
    // The stage begins at midnight; a window opens at every half hour but the first, for a minute and a half.
    let windows: Vec<Value> =
        (1..20).map(|hour| json!({"start": format!("{hour:02}:30"), "duration": "90s"})).collect();
    let mut stage = stage(json!({"windows": windows}));
    let end = stage.run(DAY);
    assert_eq!(end, End::Done, "{}", stage.story());
    let in_hour = |at: &Time| (*at - start()).as_millis() % HOUR.as_millis();
    let open = 1_800_000..1_800_000 + 90_000;
    for (at, command, _) in &stage.done {
        let key = &command.key.0;
        if key.contains("/evict/") || key.contains("/drain/") || key.contains("/queue/") {
            assert!(open.contains(&in_hour(at)), "{at} {key}\n{}", stage.story());
        }
    }
    assert!(stage.seen.contains_key("window"));
    as_before(&stage);
}

#[test]
fn windows_that_are_too_short_are_named_when_the_time_is_up() {
    let windows = json!([{"start": "01:00", "duration": "1s"}]);
    let mut stage = stage(json!({"windows": windows, "deadline": "72h"}));
    let End::Blocked(why) = stage.run(DAY * 5) else { panic!("{}", stage.story()) };
    let words = "its windows were open for 3s of 72h: plan longer windows, or a later deadline";
    assert!(why.iter().any(|one| one.on.reason().to_string().contains(words)), "{why:?}");
}

#[test]
fn a_node_half_way_when_a_window_closes_stays_cordoned_and_goes_on_in_the_next() {
    let windows: Vec<Value> =
        (0..12).map(|hour| json!({"start": format!("{hour:02}:00"), "duration": "75s"})).collect();
    let mut stage = stage(json!({"windows": windows, "progressDeadline": "30m"}));
    stage.run_until("the window is closed", HOUR, |stage| stage.now > start() + Span::from_minutes(10));
    let begun: BTreeMap<_, _> = stage
        .truth
        .nodes
        .sorted()
        .into_iter()
        .filter_map(|(_, node)| Some((node.name(), mark::of(node)?.mark.role)))
        .collect();
    assert!(begun.len() <= 1, "what was not begun is released: {begun:?}");
    assert_eq!(cordoned(&stage), begun.len());
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    as_before(&stage);
}

#[test]
fn a_paused_run_begins_nothing_and_goes_on_when_it_is_resumed() {
    let mut stage = stage(json!({"progressDeadline": "30m"}));
    stage.run_until("a drain", HOUR, |stage| !drains(stage).is_empty());
    stage.core.intend(Intent::Paused);
    stage.tick();
    let sent = stage.done.len();
    for _ in 0..7200 {
        assert_eq!(stage.tick(), None);
    }
    let since = &stage.done[sent..];
    assert!(
        since.iter().all(|(_, command, _)| {
            command.key.0.contains("/release/") || command.key.0.ends_with(mark::PAUSED)
        }),
        "only what was not begun is let go, and the pause is written down\n{}",
        stage.story()
    );
    assert_eq!(cordoned(&stage), 1, "the node half way stays cordoned");
    stage.core.intend(Intent::Run);
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    as_before(&stage);
}

#[test]
fn the_end_of_a_pause_outlives_a_restart_at_any_moment_after_it() {
    let limit = Span::from_minutes(30);
    for after in 0..12 {
        let objects = vec![
            node("n0", "web", "a"),
            node("n1", "web", "b"),
            replica_set("web", 1, "1"),
            web("web-x", "n0", "web"),
            budget("web", "web", 1),
        ];
        let spec = json!({"target": {"kubernetesVersion": "1.36"}, "progressDeadline": "30m"});
        let mut stage = Stage::new(plan(&["web"], spec), objects);
        stage.run_until("a budget in the way", HOUR, |stage| stage.seen.contains_key("budget"));
        // Twice, so that the record of the first pause is not mistaken for that of the second.
        for _ in 0..2 {
            stage.core.intend(Intent::Paused);
            let resumed = stage.now + HOUR;
            while stage.now < resumed {
                assert_eq!(stage.tick(), None);
            }
            stage.core.intend(Intent::Run);
            for tick in 0..60 {
                if tick == after {
                    stage.restart();
                }
                assert_eq!(stage.tick(), None, "after {after} s\n{}", stage.story());
            }
        }
        let resumed = stage.now - Span::from_secs(60);
        let End::Blocked(why) = stage.run(DAY) else { panic!("{}", stage.story()) };
        let stalled = why.iter().find_map(|waiting| {
            let WaitingOn::RunEnd(RunEnd::Stalled { since, .. }) = waiting.on else { return None };
            Some(since)
        });
        let since = stalled.expect("it halts for want of progress");
        assert!((resumed..resumed + Span::from_secs(20)).contains(&since), "{since}, resumed {resumed}");
        assert!(stage.now >= since + limit);
        let tags = &stage.truth.groups()["web"].tags;
        assert!(!tags.contains_key(mark::PAUSED) && !tags.contains_key(mark::RESUMED), "{tags:?}");
    }
}

#[test]
fn nodes_are_kept_cordoned_and_ended_when_their_time_is_over() {
    let mut stage = stage(json!({"retain": {"capacity": "cordoned", "for": "3h"}}));
    stage.run_until("retention", HOUR, |stage| stage.seen.contains_key("retained"));
    assert_eq!(cordoned(&stage), 3, "{}", stage.story());
    assert_eq!(stage.truth.nodes.len(), 6);
    let pods = stage.truth.pods.sorted();
    for (_, pod) in pods {
        let node = stage.truth.node(pod.node.as_ref().expect("bound")).expect("there");
        assert_eq!(&*node.status.node_info.kubelet_version, "v1.36.0");
    }
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert!(stage.now > start() + HOUR + HOUR + HOUR);
    assert_eq!(stage.truth.nodes.len(), 3);
    as_before(&stage);
    assert!(stage.truth.groups()["web"].tags.is_empty(), "{:?}", stage.truth.groups()["web"].tags);
}

#[test]
fn until_retention_is_over_everything_can_be_put_back() {
    for capacity in ["cordoned", "template"] {
        let mut stage = stage(json!({"retain": {"capacity": capacity, "for": "48h"}}));
        stage.run_until("retention", HOUR, |stage| stage.seen.contains_key("retained"));
        for _ in 0..3600 {
            assert_eq!(stage.tick(), None);
        }
        stage.core.intend(Intent::Undo);
        let launched = stage.names_of_instances();
        let end = stage.run(DAY);
        assert!(matches!(end, End::RolledBack(_)), "{capacity}: {end:?}\n{}", stage.story());
        for (_, node) in stage.truth.nodes.sorted() {
            assert_eq!(&*node.status.node_info.kubelet_version, "v1.34.2", "{}", stage.story());
            assert!(!node.spec.unschedulable);
        }
        let new = stage.names_of_instances().difference(&launched).count();
        assert_eq!(new, if capacity == "cordoned" { 0 } else { 3 }, "{capacity}\n{}", stage.story());
        as_before(&stage);
    }
}

#[test]
fn pods_in_crash_loop_on_the_canary_halt_the_run_and_it_goes_back() {
    for on_failure in ["pause", "rollback"] {
        let mut stage = stage(json!({"canary": {"nodes": 1, "soak": "1h"}, "onFailure": on_failure}));
        stage.run_until("the soak", HOUR, |stage| stage.seen.contains_key("soak"));
        let mut pod = canary_pod(&stage);
        crash(&mut pod);
        stage.put(pod);
        let end = stage.run(DAY);
        let ((End::Blocked(why), "pause") | (End::RolledBack(why), "rollback")) = (&end, on_failure) else {
            panic!("{end:?}\n{}", stage.story())
        };
        assert!(why.iter().any(|waiting| waiting.on.kind() == "unhealthy"), "{why:?}");
        assert_eq!(drains(&stage).len(), if on_failure == "pause" { 1 } else { 2 }, "{}", stage.story());
    }
}

#[test]
fn a_group_that_was_through_goes_back_with_the_others() {
    let spec =
        json!({"target": {"kubernetesVersion": "1.36"}, "onFailure": "rollback", "progressDeadline": "10m"});
    let objects = [vec![node("db-1", "db", "a")], shop()].concat();
    let mut stage = Stage::new(plan(&["db", "web"], spec), objects);
    let pods: Vec<Key> = stage.truth.pods.sorted().iter().map(|(_, pod)| pod.meta.key()).collect();
    stage.stubborn.extend(pods);
    let end = stage.run(DAY);
    assert!(stage.truth.node(&"db-1".into()).is_none(), "it was replaced\n{}", stage.story());
    assert!(matches!(end, End::RolledBack(_)), "{end:?}\n{}", stage.story());
    for (_, node) in stage.truth.nodes.sorted() {
        let version = &node.status.node_info.kubelet_version;
        assert_ne!(&**version, "v1.36.0", "{}\n{}", node.meta.name, stage.story());
    }
}

/// One pod on a new node, while the canary is watched.
fn canary_pod(stage: &Stage) -> Pod {
    let is_new = |node: &Node| &*node.status.node_info.kubelet_version == "v1.36.0";
    let on_new = |pod: &Pod| {
        pod.node.as_ref().and_then(|node| stage.truth.node(node)).is_some_and(|node| is_new(node))
    };
    let pods = stage.truth.pods.sorted();
    let pod = pods.iter().map(|(_, pod)| *pod).find(|pod| on_new(pod));
    Pod::clone(pod.unwrap_or_else(|| panic!("no pod moved\n{}", stage.story())))
}

#[test]
fn pods_that_restart_again_and_again_on_the_canary_halt_the_run_and_it_goes_back() {
    let spec = json!({"canary": {"nodes": 1, "soak": "2h"}, "onFailure": "rollback"});
    for (restarts, ran, halts) in [(2, 15, true), (1, 15, false), (9, 61, false), (9, 10, false)] {
        let mut stage = stage(spec.clone());
        stage.run_until("the soak", HOUR, |stage| stage.seen.contains_key("soak"));
        for _ in 0..3600 {
            assert_eq!(stage.tick(), None);
        }
        // Who decides has just started: what a status says is enough.
        stage.restart();
        let mut pod = canary_pod(&stage);
        restart(&mut pod, restarts, stage.now - Span::from_minutes(ran), stage.now);
        stage.put(pod);
        let end = stage.run(DAY);
        let of_new = |waiting: &Waiting| {
            let WaitingOn::RunEnd(RunEnd::Unhealthy { ailment, .. }) = &waiting.on else { return false };
            *ailment == Ailment { illness: Illness::Restarting, whose: Whose::New, found: 1, max: 0 }
        };
        let is_right = match &end {
            End::RolledBack(why) => halts && why.iter().any(of_new),
            End::Done => !halts,
            End::Blocked(_) | End::Cancelled(_) | End::Refused(_) => false,
        };
        assert!(is_right, "{restarts} restarts, ran for {ran} minutes: {end:?}\n{}", stage.story());
    }
}

#[test]
fn what_restarted_an_hour_ago_does_not_count_any_more() {
    let mut stage = stage(json!({"canary": {"nodes": 1, "soak": "3h"}}));
    stage.run_until("the soak", HOUR, |stage| stage.seen.contains_key("soak"));
    for _ in 0..5400 {
        assert_eq!(stage.tick(), None);
    }
    let mut pod = canary_pod(&stage);
    let ended = stage.now - HOUR;
    restart(&mut pod, 2, ended - Span::from_minutes(15), ended);
    stage.put(pod);
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
}

#[test]
fn restarts_on_old_nodes_do_not_count_and_as_many_as_before_may_restart_on_new_ones() {
    for (before, halts) in [(1, false), (0, true)] {
        let mut stage = stage(json!({"health": {}, "pace": {"betweenNodes": "30m"}}));
        let named = |stage: &Stage, name: &str| {
            let pods = stage.truth.pods.sorted();
            let pod = pods.iter().find(|(_, pod)| pod.meta.name.as_str() == name);
            Pod::clone(pod.expect("it was not moved yet").1)
        };
        if before == 1 {
            let mut pod = named(&stage, "web-y2");
            restart(&mut pod, 7, start() - Span::from_minutes(20), start());
            stage.put(pod);
        }
        stage.run_until("a drain", HOUR, |stage| !drains(stage).is_empty());
        for name in ["web-x2", "web-x1"] {
            let mut pod = named(&stage, name);
            restart(&mut pod, 2, stage.now - Span::from_minutes(20), stage.now);
            stage.put(pod);
        }
        for _ in 0..600 {
            assert_eq!(stage.tick(), None, "old nodes do not count\n{}", stage.story());
        }
        let mut pod = canary_pod(&stage);
        restart(&mut pod, 2, stage.now - Span::from_minutes(15), stage.now);
        stage.put(pod);
        let end = stage.run(DAY);
        assert_eq!(matches!(end, End::Blocked(_)), halts, "{before}: {end:?}\n{}", stage.story());
    }
}

#[test]
fn what_was_wrong_before_is_no_fault_of_the_run() {
    for (max, halts) in [(0, true), (1, false)] {
        let mut objects = shop();
        let mut sick = web("sick", "n0", "other");
        crate::stage::merge(&mut sick, crash_status());
        objects.push(sick);
        objects.push(replica_set("other", 1, "100m"));
        let spec = json!({"target": {"kubernetesVersion": "1.36"}, "health": {"maxCrashLooping": max}});
        let mut stage = Stage::new(plan(&["web"], spec), objects);
        stage.run_until("a drain", HOUR, |stage| !drains(stage).is_empty());
        let pods = stage.truth.pods.sorted();
        let pod =
            pods.iter().find(|(_, pod)| pod.meta.name.as_str() == "web-y2").map(|(_, pod)| (*pod).clone());
        let mut pod = Pod::clone(&pod.expect("it was not moved yet"));
        crash(&mut pod);
        stage.put(pod);
        let end = stage.run(DAY);
        assert_eq!(matches!(end, End::Blocked(_)), halts, "{max}: {end:?}\n{}", stage.story());
    }
}

#[test]
fn nothing_is_begun_where_something_blocks() {
    let objects = || {
        let mut objects = vec![replica_set("web", 1, "1"), budget("web", "web", 1)];
        objects.push(node("n0", "web", "a"));
        objects.push(web("web-x0", "n0", "web"));
        objects
    };
    let spec = json!({"target": {"kubernetesVersion": "1.36"}, "progressDeadline": "10m"});
    let blocks: Preflight = |_, _, _| {
        let on = RunEnd::Finding { rule: "pdb-never-allows".into(), reason: "it lets nothing go".into() };
        vec![Waiting { what: Subject::Object("PodDisruptionBudget shop/web".into()), on: on.into() }]
    };
    let mut stage = Stage::new(plan(&["web"], spec.clone()), objects()).with_preflight(blocks);
    let Some(End::Refused(why)) = stage.tick() else { panic!("{:?}", stage.last) };
    assert!(
        matches!(&why[0].on, WaitingOn::RunEnd(RunEnd::Finding { rule, .. }) if &**rule == "pdb-never-allows"),
        "{why:?}"
    );
    assert!(stage.done.is_empty());
    let mut stage = Stage::new(plan(&["web"], spec), objects());
    assert!(matches!(stage.run(DAY), End::Blocked(_)));
    assert!(!stage.done.is_empty());
}

/// Its container was started again so often; its last run was between these.
fn restart(pod: &mut Pod, restarts: i32, began: Time, ended: Time) {
    let last = ContainerTerminated {
        exit_code: 1,
        started_at: Some(began),
        finished_at: Some(ended),
        ..ContainerTerminated::default()
    };
    pod.status.container_statuses = vec![ContainerStatus {
        name: "c".into(),
        ready: true,
        restart_count: restarts,
        last_state: ContainerState { terminated: Some(last), ..ContainerState::default() },
        ..ContainerStatus::default()
    }]
    .into();
}

fn crash(pod: &mut Pod) {
    let mut sick = web("sick", "n0", "web");
    crate::stage::merge(&mut sick, crash_status());
    let Object::Pod(sick) = object(sick) else { panic!("a pod") };
    pod.status.container_statuses = sick.status.container_statuses.clone();
}

fn crash_status() -> Value {
    json!({"status": {"containerStatuses": [{"name": "c", "restartCount": 7,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}}}]}})
}

/// A node of the present version, or the first one of an old one, with a condition.
fn with_condition(stage: &Stage, is_new: bool, condition: &str, status: &str) -> Node {
    let is_meant = |node: &Node| (&*node.status.node_info.kubelet_version == "v1.36.0") == is_new;
    let nodes = stage.truth.nodes.sorted();
    let node = nodes.iter().map(|(_, node)| *node).find(|node| is_meant(node)).expect("there is one");
    let mut node = Node::clone(node);
    let condition = json!({"type": condition, "status": status, "lastTransitionTime": stage.now});
    node.status.conditions.push(serde_json::from_value(condition).expect("a condition"));
    node
}

#[test]
fn a_bad_condition_of_a_new_node_halts_the_run_and_it_goes_back() {
    for (is_new, condition, status, halts) in [
        (true, "MemoryPressure", "True", true),
        (true, "DiskPressure", "True", true),
        (true, "PIDPressure", "True", true),
        (true, "NetworkUnavailable", "True", true),
        (true, "MemoryPressure", "False", false),
        (true, "MemoryPressure", "Unknown", false),
        (true, "EtcdIsVoter", "True", false),
        // Of an old one it is no fault of the new image.
        (false, "MemoryPressure", "True", false),
    ] {
        let mut stage = stage(json!({"canary": {"nodes": 1, "soak": "2h"}, "onFailure": "rollback"}));
        stage.run_until("the soak", HOUR, |stage| stage.seen.contains_key("soak"));
        let node = with_condition(&stage, is_new, condition, status);
        let name = node.name();
        stage.put(node);
        // Who decides has just started: what a node says is enough.
        stage.restart();
        let end = stage.run(DAY);
        let is_named = |waiting: &Waiting| {
            let WaitingOn::Roll(RollWait::BadCondition { condition: named }) = &waiting.on else {
                return false;
            };
            waiting.what == Subject::Node(name.clone()) && **named == *condition
        };
        let of_new = |waiting: &Waiting| {
            let WaitingOn::RunEnd(RunEnd::Unhealthy { ailment, .. }) = &waiting.on else { return false };
            *ailment == Ailment { illness: Illness::NodeCondition, whose: Whose::New, found: 1, max: 0 }
        };
        let is_right = match &end {
            End::RolledBack(why) => halts && why.iter().any(of_new) && why.iter().any(is_named),
            End::Done => !halts,
            End::Blocked(_) | End::Cancelled(_) | End::Refused(_) => false,
        };
        assert!(is_right, "{condition} {status}, new: {is_new}: {end:?}\n{}", stage.story());
    }
}

#[test]
fn as_many_new_nodes_with_a_bad_condition_as_the_plan_allows_halt_nothing() {
    let spec = json!({"canary": {"nodes": 1, "soak": "2h"}, "health": {"maxBadNodes": 1}});
    let mut stage = stage(spec);
    stage.run_until("the soak", HOUR, |stage| stage.seen.contains_key("soak"));
    let node = with_condition(&stage, true, "DiskPressure", "True");
    stage.put(node);
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
}
