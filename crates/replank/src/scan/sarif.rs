//! Findings in the form that code scanning reads: SARIF 2.1.0 (OASIS).

use replank_lifecycle::finding::{Finding, Severity};
use serde_json::{Value, json};

use super::found::Scanned;
use super::table::{how, step, who};
use crate::failure::Failure;
use crate::sarif::{log_of, uri};

const RULES: [(Severity, &str, &str); 3] = [
    (Severity::Gone, "api-gone", "An API version that the cluster no longer serves"),
    (Severity::Removed, "api-removed", "An API version that the target version does not serve"),
    (Severity::Deprecated, "api-deprecated", "An API version that is deprecated"),
];

pub(super) fn sarif(scanned: &Scanned) -> Result<String, Failure> {
    let rules: Vec<Value> =
        RULES.iter().map(|(_, id, title)| json!({"id": id, "shortDescription": {"text": title}})).collect();
    let results: Vec<Value> = scanned.findings.iter().map(result).collect();
    let unread: Vec<Value> = scanned
        .unread
        .iter()
        .map(|unread| {
            json!({
                "level": "error",
                "message": {"text": format!("it cannot be read: {}", unread.why)},
                "locations": [{"physicalLocation": {
                    "artifactLocation": {"uri": uri(&unread.place.source)},
                    "region": {"startLine": unread.place.line.max(1)},
                }}],
            })
        })
        .collect();
    log_of(&rules, &results, &unread)
}

fn result(finding: &Finding) -> Value {
    let index = RULES.iter().position(|(severity, ..)| *severity == finding.severity).unwrap_or_default();
    let who = who(finding);
    json!({
        "ruleId": RULES[index].1,
        "ruleIndex": index,
        "level": match finding.severity {
            Severity::Gone | Severity::Removed => "error",
            Severity::Deprecated => "warning",
        },
        "message": {"text": message(finding)},
        "locations": [{
            "physicalLocation": {
                "artifactLocation": {"uri": uri(&finding.place.source)},
                "region": {"startLine": finding.place.line, "startColumn": finding.place.column},
            },
            "logicalLocations": [{"fullyQualifiedName": format!("{} {who}", finding.used.kind), "kind": "resource"}],
        }],
        // Lines move; the object and its version are what makes it the same finding.
        "partialFingerprints": {
            "objectAndVersion/v1":
                format!("{} {} {who} {}", finding.place.source, finding.used, finding.evidence.word()),
        },
    })
}

/// In one paragraph, with what to do.
pub(super) fn message(finding: &Finding) -> String {
    let removed = match finding.removed {
        Some(removed) => format!("removed in {} {removed}", finding.product),
        None => "deprecated, no removal planned".to_owned(),
    };
    let mut message =
        format!("{}: {removed}. {}", who(finding), step(finding)).trim_start_matches(": ").to_owned();
    for change in &finding.changes {
        message.push_str(&format!("; {change}"));
    }
    match how(finding) {
        how if how.is_empty() => message,
        how => format!("{message} ({how})"),
    }
}
