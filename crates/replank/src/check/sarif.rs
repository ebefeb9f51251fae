//! Findings in the form that code scanning reads: SARIF 2.1.0 (OASIS), with what GitHub asks for besides: a place in a file.

use replank_core::check::Rule;
use replank_sim::rehearse::FindingEntry;
use serde_json::{Value, json};

use super::Checked;
use crate::explain;
use crate::failure::Failure;

/// Where the form is defined.
pub(crate) const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(super) fn sarif(checked: &Checked) -> Result<String, Failure> {
    let rules: Vec<Value> = Rule::ALL.iter().map(|rule| described(*rule)).collect();
    let source = checked.sources.first().map_or("snapshot", String::as_str);
    let results: Vec<Value> = checked.findings.iter().map(|finding| result(finding, source)).collect();
    let all = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "replank",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "results": results,
        }],
    });
    let text = serde_json::to_string_pretty(&all).map_err(Failure::internal)?;
    Ok(text + "\n")
}

fn described(rule: Rule) -> Value {
    let mut described = json!({"id": rule.id(), "shortDescription": {"text": rule.title()}});
    if let Some(section) = explain::section(rule.id()) {
        described["help"] = json!({"text": section.text(), "markdown": section.markdown()});
    }
    described
}

fn result(finding: &FindingEntry, source: &str) -> Value {
    let index = Rule::ALL.iter().position(|rule| rule.id() == finding.id);
    json!({
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": level(finding.severity),
        "message": {"text": format!("{}: {}\n\nWhat to do:\n{}", finding.object, finding.reason, finding.remedy)},
        "locations": [{
            "physicalLocation": {"artifactLocation": {"uri": uri(source)}, "region": {"startLine": 1}},
            "logicalLocations": [{"fullyQualifiedName": finding.object, "kind": "resource"}],
        }],
        // Reasons have numbers that change from day to day; the rule and its object are what makes it the same finding.
        "partialFingerprints": {"ruleAndObject/v1": format!("{} {}", finding.id, finding.object)},
    })
}

/// SARIF 2.1.0, 3.27.10.
fn level(severity: &str) -> &'static str {
    match severity {
        "blocking" => "error",
        "warning" => "warning",
        _ => "note",
    }
}

/// A path as a URI reference (RFC 3986, 4.2).
pub(crate) fn uri(path: &str) -> String {
    if path == "-" || path == "<stdin>" {
        return "stdin".to_owned();
    }
    let mut uri = String::new();
    for byte in path.trim_start_matches("./").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("./my cluster.json"), "my%20cluster.json");
        assert_eq!(uri("-"), "stdin");
        assert_eq!(uri("dumps/a:b.json"), "dumps/a%3Ab.json");
    }
}
