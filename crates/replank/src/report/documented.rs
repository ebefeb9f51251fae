//! Holds `docs/rehearsal-json.md` against what is really printed.

use std::collections::BTreeSet;

use replank_rehearse::{RehearsalResult, Stop};
use serde_json::Value;

use super::sample::{besides, blocked, with_findings};
use super::{About, Tally, Timeline};
use crate::rehearse::document::{Among, Document};

const PAGE: &str = include_str!("../../../../docs/rehearsal-json.md");

/// Every member of a value: `nodes.total`, `budgets[].name`.
fn members(value: &Value, path: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, member) in object {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                all.insert(path.clone());
                members(member, &path, all);
            }
        }
        Value::Array(items) => {
            for item in items {
                members(item, &format!("{path}[]"), all);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The first column of the table below a heading.
fn documented(heading: &str) -> BTreeSet<String> {
    let (_, section) = PAGE.split_once(heading).expect("the page has the heading");
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split_once('`').expect("a member's name ends").0.to_owned()).collect()
}

#[test]
fn every_member_of_a_rehearsal_is_documented_and_no_other() {
    let mut all = BTreeSet::new();
    let about = About { plan: "p", snapshot: "s", stop: Stop::Ended, timeline: Timeline::Left, spread: None };
    for result in [with_findings(), blocked(), besides()] {
        let document = Document::of(&result, &about, Among::Alone).0;
        members(&serde_json::to_value(document).expect("a result is JSON"), "", &mut all);
    }
    all.retain(|member| !member.starts_with("coverage."));
    assert_eq!(all, documented("## One rehearsal"));
}

#[test]
fn every_member_of_a_summary_is_documented_and_no_other() {
    let results: [RehearsalResult; 2] = [with_findings(), blocked()];
    let mut all = BTreeSet::from(["version".to_owned(), "summary".to_owned(), "rehearsals".to_owned()]);
    let mut tally = Tally::default();
    results.iter().for_each(|result| tally.add(result));
    members(&serde_json::to_value(tally.summary()).expect("a summary is JSON"), "summary", &mut all);
    assert_eq!(all, documented("## Many rehearsals"));
}
