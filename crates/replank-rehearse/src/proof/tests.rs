use std::collections::BTreeSet;

use replank_facts::finding::{Finding, ObjectName, Severity};
use replank_facts::plan::{Plan, Target as Goal};
use replank_facts::remedy::{BudgetBound, Edit, Remedy, Target, TargetKind};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::meta::Key;
use serde_json::{Value, json};

use super::*;

fn key() -> Key {
    Key::new("shop", "web")
}

fn deployment() -> Target {
    Target::new(TargetKind::Deployment, key())
}

/// One node, a Deployment with as many replicas, and a plan.
fn ground(replicas: i32) -> Ground {
    let labels = json!({"app": "web"});
    let pod_spec =
        json!({"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}]});
    let objects = [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "ns"}}),
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n", "labels": {"kubernetes.io/hostname": "n"}},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"}, "conditions": [{"type": "Ready", "status": "True"}]}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "web", "generation": 1},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod_spec}}}),
    ];
    let view =
        objects.into_iter().map(|value| Delta::Put(Object::from_json(value).expect("an object"))).collect();
    let mut ground = Ground {
        view,
        groups: Vec::new(),
        now: "2026-11-20T09:00:00Z".parse().expect("a moment"),
        facts: Vec::new(),
        plan: Some(Plan::of_groups("roll of a,b", vec!["web".into()], Goal::default())),
    };
    let mut copy = copy::Copy::of(&ground);
    copy.pass(replank_model::time::Span::from_minutes(2)).expect("nothing runs away");
    ground = copy.ground();
    ground
}

fn wanted(ground: &Ground) -> i32 {
    ground.view.deployments.by_key(&key()).and_then(|of| of.spec.replicas).unwrap_or(0)
}

fn finding(rule: &'static str, severity: Severity, remedy: Remedy) -> Finding<&'static str> {
    let object = ObjectName::new("Deployment", key());
    Finding { rule, severity, object, reason: String::new(), remedy }
}

/// Found: one replica (what is to be mended), and several without a budget.
fn find(ground: &Ground, remedy: &Remedy) -> Vec<Finding<&'static str>> {
    let budgets = ground.view.pod_disruption_budgets.len();
    match (wanted(ground), budgets) {
        (1, _) => vec![finding("alone", Severity::Warning, remedy.clone())],
        (_, 0) => vec![finding("free", Severity::Warning, Remedy::default())],
        _ => Vec::new(),
    }
}

fn verdicts(ground: &Ground, remedy: &Remedy) -> Vec<Verdict> {
    let find = |ground: &Ground| find(ground, remedy);
    let findings = find(ground);
    prove(ground, &findings, &find, None, Trials(20)).remove(0).ways
}

fn scaled(replicas: i32) -> Edit {
    Edit::Scale { of: deployment(), replicas }
}

fn budget(share: &str) -> Edit {
    let bound = BudgetBound::MaxUnavailable(share.into());
    Edit::CreateBudget { key: key(), selector: "app=web".to_owned(), bound }
}

fn why(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Withheld(why) => why,
        Verdict::Proved | Verdict::ForAPlan => "",
    }
}

#[test]
fn a_change_that_mends_and_breaks_nothing_is_proved() {
    let ground = ground(1);
    assert_eq!(verdicts(&ground, &Remedy::edit(scaled(2)).then(budget("25%"))), [Verdict::Proved]);
}

/// What comes by itself is looked at where something has come, and not before: a copy of a large cluster takes time.
#[test]
fn a_copy_without_changes_is_made_only_where_something_has_come() {
    let looks = |remedy: &Remedy| {
        let ground = ground(1);
        let count = std::cell::Cell::new(0);
        let find = |ground: &Ground| {
            count.set(count.get() + 1);
            find(ground, remedy)
        };
        let findings = find(&ground);
        prove(&ground, &findings, &find, None, Trials(20));
        count.get() - 1
    };
    assert_eq!(looks(&Remedy::edit(scaled(2)).then(budget("25%"))), 1);
    assert_eq!(looks(&Remedy::edit(scaled(2))), 2);
    assert_eq!(looks(&Remedy::edit(scaled(6)).then(budget("25%"))), 2);
}

#[test]
fn what_comes_by_itself_is_not_held_against_a_change() {
    let ground = ground(1);
    let remedy = Remedy::edit(scaled(2)).then(budget("25%"));
    let find = |later: &Ground| {
        let mut found = find(later, &remedy);
        if later.now > ground.now {
            found.push(finding("late", Severity::Warning, Remedy::default()));
        }
        found
    };
    let findings = find(&ground);
    assert_eq!(prove(&ground, &findings, &find, None, Trials(20)).remove(0).ways, [Verdict::Proved]);
}

#[test]
fn pods_that_had_no_place_before_are_not_held_against_a_change() {
    let ground = ground(6);
    assert!(ground.view.pods.unordered().any(|(_, pod)| pod.node.is_none()));
    let find = |ground: &Ground| match ground.view.pod_disruption_budgets.len() {
        0 => vec![finding("free", Severity::Warning, Remedy::edit(budget("25%")))],
        _ => Vec::new(),
    };
    let findings = find(&ground);
    assert_eq!(prove(&ground, &findings, &find, None, Trials(20)).remove(0).ways, [Verdict::Proved]);
}

#[test]
fn a_change_that_brings_something_as_bad_is_not() {
    let told = verdicts(&ground(1), &Remedy::edit(scaled(2)));
    assert_eq!(why(&told[0]), "with it, there would be another finding (warning) about Deployment shop/web");
}

#[test]
fn a_change_whose_pods_have_no_place_is_not() {
    let told = verdicts(&ground(1), &Remedy::edit(scaled(6)).then(budget("25%")));
    assert!(why(&told[0]).contains("would be Pending: no node can take it"), "{told:?}");
}

#[test]
fn a_change_that_the_api_server_refuses_is_not() {
    let told = verdicts(&ground(1), &Remedy::edit(scaled(2)).then(budget("many")));
    assert!(
        why(&told[0]).starts_with("it is refused: ") && why(&told[0]).contains("maxUnavailable"),
        "{told:?}"
    );
    let gone = Edit::Delete { of: Target::new(TargetKind::Pod, Key::new("shop", "none")) };
    let told = verdicts(&ground(1), &Remedy::edit(gone));
    assert!(why(&told[0]).contains("not found"), "{told:?}");
}

#[test]
fn a_change_that_changes_nothing_of_it_is_not() {
    let annotated =
        Edit::Annotate { of: vec![deployment()], annotation: "a".into(), value: Some("b".into()) };
    let told = verdicts(&ground(1), &Remedy::edit(annotated));
    assert_eq!(why(&told[0]), "with it, the same is found");
}

#[test]
fn ways_are_judged_each_for_itself_and_the_first_that_is_proved_is_taken() {
    let ground = ground(1);
    let remedy = Remedy::edit(scaled(2)).or(scaled(2)).then(budget("25%"));
    let proofs = Proofs { ways: verdicts(&ground, &remedy), rehearsed: false };
    assert!(matches!(proofs.ways.as_slice(), [Verdict::Withheld(_), Verdict::Proved]), "{proofs:?}");
    assert_eq!(proofs.way(&remedy), Some(&remedy.ways[1]));
}

#[test]
fn what_is_wrong_with_one_is_not_laid_at_the_door_of_the_others() {
    // Two findings, whose changes are tried together: one brings a finding, the other is right.
    let ground = ground(3);
    let labelled = |value: &str| Edit::Annotate {
        of: vec![Target::new(TargetKind::Node, Key::cluster("n"))],
        annotation: value.into(),
        value: Some("yes".into()),
    };
    let find = |ground: &Ground| -> Vec<Finding<&'static str>> {
        let node = ground.view.nodes.sorted()[0].1.meta.annotations.clone();
        let mut found = Vec::new();
        if node.value("good").is_none() {
            found.push(finding("one", Severity::Info, Remedy::edit(labelled("good"))));
        }
        if wanted(ground) == 3 {
            found.push(finding("two", Severity::Warning, Remedy::edit(scaled(2))));
        } else {
            found.push(finding("three", Severity::Warning, Remedy::default()));
        }
        found
    };
    let findings = find(&ground);
    let proofs = prove(&ground, &findings, &find, None, Trials(20));
    assert_eq!(proofs[0].ways, [Verdict::Proved]);
    assert!(why(&proofs[1].ways[0]).contains("another finding"), "{proofs:?}");
    let too_few = prove(&ground, &findings, &find, None, Trials(1));
    assert!(why(&too_few[1].ways[0]).contains("too large"), "{too_few:?}");
}

#[test]
fn what_a_proved_change_brings_is_not_laid_at_the_door_of_the_next() {
    // The first mends what blocks, and leaves a warning; the second, of an object that both touch, is tried on top of it.
    let ground = ground(3);
    let noted = |name: &str| Edit::Annotate {
        of: vec![deployment()],
        annotation: name.into(),
        value: Some("yes".into()),
    };
    let find = |ground: &Ground| -> Vec<Finding<&'static str>> {
        let annotations =
            ground.view.deployments.by_key(&key()).map(|of| of.meta.annotations.clone()).unwrap_or_default();
        let mut found = Vec::new();
        match annotations.value("a") {
            None => found.push(finding("blocks", Severity::Blocking, Remedy::edit(noted("a")))),
            Some(_) => found.push(finding("left", Severity::Warning, Remedy::default())),
        }
        if annotations.value("b").is_none() {
            found.push(finding("other", Severity::Warning, Remedy::edit(noted("b"))));
        }
        found
    };
    let proofs = prove(&ground, &find(&ground), &find, None, Trials(20));
    let ways: Vec<&Verdict> = proofs.iter().flat_map(|one| &one.ways).collect();
    assert_eq!(ways, [&Verdict::Proved, &Verdict::Proved]);
}

#[test]
fn what_is_about_a_plan_is_proved_on_the_plan_or_left_to_whoever_writes_one() {
    let mut ground = ground(1);
    let remedy = Remedy::edit(Edit::plan("budget.surge", 3));
    let find = |ground: &Ground| -> Vec<Finding<&'static str>> {
        let surge = ground.plan.as_ref().map(|plan| plan.budget.allowance(10, 3).surge);
        let found = finding("narrow", Severity::Warning, remedy.clone());
        if surge == Some(2) || surge.is_none() { vec![found] } else { Vec::new() }
    };
    if let Some(plan) = &mut ground.plan {
        let mut json = plan.to_json();
        json["metadata"]["name"] = json!("p");
        json["spec"]["budget"]["surge"] = json!(2);
        *plan = Plan::read(&json).expect("a plan");
    }
    let prove = |ground: &Ground| super::prove(ground, &find(ground), &find, None, Trials(5)).remove(0).ways;
    assert_eq!(prove(&ground), [Verdict::Proved]);
    ground.plan = None;
    assert_eq!(prove(&ground), [Verdict::ForAPlan]);
}

#[test]
fn what_blocks_is_proved_by_a_roll_that_goes_on() {
    let ground = ground(1);
    let remedy = Remedy::edit(scaled(2)).then(budget("25%"));
    let find = |ground: &Ground| -> Vec<Finding<&'static str>> {
        let found = find(ground, &remedy);
        found.into_iter().map(|one| Finding { severity: Severity::Blocking, ..one }).collect()
    };
    let findings = find(&ground);
    let with = |stopped: &'static [&'static str]| {
        let stops =
            move |_: &Ground| -> BTreeSet<String> { stopped.iter().map(ToString::to_string).collect() };
        prove(&ground, &findings, &find, Some(&stops), Trials(20)).remove(0)
    };
    assert_eq!(with(&[]), Proofs { ways: vec![Verdict::Proved], rehearsed: true });
    let still = with(&["Deployment shop/web"]);
    assert_eq!(why(&still.ways[0]), "with it, the rehearsed roll still stops there");
}

#[test]
fn a_preview_has_each_object_before_and_after() {
    let ground = ground(1);
    let remedy = Remedy::edit(scaled(2)).then(budget("25%"));
    let previews = preview(&ground, &[&remedy.ways[0], &remedy.ways[0]]);
    let shown = previews[0].as_ref().expect("it can be made");
    let replicas = |value: &Option<Value>| value.as_ref().map(|value| value["spec"]["replicas"].clone());
    assert_eq!(shown[0].object, "Deployment shop/web");
    assert_eq!((replicas(&shown[0].before), replicas(&shown[0].after)), (Some(json!(1)), Some(json!(2))));
    assert_eq!(shown[1].before, None);
    assert!(shown[1].after.as_ref().is_some_and(|budget| budget.get("status").is_none()), "{shown:?}");
    assert!(previews[1].as_ref().is_err_and(|why| why.contains("already exists")), "{previews:?}");
}

#[test]
fn changes_are_made_and_followed_up() {
    let ground = ground(1);
    let remedy = Remedy::edit(scaled(2)).then(budget("25%"));
    let Changed { ground, made, refused } = apply(&ground, &[&remedy.ways[0], &remedy.ways[0]]);
    assert_eq!((made.len(), refused.len()), (2, 0), "one change is made once");
    let ready = ground.view.pods.unordered().filter(|(_, pod)| pod.is_ready()).count();
    assert_eq!(ready, 2);
}
