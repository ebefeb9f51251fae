//! A budget that lets its pods go, but so slowly that EKS's own update of a managed node group gives up in between.
//!
//! EKS drains a node by evictions for 15 minutes; with a pod left on it the update fails (`PodEvictionFailure`; EKS user guide, "Managed node group update
//! behavior"). A pod that was evicted counts against its budget until the one in its place is Ready, on whatever node that is.

use std::collections::BTreeMap;

use replank_model::object::cloud::GroupKind;
use replank_model::object::condition;
use replank_model::object::node::LABEL_EKS_NODEGROUP;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::Span;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods};
use super::super::survey::{Subject, Survey};
use super::scale;
use replank_facts::budget::uncounted;

/// How long EKS tries to drain a node.
pub(super) const DRAIN_MAX: Span = Span::from_minutes(15);

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (ix, all) in &survey.budgets {
        let budget = &survey.view.pod_disruption_budgets[*ix];
        let subjects: Vec<&Subject> = survey.subjects_of(all).collect();
        // Batch pods are no service that has to come back, and a budget that allows nothing is another finding.
        if uncounted(budget).is_some() || subjects.iter().any(|subject| subject.ends()) {
            continue;
        }
        let slack = scale::settled(survey, *ix).saturating_sub(budget.status.desired_healthy);
        let Some(slack) = usize::try_from(slack).ok().filter(|slack| *slack > 0) else { continue };
        let managed: Vec<&Subject> =
            subjects.iter().copied().filter(|subject| is_managed(survey, &subject.pod)).collect();
        let Some(ready_after) = ready_after(&managed) else { continue };
        let by_node = by_node(&managed);
        let most = by_node.values().copied().max().unwrap_or(0);
        if managed.len() <= slack || longest_wait(ready_after, (most, managed.len()), slack) <= DRAIN_MAX {
            continue;
        }
        findings.push(Finding {
            rule: Rule::PdbSlow,
            severity: severity(survey),
            object: ObjectName::new("PodDisruptionBudget", budget.meta.key()),
            reason: format!(
                "lets {} go at a time, and the next when its replacement is Ready, which took {ready_after}; {} on {} of managed node groups: EKS's own update \
                 gives up on a node after 15m (PodEvictionFailure)",
                pods(slack),
                pods(managed.len()),
                match by_node.len() {
                    1 => "1 node".to_owned(),
                    nodes => format!("{nodes} nodes"),
                },
            ),
            remedy: "move the nodes into another group (target.group in the plan), where evictions are waited for; or let more pods go at a time; or make pods \
                     Ready sooner. A forced update deletes the pods that are left, whatever the budget says"
                .into(),
        });
    }
    findings
}

fn by_node<'a>(managed: &[&'a Subject]) -> BTreeMap<&'a NodeName, usize> {
    let mut by_node = BTreeMap::new();
    for node in managed.iter().filter_map(|subject| subject.pod.node.as_ref()) {
        *by_node.entry(node).or_default() += 1;
    }
    by_node
}

/// Whether the pod is on a node of a managed group, as its label tells.
fn is_managed(survey: &Survey<'_>, pod: &Pod) -> bool {
    let node = pod.node.as_ref().and_then(|name| survey.view.node(name));
    node.is_some_and(|node| node.meta.labels.contains_key(LABEL_EKS_NODEGROUP))
}

/// EKS does it where the plan says so. Else only those are concerned who update the group without us.
fn severity(survey: &Survey<'_>) -> Severity {
    let moves = survey.plan.is_some_and(|plan| plan.target.group.is_some());
    let is_updated = survey.groups_renewed().iter().any(|group| group.kind != GroupKind::SelfManaged);
    if is_updated && !moves { Severity::Warning } else { Severity::Info }
}

/// How long pods that leave together wait at most for the replacements of those before them, where their budget lets so many go at a time. Where it covers pods
/// elsewhere, too, what was evicted there just before still counts.
pub(super) fn longest_wait(ready_after: Span, (leave, covered): (usize, usize), slack: usize) -> Span {
    let is_all = covered <= leave;
    let waits = leave.div_ceil(slack) - usize::from(is_all);
    ready_after * i64::try_from(waits).unwrap_or(i64::MAX)
}

/// How long the pods took from their node to Ready: the middle one of those that have not lost it since, as far as restarts tell.
pub(super) fn ready_after(subjects: &[&Subject]) -> Option<Span> {
    let took = |pod: &Pod| {
        if pod.status.container_statuses.iter().any(|container| container.restart_count > 0) {
            return None;
        }
        let ready = condition::find(&pod.status.conditions, "Ready").filter(|_| pod.is_ready())?;
        Some(ready.last_transition_time? - pod.status.start_time?)
    };
    let mut all: Vec<Span> = subjects.iter().filter_map(|subject| took(&subject.pod)).collect();
    all.sort_unstable();
    all.get(all.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{budget, found, node, service};
    use super::*;

    #[test]
    fn each_round_waits_for_the_one_before() {
        let wait = |leave, covered, slack| longest_wait(Span::from_minutes(8), (leave, covered), slack);
        assert_eq!([wait(3, 3, 1), wait(3, 4, 1)], [16, 24].map(Span::from_minutes));
        assert_eq!([wait(3, 3, 2), wait(3, 4, 2)], [8, 16].map(Span::from_minutes));
        assert_eq!([wait(3, 3, 3), wait(3, 4, 3)], [0, 8].map(Span::from_minutes));
    }

    /// Pods on nodes that were Ready so many minutes after their start, under a budget that lets some go.
    fn with(nodes: &[&str], minutes: u64, slack: i32) -> Vec<String> {
        let ready = format!("2026-01-01T10:{minutes:02}:00Z");
        let status = json!({"status": {"startTime": "2026-01-01T10:00:00Z", "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": ready}]}});
        let all = i32::try_from(nodes.len()).expect("few");
        let own = budget("web", &json!({"maxUnavailable": slack}), (all, all - slack, all));
        let stage: Vec<Value> = vec![node("n", "a"), node("m", "b"), node("o", "c"), own];
        found(Rule::PdbSlow, [stage, service("web", nodes, &status)].concat())
    }

    #[test]
    fn one_pod_in_22_minutes_is_more_than_eks_waits() {
        assert_eq!(
            with(&["n", "m", "o"], 22, 1),
            [
                "info pdb-slow PodDisruptionBudget shop/web: lets 1 pod go at a time, and the next when its replacement is Ready, which took 22m; 3 pods on 3 nodes \
                 of managed node groups: EKS's own update gives up on a node after 15m (PodEvictionFailure)"
            ]
        );
        assert_eq!(
            with(&["n", "m", "o"], 14, 1),
            [""; 0],
            "the next node is drained after a quarter of an hour"
        );
        assert_eq!(with(&["n", "m", "o"], 22, 3), [""; 0], "all may go at once");
        assert_eq!(with(&["n", "n", "n"], 8, 1).len(), 1, "two waits on one node");
        assert_eq!(with(&["n", "n"], 8, 1), [""; 0], "one wait on one node");
    }
}
