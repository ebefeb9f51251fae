//! `check` as a gate: what counts, what is let be, and where it stands.

use std::collections::BTreeSet;

use serde_json::Value;

use super::common::{PLAN, SNAPSHOT, replank, scratch};

fn check(more: &[&str]) -> super::common::Ran {
    replank(&[&["check", SNAPSHOT, "-f", PLAN][..], more].concat())
}

fn findings(more: &[&str]) -> Vec<Value> {
    check(&[more, &["-o", "json"]].concat()).json()["findings"].as_array().expect("a list").clone()
}

#[test]
fn the_severity_that_fails_can_be_chosen() {
    let severities: BTreeSet<String> =
        findings(&[]).iter().map(|finding| finding["severity"].to_string()).collect();
    assert!(severities.contains("\"warning\"") && !severities.contains("\"blocking\""), "{severities:?}");
    assert_eq!(check(&["--fail-on", "info"]).code, Some(3));
    assert_eq!(check(&["--fail-on", "warning"]).code, Some(3));
    assert_eq!(check(&["--fail-on", "blocking"]).code, Some(0));
    assert_eq!(check(&["--fail-on", "never"]).code, Some(0));
}

#[test]
fn rules_and_namespaces_can_be_chosen() {
    let all = findings(&[]);
    let of_rule = findings(&["--only", "singleton,local-storage"]);
    assert!(!of_rule.is_empty() && of_rule.len() < all.len());
    assert!(of_rule.iter().all(|finding| finding["id"] == "singleton" || finding["id"] == "local-storage"));
    let of_namespace = findings(&["-n", "pipelines"]);
    assert!(!of_namespace.is_empty() && of_namespace.len() < all.len());
    assert!(of_namespace.iter().all(|finding| finding["object"].to_string().contains(" pipelines/")));
    let told = check(&["--only", "singletons"]).usage_error();
    assert!(told.contains("expected the id of a rule"), "{told}");
}

#[test]
fn exceptions_have_a_reason_and_an_end() {
    let file = scratch(
        "gate/ignore.yaml",
        "ignore:\n- {rule: singleton, reason: may be away, expires: 2099-12-31}\n\
         - {rule: local-storage, reason: a cache, expires: 2020-01-01}\n\
         - {name: nobody, reason: gone, expires: 2099-12-31}\n",
    );
    let ran = check(&["--ignore-file", &file, "-o", "json"]);
    let result = ran.json();
    let ids: BTreeSet<String> =
        result["findings"].as_array().expect("a list").iter().map(|one| one["id"].to_string()).collect();
    assert!(!ids.contains("\"singleton\"") && ids.contains("\"local-storage\""), "{ids:?}");
    assert_eq!(result["ignored"][0]["because"], "may be away");
    assert!(ran.stderr.contains("an exception expired on 2020-01-01: a cache"), "{}", ran.stderr);
    assert!(ran.stderr.contains("an exception matches no finding: gone"), "{}", ran.stderr);
    for (content, words) in [
        ("ignore: [{reason: all, expires: 2099-12-31}]", "it would ignore everything"),
        ("ignore: [{rule: singleton, expires: 2099-12-31}]", "missing field `reason`"),
        ("ignore: [{rule: singleton, reason: x, expires: soon}]", "expected a day such as 2026-12-31"),
        ("ignore: [{rule: singletons, reason: x, expires: 2099-12-31}]", "which does not exist"),
        ("ignore: [{rule: singleton, reason: x, expires: 2099-12-31, kin: Pod}]", "unknown field `kin`"),
    ] {
        let told = check(&["--ignore-file", &scratch("gate/wrong.yaml", content)]).usage_error();
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn a_baseline_leaves_what_is_new() {
    let all = findings(&[]);
    let mut known = check(&["-o", "json"]).json();
    known["findings"].as_array_mut().expect("a list").remove(0);
    let file = scratch("gate/baseline.json", known.to_string());
    let ran = check(&["--baseline", &file, "-o", "json"]);
    let result = ran.json();
    assert_eq!(result["findings"], Value::Array(vec![all[0].clone()]));
    assert_eq!(result["inBaseline"], all.len() - 1);
    assert_eq!(ran.code, Some(3));
    let whole = scratch("gate/whole.json", check(&["-o", "json"]).stdout);
    assert_eq!(check(&["--baseline", &whole]).code, Some(0));
    let told = check(&["--baseline", &scratch("gate/none.json", "{}")]).usage_error();
    assert!(told.contains("is not the output of replank check -o json"), "{told}");
}

#[test]
fn every_place_is_the_line_of_its_object() {
    let text = super::common::snapshot_text();
    let lines: Vec<&str> = text.lines().collect();
    let log = check(&["-o", "sarif"]).json();
    let results = log["runs"][0]["results"].as_array().expect("a list");
    let mut placed = 0;
    for result in results {
        let at = &result["locations"][0]["physicalLocation"];
        assert_eq!(at["artifactLocation"]["uri"], SNAPSHOT);
        let line = at["region"]["startLine"].as_u64().expect("a number");
        let name =
            result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"].as_str().expect("text");
        let name = name.rsplit(['/', ' ']).next().expect("a name");
        if line == 1 {
            continue;
        }
        placed += 1;
        let from = usize::try_from(line).expect("small") - 1;
        let object = lines[from..].iter().take(12).any(|line| line.contains(name));
        assert!(object, "{name} is not at line {line}: {:?}", &lines[from..from + 3]);
    }
    assert!(placed * 10 >= results.len() * 8, "{placed} of {}", results.len());
    let github = check(&["-o", "github"]).stdout;
    assert!(
        github.lines().any(|line| line.starts_with("::warning file=examples/job-site/snapshot.yaml,line="))
    );
}
