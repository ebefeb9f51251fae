//! `rehearse --start-sweep`.

use std::collections::BTreeSet;

use super::common::{members, replank, root};

fn sweep(arguments: &[&str]) -> super::common::Ran {
    let mut all = vec!["rehearse", "--start-sweep", "7d"];
    all.extend(arguments);
    replank(&all)
}

#[test]
fn the_examples_best_start_holds_no_node_longer_than_its_worst() {
    let ran = sweep(&["-o", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let result = ran.json();
    let held = |of: &str| result[of][0]["heldMs"].as_i64().expect("there is one");
    assert!(held("best") < held("worst"), "{} {}", result["best"], result["worst"]);
    let starts = result["starts"].as_array().expect("a list");
    assert_eq!(starts.len(), 7 * 24 * 4 + 1, "every quarter of an hour");
    let worst = starts.iter().map(|start| start["heldMs"].as_i64().expect("a number")).max();
    assert_eq!(worst, Some(held("worst")));
    let objects: Vec<&str> = result["series"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|series| series["object"].as_str())
        .collect();
    let (jobs, workflow) = objects.split_at(3);
    assert_eq!(
        jobs,
        ["CronJob batch/crawl-postings", "CronJob batch/nightly-export", "CronJob batch/send-alerts"]
    );
    assert_eq!(workflow, ["CronWorkflow pipelines/salary-model"]);
}

#[test]
fn the_report_plots_every_day_and_names_the_best_and_the_worst() {
    let ran = sweep(&[]);
    for text in
        ["When to start", "Fri 11-20", "Thu 11-26", "Fri 11-27", "\nBest", "\nWorst", "\nScheduled runs"]
    {
        assert!(ran.stdout.contains(text), "{text:?} is missing: {}", ran.stdout);
    }
    assert_eq!(sweep(&["--seeds", "2"]).code, Some(2), "one or the other");
}

#[test]
fn every_member_of_the_json_is_documented_and_no_other() {
    let mut all = BTreeSet::new();
    members(&sweep(&["-o", "json"]).json(), "", &mut all);
    let page = std::fs::read_to_string(root().join("docs/batch.md")).expect("the page is there");
    let (_, section) = page.split_once("## The sweep as JSON").expect("the page has the heading");
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let documented: BTreeSet<String> =
        rows.map(|row| row.split_once('`').expect("a member's name ends").0.to_owned()).collect();
    assert_eq!(all, documented);
}
