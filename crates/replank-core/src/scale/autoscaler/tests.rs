//! What becomes of a raise in a run's hands: it is recorded where it is known to have happened.

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::cloud::{GroupSize, NodeGroup};
use replank_model::time::{Span, Time};
use replank_protocol::command::{Answer, Command, Effect, GroupEffect, Outcome, Refusal};
use replank_protocol::mark;
use replank_protocol::wait_list::WaitList;
use serde_json::{Value, json};

use super::{Autoscaler, Scale};
use crate::Core;
use crate::account::Account;
use replank_facts::groups::{GroupBy, from_nodes};

fn at(seconds: i64) -> Time {
    "2026-01-05T09:00:00Z".parse::<Time>().expect("a time") + Span::from_secs(seconds)
}

fn node(name: &str) -> Value {
    let all = json!({"cpu": "4", "memory": "16Gi", "pods": "58"});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": format!("uid-{name}"), "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"eks.amazonaws.com/nodegroup": "web", "topology.kubernetes.io/zone": "a", "kubernetes.io/hostname": name}},
        "spec": {"providerID": format!("aws:///a/i-{name}")},
        "status": {"capacity": all, "allocatable": all, "conditions": [{"type": "Ready", "status": "True"}]}})
}

fn pod(name: &str, node: Option<&str>) -> Value {
    let phase = if node.is_some() { "Running" } else { "Pending" };
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "d", "uid": format!("uid-{name}"),
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": true}]},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}]},
        "status": {"phase": phase}})
}

/// Three full nodes, one of them the surge of a run that is under way, and a pod that needs one more.
struct Stage(Core);

impl Stage {
    fn new() -> Self {
        let mut stage = Self(Core::without_run().with_autoscaler(Autoscaler::default()));
        for number in 1..=3 {
            let name = format!("web-{number}");
            stage.put(node(&name));
            stage.put(pod(&format!("on-{name}"), Some(&name)));
        }
        stage.put(pod("new", None));
        stage.group(3);
        stage
    }

    fn put(&mut self, object: Value) {
        self.0.observe(Delta::Put(Object::from_json(object).expect("valid")));
    }

    fn group(&mut self, desired: u32) {
        self.group_with(desired, "v1 run nodes=2 surge=1");
    }

    fn group_with(&mut self, desired: u32, begun: &str) {
        let learnt = from_nodes(self.0.view(), &GroupBy::default()).remove(0);
        let tags = [(mark::ORIGINAL_SIZE, "v1 0/5/2"), (mark::BEGUN, begun)];
        let tags = tags.iter().fold(learnt.group.tags.clone(), |tags, (key, value)| tags.with(*key, *value));
        let size = GroupSize { min: 0, max: 6, desired };
        self.0.observe(Delta::Group(NodeGroup { size, tags, ..learnt.group }.into()));
    }

    fn decide(&mut self, seconds: i64) -> Vec<Command> {
        self.0.decide(at(seconds)).commands
    }

    /// What is decided, in words.
    fn told(&mut self, seconds: i64) -> Vec<String> {
        self.decide(seconds).iter().map(words).collect()
    }

    /// The raise, and what becomes of it.
    fn raised(answer: Answer) -> Self {
        let mut stage = Self::new();
        let raise = stage.decide(0).remove(0);
        assert_eq!(words(&raise), "raises from 3 to 4");
        stage.0.outcome(&Outcome { key: raise.key, at: at(15), answer });
        stage
    }
}

fn words(command: &Command) -> String {
    match &command.effect {
        Effect::Group(GroupEffect::Resize { from, to, .. }) => {
            format!("raises from {} to {}", from.desired, to.desired)
        }
        Effect::Group(GroupEffect::Tag { value, .. }) => format!("writes {value}"),
        other @ (Effect::Group(_) | Effect::Kubernetes(_) | Effect::Queue(_)) => panic!("{other:?}"),
    }
}

fn unknown() -> Answer {
    Answer::Unknown { message: "the connection was cut".into() }
}

#[test]
fn a_raise_that_was_carried_out_is_recorded_before_it_is_seen() {
    assert_eq!(Stage::raised(Answer::Done).told(20), ["writes v1 0/5/3"]);
}

#[test]
fn a_raise_that_never_shows_is_not_recorded_and_is_decided_anew_in_time() {
    let mut stage = Stage::raised(unknown());
    for seconds in (20..=130).step_by(10) {
        assert_eq!(stage.told(seconds), [""; 0], "after {seconds} s it may still come to be seen");
    }
    assert_eq!(stage.told(140), ["raises from 3 to 4"]);
    assert_eq!(stage.0.decide(at(141)).wake_at, Some(at(200)), "the command's deadline");
}

#[test]
fn a_raise_that_nobody_answers_for_is_recorded_once_it_shows() {
    let mut stage = Stage::raised(unknown());
    assert_eq!(stage.told(20), [""; 0]);
    stage.group(4);
    // Somebody ends an instance without replacement before the autoscaler looks again.
    stage.group(3);
    assert!(stage.told(30).contains(&"writes v1 0/5/3".into()));
    let mut early = Stage::new();
    early.decide(0);
    early.group(4);
    assert_eq!(early.told(10), ["writes v1 0/5/3"], "before any answer");
}

#[test]
fn a_raise_that_was_refused_is_neither_recorded_nor_waited_for() {
    let refusal = Refusal::Mismatch { what: "size".into(), expected: "3".into(), found: "5".into() };
    let mut stage = Stage::raised(Answer::Refused(refusal));
    assert_eq!(stage.told(20), ["raises from 3 to 4"]);
}

#[test]
fn whoever_changes_the_size_is_told_of_a_raise_that_nobody_answers_for() {
    let mut stage = Stage::raised(unknown());
    stage.decide(20);
    assert!(stage.0.account.raising.contains("web"));
    stage.group(4);
    stage.decide(21);
    assert!(stage.0.account.raising.is_empty());
    assert_eq!(stage.0.account.owed.get("web"), Some(&3), "the run leaves the group as large");
}

#[test]
fn what_an_earlier_process_added_and_did_not_record_is_found_before_anything_else_is_decided() {
    let mut stage = Stage::new();
    stage.group_with(4, "v1 run nodes=2 surge=1 extra=3");
    let (mut account, view) = (Account::default(), stage.0.view().clone());
    let owed = |account: &mut Account| {
        let mut scale = Scale::new(Autoscaler::default());
        assert!(scale.decide(&view, at(1), account, &WaitList::default()).commands.is_empty());
        scale.owed(&view)
    };
    assert!(owed(&mut account).is_empty(), "the run may come to want as many");
    account.extra.insert("web".into(), 1);
    assert_eq!(owed(&mut account), [("web".into(), 3)].into(), "and does not yet");
}
