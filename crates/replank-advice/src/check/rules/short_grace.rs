//! Workflow steps that have outputs to save when they are told to stop, and little time for it.
//!
//! At SIGTERM the `wait` container saves outputs at once; what is not saved within the grace is lost (argo-workflows `postmain.go`). How
//! long that takes is known to nobody but the team, so that this is good to know, not more.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::Survey;
use replank_facts::batch::retry;
use replank_facts::workload::Workload;
use replank_protocol::policy::BatchKind;

/// The API server's default: nobody has thought about it.
const DEFAULT_SECONDS: i64 = 30;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut found: BTreeMap<&Workload, (usize, i64, Vec<String>)> = BTreeMap::new();
    let mut workflows = retry::Reader::default();
    for (workload, subject) in survey.batch() {
        let grace = subject.pod.grace_seconds();
        if subject.batch_kind() != Some(BatchKind::Workflow) || grace > DEFAULT_SECONDS {
            continue;
        }
        let Some(template) = workflows.template_of(survey.view, &subject.pod).filter(saves) else {
            continue;
        };
        let (count, least, names) = found.entry(workload).or_insert((0, grace, Vec::new()));
        *count += 1;
        *least = grace.min(*least);
        let name = template["name"].as_str().unwrap_or_default().to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let finding = |(workload, (count, grace, names)): (&Workload, (usize, i64, Vec<String>))| Finding {
        rule: Rule::ShortGrace,
        severity: Severity::Info,
        object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
        reason: format!(
            "{} with output artifacts ({}) and a grace period of {grace}s: outputs that are not saved by then are lost in an eviction",
            pods(count),
            names.join(", ")
        ),
        remedy: "give them time for a checkpoint and its upload, in the template: podSpecPatch: \
                 '{\"terminationGracePeriodSeconds\": 300}'"
            .to_owned()
            .into(),
    };
    found.into_iter().map(finding).collect()
}

fn saves(template: &Value) -> bool {
    template
        .pointer("/outputs/artifacts")
        .and_then(Value::as_array)
        .is_some_and(|artifacts| !artifacts.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, node, pod};
    use super::*;

    fn with(outputs: &Value, grace: i64) -> Vec<String> {
        let workflow = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "w", "namespace": "shop"},
            "spec": {"templates": [{"name": "train", "outputs": outputs}]}, "status": {"nodes": {"p": {"templateName": "train"}}}});
        let extra = json!({"spec": {"terminationGracePeriodSeconds": grace}});
        let step = pod("p", "n", Some(("argoproj.io/v1alpha1", "Workflow", "w")), extra);
        found(Rule::ShortGrace, vec![node("n", "a"), workflow, step])
    }

    #[test]
    fn outputs_with_the_default_grace_are_found_and_others_are_not() {
        let artifacts = json!({"artifacts": [{"name": "model", "path": "/out"}]});
        assert_eq!(
            with(&artifacts, 30),
            [
                "info short-grace Workflow shop/w: 1 pod with output artifacts (train) and a grace period of 30s: outputs that are not saved by then are lost in an eviction"
            ]
        );
        assert_eq!(with(&artifacts, 31), [""; 0]);
        assert_eq!(with(&json!({"parameters": [{"name": "n"}]}), 30), [""; 0]);
    }
}
