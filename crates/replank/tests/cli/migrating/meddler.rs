//! Somebody who meddles with a migration while it goes on: it ends well all the same, or stops with a stated reason, and it is never our doing that nobody serves.

use std::thread;
use std::time::Duration;

use replank_judge::Sent;
use serde_json::{Value, json};

use super::Trial;
use super::case::{Case, Way};
use super::seen::Endpoints;
use crate::common::Ran;
use crate::drive::ground::Ground;

/// What somebody does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// Another size of the object.
    Scale,
    /// Another template.
    Roll,
    /// Another label of the object.
    Label,
    /// The Service sends elsewhere, for a while.
    Turn,
    /// A pod is deleted.
    Pod,
    /// The object is deleted, with its pods.
    Object,
    /// The twin or the Rollout is deleted.
    StandIn,
    /// The record is deleted.
    Record,
}

impl Act {
    const ALL: [Self; 8] = [
        Self::Scale,
        Self::Roll,
        Self::Label,
        Self::Turn,
        Self::Pod,
        Self::Object,
        Self::StandIn,
        Self::Record,
    ];

    fn is_of(self, way: Way) -> bool {
        match self {
            Self::StandIn => matches!(way, Way::Twin | Way::Rollout),
            Self::Scale => way != Way::DaemonSet,
            Self::Roll | Self::Label | Self::Turn | Self::Pod | Self::Object | Self::Record => true,
        }
    }
}

pub(super) fn trials<'g>(ground: &'g Ground, seen: &'g Endpoints, way: Way, is_all: bool) -> Vec<Trial<'g>> {
    let mut all: Vec<Trial<'g>> = Vec::new();
    let acts = Act::ALL.into_iter().filter(|act| act.is_of(way));
    for (number, act) in acts.enumerate() {
        let steps = 1..way.steps();
        // Each act at one step of one way or another.
        let chosen = |step: &usize| is_all || *step == 1 + (number * 2 + way as usize) % (way.steps() - 1);
        let is_taken = is_all || number == way as usize || act == Act::StandIn;
        for step in steps.filter(chosen).filter(|_| is_taken) {
            let name = format!("{}{step}", format!("{act:?}").to_lowercase());
            all.push((
                format!("{way:?} {name}"),
                Box::new(move || meddled(&Case::begin(ground, way, seen, &name), seen, step, act)),
            ));
        }
    }
    all
}

fn meddled(case: &Case<'_>, seen: &Endpoints, after: usize, act: Act) {
    let mut running = case.start(&["--apply", "--patience", "40s"]);
    running.until(after);
    thread::sleep(Duration::from_millis((after as u64 * 211 + case.namespace.len() as u64 * 97) % 1_200));
    let serves = |case: &Case<'_>| {
        let object = case.object();
        let meta = &object["metadata"];
        let is_there = meta["uid"].is_string() && meta["deletionTimestamp"].is_null();
        let serves = object["spec"]["replicas"] != 0 && object["status"]["readyReplicas"].as_i64() > Some(0);
        (is_there && serves).then(|| meta["uid"].clone())
    };
    let before = serves(case);
    meddle(case, act);
    // What we sent before we could see it.
    thread::sleep(Duration::from_millis(1_500));
    let is_his = match act {
        Act::Turn | Act::Object => true,
        Act::StandIn => before.is_none() || serves(case) != before,
        Act::Scale | Act::Roll | Act::Label | Act::Pod | Act::Record => false,
    };
    if act == Act::Turn {
        thread::sleep(Duration::from_secs(3));
        case.send(&merge(&service(case), &json!({"spec": {"selector": {"app": "web", "gone": null}}})));
    }
    let ran = running.end();
    let why = format!("{act:?} after step {after}: {ran:?}");
    assert!(is_his || seen.fewest(&case.namespace) >= 1, "nobody serves: {why}");
    let first = ran.code;
    match ran.code {
        Some(0) => {}
        Some(4 | 5) => assert!(is_stated(&ran), "{why}"),
        Some(_) | None => panic!("{why}"),
    }
    let ended = if ran.code == Some(0) { ran } else { case.run(&["--cancel"]) };
    let why = format!("{why}; in the end {ended:?}");
    if ended.code == Some(0) {
        case.assert_nothing_left(&why);
    } else {
        assert!(ended.code == Some(4) && is_stated(&ended), "{why}");
    }
    // Whoever deletes the object once the migration is over has deleted it; so with the Rollout, which stays in its place.
    let is_gone = |object: Value| object["metadata"]["uid"].is_null();
    let is_deleted = match act {
        Act::Object => is_gone(case.object()),
        Act::StandIn => {
            case.way == Way::Rollout && first == Some(0) && is_gone(case.get(&case.rollout_path()))
        }
        Act::Scale | Act::Roll | Act::Label | Act::Turn | Act::Pod | Act::Record => false,
    };
    if !is_deleted {
        case.ground.wait("somebody serves in the end", |_| seen.ready(&case.namespace) > 0);
    }
    let last = ended.stdout.lines().last().unwrap_or_default();
    let fewest = seen.fewest(&case.namespace);
    eprintln!("{:?}: {act:?} after step {after}: {first:?}, {last}, fewest endpoints {fewest}", case.way);
}

/// It says how it ended, and why.
fn is_stated(ran: &Ran) -> bool {
    let end = ran.stdout.lines().last().unwrap_or_default();
    let is_told = ["rolled back", "blocked", "cancelled", "refused", "taken back"]
        .iter()
        .any(|word| end == format!("migration {word}"));
    is_told && !ran.stderr.trim().is_empty()
}

fn merge(path: &str, change: &Value) -> Sent {
    Sent::new("PATCH", path).typed("application/merge-patch+json", change.to_string().into_bytes())
}

fn service(case: &Case<'_>) -> String {
    format!("/api/v1/namespaces/{}/services/web", case.namespace)
}

fn meddle(case: &Case<'_>, act: Act) {
    let delete = |path: String| {
        Sent::new("DELETE", path)
            .json(&json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}))
    };
    case.send(&match act {
        Act::Scale => merge(&case.path(), &json!({"spec": {"replicas": 4}})),
        Act::Roll => merge(
            &case.path(),
            &json!({"spec": {"template": {"metadata": {"annotations": {"team": "meddler"}}}}}),
        ),
        Act::Label => merge(&case.path(), &json!({"metadata": {"labels": {"team": "meddler"}}})),
        Act::Turn => merge(&service(case), &json!({"spec": {"selector": {"gone": "yes"}}})),
        Act::Pod => {
            let pods = case.get(&format!("/api/v1/namespaces/{}/pods", case.namespace));
            let pod = pods["items"][0]["metadata"]["name"].as_str().unwrap_or("none").to_owned();
            delete(format!("/api/v1/namespaces/{}/pods/{pod}", case.namespace))
        }
        Act::Object => delete(case.path()),
        Act::StandIn if case.way == Way::Twin => delete(case.twin_path()),
        Act::StandIn => delete(case.rollout_path()),
        Act::Record => delete(case.record_path()),
    });
}
