//! Batch work on spot instances: AWS takes them away with two minutes' notice, and no drain waits for work that takes longer.

use std::collections::BTreeMap;

use replank_facts::batch::past;
use replank_facts::batch::{rerun, retry};
use replank_facts::workload::Workload;
use replank_model::object::node::Node;
use replank_model::text::NodeName;
use replank_model::time::Span;

use super::super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::super::survey::{Subject, Survey};
use super::super::batch_unprotected::{is_safe, runs_again, stake};
use super::super::worst::Worst;
use crate::audit::is_spot;

/// The notice of a spot interruption.
const NOTICE: Span = Span::from_minutes(2);

/// Work that an interruption would cost.
pub(super) fn find(survey: &Survey<'_>, own: &[&Node]) -> Vec<Finding> {
    let spot: BTreeMap<NodeName, &Node> =
        own.iter().filter(|node| is_spot(node)).map(|node| (node.name(), *node)).collect();
    let mut findings = Worst::default();
    if spot.is_empty() {
        return findings.findings();
    }
    let mut workflows = retry::Reader::default();
    for (workload, subject) in survey.batch() {
        let Some(node) = subject.pod.node.as_ref().and_then(|name| spot.get(name)) else { continue };
        let Some(lost) = lost(survey, &mut workflows, subject) else { continue };
        findings.take(workload, lost.severity, || finding(survey, (workload, subject), node, &lost));
    }
    findings.findings()
}

/// What an interruption costs.
struct Lost {
    severity: Severity,
    text: String,
    /// Whether it is run again though its author declares that it must not be.
    is_repeated: bool,
}

fn lost(survey: &Survey<'_>, workflows: &mut retry::Reader, subject: &Subject) -> Option<Lost> {
    let stake = stake(survey, workflows, subject)?;
    let is_repeated = rerun::is_unsafe(&subject.pod) && runs_again(survey, workflows, subject).is_some();
    let severity = if is_repeated { Severity::Warning } else { stake.severity };
    // What costs nothing but a run, and may be run again, is as its author wants it.
    let is_wanted = severity == Severity::Info && is_safe(&subject.pod);
    (!is_wanted).then_some(Lost { severity, text: stake.text, is_repeated })
}

fn finding(
    survey: &Survey<'_>,
    (workload, subject): (&Workload, &Subject),
    node: &Node,
    lost: &Lost,
) -> Finding {
    let since = past::started(survey.view, workload);
    let running = since.map_or(String::new(), |since| format!("; running for {}", survey.now() - since));
    let repeated = match lost.is_repeated {
        true => "; declared unsafe to run again, and it is run again",
        false => "",
    };
    let grace = Span::from_secs(subject.pod.grace_seconds());
    let cut = match grace > NOTICE {
        true => format!("; its grace period of {grace} is cut short"),
        false => String::new(),
    };
    Finding {
        rule: Rule::TerminationSetup,
        severity: lost.severity,
        object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
        reason: format!(
            "runs on spot node {}, which AWS takes away with {NOTICE} notice; no heartbeat and no grace period is longer than that. {}{running}{repeated}{cut}",
            node.name(),
            lost.text
        ),
        remedy: "keep it off spot capacity (a nodeSelector or affinity in its pod template), or have it save its progress within two minutes of SIGTERM".into(),
    }
}
