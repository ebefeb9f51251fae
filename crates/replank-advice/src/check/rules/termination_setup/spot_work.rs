//! Batch work on spot instances: AWS takes them away with two minutes' notice, and no drain waits for work that takes longer.

use std::collections::BTreeMap;

use replank_facts::batch::past;
use replank_facts::batch::rerun;
use replank_facts::workload::Workload;
use replank_model::object::node::Node;
use replank_model::text::NodeName;
use replank_model::time::Span;

use super::super::super::finding::{Finding, ObjectName, Severity};
use super::super::super::survey::{Subject, Survey};
use super::super::batch_unprotected::{is_safe, runs_again, stake};
use super::part::{finding, is_spot};

/// The notice of a spot interruption.
const NOTICE: Span = Span::from_minutes(2);

/// Work that an interruption would cost.
pub(super) fn find(survey: &Survey<'_>, own: &[&Node]) -> Vec<Finding> {
    let mut findings: BTreeMap<Workload, Finding> = BTreeMap::new();
    let spot: BTreeMap<NodeName, &Node> =
        own.iter().filter(|node| is_spot(node)).map(|node| (node.name(), *node)).collect();
    for subject in &survey.subjects {
        let node = subject.pod.node.as_ref().and_then(|name| spot.get(name));
        let Some((workload, node)) = subject.workload.as_ref().zip(node) else { continue };
        let Some(found) = lost(survey, workload, subject, node) else { continue };
        let known = findings.entry(workload.clone()).or_insert_with(|| found.clone());
        if found.severity < known.severity {
            *known = found;
        }
    }
    findings.into_values().collect()
}

fn lost(survey: &Survey<'_>, workload: &Workload, subject: &Subject, node: &Node) -> Option<Finding> {
    let stake = stake(survey, workload, subject)?;
    let again = || runs_again(survey, subject);
    let twice = rerun::is_unsafe(&subject.pod).then(again).flatten();
    let severity = if twice.is_some() { Severity::Warning } else { stake.severity };
    // What costs nothing but a run, and may be run again, is as its author wants it.
    if severity == Severity::Info && is_safe(&subject.pod) {
        return None;
    }
    let since = past::started(survey.view, workload);
    let running = since.map_or(String::new(), |since| format!("; running for {}", survey.now() - since));
    let unsafe_again = match twice {
        Some(_) => "; declared unsafe to run again, and it is run again",
        None => "",
    };
    let grace = Span::from_secs(subject.pod.grace_seconds());
    let cut = match grace > NOTICE {
        true => format!("; its grace period of {grace} is cut short"),
        false => String::new(),
    };
    Some(finding(
        ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
        severity,
        format!(
            "runs on spot node {}, which AWS takes away with {NOTICE} notice; no heartbeat and no grace period is longer than that. {}{running}{unsafe_again}{cut}",
            node.name(),
            stake.text
        ),
        "keep it off spot capacity (a nodeSelector or affinity in its pod template), or have it save its progress within two minutes of SIGTERM",
    ))
}
