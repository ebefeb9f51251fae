//! What a run that died has left: a later one waits for it while it holds, clears it when it does not, and completes.

use replank_facts::leftover;
use replank_model::object::cloud::GroupSize;
use replank_model::object::node::Node;
use replank_model::text::{RunId, Text};
use replank_model::time::Span;
use replank_protocol::command::{Mark, NodeRole};
use replank_protocol::decision::End;
use replank_protocol::mark;
use replank_protocol::owner::Owner;
use replank_protocol::waiting::{RunEnd, Subject, Waiting, WaitingOn};
use serde_json::json;

use crate::basics::shop;
use crate::stage::{Stage, node, object, plan, start};

const DAY: Span = Span::from_minutes(24 * 60);
const TEN_DAYS: Span = Span::from_minutes(10 * 24 * 60);

fn stage() -> Stage {
    Stage::new(plan(&["web"], json!({"target": {"kubernetesVersion": "1.36"}})), shop())
}

/// Keys of what was done, from then on.
fn done_since(stage: &Stage, sent: usize) -> Vec<String> {
    stage.done[sent..].iter().map(|(_, command, _)| command.key.to_string()).collect()
}

fn nothing_left(stage: &Stage) {
    let left: Vec<String> =
        leftover::find(&stage.truth, stage.now).iter().map(|one| format!("{:?} {one}", one.on)).collect();
    assert!(left.is_empty(), "{left:?}\n{}", stage.story());
}

#[test]
fn a_run_that_died_at_any_moment_is_cleared_by_a_later_one_once_its_marks_have_expired() {
    for moment in [0, 2, 4, 6, 30, 70, 110, 150, 190, 210] {
        let mut stage = stage();
        for _ in 0..moment {
            assert_eq!(stage.tick(), None, "{}", stage.story());
        }
        // It is not heard of again.
        stage.now += TEN_DAYS;
        let sent = stage.done.len();
        let before = stage.sizes.clone();
        stage.run_again("later");
        stage.sizes = before;
        assert_eq!(stage.run(DAY), End::Done, "died after {moment} s\n{}", stage.story());
        nothing_left(&stage);
        let group = &stage.truth.groups()["web"];
        assert_eq!(
            group.size,
            GroupSize { min: 0, max: 3, desired: 3 },
            "died after {moment} s\n{}",
            stage.story()
        );
        for (_, node) in stage.truth.nodes.sorted() {
            assert_eq!(&*node.status.node_info.kubelet_version, "v1.36.0");
            assert!(!node.spec.unschedulable);
        }
        let keys = done_since(&stage, sent);
        assert!(keys.iter().all(|key| key.starts_with("later/") || key.starts_with("run/")), "{keys:?}");
    }
}

#[test]
fn what_holds_is_not_touched_and_until_when_is_said() {
    for moment in [70, 150, 180] {
        let mut stage = stage();
        for _ in 0..moment {
            assert_eq!(stage.tick(), None, "{}", stage.story());
        }
        let held = leftover::find(&stage.truth, stage.now);
        assert!(held.iter().any(|one| one.state.as_str() == "running"), "{held:?}");
        let before = stage.sizes.clone();
        stage.run_again("later");
        stage.sizes = before;
        let sent = stage.done.len();
        let End::Blocked(why) = stage.run(DAY) else { panic!("{}", stage.story()) };
        let until = why.iter().find_map(|waiting| {
            let WaitingOn::RunEnd(RunEnd::OtherRun { run, until }) = &waiting.on else { return None };
            (*run == *"run").then_some(*until)
        });
        assert!(until.is_some_and(|until| until > stage.now), "{why:?}");
        let keys = done_since(&stage, sent);
        assert_eq!(keys, [""; 0], "{}", stage.story());
    }
}

/// A node that is as the plan wants it, which a run that died had cordoned, and taken out of load balancers.
fn left_behind() -> Node {
    let mut value = node("k0", "web", "a");
    value["status"]["nodeInfo"]["kubeletVersion"] = json!("v1.36.0");
    let replank_model::object::Object::Node(new) = object(value) else { unreachable!("a node was written") };
    let since = start() - TEN_DAYS;
    let mark = Mark { owner: Owner::Run, role: NodeRole::Surplus, since, expires: since + DAY };
    let run = RunId::from("dead");
    mark::excluded(&mark::laid(&new, &run, &mark), &run, since)
}

fn stage_with_left_behind(tags: &[(&str, &str)]) -> Stage {
    let mut objects = shop();
    objects.push(node("k0", "web", "a"));
    let mut stage = Stage::new(plan(&["web"], json!({"target": {"kubernetesVersion": "1.36"}})), objects);
    stage.put(left_behind());
    stage.group(&"web".into(), |group| {
        for (key, value) in tags {
            group.tags = group.tags.with(Text::from(*key), Text::from(*value));
        }
    });
    stage.run_again("later");
    stage
}

#[test]
fn what_is_left_on_nodes_that_stay_and_on_groups_goes_before_anything_is_begun() {
    let tags = [
        (mark::HALTED, "dead at=2025-12-01T00:00:00Z why=hopeless"),
        ("replank.dev/stage-1", "dead until=2025-12-01T00:00:00Z"),
        (mark::RETAINED, "older until=2025-12-01T00:00:00Z"),
        (mark::PAUSED, "dead at=2025-12-01T00:00:00Z"),
    ];
    let mut stage = stage_with_left_behind(&tags);
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    nothing_left(&stage);
    let kept = stage.truth.node(&"k0".into()).expect("it is as the plan wants it");
    assert!(!kept.spec.unschedulable && !kept.meta.labels.contains_key(mark::EXCLUDE));
    let begun = stage.when("/resize/").expect("it is raised");
    let cleared = [
        stage.when("/release/k0"),
        stage.when("/untag/web/replank.dev/halted"),
        stage.when("/untag/web/replank.dev/stage-1"),
    ];
    for at in cleared {
        assert!(at.is_some_and(|at| at < begun), "{at:?} {begun}\n{}", stage.story());
    }
    assert!(stage.seen.contains_key("leftover"), "{:?}", stage.seen);
}

#[test]
fn a_run_that_finds_nothing_to_replace_clears_all_the_same() {
    let mut stage =
        stage_with_left_behind(&[(mark::BEGUN, "dead nodes=3 surge=1"), (mark::ORIGINAL_SIZE, "0/4/4")]);
    for name in ["n0", "n1", "n2"] {
        let mut node = Node::clone(stage.truth.node(&name.into()).expect("it is there"));
        node.status.node_info.kubelet_version = "v1.36.0".into();
        stage.put(node);
    }
    stage.group(&"web".into(), |group| group.size.max = 5);
    stage.run_again("later");
    stage.sizes.get_mut("web").expect("it is known").max = 4;
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    nothing_left(&stage);
    assert_eq!(stage.truth.groups()["web"].size, GroupSize { min: 0, max: 4, desired: 4 });
}

#[test]
fn a_run_that_finds_nothing_to_replace_gives_back_nothing_of_a_run_at_work() {
    let mut stage = stage();
    stage.run_until("a drain", DAY, |stage| stage.when("/drain/").is_some());
    let (size, tags) = (stage.truth.groups()["web"].size, stage.truth.groups()["web"].tags.clone());
    assert_eq!(size.max, 4, "it is raised");
    let sent = stage.done.len();
    stage.plan =
        plan(&["web"], json!({"target": {"kubernetesVersion": "1.36"}, "kubeletVersion": "<1.20"})).into();
    stage.run_again("later");
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    let keys = done_since(&stage, sent);
    assert!(keys.iter().all(|key| key.starts_with("run/")), "{keys:?}\n{}", stage.story());
    assert_eq!((stage.truth.groups()["web"].size, &stage.truth.groups()["web"].tags), (size, &tags));
}

#[test]
fn what_a_newer_replank_has_written_on_a_group_is_left_alone_and_said() {
    for (key, value) in [
        (mark::BEGUN, "v2 newer nodes=3"),
        (mark::ORIGINAL_SIZE, "v2 0/4/3"),
        ("replank.dev/whatever", "v7 x"),
    ] {
        let objects = shop();
        let mut stage = Stage::new(plan(&["web"], json!({"target": {"kubernetesVersion": "1.36"}})), objects);
        stage.group(&"web".into(), |group| group.tags = group.tags.with(key, value));
        let End::Blocked(why) = stage.run(DAY) else { panic!("{}", stage.story()) };
        let newer: u64 = if value.starts_with("v7") { 7 } else { 2 };
        let said = Waiting {
            what: Subject::Group("web".into()),
            on: WaitingOn::RunEnd(RunEnd::NewerVersion { version: newer }),
        };
        assert!(why.contains(&said), "{why:?}");
        assert!(stage.done.is_empty(), "{}", stage.story());
    }
}

#[test]
fn a_run_that_meets_a_newer_replank_half_way_does_nothing_more_to_that_group() {
    let mut stage = stage();
    stage.run_until("a drain", DAY, |stage| stage.when("/drain/").is_some());
    stage.group(&"web".into(), |group| group.tags = group.tags.with(mark::PAUSED, "v2 newer at=x"));
    let (size, tags) = (stage.truth.groups()["web"].size, stage.truth.groups()["web"].tags.clone());
    for _ in 0..3 {
        stage.tick();
    }
    let sent = stage.done.len();
    let End::Blocked(why) = stage.run(DAY) else { panic!("{}", stage.story()) };
    assert!(
        why.iter().any(|waiting| waiting.on == WaitingOn::RunEnd(RunEnd::NewerVersion { version: 2 })),
        "{why:?}"
    );
    assert_eq!(done_since(&stage, sent), [""; 0], "{}", stage.story());
    assert_eq!((stage.truth.groups()["web"].size, &stage.truth.groups()["web"].tags), (size, &tags));
}

#[test]
fn a_node_that_a_newer_replank_has_marked_is_left_alone_and_said() {
    let mut objects = shop();
    objects[2]["metadata"]["annotations"] = json!({mark::VERSION: "2", mark::RUN: "newer", mark::ROLE: "queued",
        mark::SINCE: "2025-01-01T00:00:00Z", mark::EXPIRES: "2025-01-02T00:00:00Z"});
    objects[2]["spec"]["unschedulable"] = json!(true);
    let mut stage = Stage::new(plan(&["web"], json!({"target": {"kubernetesVersion": "1.36"}})), objects);
    let before = stage.truth.node(&"n0".into()).cloned();
    let End::Blocked(why) = stage.run(DAY) else { panic!("{}", stage.story()) };
    let said = Waiting {
        what: Subject::Node("n0".into()),
        on: WaitingOn::RunEnd(RunEnd::NewerVersion { version: 2 }),
    };
    assert!(why.contains(&said), "{why:?}");
    assert_eq!(stage.truth.node(&"n0".into()).cloned(), before, "though it has expired");
    assert!(stage.done.is_empty(), "{}", stage.story());
}
