use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use serde_json::{Value, json};

use crate::Core;
use crate::interrupt;
use replank_facts::groups::GroupBy;
use replank_facts::plan::Plan;
use replank_facts::plan::RunOptions;
use replank_protocol::decision::End;
use replank_protocol::waiting::{RunEnd, Subject, Waiting};

fn at(minutes: i64) -> Time {
    let start: Time = "2026-01-01T00:00:00Z".parse().expect("a time");
    start + Span::from_minutes(minutes)
}

fn put(core: &mut Core, value: Value) {
    core.observe(Delta::Put(Object::from_json(value).expect("an object")));
}

fn node(name: &str, roll: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name, "labels": {"roll": roll}},
        "spec": {"providerID": format!("aws:///a/i-{name}")},
        "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "pods": "20"},
            "conditions": [{"type": "Ready", "status": "True"}]}})
}

/// A pod on a node that is chosen, with room on another, under a budget that lets so many pods less one go.
fn cluster(core: &mut Core, healthy: i32) {
    put(core, node("web-1", "me"));
    put(core, node("web-2", "nobody"));
    put(
        core,
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "shop", "namespace": "shop", "uid": "shop", "generation": 1},
            "spec": {"maxUnavailable": healthy - 1, "selector": {"matchLabels": {"app": "shop"}}},
            "status": {"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 2 - healthy,
                "expectedPods": 1, "disruptionsAllowed": healthy - 1}}),
    );
    put(
        core,
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "shop-1", "namespace": "shop", "uid": "shop-1", "labels": {"app": "shop"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "shop", "uid": "s", "controller": true}]},
            "spec": {"nodeName": "web-1", "containers": [{"name": "c"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}),
    );
}

/// What blocks here: a budget that lets nothing go.
fn blocking(view: &View, _: &Plan, _: &RunOptions) -> Vec<Waiting> {
    let budgets = view.pod_disruption_budgets.sorted().into_iter().map(|(_, budget)| budget);
    let never = budgets.filter(|budget| budget.status.disruptions_allowed == 0);
    never
        .map(|budget| Waiting {
            what: Subject::Object(budget.meta.name.text().clone()),
            on: RunEnd::Finding { rule: "never".into(), reason: "it lets nothing go".into() }.into(),
        })
        .collect()
}

fn core() -> Core {
    let plan = json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "p"},
        "spec": {"selector": {"matchLabels": {"roll": "me"}}, "blockingFindings": "refuse"}});
    let plan = Plan::read(&plan).expect("a plan");
    let interruptions = interrupt::Options::beside(Some(&plan));
    let options = RunOptions { started: at(0), group_by: GroupBy::default() };
    Core::new(plan, "run".into(), options, blocking).with_interruptions(interruptions)
}

#[test]
fn a_run_that_was_refused_does_not_begin_when_what_blocked_is_gone() {
    let mut refused = core();
    cluster(&mut refused, 1);
    assert!(matches!(refused.decide(at(0)).end, Some(End::Refused(_))));
    cluster(&mut refused, 2);
    let later = refused.decide(at(60));
    assert!(matches!(later.end, Some(End::Refused(_))), "{later:?}");
    assert_eq!(later.commands, []);
    let mut admitted = core();
    cluster(&mut admitted, 2);
    let other = admitted.decide(at(60));
    assert!(!matches!(other.end, Some(End::Refused(_))), "nothing blocks by itself: {other:?}");
}
