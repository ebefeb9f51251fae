//! The JSON form of the contract, held still by `json.golden`. A member that changes its name or place breaks readers of another version:
//! then [`replank_protocol::versioned::VERSION`] goes up. `UPDATE_GOLDEN=1` renews the file.

#![expect(clippy::disallowed_methods, reason = "the crate is pure, this test reads its golden file")]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;

use replank_model::object::cloud::{
    GroupId, GroupKind, GroupSize, LaunchTemplate, LaunchTemplateRef, ScalingProcess, VersionWord,
};
use replank_model::object::meta::{Key, ResourceVersion};
use replank_model::object::{Kind, Object, ObjectRef};
use replank_model::time::{Span, Time};
use replank_protocol::cause::Cause;
use replank_protocol::command::{
    Answer, ClaimTarget, Command, CommandKey, Dependents, Effect, EmptyInstance, Expected, GroupEffect,
    KubernetesEffect, Mark, NodeRole, NodeTarget, Outcome, PodTarget, QueueEffect, Refusal, Replacement,
    Restartable, WorkloadTarget,
};
use replank_protocol::decision::{Decision, End};
use replank_protocol::intent::Intent;
use replank_protocol::lifecycle::{Action, Place};
use replank_protocol::noticed::Noticed;
use replank_protocol::owner::Owner;
use replank_protocol::versioned::{self, ReadError, Versioned};
use replank_protocol::waiting::{PodWait, RunWait, Subject, Waiting, WaitingOn};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

fn at(minute: i64) -> Time {
    "2026-01-01T00:00:00Z".parse::<Time>().expect("a time") + Span::from_minutes(minute)
}

fn node() -> NodeTarget {
    NodeTarget { name: "web-1".into(), uid: "node-uid".into() }
}

fn pod() -> PodTarget {
    PodTarget { key: Key::new("shop", "web-7"), uid: "pod-uid".into() }
}

fn action() -> Action {
    Action {
        group: "web".into(),
        hook: "drain".into(),
        instance: "i-1".into(),
        token: Some("token".into()),
        to: Place::Ec2,
    }
}

fn object() -> Object {
    let value =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "record", "namespace": "shop"}});
    Object::from_json(value).expect("an object")
}

fn roles() -> Vec<NodeRole> {
    let roles = [
        NodeRole::Queued,
        NodeRole::Draining { from: at(1) },
        NodeRole::Postponed { times: 1 },
        NodeRole::Skipped,
        NodeRole::Surplus,
        NodeRole::Retained,
        NodeRole::Drained,
        NodeRole::Listed,
        NodeRole::Interrupted { by: Cause::Spot, until: Some(at(2)), from: None },
    ];
    let number = |role: &NodeRole| match role {
        NodeRole::Queued => 0,
        NodeRole::Draining { .. } => 1,
        NodeRole::Skipped => 2,
        NodeRole::Surplus => 3,
        NodeRole::Retained => 4,
        NodeRole::Interrupted { .. } => 5,
        NodeRole::Postponed { .. } => 6,
        NodeRole::Drained => 7,
        NodeRole::Listed => 8,
    };
    assert_eq!(roles.iter().map(number).collect::<BTreeSet<_>>().len(), 9, "every role has a sample");
    roles.to_vec()
}

fn kubernetes() -> Vec<Effect> {
    let version = ResourceVersion(7);
    let mark = |role| Mark { owner: Owner::Run, role, since: at(0), expires: at(60) };
    let mut effects: Vec<KubernetesEffect> = roles()
        .into_iter()
        .map(|role| KubernetesEffect::Cordon { node: node(), version, mark: mark(role) })
        .collect();
    let object_ref = ObjectRef { kind: Kind::Deployment, key: Key::new("shop", "web"), uid: "uid".into() };
    let claim = ClaimTarget { name: "general-7xkq2".into(), uid: "uid".into() };
    effects.extend([
        KubernetesEffect::Uncordon { node: node(), version },
        KubernetesEffect::Evict { pod: pod(), grace_seconds: None },
        KubernetesEffect::DeletePod { pod: pod(), grace_seconds: Some(30) },
        KubernetesEffect::ForceDelete { pod: pod(), instance: "i-1".into() },
        KubernetesEffect::Exclude { node: node(), version, at: at(3) },
        KubernetesEffect::RestartWorkload {
            workload: WorkloadTarget {
                kind: Restartable::Deployment,
                key: Key::new("shop", "web"),
                uid: "uid".into(),
            },
            version,
            at: at(4),
        },
        KubernetesEffect::Create { object: object() },
        KubernetesEffect::Replace { object: object() },
        KubernetesEffect::Delete { object: object_ref, version, dependents: Dependents::Orphaned },
        KubernetesEffect::DeleteNodeClaim { claim, version },
        KubernetesEffect::CordonByHand { node: node(), version, since: at(0), from: Some(at(1)) },
        KubernetesEffect::UncordonByHand { node: node(), version },
    ]);
    let number = |effect: &KubernetesEffect| match effect {
        KubernetesEffect::Cordon { .. } => 0,
        KubernetesEffect::Uncordon { .. } => 1,
        KubernetesEffect::Evict { .. } => 2,
        KubernetesEffect::DeletePod { .. } => 3,
        KubernetesEffect::ForceDelete { .. } => 4,
        KubernetesEffect::Exclude { .. } => 5,
        KubernetesEffect::RestartWorkload { .. } => 6,
        KubernetesEffect::Create { .. } => 7,
        KubernetesEffect::Replace { .. } => 8,
        KubernetesEffect::Delete { .. } => 9,
        KubernetesEffect::DeleteNodeClaim { .. } => 10,
        KubernetesEffect::CordonByHand { .. } => 11,
        KubernetesEffect::UncordonByHand { .. } => 12,
    };
    assert_eq!(effects.iter().map(number).collect::<BTreeSet<_>>().len(), 13, "every effect has a sample");
    effects.into_iter().map(Effect::from).collect()
}

fn web() -> GroupId {
    GroupId { auto_scaling_group: "web-NodeGroup-1A2B".into(), ..GroupId::self_managed(&"web".into()) }
}

fn managed() -> GroupId {
    GroupId {
        node_group: "web".into(),
        auto_scaling_group: "eks-web-1234".into(),
        kind: GroupKind::EksManaged,
    }
}

fn group() -> Vec<Effect> {
    let size = |desired| GroupSize { min: 0, max: 4, desired };
    let drained = Expected::Drained { node: node(), marked_by: "run".into(), remaining: vec![pod()] };
    let emptied = drained.clone();
    let effects = [
        GroupEffect::Tag { group: web(), key: "k".into(), from: None, value: "v".into() },
        GroupEffect::Untag { group: web(), key: "k".into() },
        GroupEffect::SetTemplate {
            group: web(),
            from: LaunchTemplateRef { id: "lt-0123456789abcdef0".into(), version: 3 },
            to: LaunchTemplate { image: "ami-1".into(), ..LaunchTemplate::default() }.into(),
            follow: None,
        },
        GroupEffect::SetTemplate {
            group: web(),
            from: LaunchTemplateRef { id: "lt-0123456789abcdef0".into(), version: 3 },
            to: LaunchTemplate { image: "ami-1".into(), ..LaunchTemplate::default() }.into(),
            follow: Some(VersionWord::Latest),
        },
        GroupEffect::Resize { group: web(), from: size(3), to: size(4) },
        GroupEffect::Relieve {
            instance: "i-1".into(),
            group: "web".into(),
            node: node(),
            hook: "drain".into(),
        },
        GroupEffect::CompleteAction { action: action(), expected: Some(drained.clone()) },
        GroupEffect::Heartbeat { action: action() },
        GroupEffect::Terminate {
            instance: "i-1".into(),
            group: "web".into(),
            expected: drained,
            replacement: Replacement::Launch,
        },
        GroupEffect::Terminate {
            instance: "i-2".into(),
            group: "web".into(),
            expected: Expected::Unregistered,
            replacement: Replacement::Decrement { keep: 3 },
        },
        GroupEffect::UpdateNodegroupVersion {
            group: managed(),
            from: LaunchTemplateRef { id: "lt-0123456789abcdef0".into(), version: 3 },
            to: LaunchTemplate { image: "ami-1".into(), ..LaunchTemplate::default() }.into(),
            force: false,
        },
        GroupEffect::SetProcess { group: web(), process: ScalingProcess::AzRebalance, is_active: false },
        GroupEffect::UpdateNodegroupConfig { group: managed(), from: size(3), to: size(4) },
        GroupEffect::ProtectInstance { instance: "i-2".into(), group: web(), is_protected: true },
        GroupEffect::ScaleNodegroupToZero {
            group: managed(),
            from: size(2),
            instances: vec![
                EmptyInstance { instance: "i-1".into(), expected: emptied },
                EmptyInstance { instance: "i-2".into(), expected: Expected::Unregistered },
            ],
        },
    ];
    let number = |effect: &GroupEffect| match effect {
        GroupEffect::Tag { .. } => 0,
        GroupEffect::Untag { .. } => 1,
        GroupEffect::SetTemplate { .. } => 2,
        GroupEffect::Resize { .. } => 3,
        GroupEffect::Relieve { .. } => 4,
        GroupEffect::CompleteAction { .. } => 5,
        GroupEffect::Heartbeat { .. } => 6,
        GroupEffect::Terminate { .. } => 7,
        GroupEffect::UpdateNodegroupVersion { .. } => 8,
        GroupEffect::UpdateNodegroupConfig { .. } => 9,
        GroupEffect::ScaleNodegroupToZero { .. } => 10,
        GroupEffect::SetProcess { .. } => 11,
        GroupEffect::ProtectInstance { .. } => 12,
    };
    assert_eq!(effects.iter().map(number).collect::<BTreeSet<_>>().len(), 13, "every effect has a sample");
    effects.into_iter().map(Effect::from).collect()
}

fn queue() -> Vec<Effect> {
    let hold = QueueEffect::HoldMessage { message: "m".into(), receipt: "r".into(), until: at(5) };
    let delete = QueueEffect::DeleteMessage { message: "m".into(), receipt: "r".into() };
    vec![hold.into(), delete.into()]
}

fn commands() -> Vec<Command> {
    let effects = kubernetes().into_iter().chain(group()).chain(queue()).enumerate();
    effects
        .map(|(number, effect)| Command {
            key: CommandKey(format!("run/effect/{number}").into()),
            run: "run".into(),
            effect,
            deadline: at(1),
        })
        .collect()
}

fn outcomes() -> Vec<Outcome> {
    let refusals = [
        Refusal::Budget { message: "no".into(), retry_after_seconds: Some(10) },
        Refusal::Conflict { message: "changed".into() },
        Refusal::Gone { message: "gone".into() },
        Refusal::Denied { webhook: "guard".into(), message: "no".into() },
        Refusal::Mismatch { what: "size".into(), expected: "3".into(), found: "4".into() },
        Refusal::Late,
        Refusal::Failed { code: 500, message: "broken".into() },
    ];
    let number = |refusal: &Refusal| match refusal {
        Refusal::Budget { .. } => 0,
        Refusal::Conflict { .. } => 1,
        Refusal::Gone { .. } => 2,
        Refusal::Denied { .. } => 3,
        Refusal::Mismatch { .. } => 4,
        Refusal::Late => 5,
        Refusal::Failed { .. } => 6,
    };
    assert_eq!(refusals.iter().map(number).collect::<BTreeSet<_>>().len(), 7, "every refusal has a sample");
    let answers = refusals
        .into_iter()
        .map(Answer::Refused)
        .chain([Answer::Done, Answer::Unknown { message: "the connection was cut".into() }]);
    answers.map(|answer| Outcome { key: CommandKey("run/effect/0".into()), at: at(2), answer }).collect()
}

fn decision() -> Decision {
    let on = WaitingOn::Pod(PodWait::Budget { budget: Key::new("shop", "web"), healthy: 3, needed: 3 });
    let waiting = vec![
        Waiting { what: Subject::Pod(Key::new("shop", "web-7")), on },
        Waiting { what: Subject::Run, on: WaitingOn::Run(RunWait::Paused) },
    ];
    Decision {
        commands: commands().into_iter().take(1).collect(),
        waiting: waiting.clone().into(),
        wake_at: Some(at(1)),
        noticed: vec![Noticed::Cordoned("web-2".into())],
        end: Some(End::Blocked(waiting)),
    }
}

/// Writes, reads back, and returns what was written.
fn written<T: Serialize + DeserializeOwned + Debug + PartialEq + Clone>(what: &T) -> String {
    let json = serde_json::to_string(&Versioned::of(what.clone())).expect("plain data");
    let read: T = versioned::read(&json).unwrap_or_else(|error| panic!("{json}: {error}"));
    assert_eq!(read, *what, "{json}");
    json
}

#[test]
fn the_json_of_the_contract_stays_as_it_is() {
    let mut lines: Vec<String> = commands().iter().map(written).collect();
    lines.extend(outcomes().iter().map(written));
    lines.push(written(&decision()));
    let intents = [Intent::Run, Intent::Paused, Intent::Cancelled, Intent::Undo];
    lines.extend(intents.iter().map(written));
    let found = lines.join("\n") + "\n";
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/json.golden");
    if std::env::var("UPDATE_GOLDEN").is_ok() {
        std::fs::write(&golden, &found).expect("the golden file can be written");
    }
    let wanted = std::fs::read_to_string(&golden).expect("the golden file is there");
    for (number, (found, wanted)) in found.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(found, wanted, "line {} of tests/json.golden", number + 1);
    }
    assert_eq!(found.lines().count(), wanted.lines().count());
}

#[test]
fn what_a_newer_version_wrote_is_not_guessed_at() {
    let newer = r#"{"version": 2, "body": "run"}"#;
    assert_eq!(versioned::read::<Intent>(newer), Err(ReadError::Newer { version: 2 }));
    for broken in ["{}", "[", r#"{"version": 1, "body": "sideways"}"#] {
        assert!(matches!(versioned::read::<Intent>(broken), Err(ReadError::Invalid { .. })), "{broken}");
    }
}
