//! What the network does to commands, and what others do between a check and the act.

use replank_model::object::cloud::{
    GroupId, GroupSize, LaunchTemplate, NodeGroup, NodeProfile, NodeShape, ScalingProcess, Ways,
};
use replank_model::object::meta::ResourceVersion;
use replank_protocol::command::{GroupEffect, Mark, NodeRole};
use replank_protocol::owner::Owner;

use super::*;
use crate::driver::{Mishaps, Network, Sent};

const OFF: Network = Network {
    lost_requests: 0,
    lost_answers: 0,
    late_answers: 0,
    throttled: 0,
    late_deliveries: 0,
    partial_polls: 0,
    has_gaps: false,
};

fn stage(network: Network) -> Stage {
    let mut stage = Stage::new(vec![node("n1", "a")]);
    let profile = NodeProfile { shapes: vec![NodeShape::default()], ..NodeProfile::default() };
    let template = LaunchTemplate { profile, ..LaunchTemplate::default() };
    let group = NodeGroup {
        // What it would launch is of no interest here.
        ways: Ways::default().without(ScalingProcess::Launch).without(ScalingProcess::Terminate),
        ..NodeGroup::new("web".into(), SIZE, vec!["a".into()], template)
    };
    stage.world.request(|api| api.apply_cloud(Delta::Group(group.into())));
    stage.world.disturb(network);
    stage
}

const SIZE: GroupSize = GroupSize { min: 0, max: 3, desired: 3 };

fn raise() -> Effect {
    let to = GroupSize { min: 0, max: 4, desired: 4 };
    Effect::Group(GroupEffect::Resize { group: GroupId::self_managed(&"web".into()), from: SIZE, to })
}

impl Stage {
    fn group(&self) -> NodeGroup {
        NodeGroup::clone(&self.world.view().groups()["web"])
    }

    /// Sends a command and waits for long; the answer, if there is one.
    fn ask(&mut self, effect: Effect) -> Option<Answer> {
        self.effects.borrow_mut().push(effect);
        self.world.pass(Span::from_secs(200));
        self.answers.borrow_mut().pop().map(|outcome| outcome.answer)
    }

    /// Sends a command and lets time pass until it has been checked and not carried out.
    fn until_the_gap(&mut self, effect: Effect) {
        self.effects.borrow_mut().push(effect);
        let end = self.world.now() + Span::from_secs(5);
        while !self.world.commands().iter().any(Sent::is_in_gap) {
            assert!(self.world.step_until(end), "it is never checked");
        }
    }

    fn write(&mut self, change: impl FnOnce(&mut NodeGroup)) {
        let mut group = self.group();
        change(&mut group);
        self.world.request(|api| api.apply_cloud(Delta::Group(group.into())));
    }

    fn answer(&mut self) -> Answer {
        self.world.pass(Span::from_secs(5));
        self.answers.borrow_mut().pop().expect("it is answered").answer
    }
}

#[test]
fn a_lost_request_has_no_effect_and_nobody_knows() {
    let mut stage = stage(Network { lost_requests: 1_000, ..OFF });
    assert!(matches!(stage.ask(raise()), Some(Answer::Unknown { .. })));
    assert_eq!(stage.group().size, SIZE);
    assert_eq!(stage.world.mishaps(), Mishaps { lost_requests: 1, ..Mishaps::default() });
}

#[test]
fn a_lost_answer_leaves_the_effect_and_nobody_knows() {
    let mut stage = stage(Network { lost_answers: 1_000, ..OFF });
    assert!(matches!(stage.ask(raise()), Some(Answer::Unknown { .. })));
    assert_eq!(stage.group().size.desired, 4);
    assert_eq!(stage.world.mishaps(), Mishaps { lost_answers: 1, ..Mishaps::default() });
}

#[test]
fn throttling_is_heard_of_only_when_the_deadline_has_passed() {
    let (mut done, mut late) = (0, 0);
    let mut stage = stage(Network { throttled: 1_000, ..OFF });
    for _ in 0..30 {
        let from = stage.group().size;
        let to = GroupSize { max: from.max + 1, ..from };
        match stage.ask(Effect::Group(GroupEffect::Resize {
            group: GroupId::self_managed(&"web".into()),
            from,
            to,
        })) {
            Some(Answer::Done) => {
                assert_eq!(stage.group().size, to);
                done += 1;
            }
            Some(Answer::Refused(Refusal::Late)) => {
                assert_eq!(stage.group().size, from);
                late += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(done > 0 && late > 0, "{done} done, {late} late");
    let mishaps = stage.world.mishaps();
    assert_eq!((mishaps.throttled, mishaps.given_up), (30, late));
}

#[test]
fn between_the_check_and_the_act_others_write_and_the_last_writer_wins() {
    let mut stage = stage(Network { has_gaps: true, ..OFF });
    stage.until_the_gap(raise());
    stage.write(|group| {
        group.size.desired = 2;
        group.size.min = 1;
        group.tags = group.tags.with("team", "shop");
    });
    assert_eq!(stage.answer(), Answer::Done);
    let group = stage.group();
    let size = GroupSize { min: 1, max: 4, desired: 4 };
    assert_eq!(group.size, size, "the bound that is not sent stays as others have written it");
    assert_eq!(group.tags.value("team"), Some("shop"));
}

#[test]
fn what_others_wrote_before_the_check_is_a_mismatch() {
    let mut stage = stage(Network { has_gaps: true, ..OFF });
    stage.write(|group| group.size.max = 9);
    assert!(matches!(stage.ask(raise()), Some(Answer::Refused(Refusal::Mismatch { .. }))));
    assert_eq!(stage.group().size, GroupSize { max: 9, ..SIZE });
}

#[test]
fn a_call_that_checks_by_itself_has_no_gap() {
    let mut stage = stage(Network { has_gaps: true, ..OFF });
    let mark = Mark {
        role: NodeRole::Surplus,
        owner: Owner::Run,
        since: stage.world.now(),
        expires: stage.world.now(),
    };
    let node = NodeTarget { name: NodeName::from("n1"), uid: "n1".into() };
    let version = ResourceVersion::default();
    let answer = stage.ask(Effect::Kubernetes(KubernetesEffect::Cordon { node, version, mark }));
    assert_eq!(answer, Some(Answer::Done));
    assert!(stage.world.commands().iter().all(|sent| sent.checked.is_none()));
}

#[test]
fn without_a_network_everything_is_as_it_was() {
    let play = |network: Option<Network>| {
        let mut stage = Stage::new(vec![node("n1", "a"), node("n2", "b")]);
        if let Some(network) = network {
            stage.world.disturb(network);
        }
        stage.world.apply(web());
        stage.world.pass(Span::from_secs(30));
        let known = stage.deployment();
        let answer = stage.ask(restart_of(&known));
        (answer, stage.world.trace_hash(), stage.world.events(), stage.world.mishaps())
    };
    assert_eq!(play(None), play(Some(OFF)));
    assert_ne!(play(None).2, play(Some(Network { late_deliveries: 1_000, ..OFF })).2);
    let late = play(Some(Network { late_deliveries: 1_000, ..OFF })).3;
    assert!(late.late_deliveries > 0);
}
