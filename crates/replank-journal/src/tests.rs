//! A small run, written down, read again and compared.

use replank_model::delta::Delta;
use replank_model::object::meta::Key;
use replank_model::object::{Kind, Object, ObjectRef};
use replank_model::text::{NodeName, RunId, Text, Uid};
use replank_model::time::{Span, Time};
use replank_protocol::command::{Answer, Command, CommandKey, KubernetesEffect, Outcome, PodTarget, Refusal};
use replank_protocol::decision::{Decision, End};
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;
use serde_json::json;

use crate::{Difference, Journal, ReadError, Recorded, Seen, Tale, What, differences, read};

/// Evicts the given pods, each at its second.
#[derive(Debug)]
struct Hand {
    pods: Vec<(i64, &'static str)>,
    ends_at: i64,
}

fn target(name: &str) -> PodTarget {
    PodTarget { key: Key::new("shop", name), uid: Uid::from(format!("uid-{name}")) }
}

impl Engine for Hand {
    fn observe(&mut self, _: Delta) {}

    fn outcome(&mut self, _: Outcome) {}

    fn decide(&mut self, now: Time) -> Decision {
        let second = now.as_millis() / 1_000;
        let due = self.pods.iter().filter(|(at, _)| *at == second);
        let commands = due.map(|(_, name)| Command {
            key: CommandKey(Text::from(*name)),
            run: RunId::from("hand"),
            effect: KubernetesEffect::Evict { pod: target(name), grace_seconds: None }.into(),
            deadline: now + Span::from_secs(60),
        });
        let end = (second >= self.ends_at).then_some(End::Done);
        Decision { commands: commands.collect(), end, ..Decision::default() }
    }

    fn intend(&mut self, _: Intent) {}

    fn start_anew(&mut self) {}
}

fn pod(name: &str, node: &str) -> Delta {
    let object = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "shop", "uid": format!("uid-{name}"),
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u", "controller": true}
            ],
        },
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]},
        "status": {},
    });
    Delta::Put(Object::from_json(object).expect("a valid pod"))
}

fn gone(name: &str) -> Delta {
    let PodTarget { key, uid } = target(name);
    Delta::Gone(ObjectRef { kind: Kind::Pod, key, uid })
}

fn at(second: i64) -> Time {
    Time::from_millis(second * 1_000)
}

fn answer(name: &str, second: i64, answer: Answer) -> Outcome {
    Outcome { key: CommandKey(Text::from(name)), at: at(second), answer }
}

/// Two pods of two nodes; a budget refuses the second one once.
fn text(second_at: i64, gone_at: i64) -> String {
    let mut lines = String::new();
    let sink = Box::new(|entry: &crate::Entry| {
        lines.push_str(&serde_json::to_string(entry).expect("an entry is JSON"));
        lines.push('\n');
    });
    let hand = Hand { pods: vec![(1, "a"), (second_at, "b")], ends_at: gone_at };
    let mut engine = Recorded::new(Box::new(hand), ["drain", "context test", "nodes one, two"], sink);
    engine.observe(pod("a", "one"));
    engine.observe(pod("b", "two"));
    for second in 0..=gone_at {
        if second == 3 {
            engine.outcome(answer("a", 3, Answer::Done));
            engine.observe(gone("a"));
        }
        if second == second_at + 1 {
            let message = "Cannot evict pod".into();
            engine.outcome(answer(
                "b",
                second,
                Answer::Refused(Refusal::Budget { message, retry_after_seconds: None }),
            ));
        }
        if second == gone_at {
            engine.outcome(answer("b", second, Answer::Done));
            engine.observe(gone("b"));
        }
        drop(engine.decide(at(second)));
    }
    drop(engine);
    lines
}

fn journal(second_at: i64, gone_at: i64) -> Journal {
    read(&text(second_at, gone_at)).expect("what was written can be read")
}

#[test]
fn what_was_written_is_read_and_told() {
    let journal = journal(4, 20);
    assert_eq!(&*journal.beginning.verb, "drain");
    assert!(!journal.is_torn);
    let tale = Tale::of(&journal);
    assert_eq!((tale.took(), tale.refused(), tale.unknown), (Span::from_secs(20), 1, 0));
    assert_eq!(tale.end, Some(End::Done));
    let [one, two] = &tale.nodes[..] else { panic!("two nodes: {:?}", tale.nodes) };
    assert_eq!((&one.name, one.took()), (&NodeName::from("one"), Some(Span::from_secs(2))));
    assert_eq!((&two.name, two.took()), (&NodeName::from("two"), Some(Span::from_secs(16))));
    assert_eq!(two.pods[0].controller.as_deref(), Some("ReplicaSet web-1"));
    assert_eq!(
        (two.pods[0].asked, two.pods[0].granted, two.pods[0].gone),
        (at(4), Some(at(20)), Some(at(20)))
    );
}

#[test]
fn a_command_is_written_before_its_answer_and_pods_are_seen_to_go() {
    let journal = journal(4, 20);
    let of_a = journal.entries.iter().filter_map(|entry| match &entry.what {
        What::Sent(sent) if &*sent.command.key.0 == "a" => Some((entry.at, "sent")),
        What::Answered(answered) if &*answered.key.0 == "a" => Some((entry.at, "answered")),
        What::Seen(Seen::PodGone(pod)) if *pod == target("a") => Some((entry.at, "gone")),
        What::Began(_)
        | What::Intended(_)
        | What::StartedAnew
        | What::Sent(_)
        | What::Answered(_)
        | What::Waits(_)
        | What::Noticed(_)
        | What::Seen(_)
        | What::Ended(_) => None,
    });
    assert_eq!(of_a.collect::<Vec<_>>(), [(at(1), "sent"), (at(3), "answered"), (at(3), "gone")]);
}

#[test]
fn a_torn_last_line_is_left_out_and_any_other_is_an_error() {
    let whole = text(4, 20);
    let torn = &whole[..whole.len() - 9];
    let read_torn = read(torn).expect("the last line may be torn");
    assert!(read_torn.is_torn);
    assert_eq!(read_torn.entries.len() + 1, journal(4, 20).entries.len());
    let damaged = whole.replacen("\"sent\"", "\"snt\"", 1);
    assert!(matches!(read(&damaged), Err(ReadError::Line { line: 2, .. })), "{:?}", read(&damaged));
    assert_eq!(read(""), Err(ReadError::Empty));
    assert_eq!(read("{\"kind\": \"List\"}\n"), Err(ReadError::NoBeginning));
    let newer = whole.replacen("\"version\":1", "\"version\":2", 1);
    assert_eq!(read(&newer), Err(ReadError::Newer { version: 2 }));
}

#[test]
fn two_runs_differ_in_what_they_did_and_in_time_beyond_the_tolerance() {
    let [rehearsed, same, late] = [journal(4, 20), journal(4, 20), journal(4, 30)].map(|one| Tale::of(&one));
    let alike = differences([&rehearsed, &same], 0.05);
    assert_eq!((alike.differences, alike.nodes, alike.pods), (vec![], 2, [2, 2]));
    let differs = differences([&rehearsed, &late], 0.05).differences;
    assert_eq!(
        differs,
        [
            Difference::Took { took: [Span::from_secs(20), Span::from_secs(30)] },
            Difference::NodeTook { node: "two".into(), took: [Span::from_secs(16), Span::from_secs(26)] },
        ]
    );
    assert_eq!(differences([&rehearsed, &late], 1.0).differences, []);
    let mut other = rehearsed.clone();
    other.nodes.reverse();
    let order = differences([&rehearsed, &other], 0.05).differences;
    assert_eq!(order, [Difference::Order { place: 1, nodes: ["one".into(), "two".into()] }]);
    assert_eq!(order[0].to_string(), "the order of nodes: number 1 is one in the first, two in the second");
}
