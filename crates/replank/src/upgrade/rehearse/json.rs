//! The rehearsal of an upgrade for a program.

use serde_json::{Value, json};

use super::Rehearsed;
use super::chain::{Came, Passed};
use crate::failure::Failure;
use crate::upgrade::plan::words;

/// The version of the form of the JSON.
const VERSION: &str = "replank.dev/upgrade-rehearsal/v1alpha1";

pub(super) fn json(rehearsed: &Rehearsed) -> Result<String, Failure> {
    let plan = &rehearsed.plan;
    let steps: Vec<Value> = plan
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            let passed = rehearsed.passed.get(index);
            let mut value = passed.map_or_else(|| json!({"came": "notComeTo"}), of);
            value["number"] = json!(index + 1);
            value["kind"] = json!(words::kind(&step.what));
            value["title"] = json!(words::title(&step.what));
            value
        })
        .collect();
    let value = json!({
        "version": VERSION,
        "verdict": rehearsed.verdict().as_str(),
        "coverage": rehearsed.coverage,
        "from": plan.survey.control_plane.version.to_string(),
        "to": plan.to.to_string(),
        "seed": rehearsed.seed,
        "start": rehearsed.start,
        "virtualDurationMs": rehearsed.took().as_millis(),
        "steps": steps,
        "assumptions": rehearsed.assumptions,
    });
    Ok(serde_json::to_string_pretty(&value).map_err(Failure::internal)? + "\n")
}

fn of(passed: &Passed) -> Value {
    let (came, why): (&str, &[String]) = match &passed.came {
        Came::Done => ("done", &[]),
        Came::AsIfCleared(why) => ("asIfCleared", why),
        Came::LeftToProvisioner => ("leftToProvisioner", &[]),
        Came::Blocked(why) => ("blocked", why),
        Came::NotBegun(why) => ("notBegun", why),
    };
    json!({
        "came": came,
        "why": why,
        "begun": passed.begun,
        "tookMs": passed.took.as_millis(),
        "nodesReplaced": passed.replaced,
        "podsMoved": passed.moved,
        "budgetViolations": passed.violations,
        "podsUnready": passed.unready,
        "fails": passed.fails,
    })
}
