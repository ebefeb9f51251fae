//! Nodes that a person drains: kubectl's filters and flags, budgets of all nodes together, batch pods, singletons, stuck pods, and a person who changes their mind.

use std::collections::BTreeSet;

use replank_core::drain::{DryRun, OnInterrupt, Options, Sparing, Verb};
use replank_facts::kubectl::Filters;
use replank_model::object::meta::Key;
use replank_model::selector::Selector;
use replank_model::text::NodeName;
use replank_model::time::Span;
use replank_oracle::sched_random::setting;
use replank_oracle::tell::tell;
use replank_protocol::decision::End;
use replank_protocol::intent::Intent;
use replank_protocol::mark::{BY_HAND, ByHand};
use replank_protocol::noticed::Noticed;
use replank_protocol::policy::PodClass;
use replank_protocol::waiting::{DrainEnd, PodWait, Subject, WaitingOn};
use replank_sim::PodAct;
use replank_testkit::drain::{Stage, compare, deployment, pod};
use serde_json::{Value, json};

fn all() -> Filters {
    Filters { ignore_daemonsets: true, delete_emptydir_data: true, force: true, ..Filters::default() }
}

fn with(filters: Filters) -> Options {
    Options { filters, ..Options::default() }
}

fn budget(app: &str, spec: Value) -> Value {
    let mut object = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": app, "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": app}}}});
    if let (Some(all), Value::Object(more)) = (object["spec"].as_object_mut(), spec) {
        all.extend(more);
    }
    object
}

fn daemon_set(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name, "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
}

fn job(name: &str) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "shop"},
        "spec": {"template": {"metadata": {"labels": {"app": name}}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}})
}

fn node_of(node: &str) -> Subject {
    Subject::Node(NodeName::from(node))
}

/// Why a node was left, as kubectl says it.
fn refused(stage: &Stage) -> Vec<(String, Vec<PodClass>)> {
    let blocked = stage.blocked();
    let of = |waiting: &replank_protocol::waiting::Waiting| {
        let WaitingOn::DrainEnd(DrainEnd::RefusedPods { refused }) = &waiting.on else {
            panic!("{:?}", waiting.on)
        };
        (waiting.what.to_string(), refused.iter().map(|one| one.class.clone()).collect())
    };
    blocked.iter().map(of).collect()
}

#[test]
fn a_class_of_pods_that_no_flag_allows_keeps_its_node_before_a_single_eviction() {
    let volume = json!({"volumes": [{"name": "d", "emptyDir": {}}]});
    let manifests = [deployment("web", 4, json!({})), daemon_set("logs"), deployment("cache", 9, volume)];
    let bare = pod("bare", "n1", json!({}));
    let manifests = [manifests.to_vec(), vec![bare]].concat();
    let classes = |filters: Filters| {
        let mut stage = Stage::of(&["n1", "n2", "n3"], &manifests);
        stage.drain(&["n1"], with(filters));
        let end = stage.end();
        assert!(stage.is_cordoned("n1"), "as by kubectl");
        if end == Some(End::Done) {
            assert_eq!(stage.refused_by_budgets(), 0);
            return (Vec::new(), stage.pods_on("n1").len());
        }
        assert_eq!(stage.asked(), [], "not one eviction");
        let found = refused(&stage).into_iter().flat_map(|(_, classes)| classes).collect();
        (found, stage.pods_on("n1").len())
    };
    let three = vec![PodClass::DaemonSet, PodClass::LocalStorage, PodClass::Unmanaged];
    assert_eq!(classes(Filters::default()).0, three);
    let ignoring = Filters { ignore_daemonsets: true, ..Filters::default() };
    assert_eq!(classes(ignoring.clone()).0, three[1..]);
    let deleting = Filters { delete_emptydir_data: true, ..ignoring };
    assert_eq!(classes(deleting).0, three[2..]);
    assert_eq!(classes(all()), (Vec::new(), 1), "the pod of the DaemonSet stays");
}

#[test]
fn a_node_that_is_refused_keeps_no_other_from_being_drained() {
    let manifests = [deployment("web", 6, json!({})), pod("bare", "n1", json!({}))];
    let mut stage = Stage::of(&["n1", "n2", "n3"], &manifests);
    let before = stage.pods_on("n1");
    stage.drain(&["n1", "n2"], Options::default());
    assert!(matches!(stage.end(), Some(End::Blocked(_))));
    assert_eq!(refused(&stage), [("node n1".to_owned(), vec![PodClass::Unmanaged])]);
    assert_eq!((stage.pods_on("n1"), stage.pods_on("n2").len()), (before, 0));
    let words = stage.blocked()[0].on.reason().to_string();
    assert_eq!(words, "cannot delete Pods that declare no controller (use --force to override): shop/bare");
}

#[test]
fn budgets_of_all_nodes_together_are_never_asked_for_more_than_they_grant() {
    for parallel in [1, 3] {
        let manifests = [
            deployment("web", 9, json!({})),
            budget("web", json!({"minAvailable": 8})),
            deployment("api", 6, json!({})),
            budget("api", json!({"maxUnavailable": 2})),
        ];
        let mut stage = Stage::of(&["n1", "n2", "n3", "n4"], &manifests);
        stage.drain(&["n1", "n2", "n3"], Options { parallel, ..with(all()) });
        assert_eq!(stage.end(), Some(End::Done));
        assert_eq!(stage.refused_by_budgets(), 0);
        assert!(
            stage.fewest("web") >= 8 && stage.fewest("api") >= 4,
            "{} {}",
            stage.fewest("web"),
            stage.fewest("api")
        );
        let left: usize = ["n1", "n2", "n3"].iter().map(|node| stage.pods_on(node).len()).sum();
        assert_eq!(left, 0);
        // Each pod moved once.
        let asked: Vec<Key> = stage.asked().into_iter().map(|(_, key, _)| key).collect();
        assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), asked.len());
    }
}

#[test]
fn without_evictions_pods_are_deleted_whatever_their_budgets_say() {
    let manifests = [deployment("web", 4, json!({})), budget("web", json!({"minAvailable": 4}))];
    let mut stage = Stage::of(&["n1", "n2"], &manifests);
    let there = stage.pods_on("n1").len();
    let options = Options { disable_eviction: true, grace_seconds: Some(0), ..with(all()) };
    stage.drain(&["n1"], options);
    assert_eq!(stage.end(), Some(End::Done));
    let asked = stage.asked();
    assert!(
        there > 0
            && asked.len() == there
            && asked.iter().all(|(how, _, is_granted)| *how == "delete" && *is_granted)
    );
}

#[test]
fn a_budget_that_never_allows_an_eviction_is_waited_for_until_the_time_is_up_and_the_node_stays_cordoned() {
    let manifests = [deployment("web", 2, json!({})), budget("web", json!({"minAvailable": 2}))];
    let mut stage = Stage::of(&["n1", "n2", "n3"], &manifests);
    let limit = Span::from_minutes(10);
    stage.drain(&["n1", "n2"], Options { timeout: Some(limit), parallel: 2, ..with(all()) });
    stage.pass(Span::from_minutes(5));
    let pod = stage.pods_on("n1").pop().or_else(|| stage.pods_on("n2").pop()).expect("it is still there");
    let on = stage.waits(&Subject::Pod(Key::new("shop", pod.as_str())));
    let expected = PodWait::Budget { budget: Key::new("shop", "web"), healthy: 2, needed: 2 };
    assert_eq!(on, Some(WaitingOn::Pod(expected)));
    assert!(matches!(stage.end(), Some(End::Blocked(_))));
    assert!(stage.took() < limit + Span::from_secs(20), "{}", stage.took());
    assert!(stage.blocked().iter().all(|waiting| matches!(&waiting.on,
        WaitingOn::DrainEnd(DrainEnd::DrainTimeout { limit: told, pods: 1.. }) if *told == limit)));
    assert!(stage.is_cordoned("n1") && stage.is_cordoned("n2"));
    assert_eq!((stage.asked(), stage.refused_by_budgets()), (Vec::new(), 0));
}

#[test]
fn a_node_that_is_held_up_keeps_no_other_from_its_turn() {
    let pinned = json!({"nodeSelector": {"kubernetes.io/hostname": "n1"}});
    let manifests = [
        deployment("web", 1, pinned),
        budget("web", json!({"minAvailable": 1})),
        deployment("api", 6, json!({})),
    ];
    let mut stage = Stage::of(&["n1", "n2", "n3"], &manifests);
    stage.drain(&["n1", "n2"], with(all()));
    stage.pass(Span::from_minutes(10));
    assert_eq!(
        stage.pods_on("n2"),
        Vec::<String>::new(),
        "n1 waits for a budget that never allows an eviction"
    );
    assert_eq!(stage.pods_on("n1").len(), 1);
    assert_eq!(stage.world.end(), None, "it is waited for, as by kubectl");
}

#[test]
fn pods_under_several_budgets_are_named_and_end_the_drain() {
    let second = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "all", "namespace": "shop"},
        "spec": {"selector": {}, "maxUnavailable": 1}});
    let manifests = [deployment("web", 2, json!({})), budget("web", json!({"maxUnavailable": 1})), second];
    let mut stage = Stage::of(&["n1", "n2", "n3"], &manifests);
    let held: Vec<&str> =
        ["n1", "n2", "n3"].into_iter().filter(|node| !stage.pods_on(node).is_empty()).collect();
    stage.drain(&held, with(all()));
    assert!(matches!(stage.end(), Some(End::Blocked(_))));
    assert!(
        stage
            .blocked()
            .iter()
            .all(|one| matches!(one.on, WaitingOn::DrainEnd(DrainEnd::Immovable { pods: 1.. })))
    );
    assert_eq!(stage.asked(), []);
}

#[test]
fn batch_pods_are_waited_for_until_they_end_or_their_deadline() {
    let mut stage = Stage::of(&["n1", "n2"], &[deployment("web", 4, json!({})), job("report")]);
    let on =
        ["n1", "n2"].into_iter().find(|node| stage.pods_on(node).iter().any(|pod| pod.starts_with("report")));
    let on = on.expect("it runs");
    let report = stage.pods_on(on).into_iter().find(|pod| pod.starts_with("report")).expect("it runs");
    let options = Options { wait_batch: Some(Span::from_minutes(60)), ..with(all()) };
    stage.drain(&[on], options.clone()).pass(Span::from_minutes(30));
    assert_eq!(stage.pods_on(on), [report.as_str()], "the others have gone");
    let waits = stage.waits(&Subject::Pod(Key::new("shop", report.as_str())));
    assert!(matches!(waits, Some(WaitingOn::Pod(PodWait::Batch { .. }))), "{waits:?}");
    stage.act(&report, PodAct::Exit(0));
    assert_eq!(stage.end(), Some(End::Done));
    assert!(stage.took() < Span::from_minutes(32));

    let mut late = Stage::of(&["n1", "n2"], &[job("report")]);
    let on = ["n1", "n2"].into_iter().find(|node| !late.pods_on(node).is_empty()).expect("it runs");
    late.drain(&[on], options);
    assert_eq!(late.end(), Some(End::Done));
    assert!(late.took() >= Span::from_minutes(60) && late.took() < Span::from_minutes(62), "{}", late.took());
    assert_eq!(late.asked().len(), 1);

    let mut at_once = Stage::of(&["n1", "n2"], &[job("report")]);
    let on = ["n1", "n2"].into_iter().find(|node| !at_once.pods_on(node).is_empty()).expect("it runs");
    at_once.drain(&[on], with(all()));
    assert_eq!(at_once.end(), Some(End::Done));
    assert!(at_once.took() < Span::from_minutes(2), "kubectl's way: {}", at_once.took());
}

#[test]
fn a_singleton_that_surges_is_never_missing() {
    for (sparing, fewest) in [(Sparing::Evict, 0), (Sparing::Surge, 1)] {
        let mut stage = Stage::of(&["n1", "n2"], &[deployment("web", 1, json!({}))]);
        let on = ["n1", "n2"].into_iter().find(|node| !stage.pods_on(node).is_empty()).expect("it runs");
        stage.drain(&[on], Options { sparing, ..with(all()) });
        assert_eq!(stage.end(), Some(End::Done));
        assert_eq!(stage.fewest("web"), fewest, "{sparing:?}");
        assert_eq!(stage.asked().len(), usize::from(sparing == Sparing::Evict));
    }
}

#[test]
fn a_stuck_pod_is_named_with_what_is_known_and_skipped_where_that_is_asked_for() {
    let stage = || {
        let mut stage = Stage::of(&["n1"], &[]);
        let mut bare = pod("held", "n1", json!({}));
        bare["metadata"]["finalizers"] = json!(["example.com/hold"]);
        stage.world.request(|api| api.apply_json(bare)).expect("it is accepted");
        stage.pass(Span::from_minutes(1));
        stage
    };
    let mut waits = stage();
    waits.drain(&["n1"], with(all())).pass(Span::from_minutes(8));
    let on = waits.waits(&Subject::Pod(Key::new("shop", "held")));
    let Some(WaitingOn::Pod(PodWait::Stuck { evidence, .. })) = &on else { panic!("{on:?}") };
    assert_eq!(evidence.finalizers, ["example.com/hold".into()]);
    assert_eq!(waits.world.end(), None);

    let mut skips = stage();
    let filters = Filters { skip_deleted: Some(Span::from_secs(30)), ..all() };
    skips.drain(&["n1"], with(filters));
    assert_eq!(skips.end(), Some(End::Done));
    assert_eq!(skips.pods_on("n1"), ["held"]);
    assert!(skips.took() < Span::from_minutes(3), "{}", skips.took());
}

#[test]
fn only_pods_that_the_selector_matches_go() {
    let manifests =
        [deployment("web", 3, json!({})), deployment("api", 3, json!({})), pod("bare", "n1", json!({}))];
    let mut stage = Stage::of(&["n1", "n2"], &manifests);
    let selector = Selector::from_set([("app".into(), "web".into())]);
    let filters = Filters { pods: Some(selector), ..Filters::default() };
    stage.drain(&["n1"], with(filters));
    assert_eq!(stage.end(), Some(End::Done), "what is not selected refuses nothing");
    assert!(stage.asked().iter().all(|(_, key, _)| key.name.as_str().starts_with("web")));
    let left = stage.pods_on("n1");
    assert!(left.contains(&"bare".to_owned()) && left.iter().all(|pod| !pod.starts_with("web")), "{left:?}");
}

#[test]
fn a_dry_run_sends_nothing() {
    let manifests = [deployment("web", 4, json!({})), pod("bare", "n1", json!({}))];
    let mut stage = Stage::of(&["n1", "n2"], &manifests);
    stage.drain(&["n1", "n2"], Options { dry_run: DryRun::Client, ..Options::default() });
    assert!(matches!(stage.end(), Some(End::Blocked(_))));
    assert_eq!(refused(&stage), [("node n1".to_owned(), vec![PodClass::Unmanaged])]);
    stage.pass(Span::from_minutes(10));
    assert!(stage.world.commands().is_empty() && !stage.is_cordoned("n1"));
}

#[test]
fn who_interrupts_finds_nodes_cordoned_or_as_they_were() {
    for on_interrupt in [OnInterrupt::Keep, OnInterrupt::Uncordon] {
        let manifests = [deployment("web", 6, json!({})), budget("web", json!({"minAvailable": 6}))];
        let mut stage = Stage::of(&["n1", "n2", "n3"], &manifests);
        let cordon = json!({"spec": {"unschedulable": true}});
        stage.patch("n3", cordon);
        stage.drain(&["n1", "n2", "n3"], Options { on_interrupt, ..with(all()) });
        stage.pass(Span::from_minutes(2));
        assert!(["n1", "n2", "n3"].iter().all(|node| stage.is_cordoned(node)));
        stage.intend(Intent::Cancelled);
        assert_eq!(stage.end(), Some(End::Cancelled(Vec::new())));
        stage.pass(Span::from_minutes(2));
        let kept = on_interrupt == OnInterrupt::Keep;
        assert_eq!((stage.is_cordoned("n1"), stage.is_cordoned("n2")), (kept, kept), "{on_interrupt:?}");
        assert!(stage.is_cordoned("n3"), "somebody else had cordoned it before");
    }
}

#[test]
fn a_node_that_somebody_uncordons_meanwhile_is_left_to_them() {
    let manifests = [deployment("web", 4, json!({})), budget("web", json!({"minAvailable": 4}))];
    let mut stage = Stage::of(&["n1", "n2"], &manifests);
    stage.drain(&["n1"], with(all())).pass(Span::from_minutes(1));
    stage.patch("n1", json!({"spec": {"unschedulable": null}}));
    assert!(matches!(stage.end(), Some(End::Blocked(_))));
    assert_eq!(stage.blocked()[0].on, WaitingOn::DrainEnd(DrainEnd::Uncordoned));
    assert!(!stage.is_cordoned("n1"));
}

#[test]
fn a_cordon_says_whose_it_is_and_any_uncordon_ends_it() {
    let mut stage = Stage::of(&["n1", "n2"], &[]);
    stage.begin(Verb::Cordon, &["n1", "n2"], Options::default());
    assert_eq!(stage.end(), Some(End::Done));
    assert!(ByHand::of(&stage.node("n1")).is_some_and(|by| by.run.as_str() == "drain"));
    stage.patch("n2", json!({"spec": {"unschedulable": null}}));
    stage.begin(Verb::Uncordon, &["n1", "n2"], Options::default());
    assert_eq!(stage.end(), Some(End::Done));
    assert!(!stage.is_cordoned("n1") && !stage.is_cordoned("n2"));
    assert!(!stage.node("n1").meta.annotations.contains_key(BY_HAND));
}

#[test]
fn another_process_that_takes_over_ends_as_the_first_would_have() {
    let manifests =
        [deployment("web", 8, json!({})), budget("web", json!({"minAvailable": 7})), job("report")];
    let plain = |restarts: &[i64]| {
        let mut stage = Stage::of(&["n1", "n2", "n3"], &manifests);
        let options = Options { wait_batch: Some(Span::from_minutes(20)), parallel: 2, ..with(all()) };
        stage.drain(&["n1", "n2"], options);
        for seconds in restarts {
            stage.pass(Span::from_secs(*seconds));
            assert!(stage.world.start_anew());
        }
        assert_eq!(stage.end(), Some(End::Done));
        assert_eq!(stage.refused_by_budgets(), 0);
        assert!(stage.fewest("web") >= 7);
        (stage.pods_on("n1"), stage.pods_on("n2"))
    };
    let once = plain(&[]);
    for restarts in [&[1][..], &[3, 3, 3], &[7, 11, 13, 17], &[30, 60, 600]] {
        assert_eq!(plain(restarts), once, "{restarts:?}");
    }
}

/// Random clusters: with kubectl's flags the same pods leave as by `kubectl drain`, no eviction is refused, and no workload has less left than with kubectl.
#[test]
fn the_same_pods_leave_as_by_kubectl_drain_and_no_workload_is_worse_off() {
    let count = setting("REPLANK_DRAINS").unwrap_or(60);
    let (mut compared, mut kubectl_refused, mut ended, mut moved) = (0_u32, 0, 0_u32, 0);
    let mut wrong = Vec::new();
    for seed in 1..=count {
        let Some(both) = compare(seed) else { continue };
        compared += 1;
        if both.replank.refused > 0 {
            wrong.push(format!("seed {seed}: {} evictions of ours were refused", both.replank.refused));
        }
        if both.kubectl.has_failed {
            // `kubectl drain` gives the node up; so does Replank.
            if both.end == Some(End::Done) {
                wrong.push(format!("seed {seed}: drained, though several budgets cover a pod"));
            }
            continue;
        }
        if both.kubectl.is_done != (both.end == Some(End::Done)) {
            wrong.push(format!("seed {seed}: kubectl done {}, replank {:?}", both.kubectl.is_done, both.end));
        }
        // Where a budget never allows an eviction, kubectl waits for it with the first node, and Replank goes on with the others.
        if !both.kubectl.is_done {
            continue;
        }
        ended += 1;
        kubectl_refused += both.kubectl.refused;
        moved += both.replank.evicted.len();
        if both.kubectl.evicted != both.replank.evicted {
            let (theirs, ours) = (&both.kubectl.evicted, &both.replank.evicted);
            let differs: Vec<&Key> = theirs.symmetric_difference(ours).collect();
            wrong.push(format!("seed {seed}: {differs:?} on {:?}", both.nodes));
        }
        for (workload, fewest) in &both.kubectl.fewest {
            let ours = both.replank.fewest.get(workload).copied().unwrap_or(0);
            if ours < *fewest {
                wrong.push(format!("seed {seed}: {workload} had {ours} left, with kubectl {fewest}"));
            }
        }
    }
    tell(format!(
        "drains: {compared} clusters, {ended} drained, {moved} pods moved, {kubectl_refused} evictions of kubectl's refused, of ours 0"
    ));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared >= 20 && ended >= 10 && kubectl_refused > 0 && moved > 100, "the clusters are too easy");
}

#[test]
fn what_is_waited_for_says_which_nodes_come_first() {
    let manifests = [deployment("web", 6, json!({})), budget("web", json!({"maxUnavailable": 1}))];
    let mut stage = Stage::of(&["n1", "n2", "n3"], &manifests);
    stage.drain(&["n1", "n2"], with(all())).pass(Span::from_secs(8));
    let on = stage.waits(&node_of("n2")).map(|on| on.to_string());
    assert_eq!(on.as_deref(), Some("its turn: 1 of at most 1 being drained"));
    assert_eq!(stage.end(), Some(End::Done));
}

#[test]
fn a_node_that_somebody_takes_away_is_told_once_and_stays_cordoned() {
    let mut stage = Stage::of(&["a", "b"], &[deployment("web", 2, json!({}))]);
    let taken =
        json!({"spec": {"taints": [{"key": "ToBeDeletedByClusterAutoscaler", "effect": "NoSchedule"}]}});
    stage.patch("a", taken);
    let options = Options { on_interrupt: OnInterrupt::Uncordon, ..with(all()) };
    stage.drain(&["a", "b"], options);
    let mut told = 0;
    for _ in 0..40 {
        stage.pass(Span::from_millis(500));
        told += stage.world.decision().map_or(0, |decision| {
            let is_taken =
                |noticed: &&Noticed| matches!(noticed, Noticed::TakenAway(node, _) if node.as_str() == "a");
            decision.noticed.iter().filter(is_taken).count()
        });
        if stage.node("a").spec.unschedulable {
            break;
        }
    }
    assert!(told > 0, "it is told");
    stage.world.intend(Intent::Cancelled);
    assert!(matches!(stage.end(), Some(End::Cancelled(_))));
    assert!(stage.node("a").spec.unschedulable, "who takes it away relies on the cordon");
    assert!(!stage.node("b").spec.unschedulable);
}
