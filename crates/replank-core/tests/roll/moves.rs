//! Rolls into another group.

use replank_model::object::cloud::{GroupSize, ScalingProcess};
use replank_model::object::meta::Key;
use replank_model::time::Span;
use replank_protocol::command::{Effect, GroupEffect, KubernetesEffect, Replacement};
use replank_protocol::decision::End;
use replank_protocol::intent::Intent;
use replank_protocol::mark;
use replank_protocol::waiting::{CapacityWait, RollEnd, RunEnd, Subject, WaitingOn};
use serde_json::{Value, json};

use crate::basics::shop;
use crate::stage::{Stage, job_pod, merge, node, plan, start};

const DAY: Span = Span::from_minutes(24 * 60);

fn into(spec: Value) -> Value {
    let mut all = json!({"target": {"group": "web-new"}});
    merge(&mut all, spec);
    all
}

fn moving(spec: Value) -> Stage {
    Stage::new(plan(&["web"], into(spec)), shop())
}

fn size(stage: &Stage, group: &str) -> (u32, u32, u32) {
    let GroupSize { min, max, desired } = stage.truth.groups()[group].size;
    (min, max, desired)
}

fn nodes_of(stage: &Stage, group: &str) -> usize {
    let nodes = stage.truth.nodes.sorted();
    nodes.iter().filter(|(_, n)| n.meta.labels.value("eks.amazonaws.com/nodegroup") == Some(group)).count()
}

fn evictions(stage: &Stage) -> usize {
    stage
        .done
        .iter()
        .filter(|(_, c, r)| {
            matches!(c.effect, Effect::Kubernetes(KubernetesEffect::Evict { .. })) && r.is_ok()
        })
        .count()
}

/// Groups of the instances that were ended, each with a place less in it.
fn ended_in(stage: &Stage) -> Vec<&str> {
    let ended = stage.done.iter().filter_map(|(_, command, _)| match &command.effect {
        Effect::Group(GroupEffect::Terminate { group, replacement, .. }) => {
            assert!(matches!(replacement, Replacement::Decrement { .. }));
            Some(group.as_str())
        }
        Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => None,
    });
    ended.collect()
}

fn is_clean(stage: &Stage) {
    for group in stage.truth.groups().values() {
        assert!(group.tags.is_empty(), "{} {:?}", group.name, group.tags);
    }
    for (_, node) in stage.truth.nodes.sorted() {
        assert!(mark::of(node).is_none() && !node.spec.unschedulable, "{}", node.meta.name);
    }
}

#[test]
fn what_a_run_that_is_over_had_suspended_on_the_group_that_is_left_is_resumed() {
    let mut stage = moving(json!({}));
    let rebalance = ScalingProcess::AzRebalance;
    stage.group(&"web".into(), |group| {
        group.ways.suspended.insert(rebalance);
        group.tags = group.tags.with(mark::SUSPENDED, mark::process_tag(rebalance));
    });
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert!(stage.truth.groups()["web"].ways.is_active(rebalance), "{}", stage.story());
    is_clean(&stage);
}

/// How a process was set on groups, in the order in which it was.
fn set(stage: &Stage) -> Vec<(&str, bool)> {
    let set = stage.done.iter().filter_map(|(_, command, _)| match &command.effect {
        Effect::Group(GroupEffect::SetProcess { group, is_active, .. }) => {
            Some((group.node_group.as_str(), *is_active))
        }
        Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => None,
    });
    set.collect()
}

#[test]
fn neither_group_balances_its_zones_while_nodes_move_and_both_do_afterwards() {
    let mut stage = moving(json!({}));
    let rebalance = ScalingProcess::AzRebalance;
    for name in ["web", "web-new"] {
        stage.group(&name.into(), |group| {
            group.zones = vec!["a".into(), "b".into()];
            group.ways.suspended.remove(&rebalance);
        });
    }
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    let mut all = set(&stage);
    let ended = stage
        .done
        .iter()
        .position(|(_, command, _)| matches!(command.effect, Effect::Group(GroupEffect::Terminate { .. })));
    let suspended = stage.done.iter().rposition(|(_, command, _)| {
        matches!(command.effect, Effect::Group(GroupEffect::SetProcess { is_active: false, .. }))
    });
    assert!(suspended < ended, "{}", stage.story());
    all.sort_unstable();
    assert_eq!(all, [("web", false), ("web", true), ("web-new", false), ("web-new", true)]);
    for name in ["web", "web-new"] {
        assert!(stage.truth.groups()[name].ways.is_active(rebalance), "{name}: {}", stage.story());
    }
    is_clean(&stage);
}

#[test]
fn the_nodes_of_a_group_move_and_each_pod_once() {
    let mut stage = moving(json!({}));
    assert_eq!(size(&stage, "web-new"), (0, 4, 0), "it holds what moves and the surge");
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert_eq!((size(&stage, "web"), size(&stage, "web-new")), ((0, 3, 0), (0, 4, 3)));
    assert_eq!((nodes_of(&stage, "web"), nodes_of(&stage, "web-new")), (0, 3));
    assert_eq!(evictions(&stage), 6, "{}", stage.story());
    assert_eq!(ended_in(&stage), ["web"; 3]);
    assert!(stage.done.iter().all(|(_, _, result)| result.is_ok()), "{}", stage.story());
    is_clean(&stage);
}

#[test]
fn a_group_at_its_maximum_is_raised_by_what_moves_and_its_own_nodes_stay() {
    let mut objects = shop();
    for (name, zone) in [("m0", "a"), ("m1", "b")] {
        objects.push(node(name, "web-new", zone));
    }
    let spec = into(
        json!({"target": {"kubernetesVersion": "1.36"}, "budget": {"surge": 2}, "pace": {"parallel": 2}}),
    );
    let mut stage = Stage::new(plan(&["web"], spec), objects);
    assert_eq!(size(&stage, "web-new"), (0, 2, 2));
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert_eq!((size(&stage, "web"), size(&stage, "web-new")), ((0, 3, 0), (0, 5, 5)));
    let versions: Vec<_> = stage
        .truth
        .nodes
        .sorted()
        .iter()
        .map(|(_, node)| (node.meta.name.to_string(), node.status.node_info.kubelet_version.to_string()))
        .collect();
    assert_eq!(versions[..2], [("m0".into(), "v1.34.2".into()), ("m1".into(), "v1.34.2".into())]);
    assert!(versions[2..].iter().all(|(_, version)| version == "v1.36.0"), "{versions:?}");
    assert_eq!(evictions(&stage), 6);
    is_clean(&stage);
}

#[test]
fn a_broken_node_of_the_target_group_is_no_loss_of_the_runs() {
    let mut objects = shop();
    let mut broken = node("m0", "web-new", "a");
    broken["status"]["conditions"][0]["status"] = "False".into();
    objects.push(broken);
    objects.push(node("m1", "web-new", "b"));
    let mut stage = Stage::new(plan(&["web"], into(json!({}))), objects);
    // The stage repairs what is not ready and old enough: broken it stays.
    stage.broken_nodes.insert("m0".into());
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert_eq!((nodes_of(&stage, "web"), nodes_of(&stage, "web-new")), (0, 5));
}

#[test]
fn several_groups_move_into_one() {
    let mut objects = shop();
    for (name, zone) in [("k0", "a"), ("k1", "b")] {
        objects.push(node(name, "batch", zone));
    }
    objects.push(job_pod("crunch-1", "k0"));
    let spec = into(json!({"budget": {"surge": "40%"}, "pace": {"parallel": 3}}));
    let mut stage = Stage::new(plan(&["web", "batch"], spec), objects);
    stage.jobs.push(("crunch-1".into(), start() + Span::from_minutes(30)));
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert_eq!((size(&stage, "web"), size(&stage, "batch")), ((0, 3, 0), (0, 2, 0)));
    assert_eq!(size(&stage, "web-new"), (0, 7, 5), "40 % of five nodes are two more");
    assert_eq!(ended_in(&stage), ["batch", "web", "web", "web", "batch"], "the node with the job goes last");
    assert_eq!(evictions(&stage), 6);
    is_clean(&stage);
}

#[test]
fn part_of_a_group_moves() {
    let mut objects = shop();
    objects[2]["status"]["nodeInfo"]["kubeletVersion"] = "v1.35.0".into();
    let spec = into(json!({}));
    let mut all = json!({"kubeletVersion": "<1.35"});
    merge(&mut all, spec);
    let mut stage = Stage::new(plan(&["web"], all), objects);
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert_eq!((size(&stage, "web"), size(&stage, "web-new")), ((0, 3, 1), (0, 3, 2)));
    assert_eq!((nodes_of(&stage, "web"), nodes_of(&stage, "web-new")), (1, 2));
    is_clean(&stage);
}

#[test]
fn a_restart_at_any_time_changes_nothing() {
    let mut quiet = moving(json!({"budget": {"surge": 2}}));
    assert_eq!(quiet.run(DAY), End::Done);
    for every in [1, 3, 20] {
        let mut stage = moving(json!({"budget": {"surge": 2}}));
        let mut end = None;
        while end.is_none() {
            assert!(stage.now < start() + DAY, "{}", stage.story());
            if (stage.now - start()).as_secs() % every == 0 {
                stage.restart();
            }
            end = stage.tick();
        }
        assert_eq!(end, Some(End::Done), "{}", stage.story());
        assert_eq!(
            (size(&stage, "web"), size(&stage, "web-new")),
            (size(&quiet, "web"), size(&quiet, "web-new"))
        );
        assert_eq!(evictions(&stage), 6, "{}", stage.story());
        let ended = |stage: &Stage| {
            stage
                .keys_done()
                .iter()
                .filter(|k| k.0.contains("/terminate/"))
                .cloned()
                .collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(ended(&stage), ended(&quiet));
        is_clean(&stage);
    }
}

#[test]
fn a_minimum_that_would_be_passed_blocks_before_anything_is_done() {
    let mut stage = moving(json!({}));
    stage.group(&"web".into(), |group| group.size.min = 2);
    let End::Blocked(blockers) = stage.run(DAY) else { panic!("{}", stage.story()) };
    let [only] = &blockers[..] else { panic!("{blockers:?}") };
    assert_eq!(only.what, Subject::Group("web".into()));
    assert_eq!(only.on, WaitingOn::RollEnd(RollEnd::GroupMinimum { min: 2, left: 0 }));
    assert!(stage.done.is_empty(), "{}", stage.story());
}

#[test]
fn a_minimum_that_is_raised_meanwhile_blocks_when_it_is_reached() {
    let mut stage = moving(json!({}));
    stage.run_until("an instance is ended", DAY, |stage| stage.when("/terminate/").is_some());
    stage.group(&"web".into(), |group| group.size.min = 1);
    let End::Blocked(blockers) = stage.run(DAY) else { panic!("{}", stage.story()) };
    assert!(
        blockers.iter().any(|b| b.on == WaitingOn::RollEnd(RollEnd::GroupMinimum { min: 1, left: 0 })),
        "{blockers:?}"
    );
    assert_eq!(size(&stage, "web"), (1, 3, 1));
    assert_eq!(ended_in(&stage).len(), 2, "{}", stage.story());
}

#[test]
fn a_run_that_halts_half_way_keeps_its_capacity_and_the_next_one_goes_on() {
    let mut stage = moving(json!({"progressDeadline": "10m"}));
    stage.group(&"web-new".into(), |group| group.size.max = 0);
    stage.sizes.insert("web-new".into(), GroupSize { min: 0, max: 0, desired: 0 });
    stage.run_until("an instance is ended", DAY, |stage| stage.when("/terminate/").is_some());
    let stubborn: Vec<Key> = stage.truth.pods.sorted().iter().map(|(_, pod)| pod.meta.key()).collect();
    stage.stubborn.extend(stubborn);
    let End::Blocked(blockers) = stage.run(DAY) else { panic!("{}", stage.story()) };
    assert!(
        blockers.iter().any(|b| matches!(b.on, WaitingOn::RollEnd(RollEnd::Bounds { .. }))),
        "{blockers:?}"
    );
    // The node whose drain is stalled is not capacity, so the empty new node stays.
    assert_eq!((size(&stage, "web"), size(&stage, "web-new")), ((0, 3, 2), (0, 2, 2)), "{}", stage.story());
    let before = stage.sizes.clone();
    stage.stubborn.clear();
    stage.run_again("again");
    stage.sizes = before;
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert_eq!((size(&stage, "web"), size(&stage, "web-new")), ((0, 3, 0), (0, 3, 3)));
}

#[test]
fn what_has_moved_moves_back_when_the_run_is_taken_back() {
    let mut stage = moving(json!({"target": {"kubernetesVersion": "1.36"}}));
    stage.run_until("an instance is ended", DAY, |stage| stage.when("/terminate/").is_some());
    stage.core.intend(Intent::Undo);
    let end = stage.run(DAY);
    assert!(matches!(end, End::RolledBack(_)), "{end:?}\n{}", stage.story());
    assert_eq!((size(&stage, "web"), size(&stage, "web-new")), ((0, 3, 3), (0, 4, 0)), "{}", stage.story());
    let homes =
        stage.truth.instances().values().filter(|one| one.is_counted() && one.group.as_str() == "web");
    assert_eq!(homes.count(), 3, "{}", stage.story());
    let cordoned = stage.truth.nodes.sorted().into_iter().filter(|(_, node)| node.spec.unschedulable);
    assert_eq!(cordoned.count(), 0, "{}", stage.story());
}

#[test]
fn a_new_node_that_a_halted_run_had_to_leave_is_what_the_next_one_begins_with() {
    let mut stage = moving(json!({"progressDeadline": "10m"}));
    stage.group(&"web-new".into(), |group| group.size.max = 0);
    stage.sizes.insert("web-new".into(), GroupSize { min: 0, max: 0, desired: 0 });
    stage.stubborn.extend(["web-y0", "web-y1", "web-y2"].map(|name| Key::new("shop", name)));
    let End::Blocked(blockers) = stage.run(DAY) else { panic!("{}", stage.story()) };
    assert!(
        blockers.iter().any(|b| matches!(b.on, WaitingOn::RollEnd(RollEnd::Bounds { .. }))),
        "{blockers:?}"
    );
    assert_eq!((size(&stage, "web"), size(&stage, "web-new")), ((0, 3, 3), (0, 1, 1)), "{}", stage.story());
    let written = |group: &str| stage.truth.groups()[group].tags.contains_key(mark::ORIGINAL_SIZE);
    assert!(written("web") && written("web-new"), "the next run is to know what they were");
    let before = stage.sizes.clone();
    stage.stubborn.clear();
    stage.run_again("again");
    stage.sizes = before;
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert_eq!((size(&stage, "web"), size(&stage, "web-new")), ((0, 3, 0), (0, 3, 3)), "{}", stage.story());
    let tags = |group: &str| stage.truth.groups()[group].tags.pairs().len();
    assert_eq!((tags("web"), tags("web-new")), (0, 0), "that the first run halted is cleared, too");
}

#[test]
fn two_runs_do_not_share_a_target_group() {
    let mut objects = shop();
    objects.push(node("k0", "batch", "a"));
    let mut stage = moving(json!({}));
    stage.run_until("the drain is begun", DAY, |stage| stage.when("/drain/").is_some());
    // What the run has written, before the eyes of another one that moves another group into the same.
    let group = stage.truth.groups()["web-new"].clone();
    let marked = stage.truth.node(&"n0".into()).cloned().expect("it is there");
    let mut other = Stage::new(plan(&["batch"], into(json!({}))), objects);
    other.change(replank_model::delta::Delta::Group(group));
    other.put(replank_model::object::node::Node::clone(&marked));
    other.run_again("other");
    let End::Blocked(blockers) = other.run(DAY) else { panic!("{}", other.story()) };
    let is_other =
        |on: &WaitingOn| matches!(on, WaitingOn::RunEnd(RunEnd::OtherRun { run, .. }) if *run == *"run");
    assert!(blockers.iter().any(|blocker| is_other(&blocker.on)), "{blockers:?}");
    let is_note = |key: &str| key == "other/tag/web-new/replank.dev/halted";
    assert!(other.keys_done().iter().all(|key| is_note(&key.0)), "{}", other.story());
}

#[test]
fn a_group_that_is_not_there_is_missing() {
    let mut stage = moving(json!({}));
    stage.change(replank_model::delta::Delta::GroupGone("web-new".into()));
    let End::Blocked(blockers) = stage.run(DAY) else { panic!("{}", stage.story()) };
    assert_eq!(blockers[0].on, WaitingOn::RollEnd(RollEnd::Missing { what: "node group web-new".into() }));
    assert!(stage.done.is_empty());
}

#[test]
fn a_target_group_that_launches_nothing_is_late_and_nothing_moves() {
    let mut stage = moving(json!({}));
    stage.barren.insert("web-new".into());
    let End::Blocked(blockers) = stage.run(DAY) else { panic!("{}", stage.story()) };
    assert!(
        blockers.iter().any(|b| matches!(b.on, WaitingOn::Capacity(CapacityWait::InstanceLate { .. }))),
        "{blockers:?}"
    );
    assert_eq!((evictions(&stage), size(&stage, "web")), (0, (0, 3, 3)));
}

#[test]
fn zones_keep_their_ready_nodes_with_one_more_node() {
    let mut stage = moving(json!({"budget": {"minReadyPerZone": 1}}));
    stage.prefers_last_zone = true;
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    let mut zones: Vec<_> = stage.truth.nodes.sorted().iter().map(|(_, n)| n.zone().cloned()).collect();
    zones.sort();
    zones.dedup();
    assert_eq!(zones.len(), 3);
}
