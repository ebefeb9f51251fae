//! Findings for a program.

use replank_lifecycle::finding::Finding;
use serde_json::{Value, json};

use super::found::Scanned;
use crate::failure::Failure;

/// The version of the form.
const VERSION: &str = "replank.dev/scan/v1alpha1";

pub(super) fn json(scanned: &Scanned) -> Result<String, Failure> {
    let counts = scanned.counts;
    let form = json!({
        "version": VERSION,
        "current": scanned.range.current.map(|current| current.to_string()),
        "target": scanned.range.target.to_string(),
        "coverage": scanned.coverage,
        "counts": {
            "files": counts.texts,
            "bytes": counts.bytes,
            "objects": counts.objects,
            "templates": counts.templates,
            "helmReleases": counts.releases,
            "helmReleasesPast": counts.releases_past,
            "auditedRequests": counts.requests,
            "leftOutByGitignore": scanned.left_out,
        },
        "findings": scanned.findings.iter().map(|finding| one(finding, scanned.fails(finding))).collect::<Vec<_>>(),
        "waived": scanned
            .waived
            .iter()
            .map(|(finding, reason)| {
                let mut value = one(finding, false);
                value["reason"] = json!(reason);
                value
            })
            .collect::<Vec<_>>(),
        "unread": scanned
            .unread
            .iter()
            .map(|unread| json!({"path": &*unread.place.source, "line": unread.place.line, "why": unread.why}))
            .collect::<Vec<_>>(),
        "renderFailures": scanned
            .render_failures
            .iter()
            .map(|failure| json!({"path": failure.path, "why": failure.why}))
            .collect::<Vec<_>>(),
        "unrendered": scanned
            .unrendered
            .iter()
            .map(|of| json!({"path": &*of.place.source, "line": of.place.line, "what": of.what, "why": of.why}))
            .collect::<Vec<_>>(),
        "leftOutByValues": scanned
            .disabled
            .iter()
            .map(|of| json!({"path": &*of.place.source, "line": of.place.line, "what": of.what, "values": of.values}))
            .collect::<Vec<_>>(),
    });
    let text = serde_json::to_string_pretty(&form).map_err(Failure::internal)?;
    Ok(text + "\n")
}

fn one(finding: &Finding, fails: bool) -> Value {
    json!({
        "severity": finding.severity.word(),
        "fails": fails,
        "path": &*finding.place.source,
        "line": finding.place.line,
        "column": finding.place.column,
        "kind": finding.used.kind,
        "namespace": finding.namespace,
        "name": if finding.name.is_empty() { None } else { Some(&finding.name) },
        "holder": finding.holder,
        "apiVersion": finding.used.api_version(),
        "product": finding.product.to_string(),
        "deprecated": finding.deprecated.map(|release| release.to_string()),
        "removed": finding.removed.map(|release| release.to_string()),
        "replacement": finding.replacement.as_ref().map(|gvk| json!({"apiVersion": gvk.api_version(), "kind": gvk.kind})),
        "replacementServedFrom": finding.replacement_from.map(|release| release.to_string()),
        "changes": finding.changes,
        "evidence": finding.evidence.word(),
        "evidenceText": finding.evidence.to_string(),
        "writerOnly": finding.evidence.is_about_writer(),
        "confidence": finding.confidence.word(),
    })
}
