//! Findings in the form that code scanning reads: SARIF 2.1.0 (OASIS), with what GitHub asks for besides: a place in a file.

use replank_advice::check::Rule;
use replank_facts::finding::Severity;
use replank_rehearse::FindingEntry;
use serde_json::{Value, json};

use super::Checked;
use crate::explain;
use crate::failure::Failure;
use crate::sarif::{log, uri};

pub(super) fn sarif(checked: &Checked) -> Result<String, Failure> {
    let rules: Vec<Value> = Rule::ALL.iter().map(|rule| described(*rule)).collect();
    let source = checked.sources.first().map_or("snapshot", String::as_str);
    let place = |finding: &FindingEntry| match checked.places.get(&finding.object) {
        // Code scanning asks for a line in any case; that of a compressed file is none.
        Some(place) => (place.source.to_string(), place.line.unwrap_or(1)),
        // What no single object is at fault for.
        None => (source.to_owned(), 1),
    };
    let results: Vec<Value> =
        checked.gated.findings.iter().map(|finding| result(finding, &place(finding))).collect();
    log(&rules, &results)
}

fn described(rule: Rule) -> Value {
    let mut described = json!({"id": rule.id(), "shortDescription": {"text": rule.title()}});
    if let Some(section) = explain::section(rule.id()) {
        described["help"] = json!({"text": section.text(), "markdown": section.markdown()});
    }
    described
}

fn result(finding: &FindingEntry, (source, line): &(String, u64)) -> Value {
    let index = Rule::ALL.iter().position(|rule| rule.id() == finding.id);
    json!({
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": level(finding.severity),
        "message": {"text": format!("{}: {}\n\nWhat to do:\n{}", finding.object, finding.told(), finding.to_do())},
        "locations": [{
            "physicalLocation": {"artifactLocation": {"uri": uri(source)}, "region": {"startLine": line}},
            "logicalLocations": [{"fullyQualifiedName": finding.object, "kind": "resource"}],
        }],
        // Reasons have numbers that change from day to day; the rule and its object are what makes it the same finding.
        "partialFingerprints": {"ruleAndObject/v1": format!("{} {}", finding.id, finding.object)},
    })
}

/// SARIF 2.1.0, 3.27.10.
fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Blocking => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}
