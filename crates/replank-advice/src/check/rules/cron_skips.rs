//! Runs that do not begin, and nobody says so: the last one is still going, the controller was away at that moment, or the schedule
//! cannot be read (docs/cron-workflows; pkg/controller/cronjob).

use replank_model::object::batch::ConcurrencyPolicy;
use replank_model::time::Span;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::{Subject, Survey};
use replank_facts::batch::starts::Series;
use replank_facts::remedy::{Edit, Remedy, Target};
use replank_facts::workload::Workload;
use serde_json::json;

/// What Argo's installation calls its controller.
const CONTROLLER: &str = "workflow-controller";

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = survey
        .unread
        .iter()
        .map(|unread| Finding {
            rule: Rule::CronSkips,
            severity: Severity::Warning,
            object: object(&unread.workload),
            reason: format!("its schedule is invalid ({}): it never runs", unread.error),
            remedy: format!(
                "kubectl -n {} get {} -o yaml",
                unread.workload.key.namespace,
                unread.workload.argument()
            )
            .into(),
        })
        .collect();
    let mover = survey.subjects.iter().find(|subject| is_controller(subject));
    for series in survey.series_here() {
        findings.extend(too_long(survey, series));
        if let Some(mover) = mover {
            findings.extend(lost_tick(series, mover));
        }
    }
    findings
}

fn object(workload: &Workload) -> ObjectName {
    ObjectName { kind: workload.kind.clone(), key: workload.key.clone() }
}

/// Runs that take longer than it is to the next start, and the next is not to overlap.
fn too_long(survey: &Survey<'_>, series: &Series) -> Option<Finding> {
    let past = series.past.filter(|_| series.overlap == ConcurrencyPolicy::Forbid)?;
    let first = series.next(survey.now())?;
    let gap = series.next(first)? - first;
    (past.longest > gap).then(|| Finding {
        rule: Rule::CronSkips,
        severity: Severity::Warning,
        object: object(&series.workload),
        reason: format!(
            "concurrencyPolicy Forbid and {past}, with {gap} between starts: a start during a run is skipped silently, and a run repeated after an eviction takes longer and skips more"
        ),
        remedy: format!(
            "kubectl -n {} get {} -o yaml   # fewer starts, or concurrencyPolicy: Allow",
            series.workload.key.namespace,
            series.workload.argument()
        ).into(),
    })
}

/// A start that comes while the controller moves.
fn lost_tick(series: &Series, mover: &Subject) -> Option<Finding> {
    let is_lost = &*series.workload.kind == "CronWorkflow" && series.late == Some(Span::ZERO);
    (is_lost && !series.is_held).then(|| Finding {
        rule: Rule::CronSkips,
        severity: Severity::Warning,
        object: object(&series.workload),
        reason: format!(
            "startingDeadlineSeconds 0: a start is lost while the workflow controller ({}) moves",
            mover.pod.meta.key()
        ),
        remedy: match Target::workload(&series.workload) {
            Some(of) => {
                Remedy::edit(Edit::Patch { of, patch: json!({"spec": {"startingDeadlineSeconds": 600}}) })
            }
            None => Remedy::default(),
        },
    })
}

fn is_controller(subject: &Subject) -> bool {
    subject.workload.as_ref().is_some_and(|workload| {
        &*workload.kind == "Deployment" && workload.key.name.as_str().ends_with(CONTROLLER)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, merge, node, service};
    use super::*;

    fn cron_workflow(extra: Value) -> Value {
        let mut cron = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "CronWorkflow", "metadata": {"name": "etl", "namespace": "shop"},
            "spec": {"schedules": ["*/30 * * * *"], "startingDeadlineSeconds": 60, "workflowSpec": {"templates": [{"name": "t", "container": {}}]}}});
        merge(&mut cron["spec"], extra);
        cron
    }

    fn run(name: &str, minutes: i64) -> Value {
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
            "metadata": {"name": name, "namespace": "shop", "labels": {"workflows.argoproj.io/cron-workflow": "etl"}},
            "status": {"phase": "Succeeded", "startedAt": "2026-01-01T00:00:00Z", "finishedAt": format!("2026-01-01T00:{minutes:02}:00Z")}})
    }

    #[test]
    fn a_run_longer_than_the_gap_skips_the_next_under_forbid_only() {
        let with = |policy: &str, minutes| {
            found(
                Rule::CronSkips,
                vec![
                    node("n", "a"),
                    cron_workflow(json!({"concurrencyPolicy": policy})),
                    run("etl-1", minutes),
                ],
            )
        };
        assert_eq!(
            with("Forbid", 31),
            [
                "warning cron-skips CronWorkflow shop/etl: concurrencyPolicy Forbid and an earlier run took 31m, with 30m between starts: a start during a run is skipped silently, and a run repeated after an eviction takes longer and skips more"
            ]
        );
        assert_eq!(with("Forbid", 30), [""; 0]);
        assert_eq!(with("Allow", 31), [""; 0]);
    }

    #[test]
    fn a_start_is_lost_with_the_controller_unless_it_may_come_late() {
        let with = |deadline: i64, controller: &str| {
            let cron = cron_workflow(json!({"startingDeadlineSeconds": deadline}));
            found(
                Rule::CronSkips,
                [vec![node("n", "a"), cron], service(controller, &["n"], &json!({}))].concat(),
            )
        };
        assert!(with(0, "argo-workflow-controller")[0].contains("startingDeadlineSeconds 0"));
        assert_eq!(with(60, "argo-workflow-controller"), [""; 0]);
        assert_eq!(with(0, "web"), [""; 0]);
        let held = cron_workflow(json!({"startingDeadlineSeconds": 0, "suspend": true}));
        let controller = service("argo-workflow-controller", &["n"], &json!({}));
        assert_eq!(
            found(Rule::CronSkips, [vec![node("n", "a"), held], controller].concat()),
            [""; 0],
            "a suspended one starts nothing"
        );
    }

    #[test]
    fn what_is_made_from_a_template_lands_where_that_says() {
        let refers = |extra: Value| {
            let mut cron = cron_workflow(json!({"concurrencyPolicy": "Forbid"}));
            cron["spec"]["workflowSpec"] = json!({"workflowTemplateRef": {"name": "t"}});
            merge(&mut cron["spec"]["workflowSpec"], extra);
            vec![node("n", "a"), cron, run("etl-1", 31)]
        };
        let template = |selector: Value| {
            json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "WorkflowTemplate", "metadata": {"name": "t", "namespace": "shop"},
                "spec": {"nodeSelector": selector, "templates": [{"name": "t", "container": {}}]}})
        };
        let count = |objects: Vec<Value>| found(Rule::CronSkips, objects).len();
        assert_eq!(count([refers(json!({})), vec![template(json!({}))]].concat()), 1);
        assert_eq!(count([refers(json!({})), vec![template(json!({"tier": "x"}))]].concat()), 0);
        assert_eq!(count(refers(json!({}))), 1, "a template that is not known may land anywhere");
        assert_eq!(count(refers(json!({"nodeSelector": {"tier": "x"}}))), 0);
    }

    #[test]
    fn a_schedule_that_cannot_be_read_never_begins_anything() {
        let cron = cron_workflow(json!({"schedules": ["61 * * * *"]}));
        let found = found(Rule::CronSkips, vec![node("n", "a"), cron]);
        assert!(found[0].contains("end of range (61) above maximum (59)"), "{found:?}");
    }
}
