//! What a budget selects: nothing, everything, or pods that no drain evicts.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::selector::LabelSelector;
use replank_model::view::{Ix, View};

use super::super::finding::{Finding, ObjectName, Rule, Severity, counted, pods};
use super::super::survey::Survey;
use replank_facts::remedy::{Edit, Remedy, Target, TargetKind};
use replank_facts::workload::workload_of;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let view = survey.view;
    // Without any pods there is nothing that a budget could select.
    if view.pods.is_empty() {
        return Vec::new();
    }
    let budgets = view.pod_disruption_budgets.sorted().into_iter();
    budgets
        .flat_map(|(ix, budget)| {
            [nothing(view, ix, budget), everything(view, ix, budget), daemons(view, ix, budget)]
        })
        .flatten()
        .collect()
}

fn active(view: &View, ix: Ix<PodDisruptionBudget>) -> Vec<&Arc<Pod>> {
    let pods = view.pods_of_budget(ix).map(|ix| &view.pods[ix]);
    pods.filter(|pod| !pod.is_terminal()).collect()
}

fn finding(
    budget: &PodDisruptionBudget,
    rule: Rule,
    severity: Severity,
    reason: String,
    remedy: Remedy,
) -> Finding {
    Finding {
        rule,
        severity,
        object: ObjectName::new("PodDisruptionBudget", budget.meta.key()),
        reason,
        remedy,
    }
}

fn nothing(view: &View, ix: Ix<PodDisruptionBudget>, budget: &PodDisruptionBudget) -> Option<Finding> {
    if view.pods_of_budget(ix).next().is_some() || waits_for_pods(view, budget) {
        return None;
    }
    let namespace = &budget.meta.namespace;
    Some(finding(
        budget,
        Rule::PdbSelectsNothing,
        Severity::Info,
        "its selector matches no pod: it protects nothing".to_owned(),
        Remedy::edit(Edit::Delete { of: Target::new(TargetKind::PodDisruptionBudget, budget.meta.key()) })
            .note("if it is not needed")
            .look_first(format!("kubectl -n {namespace} get pods --show-labels   # correct the selector")),
    ))
}

/// Whether a workload that is scaled to zero, or that has no pods yet, would have pods for it.
fn waits_for_pods(view: &View, budget: &PodDisruptionBudget) -> bool {
    let Some(Ok(selector)) = budget.spec.selector.as_ref().map(LabelSelector::compile) else {
        return false;
    };
    let is_its = |namespace: &replank_model::text::Namespace, labels: &replank_model::labels::Labels| {
        *namespace == budget.meta.namespace && selector.matches(|key| labels.value(key))
    };
    let deployments =
        view.deployments.unordered().any(|(_, of)| is_its(&of.meta.namespace, &of.spec.template.meta.labels));
    let sets = view
        .stateful_sets
        .unordered()
        .any(|(_, of)| is_its(&of.meta.namespace, &of.spec.template.meta.labels));
    deployments || sets
}

fn everything(view: &View, ix: Ix<PodDisruptionBudget>, budget: &PodDisruptionBudget) -> Option<Finding> {
    let selector = budget.spec.selector.as_ref()?;
    if !selector.match_labels.is_empty() || !selector.match_expressions.is_empty() {
        return None;
    }
    let all = active(view, ix);
    let workloads: BTreeSet<_> = all.iter().filter_map(|pod| workload_of(view, pod)).collect();
    if workloads.len() < 2 {
        return None;
    }
    Some(finding(
        budget,
        Rule::PdbSelectsAll,
        Severity::Warning,
        format!(
            "its empty selector covers all {} of the namespace, of {}: it counts them together, so one workload may lose all of its pods, or one that is unhealthy keeps all others from being evicted",
            pods(all.len()),
            counted(workloads.len(), "workload")
        ),
        format!(
            "give each workload of namespace {} a budget of its own, and delete this one",
            budget.meta.namespace
        )
        .into(),
    ))
}

fn daemons(view: &View, ix: Ix<PodDisruptionBudget>, budget: &PodDisruptionBudget) -> Option<Finding> {
    let all = active(view, ix);
    let is_daemon = |pod: &&&Arc<Pod>| pod.meta.controller().is_some_and(|owner| &*owner.kind == "DaemonSet");
    let daemons = all.iter().filter(is_daemon).count();
    if daemons == 0 {
        return None;
    }
    Some(finding(
        budget,
        Rule::PdbDaemonPods,
        Severity::Info,
        format!(
            "{} of its {} are of DaemonSets: a drain does not evict them, they end with their node whatever the budget says, and they count as pods that must be healthy",
            daemons,
            pods(all.len())
        ),
        format!(
            "kubectl -n {} get pdb {} -o yaml   # leave DaemonSet pods out of its selector",
            budget.meta.namespace, budget.meta.name
        )
        .into(),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{budget, found, node, pod, service};
    use super::*;

    fn with(rule: Rule, selector: Value, more: Vec<Value>) -> Vec<String> {
        let mut one = budget("one", &json!({"minAvailable": 1}), (2, 1, 2));
        one["spec"]["selector"] = selector;
        let web = service("web", &["n", "n"], &json!({}));
        found(rule, [vec![node("n", "a"), one], web, more].concat())
    }

    #[test]
    fn a_budget_without_pods_is_found_unless_its_pods_are_only_away() {
        let lost = || json!({"matchLabels": {"app": "wbe"}});
        assert_eq!(
            with(Rule::PdbSelectsNothing, lost(), vec![]),
            [
                "info pdb-selects-nothing PodDisruptionBudget shop/one: its selector matches no pod: it protects nothing"
            ]
        );
        assert_eq!(with(Rule::PdbSelectsNothing, json!({"matchLabels": {"app": "web"}}), vec![]), [""; 0]);
        let away = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "wbe", "namespace": "shop", "uid": "wbe"},
            "spec": {"replicas": 0, "template": {"metadata": {"labels": {"app": "wbe"}}}}});
        assert_eq!(with(Rule::PdbSelectsNothing, lost(), vec![away]), [""; 0]);
    }

    #[test]
    fn a_budget_over_the_pods_of_several_workloads_by_an_empty_selector_is_found() {
        assert_eq!(with(Rule::PdbSelectsAll, json!({}), vec![]), [""; 0], "one workload");
        let told = with(Rule::PdbSelectsAll, json!({}), service("api", &["n"], &json!({})));
        assert!(told[0].contains("covers all 3 pods of the namespace, of 2 workloads"), "{told:?}");
    }

    #[test]
    fn pods_of_daemon_sets_under_a_budget_are_found() {
        let agent = pod(
            "agent-1",
            "n",
            Some(("apps/v1", "DaemonSet", "agent")),
            json!({"metadata": {"labels": {"app": "web"}}}),
        );
        let selector = || json!({"matchLabels": {"app": "web"}});
        assert_eq!(with(Rule::PdbDaemonPods, selector(), vec![]), [""; 0]);
        let told = with(Rule::PdbDaemonPods, selector(), vec![agent]);
        assert!(told[0].contains("1 of its 3 pods are of DaemonSets"), "{told:?}");
    }
}
