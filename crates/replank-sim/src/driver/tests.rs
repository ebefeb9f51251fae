//! What commands do to the world, and what they refuse.

mod network;

use std::cell::RefCell;
use std::rc::Rc;

use replank_model::delta::Delta;
use replank_model::object::cloud::{HealthStatus, Instance, InstanceState, Lifecycle, Market};
use replank_model::object::meta::Key;
use replank_model::object::workload::Deployment;
use replank_model::object::{Kind, Object};
use replank_model::text::{InstanceId, NodeName, RunId};
use replank_model::time::{Span, Time};
use replank_protocol::command::{
    Command, CommandKey, Effect, KubernetesEffect, NodeTarget, Outcome, PodTarget, QueueEffect, Refusal,
    Restartable, WorkloadTarget,
};
use replank_protocol::decision::Decision;
use replank_protocol::intent::Intent;
use replank_protocol::mark;
use serde_json::{Value, json};

use crate::World;
use crate::testing::{node, running, world};
use replank_apiserver::DeleteOptions;
use replank_protocol::command::Answer;
use replank_protocol::engine::Engine;

/// Sends what it is given, once, and notes the answers.
struct Hand {
    effects: Rc<RefCell<Vec<Effect>>>,
    answers: Rc<RefCell<Vec<Outcome>>>,
    sent: u32,
}

impl Engine for Hand {
    fn intend(&mut self, _intent: Intent) {}

    fn start_anew(&mut self) {}

    fn observe(&mut self, _delta: Delta) {}

    fn outcome(&mut self, outcome: Outcome) {
        self.answers.borrow_mut().push(outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        let effects = std::mem::take(&mut *self.effects.borrow_mut());
        let commands = effects.into_iter().map(|effect| {
            self.sent += 1;
            let key = CommandKey(format!("run/{}", self.sent).into());
            Command { key, run: RunId::from("run"), effect, deadline: now + Span::from_secs(60) }
        });
        let commands = commands.collect();
        Decision { commands, wake_at: Some(now + Span::from_secs(1)), ..Decision::default() }
    }
}

/// A world and a hand that commands in it.
struct Stage {
    world: World,
    effects: Rc<RefCell<Vec<Effect>>>,
    answers: Rc<RefCell<Vec<Outcome>>>,
}

impl Stage {
    fn new(objects: Vec<Value>) -> Self {
        let mut world = world(objects);
        let (effects, answers) = (Rc::default(), Rc::default());
        world.put_in_charge(Box::new(Hand {
            effects: Rc::clone(&effects),
            answers: Rc::clone(&answers),
            sent: 0,
        }));
        Self { world, effects, answers }
    }

    /// Sends a command and waits for the answer.
    fn order(&mut self, effect: Effect) -> Result<(), Refusal> {
        self.effects.borrow_mut().push(effect);
        self.world.pass(Span::from_secs(5));
        let answer = self.answers.borrow_mut().pop().expect("every command is answered");
        match answer.answer {
            Answer::Done => Ok(()),
            Answer::Refused(refusal) => Err(refusal),
            Answer::Unknown { message } => panic!("no answer was lost: {message}"),
        }
    }

    fn deployment(&self) -> Deployment {
        match self.world.get(Kind::Deployment, "web") {
            Some(Object::Deployment(deployment)) => Deployment::clone(&deployment),
            other => panic!("{other:?}"),
        }
    }

    fn instance(&mut self, state: InstanceState) {
        let instance = Instance {
            id: InstanceId::from("i-1"),
            group: "web".into(),
            zone: "a".into(),
            state,
            template: replank_model::object::cloud::LaunchTemplateRef::invented(&"web".into()),
            launched: None,
            node: Some(NodeName::from("n1")),
            lifecycle: Lifecycle::InService,
            market: Market::OnDemand,
            is_protected: false,
            health: HealthStatus::Healthy,
            targets: Vec::new(),
        };
        self.world.request(|api| api.apply_cloud(Delta::Instance(instance.into())));
    }
}

fn web() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2,
        "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
}

fn restart_of(deployment: &Deployment) -> Effect {
    let (key, uid) = (deployment.meta.key(), deployment.meta.uid.clone());
    let at = "2026-01-01T00:00:30Z".parse().expect("a time");
    let workload = WorkloadTarget { kind: Restartable::Deployment, key, uid };
    Effect::Kubernetes(KubernetesEffect::RestartWorkload {
        workload,
        version: deployment.meta.resource_version,
        at,
    })
}

#[test]
fn a_restart_replaces_every_pod_by_the_workloads_own_strategy() {
    let mut stage = Stage::new(vec![node("n1", "a"), node("n2", "b")]);
    stage.world.apply(web());
    stage.world.pass(Span::from_secs(30));
    let before: Vec<_> =
        stage.world.view().pods.sorted().iter().map(|(_, pod)| pod.meta.uid.clone()).collect();
    let known = stage.deployment();
    assert_eq!(stage.order(restart_of(&known)), Ok(()));
    let annotations = &stage.deployment().spec.template.meta.annotations;
    assert_eq!(annotations.value(mark::RESTARTED_AT), Some("2026-01-01T00:00:30Z"));
    assert_eq!(annotations.value(mark::RESTARTED_BY), Some("run"));
    stage.world.pass(Span::from_secs(60));
    let after = stage.world.view().pods.sorted();
    assert_eq!(after.len(), 2);
    assert!(after.iter().all(|(_, pod)| pod.is_ready() && !before.contains(&pod.meta.uid)));
}

#[test]
fn a_restart_of_what_has_changed_or_is_paused_has_no_effect() {
    let mut stage = Stage::new(vec![node("n1", "a")]);
    stage.world.apply(web());
    let old = stage.deployment();
    stage.world.pass(Span::from_secs(30));
    let conflict = stage.order(restart_of(&old));
    assert!(matches!(conflict, Err(Refusal::Conflict { .. })), "{conflict:?}");
    let paused = stage.world.request(|api| {
        let key = Key::new("shop", "web");
        api.modify::<Deployment>(&key, |it| it.spec.paused = true).map(drop)
    });
    paused.expect("it is there");
    stage.world.pass(Span::from_secs(5));
    let known = stage.deployment();
    let refused = stage.order(restart_of(&known));
    assert!(
        matches!(&refused, Err(Refusal::Failed { code: 400, message }) if message.contains("paused")),
        "{refused:?}"
    );
    let deleted =
        stage.world.request(|api| api.delete(Kind::Deployment, &known.meta.key(), &DeleteOptions::default()));
    deleted.expect("it is there");
    let gone = stage.order(restart_of(&known));
    assert!(matches!(gone, Err(Refusal::Gone { .. })), "{gone:?}");
}

#[test]
fn a_pod_is_deleted_by_force_only_after_its_instance() {
    let mut pod = running("web-0", "n1");
    pod["metadata"]["annotations"] = json!({"fake.kubelet/stuck": "true"});
    let mut stage = Stage::new(vec![node("n1", "a"), pod]);
    stage.instance(InstanceState::Running);
    let key = Key::new("shop", "web-0");
    let deleted = stage.world.request(|api| api.delete(Kind::Pod, &key, &DeleteOptions::default()));
    deleted.expect("it is there");
    let force = Effect::Kubernetes(KubernetesEffect::ForceDelete {
        pod: PodTarget { key, uid: "web-0".into() },
        instance: InstanceId::from("i-1"),
    });
    for state in [InstanceState::Running, InstanceState::ShuttingDown] {
        stage.instance(state);
        let refused = stage.order(force.clone());
        assert!(matches!(refused, Err(Refusal::Mismatch { .. })), "{refused:?}");
        assert!(stage.world.get(Kind::Pod, "web-0").is_some());
    }
    stage.instance(InstanceState::Terminated);
    assert_eq!(stage.order(force.clone()), Ok(()));
    assert!(stage.world.get(Kind::Pod, "web-0").is_none());
    let again = stage.order(force);
    assert!(matches!(again, Err(Refusal::Gone { .. })), "{again:?}");
}

#[test]
fn an_exclusion_is_written_once_and_taken_back_by_the_uncordon() {
    let mut stage = Stage::new(vec![node("n1", "a")]);
    let known = |stage: &Stage| stage.world.view().node(&NodeName::from("n1")).expect("it is there").clone();
    let target = NodeTarget { name: NodeName::from("n1"), uid: "n1".into() };
    let old = known(&stage).meta.resource_version;
    let at = "2026-01-01T00:00:30Z".parse().expect("a time");
    assert_eq!(
        stage.order(Effect::Kubernetes(KubernetesEffect::Exclude { node: target.clone(), version: old, at })),
        Ok(())
    );
    let excluded = known(&stage);
    assert_eq!(excluded.meta.labels.value(mark::EXCLUDE), Some("true"));
    assert_eq!(excluded.meta.annotations.value(mark::EXCLUDED), Some("run"));
    assert_eq!(mark::excluded_since(&excluded), Some(at));
    let stale =
        stage.order(Effect::Kubernetes(KubernetesEffect::Exclude { node: target.clone(), version: old, at }));
    assert!(matches!(stale, Err(Refusal::Conflict { .. })), "{stale:?}");
    let version = excluded.meta.resource_version;
    assert_eq!(stage.order(Effect::Kubernetes(KubernetesEffect::Uncordon { node: target, version })), Ok(()));
    let released = known(&stage);
    assert_eq!(released.meta.labels.value(mark::EXCLUDE), None);
    assert_eq!(released.meta.annotations.value(mark::EXCLUDED), None);
}

#[test]
fn no_message_is_hidden_for_more_than_twelve_hours_and_it_comes_back_with_another_receipt() {
    let mut stage = Stage::new(vec![node("n1", "a")]);
    stage.world.post("{}");
    stage.world.pass(Span::from_secs(6));
    let hold = |stage: &mut Stage, receipt: &str, hours: i64| {
        let until = stage.world.now() + Span::from_minutes(hours * 60);
        stage.order(Effect::Queue(QueueEffect::HoldMessage {
            message: "m-0000".into(),
            receipt: receipt.into(),
            until,
        }))
    };
    assert_eq!(hold(&mut stage, "m-0000#1", 6), Ok(()));
    stage.world.pass(Span::from_minutes(5 * 60));
    // It was received a few seconds after it was sent: twelve hours from now are five too many.
    let refused = hold(&mut stage, "m-0000#1", 12);
    assert!(matches!(&refused, Err(Refusal::Failed { code: 400, message }) if message.contains("43200")));
    assert_eq!(hold(&mut stage, "m-0000#1", 6), Ok(()));
    stage.world.pass(Span::from_secs(6 * 3600 + 5));
    let gone = hold(&mut stage, "m-0000#1", 1);
    assert!(matches!(gone, Err(Refusal::Failed { .. })), "{gone:?}");
    assert_eq!(hold(&mut stage, "m-0000#2", 11), Ok(()), "it was received again a moment ago");
}
