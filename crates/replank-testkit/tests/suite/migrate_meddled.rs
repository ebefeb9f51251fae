//! Migrations into which somebody meddles at the worst moment: what is lost is made again, what is not sure is waited for.

use replank_core::migrate::Goal;
use replank_model::object::Object;
use replank_model::selector::LabelSelector;
use replank_model::time::Span;
use replank_protocol::decision::End;
use replank_protocol::hindrance::ScaleDown;
use replank_protocol::intent::Intent;
use replank_protocol::waiting::migration::Copy;
use replank_protocol::waiting::{MigrationEnd, MigrationWait, WaitingOn};
use replank_testkit::migrate::{Case, Races, Restarts, Stage, is_there, wants};
use serde_json::{Value, json};

const RECORD: &str = "replank-migration-deployment-web";

/// A case of that seed in which nobody else meddles; odd seeds take a twin.
fn case(seed: u64) -> Case {
    Case {
        races: Races::None,
        restarts: Restarts::Never,
        scaled_by_hand: false,
        ready_ms: 5_000,
        ..Case::of(seed)
    }
}

/// The same, handed over to a Rollout.
fn rollout(seed: u64) -> Case {
    Case { races: Races::None, restarts: Restarts::Never, scaled_by_hand: false, ..Case::rollout(seed) }
}

fn selector(case: &Case) -> Goal {
    let selector: LabelSelector =
        serde_json::from_value(json!({"matchLabels": case.wanted()})).expect("a selector");
    Goal::Selector(selector)
}

/// The Deployment as a manifest says, changed.
fn manifest(case: &Case, change: impl FnOnce(&mut Value)) -> Goal {
    let mut manifest = case.deployment("web:2");
    manifest["spec"]["selector"]["matchLabels"] = case.wanted();
    manifest["spec"]["template"]["metadata"]["labels"]["release"] = "second".into();
    change(&mut manifest);
    Goal::Manifest(Object::from_json(manifest).expect("a Deployment"))
}

fn wait(end: Option<End>) -> WaitingOn {
    match end {
        Some(End::Blocked(waiting)) => waiting[0].on.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_twin_that_somebody_deletes_while_the_original_is_away_costs_no_manifest() {
    for seed in (1..13).step_by(2) {
        let case = case(seed);
        let mut stage = Stage::begin(&case, selector(&case));
        assert!(stage.until(|world| !is_there(world, "web")), "seed {seed}");
        stage.delete("Deployment", "web-twin");
        if seed % 4 == 1 {
            stage.start_anew();
        }
        // Nobody serves for a while, which is not ours; what is missing is made, and a person is asked.
        assert!(
            matches!(wait(stage.end()), WaitingOn::MigrationEnd(MigrationEnd::NoEndpoints { .. })),
            "seed {seed}"
        );
        assert!(!stage.breaches().is_empty(), "seed {seed}: somebody deleted all that served");
        assert!(stage.deployment("web").is_some(), "seed {seed}: the Deployment is lost");
        stage.intend(Intent::Cancelled);
        assert_eq!(stage.end(), Some(End::Done), "seed {seed}");
        stage.pass(Span::from_minutes(10));
        assert_eq!(stage.left(&case.wanted()), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn a_record_that_somebody_deletes_stays_until_it_is_over() {
    for seed in 0..12 {
        let case = case(seed);
        let mut stage = Stage::begin(&case, selector(&case));
        assert!(stage.until(|world| !is_there(world, "web")), "seed {seed}");
        stage.delete("ConfigMap", RECORD);
        stage.start_anew();
        assert_eq!(stage.end(), Some(End::Done), "seed {seed}");
        stage.pass(Span::from_minutes(10));
        assert_eq!(stage.breaches(), [], "seed {seed}");
        assert_eq!(stage.left(&case.wanted()), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn a_service_that_is_pointed_past_the_new_pods_keeps_the_twin() {
    for seed in (1..9).step_by(2) {
        let case = case(seed);
        let goal = manifest(&case, |web| {
            let labels = web["spec"]["template"]["metadata"]["labels"].as_object_mut().expect("labels");
            labels.remove("track");
        });
        let mut stage = Stage::begin(&case, goal);
        assert!(stage.until(|world| !is_there(world, "web")), "seed {seed}");
        assert!(stage.until(|world| is_there(world, "web")), "seed {seed}");
        let service = ("v1", "Service", "web");
        stage.patch(service, &json!({"spec": {"selector": {"app": "web", "track": "stable"}}}));
        let blocked = wait(stage.end());
        assert!(
            matches!(&blocked, WaitingOn::Migration(MigrationWait::Endpoints { copy: Copy::New, service, ready: 0, .. }) if service.name.as_str() == "web"),
            "seed {seed}: {blocked:?}"
        );
        assert!(stage.deployment("web-twin").is_some(), "seed {seed}");
        stage.patch(service, &json!({"spec": {"selector": {"app": "web", "track": null}}}));
        stage.pass(Span::from_minutes(1));
        stage.intend(Intent::Cancelled);
        assert_eq!(stage.end(), Some(End::Done), "seed {seed}");
        assert_eq!(stage.breaches(), [], "seed {seed}");
    }
}

#[test]
fn a_new_deployment_that_never_gets_ready_is_taken_back_when_somebody_says_so() {
    for seed in (1..9).step_by(2) {
        let case = case(seed);
        let never = (24 * 60 * 60 * 1_000_i64).to_string();
        let goal = manifest(&case, |web| {
            web["spec"]["template"]["metadata"]["annotations"]["fake.kubelet/ready-ms"] =
                never.clone().into();
        });
        let mut stage = Stage::begin(&case, goal);
        let blocked = wait(stage.end());
        assert!(
            matches!(
                blocked,
                WaitingOn::Migration(MigrationWait::Available { copy: Copy::New, available: 0, .. })
            ),
            "seed {seed}: {blocked:?}"
        );
        assert!(stage.deployment("web-twin").is_some(), "seed {seed}: the twin serves");
        stage.intend(Intent::Undo);
        assert!(matches!(stage.end(), Some(End::Cancelled(_))), "seed {seed}");
        stage.pass(Span::from_minutes(10));
        assert_eq!(stage.breaches(), [], "seed {seed}");
        assert_eq!(stage.left(&json!({"app": "web", "tier": "front"})), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn a_rollout_that_somebody_deletes_after_the_hand_over_is_made_again() {
    for seed in 0..6 {
        let case = Case { ready_ms: 5_000, ..rollout(seed) };
        let mut stage = Stage::begin(&case, Goal::Rollout(ScaleDown::Never));
        assert!(stage.until(|world| wants(world, "web") == Some(0)), "seed {seed}");
        stage.delete("Rollout", "web");
        if seed % 2 == 0 {
            stage.start_anew();
        }
        assert!(
            matches!(wait(stage.end()), WaitingOn::MigrationEnd(MigrationEnd::NoEndpoints { .. })),
            "seed {seed}"
        );
        assert!(stage.rollout().is_some(), "seed {seed}: nobody made it again");
        stage.pass(Span::from_minutes(10));
        stage.intend(Intent::Cancelled);
        assert_eq!(stage.end(), Some(End::Done), "seed {seed}");
        assert_eq!(stage.left(&case.wanted()), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn argo_scales_no_further_down_when_a_service_is_without_endpoints() {
    for who in [ScaleDown::OnSuccess, ScaleDown::Progressively] {
        let case = Case { ready_ms: 30_000, replicas: 5, ..rollout(3) };
        let mut stage = Stage::begin(&case, Goal::Rollout(who));
        let mut begun = false;
        while !begun {
            stage.pass(Span::from_secs(1));
            begun = stage.rollout().is_some();
        }
        let service = ("v1", "Service", "web");
        stage.patch(service, &json!({"spec": {"selector": {"app": "nobody"}}}));
        assert!(
            matches!(wait(stage.end()), WaitingOn::MigrationEnd(MigrationEnd::NoEndpoints { .. })),
            "{who}"
        );
        let held = stage.rollout().expect("it is there");
        assert_eq!(held["spec"]["workloadRef"]["scaleDown"], "never", "{who}");
        stage.pass(Span::from_minutes(30));
        let web = stage.deployment("web").expect("it is there");
        assert_eq!(web.spec.replicas, Some(5), "{who}: nobody who serves is taken away");
        stage.patch(service, &json!({"spec": {"selector": {"app": "web"}}}));
        stage.pass(Span::from_minutes(1));
        stage.intend(Intent::Cancelled);
        assert!(matches!(stage.end(), Some(End::Cancelled(_))), "{who}");
        stage.pass(Span::from_minutes(10));
        assert!(stage.rollout().is_none(), "{who}");
        assert_eq!(stage.left(&case.wanted()), Vec::<String>::new(), "{who}");
    }
}

#[test]
fn a_deployment_that_somebody_deletes_beside_its_rollout_is_made_again() {
    for seed in 0..6 {
        let case = Case { ready_ms: 5_000, ..rollout(seed) };
        let mut stage = Stage::begin(&case, Goal::Rollout(ScaleDown::Never));
        assert!(stage.until(|world| wants(world, "web") == Some(0)), "seed {seed}");
        stage.delete("Deployment", "web");
        assert_eq!(stage.end(), Some(End::Done), "seed {seed}");
        stage.pass(Span::from_minutes(10));
        assert_eq!(stage.breaches(), [], "seed {seed}");
        assert_eq!(stage.left(&case.wanted()), Vec::<String>::new(), "seed {seed}");
    }
}
