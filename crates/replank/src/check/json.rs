//! Findings for a program.

use replank_facts::coverage::Coverage;
use replank_model::time::Time;
use replank_rehearse::FindingEntry;
use serde::Serialize;

use super::Checked;
use super::gate::{Ignored, VERSION};
use crate::failure::Failure;

/// What `-o json` prints; docs/check.md describes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Form<'a> {
    version: &'static str,
    snapshot: &'a str,
    moment: Time,
    plan: Option<&'a str>,
    nodes: usize,
    coverage: &'a Coverage,
    findings: &'a [FindingEntry],
    ignored: &'a [Ignored],
    in_baseline: usize,
    not_asked_for: usize,
}

pub(super) fn json(checked: &Checked) -> Result<String, Failure> {
    let form = Form {
        version: VERSION,
        snapshot: &checked.name,
        moment: checked.now,
        plan: checked.plan.as_deref(),
        nodes: checked.nodes,
        coverage: &checked.coverage,
        findings: &checked.gated.findings,
        ignored: &checked.gated.ignored,
        in_baseline: checked.gated.in_baseline,
        not_asked_for: checked.gated.not_asked_for,
    };
    let text = serde_json::to_string_pretty(&form).map_err(Failure::internal)?;
    Ok(text + "\n")
}
