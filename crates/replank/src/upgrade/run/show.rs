//! What is shown before an upgrade: the plan, and what EKS says itself beside our own findings.

use serde_json::Value;

use super::eyes::Seen;
use crate::report::{Look, Page, Tone};
use crate::upgrade::plan::text;

/// The plan, and the insights of EKS.
pub(super) fn plan(seen: &Seen, look: Look) -> String {
    let mut page = Page::new(look);
    let all = &seen.insights;
    page.heading("Insights", "what EKS finds itself, beside the findings above");
    if all.is_empty() {
        page.wrapped(2, "EKS has none of this cluster", Tone::Plain);
    }
    for one in all {
        insight(&mut page, one);
    }
    format!("{}\n{}\n", text(&seen.planned, look), page.into_text())
}

fn insight(page: &mut Page, one: &Value) {
    let text = |member: &str| one[member].as_str().unwrap_or_default();
    let status = one["insightStatus"]["status"].as_str().unwrap_or("UNKNOWN");
    let tone = match status {
        "PASSING" => Tone::Good,
        "ERROR" => Tone::Bad,
        "WARNING" => Tone::Warning,
        _ => Tone::Note,
    };
    let version = text("kubernetesVersion");
    page.gap();
    page.beside(2, &[(status, tone), (text("name"), Tone::Strong), (version, Tone::Faint)]);
    if status == "PASSING" {
        return;
    }
    let reason = one["insightStatus"]["reason"].as_str().unwrap_or_default();
    page.wrapped(4, reason, Tone::Plain);
    for resource in one["resources"].as_array().into_iter().flatten() {
        let name = ["kubernetesResourceUri", "arn"].into_iter().find_map(|member| resource[member].as_str());
        let why = resource["insightStatus"]["reason"].as_str().unwrap_or_default();
        page.wrapped(4, &format!("{}: {why}", name.unwrap_or("a resource")), Tone::Faint);
    }
    let recommendation = text("recommendation");
    if !recommendation.is_empty() {
        page.wrapped(4, &format!("→ {recommendation}"), Tone::Note);
    }
}
