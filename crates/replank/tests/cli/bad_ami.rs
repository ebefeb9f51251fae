//! The example examples/bad-ami: what its page tells is so.

use std::collections::BTreeSet;

use serde_json::Value;

use super::common::replank;

fn rehearsed(plan: &str) -> Value {
    let path = |name: &str| format!("examples/bad-ami/{name}");
    let arguments = [
        "rehearse",
        &path("snapshot.yaml"),
        "-f",
        &path(plan),
        "--script",
        &path("script.txt"),
        "-o",
        "json",
    ];
    let ran = replank(&arguments);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    ran.json()
}

/// Nodes of a kind whose drain was begun.
fn drained(result: &Value, old: bool) -> BTreeSet<String> {
    let nodes = result["timeline"].as_array().expect("there is a timeline").iter();
    let drained = nodes.filter(|node| {
        let phases = node["phases"].as_array().expect("a node has phases");
        node["old"] == old && phases.iter().any(|phase| phase["phase"] == "draining")
    });
    drained.map(|node| node["instance"].as_str().expect("an instance").to_owned()).collect()
}

#[test]
fn both_go_back_and_the_canary_has_less_to_take_back() {
    let (canary, at_once) = (rehearsed("plan.yaml"), rehearsed("plan-without-canary.yaml"));
    for result in [&canary, &at_once] {
        assert_eq!(result["ending"], "rolledBack", "{}", result["blockers"]);
        let halt = result["blockers"][0]["reason"].as_str().expect("it says why");
        assert!(halt.contains("stuck in Terminating"), "{halt}");
        let violations = result["budgets"].as_array().expect("budgets were touched").iter();
        assert!(violations.map(|budget| &budget["violations"]).all(|count| count == 0));
    }
    assert_eq!(drained(&canary, true).len(), 1, "no old node but the canary's was begun");
    assert!(
        drained(&at_once, true).len() > 2 && drained(&at_once, false).len() > drained(&canary, false).len()
    );
    let duration = |result: &Value| result["virtualDurationMs"].as_i64().expect("a duration");
    assert!(duration(&canary) < duration(&at_once));
}
