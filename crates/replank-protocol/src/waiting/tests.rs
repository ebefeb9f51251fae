use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use replank_model::object::cloud::{GroupSize, Registrar, ScalingProcess, TargetHealth, UpdateError};
use replank_model::object::meta::Key;
use replank_model::time::{Span, Time};

use super::migration::Copy;
use super::*;
use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::hindrance::Hindrance;
use crate::mark::{Ailment, Illness, Whose};
use crate::policy::{PodClass, Refused, StuckAction};
use crate::provisioner::Provisioner;
use crate::release::Release;
use crate::scaling::{GroupWhy, Hold};
use crate::taker::Taker;

fn at(minute: i64) -> Time {
    "2026-01-01T00:00:00Z".parse::<Time>().expect("a time") + Span::from_minutes(minute)
}

fn web() -> Key {
    Key::new("shop", "web")
}

fn evidence() -> Box<Evidence> {
    Box::new(Evidence {
        due: at(1),
        grace: Span::from_secs(30),
        finalizers: Vec::new(),
        running: 2,
        node: None,
        volumes: Vec::new(),
    })
}

fn denied(tries: u32) -> WaitingOn {
    let (what, webhook, message) = ("eviction".into(), "guard.example.com".into(), "not today".into());
    RunWait::Denied { what, webhook, message, tries, at: at(1) }.into()
}

fn shared() -> Vec<WaitingOn> {
    let size = |max| GroupSize { min: 1, desired: 2, max };
    vec![
        RunWait::Effect { what: "eviction".into() }.into(),
        RunWait::Retry { what: "eviction".into(), message: "conflict".into(), at: at(1) }.into(),
        denied(1),
        denied(DENIED_TRIES_MAX),
        RunWait::Window { opens: at(9) }.into(),
        RunWait::Paused.into(),
        RunEnd::NewerVersion { version: 9 }.into(),
        RunEnd::Record { holder: web(), why: RecordWhy::OtherPlan }.into(),
        RunEnd::Record { holder: web(), why: RecordWhy::Unreadable { member: "spec.plan".into() } }.into(),
        RunEnd::OtherRun { run: "other".into(), until: at(9) }.into(),
        RunEnd::Finding { rule: "pdb-never-allows".into(), reason: "minAvailable is 3 of 3".into() }.into(),
        RunEnd::Stalled { since: at(1), limit: Span::from_minutes(60) }.into(),
        RunEnd::Halted { at: at(1) }.into(),
        RunEnd::Unhealthy {
            at: at(1),
            ailment: Ailment { illness: Illness::NotReady, whose: Whose::New, found: 3, max: 2 },
        }
        .into(),
        RunEnd::Cancelled { at: at(1) }.into(),
        RunEnd::Undone { at: at(1) }.into(),
        RunEnd::Over.into(),
        RunEnd::Deadline { at: at(1) }.into(),
        RunEnd::Windows { at: at(1), open: Span::from_secs(3), run: Span::from_minutes(72 * 60) }.into(),
        RunEnd::OwnedByEks { what: "termination".into() }.into(),
        CapacityWait::Capacity { ready: 1, wanted: 2, failure: Some("no capacity".into()) }.into(),
        CapacityWait::NodeReady { daemon_pods_missing: 1 }.into(),
        CapacityWait::InstanceLate { since: at(1), daemon_pods_missing: 0 }.into(),
        CapacityWait::NodeMissing.into(),
        CapacityWait::TargetHealth {
            target_group: "web".into(),
            health: TargetHealth::Initial,
            registrar: Registrar::Controller,
            since: at(1),
        }
        .into(),
        CapacityWait::TargetHealth {
            target_group: "web".into(),
            health: TargetHealth::Unused,
            registrar: Registrar::AutoScaling,
            since: at(1),
        }
        .into(),
        RollEnd::Bounds { size: size(3), original: size(2) }.into(),
    ]
}

fn pods() -> Vec<WaitingOn> {
    vec![
        PodWait::Budget { budget: web(), healthy: 3, needed: 3 }.into(),
        PodWait::BudgetUncounted { budget: web(), message: "no controller".into() }.into(),
        PodWait::Batch { since: Some(at(0)), deadline: at(9) }.into(),
        PodWait::Unrecorded.into(),
        PodWait::Room { pod: web(), message: "0/3 nodes are available".into() }.into(),
        PodWait::Terminating { pods: 2, grace_max: Span::from_secs(30) }.into(),
        PodWait::Stuck { action: StuckAction::Report, evidence: evidence() }.into(),
        PodWait::Stuck { action: StuckAction::ReplaceNode, evidence: evidence() }.into(),
        PodWait::Restart { workload: web(), since: None }.into(),
        PodEnd::Budgets { budgets: vec![web(), Key::new("shop", "all")] }.into(),
        PodEnd::BatchOver { since: Some(at(0)), deadline: at(9) }.into(),
        PodEnd::Refused { reason: Refused::Bare }.into(),
        PodEnd::CameBack.into(),
        PodEnd::Ailing { illness: Illness::CrashLooping }.into(),
        PodEnd::Ailing { illness: Illness::Restarting }.into(),
    ]
}

fn roll() -> Vec<WaitingOn> {
    vec![
        RollWait::Deregistration { until: at(1) }.into(),
        RollWait::Target {
            target_group: "web".into(),
            health: TargetHealth::Draining,
            delay: Span::from_secs(300),
        }
        .into(),
        RollWait::Target {
            target_group: "web".into(),
            health: TargetHealth::Healthy,
            delay: Span::from_secs(300),
        }
        .into(),
        RollWait::Pace { until: at(1) }.into(),
        RollWait::Soak { until: at(1) }.into(),
        RollWait::Bake { wave: 1, until: at(1) }.into(),
        RollWait::Wave { wave: 1, replaced: 2, nodes: 3 }.into(),
        RollWait::Retained { until: at(1) }.into(),
        RollWait::Canary { replaced: 0, nodes: 1 }.into(),
        RollWait::Turn { nodes: 5, active: 1, limit: 1 }.into(),
        RollWait::Cordon { nodes: 3 }.into(),
        RollWait::Available { ready: 3, needed: 3 }.into(),
        RollWait::ZoneMinimum { zone: "eu-west-1a".into(), ready: 1, needed: 1 }.into(),
        RollWait::Leftover { run: "other".into() }.into(),
        RollWait::NoInstance.into(),
        RollWait::BadCondition { condition: "DiskPressure".into() }.into(),
        RollWait::Leaving { instances: 1 }.into(),
        RollWait::Suspended { process: ScalingProcess::Launch, auto_scaling_group: "eks-web-1".into() }
            .into(),
        RollWait::Unprotected { limit: Some(20) }.into(),
        RollWait::Unprotected { limit: None }.into(),
        RollWait::NodegroupUpdate { id: "u-1".into(), since: at(1), nodes: 2 }.into(),
        RollWait::EksDrain { pods: 1, not_before: Some(at(15)), by: None }.into(),
        RollWait::EksDrain { pods: 2, not_before: Some(at(15)), by: Some(at(20)) }.into(),
        RollWait::EksDrain { pods: 2, not_before: Some(at(15)), by: Some(at(15)) }.into(),
        RollWait::OtherUpdate { id: "u-1".into(), since: at(1) }.into(),
        RollWait::TakenAway { by: Taker::ClusterAutoscaler }.into(),
        RollWait::Replacement { since: at(1), until: at(60) }.into(),
        RollWait::Successor { ready: 2, wanted: 3, since: at(1), until: at(60) }.into(),
        RollEnd::NotReplaced { since: at(1), limit: Span::from_minutes(60) }.into(),
        RollEnd::NoSuccessor { ready: 2, wanted: 3, since: at(1), limit: Span::from_minutes(60) }.into(),
        RollEnd::OtherNode { kubelet: "v1.34.2".into() }.into(),
        RollEnd::ReplacedByOthers { nodes: 2 }.into(),
        RollWait::ClaimLeaving { since: at(1), pods: 2, by: None }.into(),
        RollWait::ClaimLeaving { since: at(1), pods: 1, by: Some(at(60)) }.into(),
        RollEnd::OtherKubelet { image: "ami-1".into(), kubelet: "v1.34.2".into(), wanted: "1.36".into() }
            .into(),
        RollEnd::UpdateFailed {
            id: "u-1".into(),
            errors: vec![UpdateError {
                code: UpdateError::POD_EVICTION_FAILURE.into(),
                message: "pods are left".into(),
                resources: vec!["web-1".into()],
            }],
            left: vec![LeftPod {
                pod: Key::new("shop", "web-abc"),
                on: Some(PodWait::Budget { budget: Key::new("shop", "web"), healthy: 2, needed: 2 }),
                end: None,
            }],
        }
        .into(),
        RollEnd::UpdateRefused {
            message: "eks:UpdateNodegroupVersion: InvalidParameterException: NodeGroup is already using the requested version".into(),
        }
        .into(),
        RollEnd::UpdateRefused { message: "InvalidParameterException: no".into() }.into(),
        RollEnd::GroupMinimum { min: 2, left: 1 }.into(),
        RollEnd::PartOfManaged { nodes: 2 }.into(),
        RollEnd::DoNotDisrupt.into(),
        RollEnd::Reopened.into(),
        RollEnd::ForeignCordon.into(),
        RollEnd::ManagedBy { provisioner: Provisioner::AutoMode }.into(),
        RollEnd::Skipped.into(),
        RollEnd::Missing { what: "node group web".into() }.into(),
    ]
}

fn others() -> Vec<WaitingOn> {
    let budget = PodWait::Budget { budget: web(), healthy: 1, needed: 1 }.into();
    vec![
        InterruptionWait::Interrupted { by: Cause::Spot, until: Some(at(2)), pods: 3 }.into(),
        InterruptionWait::Unregistered { until: at(5) }.into(),
        InterruptionWait::Volumes { volumes: 2, until: at(1) }.into(),
        InterruptionEnd::Release { by: Cause::Rebalance, why: Release::Spared { until: at(1) }, pods: 1 }
            .into(),
        InterruptionEnd::Poison { why: "no JSON".into(), received: 4 }.into(),
        ScalingWait::NoGroup { pods: 2, groups: vec![("web".into(), GroupWhy::AtMaximum { max: 3 })] }.into(),
        ScalingWait::NewNodes { count: 2, until: at(15) }.into(),
        ScalingWait::NotNeeded { hold: Hold::Until(at(10)) }.into(),
        ScalingEnd::KeepsNode { why: Box::new(Blocks::Bare) }.into(),
        ScalingEnd::KeepsNode { why: Box::new(Blocks::Budget(budget)) }.into(),
        MigrationWait::Rollout { updated: 1, wanted: 3 }.into(),
        MigrationWait::Orphaning.into(),
        MigrationWait::Adoption { set: "web-1".into() }.into(),
        MigrationWait::PodAdoption { pods: 2 }.into(),
        MigrationWait::Available { copy: Copy::Twin, available: 1, wanted: 3 }.into(),
        MigrationWait::Endpoints { copy: Copy::New, service: web(), ready: 1, wanted: 3 }.into(),
        MigrationWait::Leaving { copy: Copy::Old, sets: 1, pods: 3 }.into(),
        MigrationWait::ScaledDown { replicas: 3 }.into(),
        MigrationWait::Settle { until: at(1) }.into(),
        MigrationEnd::NoEndpoints { service: web(), since: at(1) }.into(),
        MigrationEnd::Foreign.into(),
        MigrationEnd::Gone.into(),
        MigrationEnd::Hindered(Hindrance::SameSelector).into(),
        MigrationEnd::Hindered(Hindrance::HandedOver).into(),
    ]
}

fn drain() -> Vec<WaitingOn> {
    let classes = [
        PodClass::DaemonSet,
        PodClass::OrphanedDaemonSet { name: "logs".into() },
        PodClass::LocalStorage,
        PodClass::Unmanaged,
        PodClass::Unreadable,
    ];
    let refused = classes.map(|class| RefusedPods { class, pods: vec![web(), Key::new("shop", "api")] });
    vec![
        DrainWait::AllCordoned { nodes: 2 }.into(),
        DrainWait::DrainTurn { active: 1, limit: 1 }.into(),
        DrainWait::PodsLeft { pods: 3 }.into(),
        DrainEnd::RefusedPods { refused: refused.to_vec() }.into(),
        DrainEnd::DrainTimeout { limit: Span::from_secs(90), pods: 1 }.into(),
        DrainEnd::Immovable { pods: 1 }.into(),
        DrainEnd::Uncordoned.into(),
        DrainEnd::NodeGone.into(),
    ]
}

/// Every reason with its kind, its label and its words. A kind that is missing here shows in the count.
#[test]
#[expect(clippy::disallowed_methods, reason = "the crate is pure, this test reads its golden file")]
fn every_reason_has_words_and_its_json_is_read_back() {
    let all: Vec<WaitingOn> = [shared(), pods(), roll(), others(), drain()].concat();
    let mut text = String::new();
    let mut labels: BTreeMap<&str, &str> = BTreeMap::new();
    for on in &all {
        let json = serde_json::to_value(on).expect("plain data");
        assert_eq!(
            serde_json::from_value::<WaitingOn>(json.clone()).expect("it is read back"),
            *on,
            "{json}"
        );
        let key = json.as_str().or_else(|| json.as_object()?.keys().next().map(String::as_str));
        assert_eq!(key, Some(on.kind()), "the kind is the key: {json}");
        labels.insert(on.kind(), on.label());
        let reason = Waiting { what: Subject::Object("X".into()), on: on.clone() };
        text += &format!("{:<16} {:<48} {reason}\n", on.kind(), on.label());
    }
    assert_eq!(labels.len(), 96, "every kind has a sample: {:?}", labels.keys());
    assert_eq!(labels.values().collect::<BTreeSet<_>>().len(), labels.len(), "no two kinds have one label");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/waiting.golden");
    if std::env::var("UPDATE_GOLDEN").is_ok() {
        std::fs::write(&golden, &text).expect("the golden file can be written");
    }
    assert_eq!(text, std::fs::read_to_string(&golden).expect("the golden file is there"));
}
