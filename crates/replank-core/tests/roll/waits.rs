//! Each reason for waiting, where it comes from and how it ends.

use replank_model::delta::{Delta, Unread};
use replank_model::object::cloud::GroupSize;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::object::{Kind, Object, ObjectRef};
use replank_model::time::Span;
use replank_protocol::command::Refusal;
use replank_protocol::command::{Effect, Expected, GroupEffect};
use replank_protocol::decision::End;
use replank_protocol::mark;
use replank_protocol::policy::Refused;
use replank_protocol::waiting::{
    CapacityWait, PodEnd, PodWait, RollEnd, RollWait, RunEnd, RunWait, Subject, Waiting, WaitingOn,
};
use serde_json::{Value, json};

use crate::basics::shop;
use crate::stage::{Stage, budget, job_pod, merge, node, object, plan, pod, replica_set, start, web};

const DAY: Span = Span::from_minutes(24 * 60);
const HOUR: Span = Span::from_minutes(60);

fn to_136() -> Value {
    json!({"target": {"kubernetesVersion": "1.36"}})
}

fn with(extra: Value) -> Value {
    let mut spec = to_136();
    merge(&mut spec, extra);
    spec
}

fn web_plan(extra: Value) -> replank_facts::plan::Plan {
    plan(&["web"], with(extra))
}

fn blockers(end: End) -> Vec<Waiting> {
    match end {
        End::Blocked(blockers) => blockers,
        other @ (End::Done | End::RolledBack(_) | End::Cancelled(_) | End::Refused(_)) => {
            panic!("blocked was expected: {other:?}")
        }
    }
}

fn on<'a>(blockers: &'a [Waiting], what: &Subject) -> &'a WaitingOn {
    let found = blockers.iter().find(|waiting| waiting.what == *what);
    &found.unwrap_or_else(|| panic!("{what} is not among {blockers:#?}")).on
}

fn pod_subject(name: &str) -> Subject {
    Subject::Pod(Key::new("shop", name))
}

fn saw(stage: &Stage, kind: &str) -> (Subject, WaitingOn) {
    let found = stage.seen.get(kind).cloned();
    found.unwrap_or_else(|| panic!("{kind} is not among {:?}\n{}", stage.seen.keys(), stage.story()))
}

#[test]
fn an_ordinary_roll_says_what_it_waits_for() {
    let objects = [
        shop(),
        vec![json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "shop", "uid": "agent"},
        "spec": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}},
        "status": {"desiredNumberScheduled": 3, "numberReady": 3}})],
    ]
    .concat();
    let mut stage = Stage::new(
        web_plan(json!({"pace": {"betweenNodes": "30s"}, "canary": {"nodes": 1, "soak": "10m"}})),
        objects,
    );
    let mut strict = PodDisruptionBudget::clone(stage.truth.pod_disruption_budgets.sorted()[0].1);
    strict.spec.min_available = Some(5.into());
    stage.put(strict);
    assert_eq!(stage.run(DAY), End::Done);
    assert_eq!(saw(&stage, "capacity").0, Subject::Group("web".into()));
    assert!(matches!(
        saw(&stage, "nodeReady").1,
        WaitingOn::Capacity(CapacityWait::NodeReady { daemon_pods_missing: 0 | 1 })
    ));
    assert!(matches!(saw(&stage, "budget").1, WaitingOn::Pod(PodWait::Budget { needed: 5, .. })));
    assert!(
        matches!(saw(&stage, "terminating").1, WaitingOn::Pod(PodWait::Terminating { grace_max, .. }) if grace_max == Span::from_secs(10))
    );
    assert!(matches!(saw(&stage, "turn").1, WaitingOn::Roll(RollWait::Turn { limit: 1, .. })));
    assert!(matches!(saw(&stage, "cordon"), (Subject::Run, WaitingOn::Roll(RollWait::Cordon { nodes: 3 }))));
    for kind in ["pace", "soak", "effect", "leaving"] {
        saw(&stage, kind);
    }
    let drains: Vec<_> =
        stage.done.iter().filter(|(_, c, _)| c.key.0.contains("/drain/")).map(|(at, _, _)| *at).collect();
    let first_end = stage.when("/terminate/").expect("a node went");
    assert!(drains[1] > first_end, "the canary goes alone");
    let second_eviction = stage
        .done
        .iter()
        .filter(|(at, c, _)| c.key.0.contains("/evict/") && *at > first_end)
        .map(|(at, _, _)| *at)
        .next();
    let soak = second_eviction.expect("others follow") - first_end;
    assert!(soak >= Span::from_minutes(10) && soak < Span::from_minutes(12), "{soak}");
}

#[test]
fn an_instance_is_terminated_with_what_the_driver_has_to_prove() {
    let mut stage = Stage::new(web_plan(json!({})), vec![node("n0", "web", "a")]);
    assert_eq!(stage.run(HOUR), End::Done);
    let expected = stage.done.iter().find_map(|(_, command, _)| match &command.effect {
        Effect::Group(GroupEffect::Terminate { expected, .. }) => Some(expected.clone()),
        Effect::Group(_) | Effect::Kubernetes(_) | Effect::Queue(_) => None,
    });
    let Some(Expected::Drained { node, marked_by, remaining }) = expected else {
        panic!("{expected:?}\n{}", stage.story())
    };
    assert_eq!((node.name, marked_by, remaining), ("n0".into(), "run".into(), Vec::new()));
}

#[test]
fn the_canary_goes_alone_even_where_more_could() {
    let spec =
        json!({"pace": {"parallel": 3}, "budget": {"surge": 3}, "canary": {"nodes": 1, "soak": "10m"}});
    let mut stage = Stage::new(web_plan(spec), shop());
    assert_eq!(stage.run(DAY), End::Done);
    assert!(matches!(saw(&stage, "canary").1, WaitingOn::Roll(RollWait::Canary { replaced: 0, nodes: 1 })));
    let evicted = |name: &str| stage.when(&format!("/evict/{name}")).expect("it was moved");
    assert!(evicted("web-x1") - evicted("web-x0") > Span::from_minutes(10));
    assert!(evicted("web-x2") - evicted("web-x1") < Span::from_minutes(1), "the others go together");
}

#[test]
fn a_canary_is_no_empty_node_while_there_is_no_room_yet_for_the_pods_of_others() {
    let mut objects = shop();
    objects.push(node("empty", "web", "a"));
    let mut stage = Stage::new(web_plan(json!({"canary": {"nodes": 1, "soak": "10m"}})), objects);
    // A new node counts as Ready before it takes pods.
    stage.taint_lag = Span::from_secs(4);
    assert_eq!(stage.run(DAY), End::Done);
    let first = stage.done.iter().find(|(_, command, _)| command.key.0.contains("/drain/"));
    let first = first.map(|(_, command, _)| command.key.0.clone()).expect("nodes are drained");
    assert!(!first.contains("empty"), "{first}\n{}", stage.story());
}

#[test]
fn a_budget_that_never_allows_blocks_the_run_and_is_named() {
    let objects = vec![
        node("n0", "web", "a"),
        node("n1", "web", "b"),
        replica_set("web", 1, "1"),
        web("web-x", "n0", "web"),
        budget("web", "web", 1),
    ];
    let mut stage = Stage::new(web_plan(json!({})), objects);
    let blockers = blockers(stage.run(DAY));
    let reason = WaitingOn::Pod(PodWait::Budget { budget: Key::new("shop", "web"), healthy: 1, needed: 1 });
    assert_eq!(*on(&blockers, &pod_subject("web-x")), reason);
    assert!(
        matches!(on(&blockers, &Subject::Run), WaitingOn::RunEnd(RunEnd::Stalled { limit, .. }) if *limit == HOUR)
    );
    assert!(
        stage.done.iter().all(|(_, command, _)| !command.key.0.contains("/evict/")),
        "never asked for in vain"
    );
    // The empty node was replaced, the other one was never begun, and is released.
    let left = stage.truth.node(&"n0".into()).expect("it has a pod");
    assert!(!left.spec.unschedulable && mark::of(left).is_none());
    assert!(stage.truth.node(&"n1".into()).is_none());
    // It takes pods again, so that the surge is not needed any more.
    assert_eq!(stage.truth.groups()["web"].size, GroupSize { min: 0, max: 2, desired: 2 });
    assert!(blockers.iter().all(|waiting| waiting.what != Subject::Bounds("web".into())));
    assert!(stage.truth.groups()["web"].tags.contains_key(mark::HALTED));
    assert!(!stage.truth.groups()["web"].tags.contains_key(mark::ORIGINAL_SIZE));
}

#[test]
fn a_halted_run_stays_halted_after_a_restart() {
    let objects = vec![
        node("n0", "web", "a"),
        replica_set("web", 1, "1"),
        web("web-x", "n0", "web"),
        budget("web", "web", 1),
    ];
    let mut stage = Stage::new(web_plan(json!({})), objects);
    let before = blockers(stage.run(DAY));
    let done = stage.done.len();
    stage.restart();
    assert_eq!(blockers(stage.run(HOUR)), before);
    assert_eq!(stage.done.len(), done, "nothing is done once more");
}

#[test]
fn what_was_not_begun_is_released_and_foreign_cordons_stay() {
    let mut objects = shop();
    objects.push(budget("other", "web", 9));
    let mut stage = Stage::new(web_plan(json!({})), objects);
    let mut foreign = Node::clone(stage.truth.node(&"n2".into()).expect("it is there"));
    foreign.spec.unschedulable = true;
    stage.put(foreign);
    let blockers = blockers(stage.run(DAY));
    assert!(
        matches!(on(&blockers, &pod_subject("web-x0")), WaitingOn::PodEnd(PodEnd::Budgets { budgets }) if budgets.len() == 2)
    );
    assert!(
        matches!(on(&blockers, &pod_subject("web-x2")), WaitingOn::PodEnd(PodEnd::Budgets { .. })),
        "of untouched nodes, too"
    );
    let unschedulable = |name: &str| stage.truth.node(&name.into()).expect("it is there").spec.unschedulable;
    assert_eq!(["n0", "n1", "n2"].map(unschedulable), [false, false, true]);
    assert_eq!(mark::of(stage.truth.node(&"n2".into()).expect("it is there")), None);
}

#[test]
fn batch_pods_are_waited_for_and_their_nodes_go_last() {
    let mut objects = shop();
    objects.push(job_pod("crunch-1", "n0"));
    let mut stage = Stage::new(web_plan(json!({"pace": {"parallel": 3}, "budget": {"surge": 3}})), objects);
    stage.run_until("the others are gone", HOUR, |stage| {
        stage.truth.node(&"n1".into()).is_none() && stage.truth.node(&"n2".into()).is_none()
    });
    assert!(stage.truth.node(&"n0".into()).is_some());
    let waits = stage.last.waiting.iter().find(|waiting| waiting.what == pod_subject("crunch-1"));
    let WaitingOn::Pod(PodWait::Batch { since, deadline }) = waits.expect("it is waited for").on.clone()
    else {
        panic!("{waits:?}")
    };
    assert_eq!(since.map(|at| at.to_string()), Some("2025-12-01T00:00:00Z".to_owned()));
    assert!(deadline > start() + Span::from_minutes(360));
    assert_eq!(stage.truth.sorted_pods_on(&"n0".into()).len(), 3, "its other pods stay as long");
    let mut job =
        Pod::clone(&stage.truth.pods[stage.truth.pods.find(&Key::new("shop", "crunch-1")).expect("it runs")]);
    job.status.phase = PodPhase::Succeeded;
    stage.put(job);
    assert_eq!(stage.run(HOUR), End::Done);
}

#[test]
fn a_batch_pod_that_cannot_be_read_any_more_is_told_for_that() {
    let mut objects = shop();
    objects.push(job_pod("crunch-1", "n0"));
    let mut stage =
        Stage::new(web_plan(json!({"batch": {"onDeadline": "evict"}, "pace": {"parallel": 1}})), objects);
    let told = |stage: &Stage| {
        let mut waits = stage.last.waiting.iter();
        waits.find(|waiting| waiting.what == pod_subject("crunch-1")).map(|waiting| waiting.on.clone())
    };
    stage.run_until("it is waited for", HOUR, |stage| {
        matches!(told(stage), Some(WaitingOn::Pod(PodWait::Batch { .. })))
    });
    let pod = stage.truth.find::<Pod>(&Key::new("shop", "crunch-1")).expect("it runs").clone();
    let object = Object::from(pod).reference();
    stage.change(Delta::Unread(Unread { object, node: Some("n0".into()) }));
    stage.run_until("what is wrong is told", HOUR, |stage| {
        let refused = PodEnd::Refused { reason: Refused::Unreadable };
        told(stage) == Some(WaitingOn::PodEnd(refused))
    });
}

#[test]
fn nodes_are_no_longer_held_for_a_pod_that_can_be_read_again() {
    let plan = json!({"pace": {"parallel": 1}});
    let mut stage = Stage::new(web_plan(plan), shop());
    let object = ObjectRef { kind: Kind::Pod, key: Key::new("shop", "crunch-1"), uid: "crunch-1".into() };
    stage.run_until("a node is begun, and two wait for their turn", HOUR, |stage| {
        stage.when("/evict/").is_some()
    });
    let begun = stage.now;
    stage.change(Delta::Unread(Unread { object: object.clone(), node: None }));
    stage.run_until("it may be on any node, and holds those that wait", HOUR, |stage| {
        stage.now >= begun + Span::from_secs(3)
    });
    // It turns out to be on a node that is no part of the run; then it is gone.
    stage.change(Delta::Unread(Unread { object: object.clone(), node: Some("elsewhere".into()) }));
    stage.change(Delta::Gone(object));
    assert_eq!(stage.run(HOUR), End::Done, "{}", stage.story());
}

#[test]
fn a_batch_pod_past_its_deadline_is_held_evicted_or_left_out_as_the_plan_says() {
    let run = |on_deadline: &str| {
        let mut objects = shop();
        objects.push(job_pod("crunch-1", "n0"));
        let mut stage =
            Stage::new(web_plan(json!({"batch": {"wait": "2h", "onDeadline": on_deadline}})), objects);
        let end = stage.run(DAY);
        (stage, end)
    };
    let (stage, end) = run("pause");
    assert!(matches!(
        on(&blockers(end), &pod_subject("crunch-1")),
        WaitingOn::PodEnd(PodEnd::BatchOver { .. })
    ));
    assert!(
        !stage.truth.node(&"n0".into()).expect("it has a batch pod").spec.unschedulable,
        "released: it was not begun"
    );
    assert_eq!(stage.truth.nodes.len(), 3);

    let (stage, end) = run("evict");
    assert_eq!(end, End::Done, "{}", stage.story());
    let evicted = stage.when("/evict/crunch-1").expect("it was evicted");
    assert!(evicted - start() >= Span::from_minutes(120));

    let (stage, end) = run("skip");
    assert_eq!(end, End::Done);
    let left = stage.truth.node(&"n0".into()).expect("it was left out");
    assert!(!left.spec.unschedulable);
    let mark = mark::of(left).expect("it says so").mark;
    assert!(mark.expires <= stage.now, "a later run may take it");
    assert_eq!(
        stage.last.waiting.to_vec(),
        [Waiting { what: Subject::Node("n0".into()), on: WaitingOn::RollEnd(RollEnd::Skipped) }]
    );
    assert_eq!(stage.truth.nodes.len(), 3, "{}", stage.story());
    assert_eq!(stage.truth.groups()["web"].size, GroupSize { min: 0, max: 3, desired: 3 });
}

#[test]
fn a_batch_pod_that_must_not_be_run_again_is_not_evicted_at_its_deadline_either() {
    let run = |rerun: &str| {
        let mut objects = shop();
        let mut job = job_pod("crunch-1", "n0");
        merge(&mut job, json!({"metadata": {"annotations": {"replank.dev/rerun": rerun}}}));
        objects.push(job);
        let mut stage =
            Stage::new(web_plan(json!({"batch": {"wait": "2h", "onDeadline": "evict"}})), objects);
        let end = stage.run(DAY);
        (stage, end)
    };
    let (stage, end) = run("unsafe");
    assert_eq!(
        *on(&blockers(end), &pod_subject("crunch-1")),
        WaitingOn::PodEnd(PodEnd::Refused { reason: Refused::RerunUnsafe })
    );
    assert_eq!(stage.when("/evict/crunch-1"), None, "{}", stage.story());
    let (stage, end) = run("safe");
    assert_eq!(end, End::Done, "{}", stage.story());
}

#[test]
fn a_workflow_pod_is_kept_until_its_result_is_recorded() {
    let mut objects = shop();
    objects.push(pod("step", "n0", ("argoproj.io/v1alpha1", "Workflow", "etl"),
        json!({"metadata": {"labels": {"workflows.argoproj.io/completed": "false"}}, "status": {"phase": "Succeeded"}})));
    let mut stage = Stage::new(web_plan(json!({})), objects);
    stage.run_until("the others are gone", HOUR, |stage| {
        stage.truth.nodes.sorted().iter().filter(|(_, node)| node.meta.name.as_str().len() == 2).count() == 1
    });
    assert_eq!(saw(&stage, "unrecorded"), (pod_subject("step"), WaitingOn::Pod(PodWait::Unrecorded)));
    let mut step =
        Pod::clone(&stage.truth.pods[stage.truth.pods.find(&Key::new("shop", "step")).expect("it is there")]);
    step.meta.labels = step.meta.labels.with("workflows.argoproj.io/completed", "true");
    stage.put(step);
    assert_eq!(stage.run(HOUR), End::Done);
}

#[test]
fn refused_pods_hold_their_node_and_nothing_else() {
    let mut objects = shop();
    let mut bare = web("bare", "n1", "web");
    bare["metadata"]["ownerReferences"] = json!([]);
    bare["metadata"]["labels"] = json!({});
    objects.push(bare);
    let mut stage = Stage::new(web_plan(json!({})), objects);
    let blockers = blockers(stage.run(DAY));
    assert_eq!(
        *on(&blockers, &pod_subject("bare")),
        WaitingOn::PodEnd(PodEnd::Refused { reason: Refused::Bare })
    );
    assert!(
        matches!(on(&blockers, &Subject::Run), WaitingOn::RunEnd(RunEnd::Halted { .. })),
        "nothing is waited for"
    );
    assert_eq!(blockers.len(), 2, "{blockers:?}");
    let old: Vec<_> = stage
        .truth
        .nodes
        .sorted()
        .into_iter()
        .filter(|(_, node)| node.meta.name.as_str().len() == 2)
        .collect();
    assert_eq!(old.len(), 1, "the others were replaced\n{}", stage.story());
}

#[test]
fn a_pod_that_fits_nowhere_is_named_with_the_schedulers_words() {
    let mut objects = shop();
    objects.push(web("picky", "n1", "other"));
    let last = objects.len() - 1;
    merge(&mut objects[last], json!({"spec": {"nodeSelector": {"disk": "fast"}}}));
    objects.push(replica_set("other", 1, "1"));
    let mut stage = Stage::new(web_plan(json!({})), objects);
    let blockers = blockers(stage.run(DAY));
    let WaitingOn::Pod(PodWait::Room { pod, message }) = on(&blockers, &pod_subject("picky")) else {
        panic!("{blockers:?}")
    };
    assert_eq!(*pod, Key::new("shop", "picky"));
    assert!(message.contains("nodes are available"), "{message}");
    assert!(
        stage.truth.node(&"n1".into()).is_some_and(|node| !node.spec.unschedulable),
        "its drain was never begun"
    );
}

#[test]
fn a_group_that_launches_nothing_blocks_the_run_before_anything_is_cordoned() {
    let mut stage = Stage::new(web_plan(json!({})), shop());
    stage.barren.insert("web".into());
    let blockers = blockers(stage.run(DAY));
    assert!(matches!(
        on(&blockers, &Subject::Group("web".into())),
        WaitingOn::Capacity(CapacityWait::InstanceLate { .. })
    ));
    assert!(stage.truth.nodes.sorted().iter().all(|(_, node)| !node.spec.unschedulable));
    assert!(stage.when("/queue/").is_none());
}

#[test]
fn new_nodes_without_their_daemon_pods_do_not_count() {
    let daemon = json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "shop", "uid": "agent"},
        "spec": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}},
        "status": {"desiredNumberScheduled": 3, "numberReady": 3}});
    let mut stage = Stage::new(web_plan(json!({})), [shop(), vec![daemon]].concat());
    stage.broken_daemons = true;
    let end = stage.run(DAY);
    assert_eq!(
        saw(&stage, "nodeReady").1,
        WaitingOn::Capacity(CapacityWait::NodeReady { daemon_pods_missing: 1 })
    );
    assert!(
        blockers(end)
            .iter()
            .any(|waiting| matches!(waiting.on, WaitingOn::Capacity(CapacityWait::InstanceLate { .. })))
    );
    assert!(stage.when("/queue/").is_none() && stage.when("/evict/").is_none());
}

#[test]
fn refused_commands_are_tried_again_and_said() {
    let mut stage = Stage::new(web_plan(json!({})), shop());
    stage.stubborn.insert(Key::new("shop", "web-x0"));
    stage.run_until("an eviction is refused", HOUR, |stage| {
        stage.done.iter().filter(|(_, _, result)| matches!(result, Err(Refusal::Failed { .. }))).count() == 3
    });
    let (what, WaitingOn::Run(RunWait::Retry { message, .. })) = saw(&stage, "retry") else {
        panic!("a retry was said")
    };
    assert_eq!((what, &*message), (pod_subject("web-x0"), "500: admission webhook says no"));
    let tries: Vec<_> =
        stage.done.iter().filter(|(_, _, result)| result.is_err()).map(|(at, _, _)| *at).collect();
    assert!(tries[2] - tries[1] > tries[1] - tries[0], "ever more slowly");
    stage.stubborn.clear();
    assert_eq!(stage.run(HOUR), End::Done);
}

#[test]
fn the_budget_of_nodes_holds_drains_back() {
    // One more than can be spared: with two Ready nodes needed in each zone, nothing can go.
    let mut stage = Stage::new(web_plan(json!({"budget": {"surge": 1, "minReadyPerZone": 2}})), shop());
    let found = blockers(stage.run(DAY));
    assert!(
        found.iter().any(|waiting| matches!(
            &waiting.on,
            WaitingOn::Roll(RollWait::ZoneMinimum { ready: 1 | 2, needed: 2, .. })
        )),
        "{found:?}"
    );
    // A new node that stops being Ready stops the drain.
    let mut stage = Stage::new(web_plan(json!({})), shop());
    stage.run_until("a pod is evicted", HOUR, |stage| stage.when("/evict/").is_some());
    let fresh = stage
        .truth
        .nodes
        .sorted()
        .iter()
        .find(|(_, node)| node.meta.name.as_str().starts_with("web-new"))
        .map(|(_, node)| Node::clone(node));
    let mut ill = fresh.expect("a new node");
    ill.status.conditions.clear();
    ill.status.conditions.push(replank_model::object::condition::Condition {
        r#type: "Ready".into(),
        last_transition_time: Some(stage.now),
        ..Default::default()
    });
    ill.meta.creation_timestamp = Some(stage.now + DAY);
    stage.put(ill);
    let evictions = |stage: &Stage| stage.done.iter().filter(|(_, c, _)| c.key.0.contains("/evict/")).count();
    stage.tick();
    stage.tick();
    let before = evictions(&stage);
    for _ in 0..60 {
        stage.tick();
    }
    assert_eq!(evictions(&stage), before);
    assert!(matches!(
        saw(&stage, "available").1,
        WaitingOn::Roll(RollWait::Available { ready: 3, needed: 3 })
    ));
}

#[test]
fn nodes_of_others_are_left_to_them() {
    let mut objects = shop();
    objects[2]["metadata"]["annotations"] = json!({mark::RUN: "another", mark::ROLE: "queued",
        mark::SINCE: "2026-01-01T00:00:00Z", mark::EXPIRES: "2026-01-02T00:00:00Z"});
    objects[2]["spec"]["unschedulable"] = json!(true);
    let mut stage = Stage::new(web_plan(json!({})), objects);
    let end = stage.tick().expect("nothing can be done");
    let WaitingOn::RunEnd(RunEnd::OtherRun { run, until }) =
        on(&blockers(end), &Subject::Node("n0".into())).clone()
    else {
        panic!("another run's")
    };
    assert_eq!((run.as_str(), until), ("another", start() + DAY));
    assert!(stage.done.is_empty());
    stage.restart();
    stage.now += DAY;
    assert_eq!(stage.run(HOUR), End::Done, "an expired mark is taken over");

    let mut stage = Stage::new(web_plan(json!({})), shop());
    stage.run_until("all are cordoned", HOUR, |stage| {
        stage
            .truth
            .nodes
            .sorted()
            .iter()
            .all(|(_, node)| node.meta.name.as_str().len() > 2 || node.spec.unschedulable)
    });
    let mut reopened = Node::clone(stage.truth.node(&"n2".into()).expect("it is there"));
    reopened.spec.unschedulable = false;
    stage.put(reopened);
    let found = blockers(stage.run(DAY));
    assert_eq!(*on(&found, &Subject::Node("n2".into())), WaitingOn::RollEnd(RollEnd::Reopened));
    let left = stage.truth.node(&"n2".into()).expect("it stays");
    assert!(!left.spec.unschedulable);
    assert_eq!(mark::of(left), None, "it keeps no later run away");
    let sizes = (stage.truth.nodes.len(), stage.truth.groups()["web"].size);
    let original = GroupSize { min: 0, max: 3, desired: 3 };
    assert_eq!(sizes, (3, original), "its empty successor is ended, whatever runs on the others");
}

#[test]
fn what_is_not_there_is_said() {
    let mut stage = Stage::new(plan(&["web", "wbe"], to_136()), shop());
    let end = stage.tick().expect("nothing can be done");
    let missing = blockers(end);
    assert_eq!(
        *on(&missing, &Subject::Group("wbe".into())),
        WaitingOn::RollEnd(RollEnd::Missing { what: "node group wbe".into() })
    );
    assert!(stage.done.is_empty());

    let mut lost = node("lost", "web", "a");
    lost["spec"]["providerID"] = json!("aws:///a/i-unknown");
    let mut stage = Stage::new(web_plan(json!({})), shop());
    stage.put(object(lost));
    let found = blockers(stage.run(DAY));
    assert_eq!(*on(&found, &Subject::Node("lost".into())), WaitingOn::Roll(RollWait::NoInstance));
}

#[test]
fn the_plans_deadline_ends_the_run() {
    let mut objects = shop();
    objects.push(job_pod("crunch-1", "n0"));
    let mut stage = Stage::new(web_plan(json!({"deadline": "30m"})), objects);
    let found = blockers(stage.run(DAY));
    assert_eq!(
        *on(&found, &Subject::Run),
        WaitingOn::RunEnd(RunEnd::Deadline { at: start() + Span::from_minutes(30) })
    );
    assert!(stage.now - start() < Span::from_minutes(32));
    assert!(matches!(on(&found, &pod_subject("crunch-1")), WaitingOn::PodEnd(PodEnd::BatchOver { .. })));
}

#[test]
fn bounds_that_cannot_be_given_back_are_said() {
    // The first node is replaced, the second is blocked while the surge carries pods.
    let objects = vec![
        node("n0", "web", "a"),
        node("n1", "web", "b"),
        replica_set("one", 3, "1"),
        replica_set("web", 1, "3"),
        web("one-a", "n0", "one"),
        web("one-b", "n0", "one"),
        web("one-c", "n0", "one"),
        pod(
            "web-x",
            "n1",
            ("apps/v1", "ReplicaSet", "web"),
            json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}}),
        ),
        budget("web", "web", 1),
        budget("one", "one", 2),
    ];
    let mut stage = Stage::new(web_plan(json!({"pace": {"parallel": 2}, "budget": {"surge": 2}})), objects);
    // The second of the two new nodes gets a pod of its own.
    stage.run_until("there is room", HOUR, |stage| stage.truth.nodes.len() == 4);
    let found = blockers(stage.run(DAY));
    assert!(matches!(on(&found, &pod_subject("web-x")), WaitingOn::Pod(PodWait::Budget { .. })));
    let size = stage.truth.groups()["web"].size;
    if size.desired > 2 {
        let original = GroupSize { min: 0, max: 2, desired: 2 };
        assert_eq!(
            *on(&found, &Subject::Bounds("web".into())),
            WaitingOn::RollEnd(RollEnd::Bounds { size, original })
        );
        assert!(stage.truth.groups()["web"].tags.contains_key(mark::ORIGINAL_SIZE));
    }
}
