//! Retry strategies without a limit: the pauses of their backoff are skipped, so that a step that keeps failing is run again at
//! once, for ever (argo-workflows docs/retries).

use std::collections::BTreeSet;

use replank_model::view::View;
use serde_json::{Value, json};

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::batch::retry::{self, Strategy};
use replank_facts::batch::templates;
use replank_facts::workload::CRON_WORKFLOW;
use replank_protocol::policy::BatchKind;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for series in survey.series.iter().filter(|series| &*series.workload.kind == "CronWorkflow") {
        let Some(cron) = survey.view.other("argoproj.io", "CronWorkflow", &series.workload.key) else {
            continue;
        };
        let raw: Option<Value> = cron.meta.raw.0.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
        let Some(raw) = raw else { continue };
        let workflow = json!({"spec": templates::in_force(survey.view, &cron.meta.namespace, &raw["spec"]["workflowSpec"])});
        let object = ObjectName { kind: series.workload.kind.clone(), key: series.workload.key.clone() };
        findings.extend(finding(survey.view, object, &workflow));
    }
    let of_workflows =
        survey.subjects.iter().filter(|subject| subject.batch_kind() == Some(BatchKind::Workflow));
    let workflows: BTreeSet<_> = of_workflows.filter_map(|subject| subject.workload.as_ref()).collect();
    for workload in workflows {
        let Some(workflow) = survey.view.other("argoproj.io", "Workflow", &workload.key) else { continue };
        // What a CronWorkflow makes is named once, where it is written.
        if workflow.meta.labels.get(CRON_WORKFLOW).is_some() {
            continue;
        }
        let Some(raw) = retry::raw(survey.view, &workload.key) else { continue };
        let object = ObjectName { kind: workload.kind.clone(), key: workload.key.clone() };
        findings.extend(finding(survey.view, object, &raw));
    }
    findings
}

fn finding(view: &View, object: ObjectName, workflow: &Value) -> Option<Finding> {
    let spec = retry::spec_of(view, workflow);
    let templates = spec["templates"].as_array().cloned().unwrap_or_default();
    let endless = |template: &&Value| {
        retry::strategy_of(&spec, Some(template)).is_some_and(|strategy| is_hot(&strategy))
    };
    let names: Vec<&str> =
        templates.iter().filter(endless).filter_map(|template| template["name"].as_str()).collect();
    (!names.is_empty()).then(|| Finding {
        rule: Rule::RetryWithoutLimit,
        severity: Severity::Warning,
        object,
        reason: format!(
            "backoff without limit in {}: Argo then skips the pauses and retries a failing step immediately and forever",
            names.join(", ")
        ),
        remedy: "set a limit in the Workflow's spec: retryStrategy: {limit: 3, …}   # the backoff then takes effect"
            .to_owned().into(),
    })
}

fn is_hot(strategy: &Strategy) -> bool {
    strategy.backoff.is_some() && strategy.limit.is_none()
}

#[cfg(test)]
mod tests {
    use super::super::stage::{found, node, pod};
    use super::*;

    fn cron(strategy: &Value) -> Vec<String> {
        found(
            Rule::RetryWithoutLimit,
            vec![
                node("n", "a"),
                json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "CronWorkflow", "metadata": {"name": "etl", "namespace": "shop"},
                    "spec": {"schedules": ["0 1 * * *"], "workflowSpec": {"templates": [
                        {"name": "load", "container": {}, "retryStrategy": strategy}, {"name": "plain", "container": {}}]}}}),
            ],
        )
    }

    #[test]
    fn a_backoff_without_a_limit_is_a_hot_loop() {
        assert_eq!(
            cron(&json!({"backoff": {"duration": "1m"}})),
            [
                "warning retry-without-limit CronWorkflow shop/etl: backoff without limit in load: Argo then skips the pauses and retries a failing step immediately and forever"
            ]
        );
        let workflow = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "w", "namespace": "shop"},
            "spec": {"retryStrategy": {"backoff": {"duration": 5}}, "templates": [{"name": "one"}]}});
        let step = pod("p", "n", Some(("argoproj.io/v1alpha1", "Workflow", "w")), json!({}));
        let found = found(Rule::RetryWithoutLimit, vec![node("n", "a"), workflow, step]);
        assert!(
            found[0].starts_with("warning retry-without-limit Workflow shop/w: backoff without limit in one"),
            "{found:?}"
        );
    }

    #[test]
    fn what_stands_in_a_template_counts() {
        let templates =
            json!([{"name": "load", "container": {}, "retryStrategy": {"backoff": {"duration": "1m"}}}]);
        let stored = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "w", "namespace": "shop"},
            "spec": {"workflowTemplateRef": {"name": "t"}}, "status": {"storedWorkflowTemplateSpec": {"templates": templates}}});
        let step = pod("p", "n", Some(("argoproj.io/v1alpha1", "Workflow", "w")), json!({}));
        assert_eq!(found(Rule::RetryWithoutLimit, vec![node("n", "a"), stored, step]).len(), 1);
        let cron = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "CronWorkflow", "metadata": {"name": "etl", "namespace": "shop"},
            "spec": {"schedules": ["0 1 * * *"], "workflowSpec": {"workflowTemplateRef": {"name": "t"}}}});
        let template = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "WorkflowTemplate", "metadata": {"name": "t", "namespace": "shop"},
            "spec": {"templates": templates}});
        assert_eq!(found(Rule::RetryWithoutLimit, vec![node("n", "a"), cron.clone(), template]).len(), 1);
        assert_eq!(found(Rule::RetryWithoutLimit, vec![node("n", "a"), cron]), [""; 0]);
    }

    #[test]
    fn one_with_a_limit_and_one_without_a_backoff_are_not_found() {
        assert_eq!(cron(&json!({"limit": "3", "backoff": {"duration": "1m"}})), [""; 0]);
        assert_eq!(cron(&json!({"retryPolicy": "Always"})), [""; 0]);
    }
}
