//! One input and one seed, one rehearsal.

use serde_json::Value;

use super::common::{PLAN, SNAPSHOT, replank, scratch, snapshot_text};

fn rehearse(snapshot: &str, arguments: &[&str]) -> Value {
    let mut all = vec!["rehearse", snapshot, "-f", PLAN, "-o", "json"];
    all.extend(arguments);
    let mut result = replank(&all).json();
    // The machine's own time is the one thing that differs.
    result.as_object_mut().expect("an object").remove("wallMs").expect("it is always there");
    result
}

#[test]
fn the_same_seed_gives_the_same_result_and_another_seed_another() {
    let first = rehearse(SNAPSHOT, &["--seed", "7"]);
    assert_eq!(first["seed"], 7);
    assert_eq!(rehearse(SNAPSHOT, &["--seed", "7"]), first);
    assert_ne!(rehearse(SNAPSHOT, &["--seed", "8"])["traceHash"], first["traceHash"]);
}

#[test]
fn the_order_of_documents_does_not_matter() {
    let text = snapshot_text();
    let mut documents: Vec<&str> = text.split("\n---\n").collect();
    assert!(documents.len() > 100, "{}", documents.len());
    // A step that shares no divisor with the length meets every document once.
    let count = documents.len();
    let shares_none = |step: &usize| (2..=*step).all(|d| !step.is_multiple_of(d) || !count.is_multiple_of(d));
    let step = (7..).find(shares_none).expect("some number shares no divisor");
    documents = (0..count).map(|at| documents[at * step % count]).collect();
    let shuffled = scratch("shuffled.yaml", documents.join("\n---\n"));
    assert_eq!(rehearse(&shuffled, &[]), rehearse(SNAPSHOT, &[]));
}

#[test]
fn many_seeds_are_each_what_one_would_be() {
    let all = replank(&["rehearse", SNAPSHOT, "-f", PLAN, "--seeds", "3", "-o", "json"]).json();
    assert_eq!(all["version"], "replank.dev/rehearsals/v1alpha1");
    let rehearsals = all["rehearsals"].as_array().expect("a list");
    let seeds: Vec<&Value> = rehearsals.iter().map(|result| &result["seed"]).collect();
    assert_eq!(seeds, [1, 2, 3]);
    assert_eq!(rehearsals[2]["traceHash"], rehearse(SNAPSHOT, &["--seed", "3"])["traceHash"]);
    let durations: Vec<i64> =
        rehearsals.iter().map(|result| result["virtualDurationMs"].as_i64().expect("a number")).collect();
    let spread = &all["summary"]["virtualDurationMs"];
    assert_eq!(spread["min"].as_i64(), durations.iter().min().copied());
    assert_eq!(spread["max"].as_i64(), durations.iter().max().copied());
}

#[test]
fn many_seeds_as_text_have_a_row_each() {
    let ran = replank(&["rehearse", SNAPSHOT, "-f", PLAN, "--seeds", "3"]);
    assert!(ran.stdout.starts_with("Rehearsals  3 seeds"), "{}", ran.stdout);
    assert!(ran.stdout.contains("(min / median / max)"), "{}", ran.stdout);
    assert_eq!(ran.stdout.lines().filter(|line| line.contains("findings ")).count(), 4, "{}", ran.stdout);
}

/// In this rehearsal a new node gets the name of one that has gone, as AWS gives an address to another instance.
#[test]
fn a_name_may_come_back() {
    let result = rehearse(SNAPSHOT, &["--seed", "1206"]);
    let names: Vec<&str> = result["timeline"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["node"].as_str())
        .collect();
    let mut once = names.clone();
    once.sort_unstable();
    once.dedup();
    assert!(once.len() < names.len(), "another seed is needed: no name comes back in {names:?}");
    assert_eq!(result["ending"], "done", "{}", result["blockers"]);
    assert_eq!(result["nodes"]["replaced"], result["nodes"]["total"]);
}
