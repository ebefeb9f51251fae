use replank_model::object::Kind;
use replank_model::time::Span;
use serde_json::json;

use super::*;
use crate::{PodAct, World, testing};

/// A world at midnight with a CronWorkflow that comes every ten minutes.
fn world(spec: &Value, more: Vec<Value>) -> World {
    let mut all = json!({"schedules": ["*/10 * * * *"], "workflowSpec": {"entrypoint": "main",
        "templates": [{"name": "main", "container": {"image": "i"}}]}});
    for (key, value) in spec.as_object().expect("an object") {
        all[key] = value.clone();
    }
    let cron = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "CronWorkflow",
        "metadata": {"name": "c", "namespace": "shop", "uid": "c"}, "spec": all});
    let mut world = testing::world(more.into_iter().chain([testing::node("n", "a"), cron]).collect());
    world.assume_operators();
    world
}

/// Names and phases of the Workflows that there are.
fn workflows(world: &World) -> Vec<String> {
    let all = world.view().others().filter(|other| &*other.kind == "Workflow");
    all.map(|other| format!("{} {}", other.meta.name, phase_of(&raw_of(other)))).collect()
}

fn status(world: &World) -> Value {
    let cron = world.view().other(GROUP, "CronWorkflow", &Key::new("shop", "c")).expect("it stays");
    raw_of(cron)["status"].clone()
}

fn end_running(world: &mut World, code: i32) {
    let pods = world.view().pods.sorted();
    let running: Vec<Key> =
        pods.iter().filter(|(_, pod)| !pod.is_terminal()).map(|(_, pod)| pod.meta.key()).collect();
    for key in running {
        world.act(&key, PodAct::Exit(code));
    }
    world.pass(Span::from_secs(20));
}

const MINUTES_11: Span = Span::from_minutes(11);
const MINUTES_10: Span = Span::from_minutes(10);

#[test]
fn a_workflow_is_made_for_every_time_and_noted() {
    let mut world = world(&json!({"workflowMetadata": {"labels": {"team": "x"}}}), Vec::new());
    world.pass(Span::from_minutes(9));
    assert_eq!(workflows(&world), [""; 0]);
    world.pass(Span::from_minutes(2));
    // 2026-01-01T00:10:00Z.
    assert_eq!(workflows(&world), ["c-1767226200 Running"]);
    let made = world.view().other(GROUP, "Workflow", &Key::new("shop", "c-1767226200")).expect("it was made");
    assert_eq!(
        (made.meta.labels.value(CRON_WORKFLOW), made.meta.labels.value("team")),
        (Some("c"), Some("x"))
    );
    assert_eq!(made.meta.controller().map(|owner| owner.uid.as_str()), Some("c"));
    assert_eq!(made.meta.annotations.value(SCHEDULED), Some("2026-01-01T00:10:00Z"));
    assert_eq!(status(&world)["active"][0]["name"], "c-1767226200");
    assert_eq!(status(&world)["lastScheduledTime"], "2026-01-01T00:10:00Z");
    end_running(&mut world, 0);
    assert_eq!(workflows(&world), ["c-1767226200 Succeeded"]);
    assert_eq!(status(&world)["active"], json!([]));
    world.pass(MINUTES_10);
    assert_eq!(workflows(&world), ["c-1767226200 Succeeded", "c-1767226800 Running"]);
}

#[test]
fn what_is_done_while_a_run_goes_on_is_as_the_policy_says() {
    let after_two = |policy: &str| {
        let mut world = world(&json!({"concurrencyPolicy": policy}), Vec::new());
        world.pass(MINUTES_11 + MINUTES_10);
        let pods = world.view().pods.sorted();
        (workflows(&world), pods.iter().filter(|(_, pod)| !pod.is_terminal()).count())
    };
    assert_eq!(after_two("Allow"), (vec!["c-1767226200 Running".into(), "c-1767226800 Running".into()], 2));
    assert_eq!(after_two("Forbid"), (vec!["c-1767226200 Running".into()], 1));
    assert_eq!(after_two("Replace"), (vec!["c-1767226200 Failed".into(), "c-1767226800 Running".into()], 1));
}

#[test]
fn nothing_comes_of_one_that_is_suspended_and_the_zone_counts() {
    let mut held = world(&json!({"suspend": true}), Vec::new());
    held.pass(MINUTES_11);
    assert_eq!(workflows(&held), [""; 0]);
    let nine = |zone: &str| {
        let mut world = world(&json!({"schedules": ["5 9 * * *"], "timezone": zone}), Vec::new());
        world.pass(Span::from_minutes(7));
        workflows(&world).len()
    };
    assert_eq!((nine("Asia/Tokyo"), nine("Europe/Berlin")), (1, 0), "midnight is nine o'clock in Tokyo");
}

#[test]
fn of_what_has_ended_the_latest_stay() {
    let mut world = world(&json!({"failedJobsHistoryLimit": 2}), Vec::new());
    world.pass(Span::from_minutes(1));
    for run in 0..8 {
        world.pass(Span::from_minutes(10) - Span::from_secs(if run == 0 { 0 } else { 20 }));
        end_running(&mut world, i32::from(run >= 5));
    }
    let phases: Vec<String> =
        workflows(&world).iter().filter_map(|one| Some(one.split_once(' ')?.1.to_owned())).collect();
    assert_eq!(phases, ["Succeeded", "Succeeded", "Succeeded", "Failed", "Failed"]);
}

#[test]
fn a_run_that_the_snapshot_shows_counts_as_going_on() {
    let going = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
        "metadata": {"name": "c-1", "namespace": "shop", "uid": "u", "labels": {CRON_WORKFLOW: "c"}},
        "spec": {"entrypoint": "main", "templates": [{"name": "main", "suspend": {}}]}, "status": {"phase": "Running"}});
    let mut world = world(&json!({"concurrencyPolicy": "Forbid"}), vec![going]);
    world.pass(MINUTES_11);
    assert_eq!(workflows(&world), ["c-1 Running"]);
    assert!(world.get(Kind::PodDisruptionBudget, "c-1").is_none());
}
