//! A budget that keeps batch pods until they are done, such as `minAvailable: 9999` on a Workflow.

use replank_model::time::{Span, Time};

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::{Subject, Survey};
use super::change::waited_for;
use replank_facts::batch::past;
use replank_facts::batch::rerun;
use replank_facts::budget::uncounted;
use replank_facts::plan::OnDeadline;

/// Nothing tells how long it takes.
const UNKNOWN: Span = Span::from_minutes(6 * 60);

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (ix, pods) in &survey.budgets {
        let budget = &survey.view.pod_disruption_budgets[*ix];
        let status = &budget.status;
        let subjects: Vec<&Subject> = survey.subjects_of(pods).collect();
        let keeps_all = status.desired_healthy >= status.expected_pods;
        if !keeps_all || !subjects.iter().all(|subject| subject.ends()) || uncounted(budget).is_some() {
            continue;
        }
        let Some(workload) = subjects.iter().find_map(|subject| subject.workload.as_ref()) else { continue };
        let since: Option<Time> = subjects.iter().filter_map(|subject| subject.pod.status.start_time).min();
        let since = past::started(survey.view, workload).or(since);
        let past = past::of(survey.view, workload);
        let running = since.map_or(String::new(), |since| format!("; running for {}", survey.now() - since));
        let expected = past.map_or(String::new(), |past| format!("; {past}"));
        let left = past.zip(since).map(|(past, since)| past.longest - (survey.now() - since));
        let over = match left {
            Some(left) if left > Span::ZERO => format!("; expected to finish by {}", survey.now() + left),
            Some(_) => "; longer than any of them, so it may finish at any moment".to_owned(),
            None => String::new(),
        };
        let bound = match past::bound(survey.view, workload) {
            Some(bound) => format!("; its own deadline ends it at {bound}"),
            None => "; it has no deadline of its own (activeDeadlineSeconds)".to_owned(),
        };
        // A plan has one wait for all: its default is no shorter.
        let wait = left.map_or(UNKNOWN, past::rounded_up).max(UNKNOWN);
        let is_short = survey.terms.batch.wait < left.unwrap_or(Span::ZERO);
        let blocks = is_short && survey.terms.batch.on_deadline == OnDeadline::Pause;
        // What must not be run again has such a budget on purpose.
        let is_wanted = subjects.iter().all(|subject| rerun::is_unsafe(&subject.pod));
        findings.push(Finding {
            rule: Rule::PdbWaitsForBatch,
            severity: match (blocks, is_wanted) {
                (true, _) => Severity::Blocking,
                (false, true) => Severity::Info,
                (false, false) => Severity::Warning,
            },
            object: ObjectName::new("PodDisruptionBudget", budget.meta.key()),
            reason: format!(
                "minAvailable {} of {} blocks every eviction until {workload} finishes{}{running}{expected}{over}{bound}{}; a managed node group's own update gives up after 15m",
                status.desired_healthy,
                status.expected_pods,
                if is_wanted { ", which is declared unsafe to run again" } else { "" },
                if is_short { "; the plan does not wait that long" } else { "" },
            ),
            remedy: waited_for(survey, &wait.to_string(), is_short),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{budget, found, merge, node, pod};
    use super::*;

    fn workflow(name: &str, status: &Value) -> Value {
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
            "metadata": {"name": name, "namespace": "shop", "labels": {"workflows.argoproj.io/cron-workflow": "etl"}},
            "status": status})
    }

    fn with(desired: i32) -> Vec<String> {
        declaring(desired, &json!({}))
    }

    fn declaring(desired: i32, annotations: &Value) -> Vec<String> {
        let mut labels = json!({"metadata": {"labels": {"app": "etl-3"}}});
        merge(&mut labels, json!({"metadata": {"annotations": annotations}}));
        found(
            Rule::PdbWaitsForBatch,
            vec![
                node("n", "a"),
                budget("etl-3", &json!({"minAvailable": desired}), (2, desired, 2)),
                workflow(
                    "etl-1",
                    &json!({"phase": "Succeeded", "startedAt": "2025-12-30T00:00:00Z", "finishedAt": "2025-12-30T02:00:00Z"}),
                ),
                workflow(
                    "etl-2",
                    &json!({"phase": "Succeeded", "startedAt": "2025-12-31T00:00:00Z", "finishedAt": "2025-12-31T01:50:00Z"}),
                ),
                workflow("etl-3", &json!({"phase": "Running", "startedAt": "2026-01-01T10:30:00Z"})),
                pod("p", "n", Some(("argoproj.io/v1alpha1", "Workflow", "etl-3")), labels.clone()),
                pod("q", "n", Some(("argoproj.io/v1alpha1", "Workflow", "etl-3")), labels),
            ],
        )
    }

    #[test]
    fn the_idiom_is_read_as_a_wait_with_its_expected_length() {
        assert_eq!(
            with(9999),
            [
                "warning pdb-waits-for-batch PodDisruptionBudget shop/etl-3: minAvailable 9999 of 2 blocks every eviction until Workflow \
              shop/etl-3 finishes; running for 1h30m; 2 earlier runs took 1h50m to 2h; expected to finish by 2026-01-01T12:30:00Z; it has no deadline \
              of its own (activeDeadlineSeconds); a managed node group's own update gives up after 15m"
            ]
        );
    }

    #[test]
    fn a_budget_that_keeps_what_must_not_be_run_again_is_wanted() {
        let of = |value: &str| declaring(9999, &json!({"replank.dev/rerun": value})).remove(0);
        let wanted = of("unsafe");
        assert!(
            wanted.starts_with("info pdb-waits-for-batch")
                && wanted.contains(
                    "until Workflow shop/etl-3 finishes, which is declared unsafe to run again; running"
                ),
            "{wanted}"
        );
        assert!(of("safe").starts_with("warning "), "it may be evicted");
    }

    #[test]
    fn a_budget_that_lets_one_go_does_not_wait() {
        assert_eq!(with(1), [""; 0]);
    }
}
