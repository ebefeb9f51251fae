//! docs/check.md against what is printed, and the forms against each other.

use std::collections::BTreeSet;

use replank_facts::finding::Severity;
use replank_rehearse::{FindingEntry, Proof};
use serde_json::Value;

use super::*;
use crate::report::Color;

const PAGE: &str = include_str!("../../../../docs/check.md");

fn finding(severity: Severity, name: &str) -> FindingEntry {
    FindingEntry {
        id: "singleton",
        severity,
        object: format!("Deployment shop/{name}"),
        reason: "1 replica of_it".to_owned(),
        unseen: Vec::new(),
        remedy: format!("kubectl -n shop scale deployment/{name} --replicas=2"),
        remedy_blocks: Vec::new(),
        proof: Proof::Checked,
        withheld: Some("why".to_owned()),
        changes: Vec::new(),
        commits: Vec::new(),
    }
}

fn sample(findings: Vec<FindingEntry>) -> Checked {
    Checked {
        name: "cluster.json".to_owned(),
        sources: vec!["cluster.json".to_owned()],
        now: "2026-01-01T12:00:00Z".parse().expect("a time"),
        plan: Some("web-to-1-36".to_owned()),
        nodes: 3,
        groups: 1,
        gated: Gated { fails: !findings.is_empty(), findings, ..Gated::default() },
        places: Places::new(),
        coverage: replank_facts::coverage::Coverage::default(),
        preview: None,
    }
}

#[test]
fn the_page_has_every_member_of_the_json_and_no_other() {
    let text = json::json(&sample(vec![finding(Severity::Info, "a")])).expect("it is JSON");
    let value: Value = serde_json::from_str(&text).expect("it is JSON");
    let object =
        |value: &Value| -> Vec<String> { value.as_object().expect("an object").keys().cloned().collect() };
    let mut members: BTreeSet<String> = object(&value).into_iter().collect();
    members.extend(object(&value["findings"][0]).into_iter().map(|key| format!("findings[].{key}")));
    let (_, section) = PAGE.split_once("## As JSON").expect("the page has the section");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let documented: BTreeSet<String> = rows.map(|(member, _)| member.to_owned()).collect();
    assert_eq!(documented, members);
}

#[test]
fn text_tells_what_was_looked_at_and_where_to_go_on() {
    let look = Look { width: 100, color: Color::None };
    let shown = text(&sample(vec![finding(Severity::Blocking, "a")]), false, look);
    assert!(
        shown.starts_with("Check  1 blocking\n  web-to-1-36 replaces 3 nodes of cluster.json\n"),
        "{shown}"
    );
    assert!(
        shown.ends_with("replank explain singleton explains the first; replank rehearse shows the outcome\n"),
        "{shown}"
    );
    let clean = text(&sample(vec![]), false, look);
    assert!(clean.starts_with("Check  nothing found\n"), "{clean}");
    let mut everything = sample(vec![]);
    everything.plan = None;
    assert!(
        text(&everything, false, look)
            .contains("all 3 nodes of cluster.json, as if every group were replaced by identical nodes")
    );
    everything.groups = 0;
    assert!(
        text(&everything, false, look)
            .contains("all 3 nodes of cluster.json, as if each were replaced by an identical one")
    );
}

#[test]
fn sarif_has_a_level_a_place_and_a_rule_for_each_result() {
    let all = [Severity::Blocking, Severity::Warning, Severity::Info]
        .map(|severity| finding(severity, severity.as_str()));
    let text = sarif::sarif(&sample(all.to_vec())).expect("it is JSON");
    let value: Value = serde_json::from_str(&text).expect("it is JSON");
    let run = &value["runs"][0];
    let results = run["results"].as_array().expect("a list");
    let levels: Vec<&str> = results.iter().filter_map(|result| result["level"].as_str()).collect();
    assert_eq!(levels, ["error", "warning", "note"]);
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("a number")).expect("small");
        let rule = &run["tool"]["driver"]["rules"][index];
        assert_eq!(rule["id"], result["ruleId"]);
        assert!(rule["help"]["markdown"].as_str().is_some_and(|help| help.contains("**Source:**")), "{rule}");
        assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "cluster.json");
    }
    assert_eq!(
        results[0]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"],
        "Deployment shop/blocking"
    );
    let prints: BTreeSet<String> =
        results.iter().map(|result| result["partialFingerprints"].to_string()).collect();
    assert_eq!(prints.len(), 3);
}

#[test]
fn markdown_names_every_object_and_escapes_what_is_no_markup() {
    let shown =
        markdown::markdown(&sample(vec![finding(Severity::Warning, "a"), finding(Severity::Warning, "b")]));
    assert_eq!(
        shown,
        "# Check of cluster.json\n\nweb-to-1-36 replaces 3 nodes of cluster.json: **2 warnings**. Snapshot of 2026-01-01T12:00:00Z.\n\n\
         ## warning: 2 objects (`singleton`)\n\n- Deployment shop/a\n- Deployment shop/b\n\n1 replica of\\_it\n\n\
         ```sh\nkubectl -n shop scale deployment/a --replicas=2\n# no change is proposed: the usual one was tried on a copy, and why\nkubectl -n shop scale deployment/b --replicas=2\n# no change is proposed: the usual one was tried on a copy, and why\n```\n\n## Coverage\n\nComplete: everything in the input was read.\n"
    );
}
