//! The record of a run: written before anything else, enough to go on with, gone at the end.

use std::collections::BTreeSet;

use replank_model::object::{Object, render};
use replank_model::time::Span;
use replank_protocol::command::{Effect, KubernetesEffect};
use replank_protocol::decision::End;
use replank_protocol::intent::Intent;
use replank_protocol::mark;
use replank_protocol::record::{self, FoundRecord, RunRecord};
use replank_protocol::waiting::{RecordWhy, RunEnd, WaitingOn};
use serde_json::{Value, json};

use crate::basics::shop;
use crate::stage::{Stage, plan};

const DAY: Span = Span::from_minutes(24 * 60);

fn spec() -> Value {
    json!({"target": {"kubernetesVersion": "1.36"}, "budget": {"surge": 2}})
}

fn stage() -> Stage {
    Stage::new(plan(&["web"], spec()), shop()).with_record()
}

fn found(stage: &Stage) -> Option<FoundRecord> {
    record::all(&stage.truth).into_iter().next()
}

fn known(stage: &Stage) -> RunRecord {
    found(stage).expect("there is one").record.expect("it can be read")
}

/// Runs until the first node is drained.
fn under_way() -> Stage {
    let mut stage = stage();
    stage.run_until("a drain", DAY, |stage| stage.when("/drain/").is_some());
    stage
}

/// The record with something else in it, as somebody might write it.
fn changed(stage: &mut Stage, change: impl FnOnce(&mut Value)) {
    let mut value = render(&Object::Other(found(stage).expect("there is one").holder));
    change(&mut value);
    stage.put(Object::from_json(value).expect("a ConfigMap"));
}

#[test]
fn the_record_is_the_first_thing_that_is_done_and_the_last_that_goes() {
    let mut stage = stage();
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    let done: Vec<&Effect> = stage.done.iter().map(|(_, command, _)| &command.effect).collect();
    assert!(
        matches!(done.first(), Some(Effect::Kubernetes(KubernetesEffect::Create { .. }))),
        "{:?}",
        done.first()
    );
    assert!(
        matches!(done.last(), Some(Effect::Kubernetes(KubernetesEffect::Delete { .. }))),
        "{:?}",
        done.last()
    );
    assert!(found(&stage).is_none());
    let seen = stage.done[1].0;
    assert!(seen > stage.done[0].0, "it is waited for");
}

#[test]
fn the_record_says_what_another_process_needs() {
    let mut stage = under_way();
    let record = known(&stage);
    assert_eq!((record.run.as_str(), record.intent), ("run", Intent::Run));
    assert_eq!((record.begin, &record.plan), (stage.options.started, &stage.plan.to_json()));
    let web = &record.groups["web"];
    assert_eq!(
        (web.original.to_string(), web.template.version, web.wanted),
        (stage.sizes["web"].to_string(), 1, 5)
    );
    stage.core.intend(Intent::Paused);
    for _ in 0..10 {
        stage.tick();
    }
    assert_eq!(known(&stage).intent, Intent::Paused);
    assert!(stage.resume());
    assert_eq!(stage.core.intent(), Intent::Paused, "what is wanted is not forgotten");
}

#[test]
fn a_core_that_is_made_of_objects_alone_comes_to_the_same_end_wherever_the_last_one_died() {
    for spec in [
        spec(),
        json!({"target": {"group": "web-new"}, "budget": {"surge": 2}}),
        json!({"target": {"kubernetesVersion": "1.36"}, "retain": {"capacity": "cordoned", "for": "1h"}, "canary": {"nodes": 1, "soak": "5m"}}),
    ] {
        let fresh = || Stage::new(plan(&["web"], spec.clone()), shop()).with_record();
        let mut sound = fresh();
        assert_eq!(sound.run(DAY), End::Done, "{}", sound.story());
        let ends = |stage: &Stage| {
            let keys = stage.keys_done().into_iter().filter(|key| key.0.contains("/terminate/"));
            keys.collect::<BTreeSet<_>>().len()
        };
        let length = (sound.now - sound.options.started).as_secs();
        let (mut resumed, mut moments) = (0, 0);
        for moment in (1..length).step_by(usize::try_from(length / 40).expect("hours").max(1)) {
            let mut stage = fresh();
            let ended = (0..moment).find_map(|_| stage.tick());
            assert_eq!(ended, None, "{}", stage.story());
            moments += 1;
            if stage.resume() {
                resumed += 1;
            } else {
                stage.restart();
            }
            assert_eq!(stage.run(DAY), End::Done, "{spec} after {moment} s\n{}", stage.story());
            assert_eq!(ends(&stage), ends(&sound), "{spec} after {moment} s\n{}", stage.story());
            assert!(found(&stage).is_none(), "{}", stage.story());
        }
        assert!(resumed * 10 > moments * 8, "{resumed} of {moments}");
    }
}

#[test]
fn what_is_wanted_outlives_whoever_was_told() {
    for (intent, is_right) in [
        (Intent::Cancelled, (|end| matches!(end, End::Cancelled(_))) as fn(&End) -> bool),
        (Intent::Undo, |end| matches!(end, End::RolledBack(_))),
    ] {
        let mut stage = under_way();
        stage.core.intend(intent);
        for _ in 0..8 {
            stage.tick();
        }
        assert!(stage.resume());
        let end = stage.run(DAY);
        assert!(is_right(&end), "{end:?}\n{}", stage.story());
    }
}

#[test]
fn a_run_that_has_halted_leaves_its_record_and_can_be_undone_from_it() {
    let mut stage = under_way();
    stage.core.intend(Intent::Cancelled);
    assert!(matches!(stage.run(DAY), End::Cancelled(_)));
    assert_eq!(known(&stage).intent, Intent::Cancelled);
    assert!(stage.resume());
    stage.core.intend(Intent::Undo);
    assert!(matches!(stage.run(DAY), End::RolledBack(_)), "{}", stage.story());
    assert!(found(&stage).is_none(), "nothing can be taken back any more");
}

#[test]
fn another_plan_under_the_same_name_does_nothing_and_says_why() {
    let mut stage = under_way();
    let before = known(&stage);
    let sent = stage.done.len();
    stage.plan =
        plan(&["web"], json!({"target": {"kubernetesVersion": "1.37"}, "budget": {"surge": 2}})).into();
    stage.restart();
    let End::Blocked(why) = stage.run(DAY) else { panic!("{}", stage.story()) };
    let says =
        |on: &WaitingOn| matches!(on, WaitingOn::RunEnd(RunEnd::Record { why: RecordWhy::OtherPlan, .. }));
    assert!(why.iter().any(|waiting| says(&waiting.on)), "{why:?}");
    let record = known(&stage);
    assert_eq!(record, before, "it is not theirs");
    assert_eq!(stage.done.len(), sent, "{}", stage.story());
}

#[test]
fn what_stands_in_the_place_of_the_record_keeps_a_run_from_beginning() {
    for (pointer, wrong) in [
        ("/data/plan", "{}"),
        ("/data/intent", "dance"),
        ("/metadata/annotations/replank.dev~1owner", "somebody"),
        ("/metadata/annotations/replank.dev~1version", "2"),
    ] {
        let mut stage = stage();
        stage.run_until("a record", DAY, |stage| !record::all(&stage.truth).is_empty());
        changed(&mut stage, |value| *value.pointer_mut(pointer).expect("it is there") = wrong.into());
        stage.restart();
        let sent = stage.done.len();
        let End::Blocked(why) = stage.run(DAY) else { panic!("{pointer}\n{}", stage.story()) };
        let kinds: BTreeSet<&str> = why.iter().map(|waiting| waiting.on.kind()).collect();
        assert!(kinds.contains("record") || kinds.contains("newerVersion"), "{pointer}: {why:?}");
        assert_eq!(stage.done.len(), sent, "{pointer}\n{}", stage.story());
        assert!(found(&stage).is_some(), "it is left alone");
    }
}

#[test]
fn a_record_that_somebody_deletes_is_written_again() {
    let mut stage = under_way();
    let holder = found(&stage).expect("there is one").holder;
    stage.remove(Object::Other(holder));
    for _ in 0..5 {
        stage.tick();
    }
    assert_eq!(known(&stage).run.as_str(), "run");
    assert_eq!(stage.run(DAY), End::Done, "{}", stage.story());
    assert!(found(&stage).is_none());
}

#[test]
fn several_records_are_told_apart_by_the_name_of_the_run() {
    use crate::stage::nothing_blocks as blocking;
    use replank_core::{Core, ResumeError};
    let mut stage = under_way();
    changed(&mut stage, |value| {
        value["metadata"]["name"] = "replank-run-later".into();
        value["metadata"]["uid"] = "later".into();
        value["metadata"]["annotations"][mark::RUN] = "later".into();
    });
    let error = Core::resume(&stage.truth, None, blocking).expect_err("there are two");
    assert_eq!(error, ResumeError::Several { runs: vec!["later".into(), "run".into()] });
    let later = Core::resume(&stage.truth, Some(&"later".into()), blocking).expect("it can be read");
    assert!(later.is_some());
    let none = Core::resume(&stage.truth, Some(&"never".into()), blocking).expect("nothing is wrong");
    assert!(none.is_none());
}
