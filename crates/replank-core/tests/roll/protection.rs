//! Instances with batch pods that are waited for are protected from scale-in; what somebody else has protected stays so.

use replank_facts::leftover;
use replank_model::delta::Delta;
use replank_model::object::cloud::Instance;
use replank_model::text::{GroupName, InstanceId};
use replank_model::time::Span;
use replank_protocol::command::{Effect, GroupEffect};
use replank_protocol::decision::End;
use replank_protocol::intent::Intent;
use replank_protocol::mark;
use replank_protocol::waiting::{RollWait, Subject, WaitingOn};
use serde_json::{Value, json};

use crate::basics::shop;
use crate::stage::{Stage, job_pod, merge, node, plan, start};

const HOUR: Span = Span::from_minutes(60);
const DAY: Span = Span::from_minutes(24 * 60);

/// Three nodes, of which the first has a Job's pod that ends after 40 minutes.
fn stage(spec: Value) -> Stage {
    let mut all = json!({"target": {"kubernetesVersion": "1.36"}});
    merge(&mut all, spec);
    let mut objects = shop();
    objects.push(job_pod("crunch-1", "n0"));
    let mut stage = Stage::new(plan(&["web"], all), objects);
    stage.jobs = vec![("crunch-1".to_owned(), start() + Span::from_minutes(40))];
    stage
}

fn web() -> GroupName {
    "web".into()
}

/// Instances that are protected.
fn protected(stage: &Stage) -> Vec<&str> {
    let all = stage.truth.instances().values().filter(|one| one.is_protected);
    all.map(|one| one.id.as_str()).collect()
}

/// What was asked of the protection of instances, in order.
fn asked(stage: &Stage) -> Vec<(&str, bool)> {
    let asked = stage.done.iter().filter_map(|(_, command, _)| match &command.effect {
        Effect::Group(GroupEffect::ProtectInstance { instance, is_protected, .. }) => {
            Some((instance.as_str(), *is_protected))
        }
        Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => None,
    });
    asked.collect()
}

/// Somebody else protects an instance, or ends that.
fn protect(stage: &mut Stage, id: &str, is_protected: bool) {
    let instance = Instance::clone(&stage.truth.instances()[&InstanceId::from(id)]);
    stage.change(Delta::Instance(Instance { is_protected, ..instance }.into()));
}

fn nothing_is_written(stage: &Stage) {
    let tags: Vec<&str> = stage.truth.groups()["web"].tags.iter().map(|(key, _)| key).collect();
    assert!(!tags.iter().any(|key| key.starts_with(mark::PROTECTED)), "{tags:?}\n{}", stage.story());
}

#[test]
fn an_instance_is_protected_while_its_batch_pod_runs_and_not_when_it_is_ended() {
    let mut stage = stage(json!({}));
    stage.run_until("it is protected", HOUR, |stage| protected(stage) == ["i-n0"]);
    assert!(stage.is_written(&web(), &"i-n0".into()));
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert_eq!(asked(&stage), [("i-n0", true), ("i-n0", false)], "{}", stage.story());
    let ended = stage.when("/terminate/i-n0").expect("it is replaced in the end");
    assert!(stage.when("/unprotect/i-n0") < Some(ended), "{}", stage.story());
    assert!(ended > start() + Span::from_minutes(40));
    assert!(stage.truth.groups()["web"].tags.is_empty(), "{:?}", stage.truth.groups()["web"].tags);
    assert!(stage.done.iter().all(|(_, _, result)| result.is_ok()), "{}", stage.story());
}

#[test]
fn what_somebody_else_has_protected_stays_so() {
    let mut stage = stage(json!({}));
    for id in ["i-n0", "i-n1"] {
        protect(&mut stage, id, true);
    }
    stage.run_until("the others are gone", HOUR, |stage| {
        ["n1", "n2"].iter().all(|name| stage.truth.node(&(*name).into()).is_none())
    });
    assert_eq!(protected(&stage), ["i-n0"]);
    assert_eq!(stage.run(DAY), End::Done, "a termination by id asks for no protection\n{}", stage.story());
    assert_eq!(asked(&stage), [], "{}", stage.story());
    assert_eq!(stage.when("protected-"), None, "and nothing is written of it");
}

#[test]
fn a_run_that_ends_otherwise_ends_the_protection_too() {
    for (on_deadline, intent) in [
        ("pause", None),
        ("skip", None),
        ("evict", None),
        ("pause", Some(Intent::Cancelled)),
        ("pause", Some(Intent::Undo)),
    ] {
        let mut stage = stage(json!({"batch": {"wait": "20m", "onDeadline": on_deadline}}));
        stage.run_until("it is protected", HOUR, |stage| protected(stage) == ["i-n0"]);
        if let Some(intent) = intent {
            stage.core.intend(intent);
        }
        let end = stage.run(DAY);
        match (on_deadline, intent) {
            ("pause", None) => assert!(matches!(end, End::Blocked(_)), "{end:?}"),
            (_, None) => assert_eq!(end, End::Done, "{}", stage.story()),
            (_, Some(Intent::Undo)) => assert!(matches!(end, End::RolledBack(_)), "{end:?}"),
            (_, Some(_)) => assert!(matches!(end, End::Cancelled(_)), "{end:?}"),
        }
        assert_eq!(protected(&stage), [""; 0], "{on_deadline} {intent:?}\n{}", stage.story());
        nothing_is_written(&stage);
    }
}

#[test]
fn a_process_that_goes_on_ends_what_the_one_before_has_protected_and_nothing_else() {
    // Before the tag is seen, between the tag and the call, and when the instance is protected.
    for part in ["/tag/web/replank.dev/protected-i-n0", "/protect/i-n0"] {
        for later in [0, 1, 5] {
            let mut stage = stage(json!({}));
            protect(&mut stage, "i-n1", true);
            stage.run_until("it is written down", HOUR, |stage| stage.when(part).is_some());
            for _ in 0..later {
                assert_eq!(stage.tick(), None);
            }
            stage.restart();
            assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
            let last = asked(&stage).pop();
            assert_eq!(last, Some(("i-n0", false)), "{}", stage.story());
            assert!(asked(&stage).iter().all(|(id, _)| *id == "i-n0"), "{}", stage.story());
            nothing_is_written(&stage);
        }
    }
}

#[test]
fn a_protection_that_a_run_has_left_is_ended_by_a_later_one_or_by_hand() {
    let mut stage = stage(json!({}));
    stage.run_until("it is protected", HOUR, |stage| protected(stage) == ["i-n0"]);
    protect(&mut stage, "i-n1", true);
    let left = leftover::find(&stage.truth, stage.now + Span::from_minutes(30 * 24 * 60));
    let lines: Vec<String> = left.into_iter().flat_map(|one| one.lines).collect();
    let line = "aws autoscaling set-instance-protection --instance-ids i-n0 --auto-scaling-group-name web --no-protected-from-scale-in";
    assert!(lines.iter().any(|one| one == line), "{lines:?}");
    // It is not heard of again, and the Job ends.
    stage.now += Span::from_minutes(10 * 24 * 60);
    let before = stage.sizes.clone();
    stage.run_again("later");
    stage.sizes = before;
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert_eq!(asked(&stage).last(), Some(&("i-n0", false)), "{}", stage.story());
    nothing_is_written(&stage);
}

#[test]
fn a_roll_goes_on_without_the_right_to_protect_and_says_so() {
    let mut stage = stage(json!({}));
    stage.refuses_protection = true;
    stage.run_until("the others are gone", HOUR, |stage| {
        ["n1", "n2"].iter().all(|name| stage.truth.node(&(*name).into()).is_none())
    });
    let on = WaitingOn::Roll(RollWait::Unprotected { limit: None });
    assert!(
        stage.last.waiting.iter().any(|one| one.what == Subject::Node("n0".into()) && one.on == on),
        "{:?}",
        stage.last.waiting
    );
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    nothing_is_written(&stage);
}

#[test]
fn a_group_has_room_for_so_many_tags_only() {
    let mut objects = shop();
    for number in 0..25 {
        let name = format!("b{number:02}");
        objects.push(node(&name, "web", "a"));
        objects.push(job_pod(&format!("crunch-{number:02}"), &name));
    }
    let mut stage = Stage::new(plan(&["web"], json!({"target": {"kubernetesVersion": "1.36"}})), objects);
    stage.run_until("as many as can be are protected", HOUR, |stage| protected(stage).len() == 20);
    for _ in 0..30 {
        assert_eq!(stage.tick(), None);
    }
    assert_eq!(protected(&stage).len(), 20);
    let on = WaitingOn::Roll(RollWait::Unprotected { limit: Some(20) });
    assert_eq!(stage.last.waiting.iter().filter(|one| one.on == on).count(), 5, "{:?}", stage.last.waiting);
    // When one of them ends, another has its place.
    stage.jobs = vec![("crunch-00".to_owned(), stage.now)];
    stage.run_until("another is protected", HOUR, |stage| {
        protected(stage).len() == 20 && !protected(stage).contains(&"i-b00")
    });
}

#[test]
fn instances_of_a_group_that_nodes_leave_are_protected_as_well() {
    let mut stage = stage(json!({"target": {"group": "web-new"}}));
    stage.run_until("it is protected", HOUR, |stage| protected(stage) == ["i-n0"]);
    assert!(stage.is_written(&web(), &"i-n0".into()));
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert_eq!(asked(&stage), [("i-n0", true), ("i-n0", false)], "{}", stage.story());
    for group in stage.truth.groups().values() {
        assert!(group.tags.is_empty(), "{} {:?}", group.name, group.tags);
    }
}
