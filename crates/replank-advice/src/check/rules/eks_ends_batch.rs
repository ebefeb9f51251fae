//! Batch pods on nodes that EKS replaces by its own update: it waits for none of them, whatever the plan says.
//!
//! EKS evicts all pods of a node at once when it drains it, and fails the update when one is left after 15 minutes (EKS user guide, "Managed node group update behavior").

use std::collections::BTreeMap;

use replank_model::object::cloud::{GroupKind, NodeGroup};
use replank_model::text::GroupName;
use replank_model::time::{Span, Time};

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods, workload_or_pod};
use super::super::survey::{Subject, Survey};
use replank_facts::batch::past;
use replank_facts::budget::{failed_sync, uncounted};

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let is_moved = survey.plan.is_none_or(|plan| plan.target.group.is_some());
    if is_moved {
        return Vec::new();
    }
    let mut found: BTreeMap<(ObjectName, GroupName), Vec<&Subject>> = BTreeMap::new();
    for subject in &survey.subjects {
        let Some(group) = subject.batch_kind().and_then(|_| managed(survey, subject)) else { continue };
        let object = workload_or_pod(subject.workload.as_ref(), &subject.pod);
        found.entry((object, group.name.clone())).or_default().push(subject);
    }
    found.into_iter().map(|((object, group), subjects)| finding(survey, object, &group, &subjects)).collect()
}

/// The managed node group that EKS updates and the pod is in.
fn managed<'a>(survey: &'a Survey<'_>, subject: &Subject) -> Option<&'a NodeGroup> {
    let node = survey.view.node(subject.pod.node.as_ref()?)?;
    let group = survey.groups.get(&survey.group_of(node)?)?;
    (group.kind == GroupKind::EksManaged).then_some(group)
}

fn finding(survey: &Survey<'_>, object: ObjectName, group: &GroupName, subjects: &[&Subject]) -> Finding {
    let kept = subjects.iter().filter(|subject| is_kept(survey, subject)).count();
    let what = match (subjects.len() - kept, kept) {
        (0, _) => {
            "a disruption budget refuses their eviction, and the update fails with a pod left 15m after EKS began to drain its node (PodEvictionFailure)"
        }
        (_, _) => {
            "EKS evicts all pods of a node as soon as it drains it, and does not wait as the plan's batch policy says"
        }
    };
    let workload = subjects.iter().find_map(|subject| subject.workload.as_ref());
    let begun = workload.and_then(|workload| past::started(survey.view, workload));
    let since = begun.or_else(|| subjects.iter().filter_map(|subject| subject.pod.status.start_time).min());
    let running = since.map_or(String::new(), |since| format!("; running for {}", survey.now() - since));
    let past = workload.and_then(|workload| past::of(survey.view, workload));
    let end = match past.zip(since).map(|(past, since)| since + past.longest) {
        Some(end) if end > survey.now() => format!("; expected to finish by {end}"),
        Some(_) => "; longer than any earlier run, so it may finish at any moment".to_owned(),
        None => "; when it will finish is not known".to_owned(),
    };
    let bound = workload.and_then(|workload| past::bound(survey.view, workload));
    let bound: String =
        bound.map_or(String::new(), |bound: Time| format!("; its own deadline ends it at {bound}"));
    let by =
        past.zip(since).map(|(past, since)| since + past.longest).filter(|end| *end > survey.now() + LEAD);
    let when = by.map_or_else(|| "when they are done".to_owned(), |by| format!("after {by}"));
    Finding {
        rule: Rule::EksEndsBatch,
        severity: Severity::Warning,
        object,
        reason: format!("{} on nodes of managed node group {group}: {what}{running}{end}{bound}", pods(subjects.len())),
        remedy: format!(
            "start {when}; or move the nodes into another group (target.group in the plan), where the run waits for batch pods as `batch` says"
        )
        .into(),
    }
}

/// An update does not drain a node before new ones are Ready: what ends so soon is done by then.
const LEAD: Span = Span::from_minutes(1);

/// Whether a budget refuses the pod's eviction for as long as it runs.
fn is_kept(survey: &Survey<'_>, subject: &Subject) -> bool {
    survey.view.budgets_of(subject.ix).iter().any(|ix| {
        let budget = &survey.view.pod_disruption_budgets[*ix];
        let counts = uncounted(budget).is_none() && budget.status.disruptions_allowed == 0;
        counts || failed_sync(budget).is_some()
    })
}

#[cfg(test)]
mod tests {
    use replank_facts::plan::{Plan, RunOptions, Target};
    use replank_model::delta::Delta;
    use replank_model::view::View;
    use serde_json::{Value, json};

    use super::super::stage::{NOW, budget, node, pod, service, view};
    use super::*;
    use replank_facts::groups::{GroupBy, from_nodes};

    fn job(name: &str, times: &Value) -> Value {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "shop", "uid": name,
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "etl", "uid": "c", "controller": true}]},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": []}}}, "status": times})
    }

    /// What is found of a job that runs since 10:00, on a node of a group that is managed or not, under a plan that moves into another group or not.
    fn with(is_managed: bool, moves: Option<&str>, more: Vec<Value>) -> Vec<String> {
        let cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "etl", "namespace": "shop", "uid": "c"},
            "spec": {"schedule": "0 10 * * *", "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": []}}}}}});
        let done = json!({"startTime": "2025-12-31T10:00:00Z", "completionTime": "2025-12-31T13:00:00Z",
            "conditions": [{"type": "Complete", "status": "True"}]});
        let own = vec![
            node("n", "a"),
            cron,
            job("etl-1", &done),
            job("etl-2", &json!({"startTime": "2026-01-01T10:00:00Z"})),
            pod(
                "p",
                "n",
                Some(("batch/v1", "Job", "etl-2")),
                json!({"metadata": {"labels": {"app": "etl"}}}),
            ),
        ];
        let mut view: View = view([own, more].concat());
        for learnt in from_nodes(&view, &GroupBy::default()) {
            let group = if is_managed { learnt.group.managed_by_eks() } else { learnt.group };
            view.apply(Delta::Group(group.into()));
        }
        let mut plan = Plan::of_groups("p", vec!["web".into()], Target::default());
        plan.target.group = moves.map(GroupName::from);
        let options = RunOptions { started: NOW.parse().expect("a time"), group_by: GroupBy::default() };
        let found = super::super::super::run(&view, Some(&plan), &options);
        found.iter().filter(|one| one.rule == Rule::EksEndsBatch).map(ToString::to_string).collect()
    }

    #[test]
    fn a_job_that_eks_would_evict_is_told_with_its_expected_end() {
        assert_eq!(
            with(true, None, Vec::new()),
            [
                "warning eks-ends-batch CronJob shop/etl: 1 pod on nodes of managed node group web: EKS evicts all pods of a node as soon as it drains it, and does not \
                 wait as the plan's batch policy says; running for 2h; expected to finish by 2026-01-01T13:00:00Z"
            ]
        );
    }

    #[test]
    fn one_that_a_budget_keeps_fails_the_update() {
        let told = with(true, None, vec![budget("etl", &json!({"minAvailable": 1}), (1, 1, 1))]);
        assert!(told[0].contains("the update fails with a pod left 15m after"), "{told:?}");
    }

    #[test]
    fn who_drains_by_the_plan_waits_and_services_are_no_batch() {
        assert_eq!(with(false, None, Vec::new()), [""; 0], "a self-managed group");
        assert_eq!(with(true, Some("green"), Vec::new()), [""; 0], "nodes that move into another group");
        assert_eq!(with(true, None, service("web", &["n"], &json!({}))).len(), 1, "the job alone");
    }
}
