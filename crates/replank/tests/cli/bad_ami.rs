//! The example examples/bad-ami: what its page tells is so.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::common::{Ran, replank, scratch};

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

/// The same cluster, its nodes moved into another group, and taken back when all of the old ones are gone.
fn moved(name: &str, more: &str, script: &str, words: &[&str]) -> Ran {
    let plan = format!(
        "apiVersion: replank.dev/v1alpha1\nkind: NodeRoll\nmetadata: {{name: {name}}}\nspec:\n  groups: [web]\n  \
         target: {{group: web-new, image: ami-0bad5e11a9c3d7f42}}\n{more}"
    );
    let (plan, script) = (scratch(&format!("{name}.yaml"), &plan), scratch(&format!("{name}.txt"), script));
    let fixed = ["rehearse", "examples/bad-ami/snapshot.yaml", "-f", &plan, "--script", &script];
    replank(&[&fixed[..], words].concat())
}

#[test]
fn a_move_into_another_group_is_taken_back_with_its_pods_two_days_later() {
    let (retain, undo) = ("  retain: {capacity: template, for: 72h}\n", "at 48h: undo\n");
    let told = moved("move-undone", retain, undo, &["-o", "json"]).json();
    assert_eq!(told["ending"], "rolledBack", "{}", told["blockers"]);
    let (total, back) = (&told["nodes"]["total"], &told["rollback"]);
    assert_eq!(told["nodes"]["replaced"], *total, "all of them were gone");
    // The cluster's other groups are untouched.
    assert_eq!(back["renewed"], *total);
    assert_eq!((&back["other"], &back["missing"]), (&json!([]), &json!({})));
    // Whatever was launched in the other group is gone again.
    let nodes = told["timeline"].as_array().expect("there is a timeline").iter();
    let left = nodes.filter(|node| node["group"] == "web-new").filter(|node| {
        let phases = node["phases"].as_array().expect("a node has phases");
        phases.last().is_none_or(|last| last["phase"] != "gone")
    });
    assert_eq!(left.count(), 0);
    let text = moved("move-undone-text", retain, undo, &[]).stdout;
    let said = format!("from the same launch template: {} old nodes and {total} new nodes", back["kept"]);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(&said), "{text}");
}

#[test]
fn a_move_into_another_group_rolls_back_by_itself() {
    let more = "  onFailure: rollback\n  canary: {nodes: 1, soak: 1h}\n  health: {maxStuckTerminating: 0}\n  stuckTerminating: {after: 2m}\n";
    let script = std::fs::read_to_string("../../examples/bad-ami/script.txt").expect("it is there");
    let told = moved("move-fails", more, &script, &["-o", "json"]).json();
    assert_eq!(
        (&told["verdict"], &told["ending"]),
        (&json!("blocked"), &json!("rolledBack")),
        "{}",
        told["blockers"]
    );
    assert_eq!(told["rollback"]["renewed"], 1, "the canary's");
}
