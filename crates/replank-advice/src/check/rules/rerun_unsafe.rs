//! Work whose author declares that it must not be run again, and that an eviction would have run again; declarations that say nothing.

use std::collections::BTreeMap;

use replank_facts::batch::rerun::{self, RERUN, Rerun};
use replank_facts::batch::retry;
use replank_facts::plan::OnDeadline;
use replank_facts::remedy::{Edit, Remedy, Target, TargetKind};
use replank_protocol::policy::BatchKind;

use super::super::finding::{Finding, ObjectName, Rule, Severity, workload_or_pod};
use super::super::survey::{Subject, Survey};
use super::batch_unprotected::{is_protected, kept_from_drains, runs_again};

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings: BTreeMap<ObjectName, Finding> = BTreeMap::new();
    let mut workflows = retry::Reader::default();
    let declaring = survey.subjects.iter().filter_map(|one| Some((one, rerun::declared(&one.pod)?)));
    let mut declaring: Vec<(&Subject, Result<Rerun, &str>)> = declaring.collect();
    declaring.sort_by_key(|(subject, _)| &subject.workload);
    for (subject, says) in declaring {
        let found = match says {
            Err(text) => Some(unread(subject, text)),
            // What is said of a workload is said once, however many pods it has.
            Ok(Rerun::Unsafe) if findings.contains_key(&object_of(subject)) => None,
            Ok(Rerun::Unsafe) => declared(survey, &mut workflows, subject),
            Ok(Rerun::Safe) => None,
        };
        if let Some(found) = found {
            findings.entry(found.object.clone()).or_insert(found);
        }
    }
    findings.into_values().collect()
}

/// A value that says neither.
fn unread(subject: &Subject, text: &str) -> Finding {
    let key = subject.pod.meta.key();
    Finding {
        rule: Rule::RerunUnsafe,
        severity: Severity::Warning,
        object: ObjectName::new("Pod", key.clone()),
        reason: format!("{RERUN}: {text:?} is neither safe nor unsafe: it counts as unsafe"),
        remedy: Remedy::edit(Edit::Annotate {
            of: vec![Target::new(TargetKind::Pod, key)],
            annotation: RERUN.into(),
            value: Some("unsafe".into()),
        })
        .note("or safe, and in its pod template"),
    }
}

fn object_of(subject: &Subject) -> ObjectName {
    workload_or_pod(subject.workload.as_ref(), &subject.pod)
}

fn declared(survey: &Survey<'_>, workflows: &mut retry::Reader, subject: &Subject) -> Option<Finding> {
    let Some(kind) = subject.batch_kind() else { return Some(moved(subject)) };
    // Nobody evicts what a budget keeps.
    let again = runs_again(survey, workflows, subject).filter(|_| !is_protected(survey, subject))?;
    let wait = survey.terms.batch.wait;
    let then = match survey.terms.batch.on_deadline {
        OnDeadline::Pause => "then the run pauses",
        OnDeadline::Evict => "then its node is kept, whatever onDeadline says",
        OnDeadline::Skip => "then its node is skipped",
    };
    Some(Finding {
        rule: Rule::RerunUnsafe,
        severity: Severity::Warning,
        object: object_of(subject),
        reason: format!(
            "declared unsafe to run again, and an eviction has it run again: {again}. A roll waits {wait} for it, {then}; other drains evict it"
        ),
        remedy: remedy(survey, subject, kind),
    })
}

/// What is no batch pod is waited for by nobody.
fn moved(subject: &Subject) -> Finding {
    Finding {
        rule: Rule::RerunUnsafe,
        severity: Severity::Warning,
        object: object_of(subject),
        reason: format!("{RERUN}: unsafe on a pod that is not a batch pod: it is moved like any other"),
        remedy: "select it in the plan (batch.selector) if it does work that ends, or remove the annotation"
            .into(),
    }
}

/// Kept from every drain until it is over; and what has the next run end otherwise.
fn remedy(survey: &Survey<'_>, subject: &Subject, kind: BatchKind) -> Remedy {
    let next = match kind {
        BatchKind::Job => {
            "for the next Job: backoffLimit: 0, and no rule of its podFailurePolicy that ignores disruptions; then an eviction fails it"
        }
        BatchKind::Workflow => {
            "for the next Workflow: a retryStrategy whose expression excludes evicted steps (lastRetry.exitCode 143, \"pod deleted\"); then an eviction fails it"
        }
        BatchKind::RunsOnce | BatchKind::NotSafeToEvict | BatchKind::DoNotDisrupt | BatchKind::Selected => {
            "find out what its controller does when a pod is lost"
        }
    };
    match &subject.workload {
        Some(workload) => kept_from_drains(survey, workload, Some(next)),
        None => Remedy::look(next),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{budget, found, found_under, merge, node, pod, remedies, service};
    use super::*;

    fn job(spec: Value, value: &str) -> Vec<Value> {
        let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "pay", "namespace": "shop", "uid": "pay"},
            "spec": {"template": {"spec": {}}}, "status": {}});
        merge(&mut job["spec"], spec);
        let extra = json!({"metadata": {"labels": {"app": "pay"}, "annotations": {RERUN: value}}});
        vec![node("n", "a"), job, pod("p", "n", Some(("batch/v1", "Job", "pay")), extra)]
    }

    #[test]
    fn a_job_that_runs_it_again_is_found_and_one_that_fails_is_not() {
        let of = |spec: Value| found(Rule::RerunUnsafe, job(spec, "unsafe"));
        assert_eq!(
            of(json!({})),
            [
                "warning rerun-unsafe Job shop/pay: declared unsafe to run again, and an eviction has it run again: backoffLimit 6. A roll waits 6h for it, then the run pauses; other drains evict it"
            ]
        );
        assert_eq!(of(json!({"backoffLimit": 0})), [""; 0], "its eviction fails the Job");
        let ignore =
            json!({"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]});
        let ignored = of(json!({"backoffLimit": 0, "podFailurePolicy": ignore}));
        assert!(ignored[0].contains("its failure policy ignores disruptions"), "{ignored:?}");
        assert_eq!(found(Rule::RerunUnsafe, job(json!({}), "safe")), [""; 0]);
        let kept = [job(json!({}), "unsafe"), vec![budget("pay", &json!({"minAvailable": 99}), (1, 99, 1))]];
        assert_eq!(found(Rule::RerunUnsafe, kept.concat()), [""; 0], "no drain evicts it");
    }

    #[test]
    fn what_is_declared_safe_is_not_told_as_a_cost() {
        let of = |spec: Value, value: &str| found(Rule::BatchUnprotected, job(spec, value));
        assert_eq!(of(json!({}), "safe"), [""; 0]);
        assert_eq!(of(json!({}), "unsafe"), [""; 0], "that it is run again is what is wrong with it");
        assert!(
            of(json!({"backoffLimit": 0}), "safe")[0].contains("an eviction fails the Job"),
            "and is not run again"
        );
    }

    #[test]
    fn what_must_not_be_run_again_has_one_remedy_and_none_that_runs_it_again() {
        let budget = "kubectl -n shop create pdb pay --selector='app=pay' --min-available=9999   # a plain number: until the run is over";
        let of = |rule, spec: Value, value: &str| remedies(rule, job(spec, value));
        let fails = of(Rule::BatchUnprotected, json!({"backoffLimit": 0}), "unsafe");
        assert_eq!(fails, [budget]);
        let again = of(Rule::RerunUnsafe, json!({}), "unsafe");
        assert!(again[0].ends_with(budget) && !again[0].contains("Ignore"), "{again:?}");
        // A value that cannot be read is no leave to run it again.
        assert_eq!(of(Rule::BatchUnprotected, json!({"backoffLimit": 0}), "never"), [budget]);
        assert_eq!(
            of(Rule::BatchUnprotected, json!({}), "never"),
            [budget],
            "no finding of its own says what is at stake"
        );
        let safe = of(Rule::BatchUnprotected, json!({"backoffLimit": 0}), "safe");
        assert!(safe[0].contains("podFailurePolicy: {rules: [{action: Ignore"), "{safe:?}");
    }

    #[test]
    fn what_an_eviction_costs_is_told_though_the_declaration_cannot_be_read() {
        let with = |value: &str| {
            let extra = json!({"metadata": {"labels": {"app": "t"}, "annotations": {RERUN: value}}, "spec": {"restartPolicy": "Never"}});
            let training = pod("t-0", "n", Some(("example.com/v1", "TrainingJob", "t")), extra);
            found(Rule::BatchUnprotected, vec![node("n", "a"), training])
        };
        let unread = with("never");
        assert!(unread.len() == 1 && unread[0].contains("an eviction kills its work"), "{unread:?}");
        assert_eq!(with("unsafe"), [""; 0], "that it may be made again is what is wrong with it");
    }

    #[test]
    fn a_budget_covers_all_runs_of_a_cron_job_and_nothing_that_is_kept_up() {
        let cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "pay", "namespace": "shop", "uid": "pay"},
            "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": {}}}}}});
        let run = |name: &str| {
            let owner = json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "pay", "uid": "pay", "controller": true}]);
            let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "shop", "uid": name, "ownerReferences": owner},
                "spec": {"template": {"spec": {}}}, "status": {}});
            let extra = json!({"metadata": {"labels": {"app": "pay", "batch.kubernetes.io/job-name": name}, "annotations": {RERUN: "unsafe"}},
                "spec": {"restartPolicy": "Never"}});
            vec![job, pod(&format!("{name}-p"), "n", Some(("batch/v1", "Job", name)), extra)]
        };
        let with = |more: Vec<Value>| {
            remedies(Rule::RerunUnsafe, [vec![node("n", "a"), cron.clone()], run("pay-1"), more].concat())
                .remove(0)
        };
        let one = with(Vec::new());
        assert!(one.contains("--selector='app=pay,batch.kubernetes.io/job-name=pay-1'"), "{one}");
        let both = with(run("pay-2"));
        assert!(both.contains("create pdb pay --selector='app=pay' --min-available=9999"), "{both}");
        let beside = with([run("pay-2"), service("pay", &["n"], &json!({}))].concat());
        assert!(!beside.contains("create pdb") && beside.contains("blocks every eviction"), "{beside}");
    }

    #[test]
    fn the_plan_does_not_evict_it_at_its_deadline() {
        let evict = |plan: &mut replank_facts::plan::Plan| plan.batch.on_deadline = OnDeadline::Evict;
        let under = found_under(Rule::RerunUnsafe, evict, job(json!({}), "unsafe"));
        assert!(under[0].contains("then its node is kept, whatever onDeadline says"), "{under:?}");
    }

    #[test]
    fn a_workflows_step_is_found_where_it_is_retried() {
        let of = |policy: Value| {
            let workflow = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
                "metadata": {"name": "w", "namespace": "shop"}, "spec": {"templates": [{"name": "step", "retryStrategy": policy}]},
                "status": {"nodes": {"w-1": {"templateName": "step"}}}});
            let step = json!({"metadata": {"annotations": {"workflows.argoproj.io/node-id": "w-1", RERUN: "unsafe"}}});
            found(
                Rule::RerunUnsafe,
                vec![
                    node("n", "a"),
                    workflow,
                    pod("p", "n", Some(("argoproj.io/v1alpha1", "Workflow", "w")), step),
                ],
            )
        };
        assert!(
            of(json!({"retryPolicy": "Always"}))[0]
                .contains("run again: its retryStrategy retries it. A roll")
        );
        assert!(
            of(json!({"retryPolicy": "OnFailure"}))[0].contains("retries it if it ends with exit code 143")
        );
        assert_eq!(of(json!({"retryPolicy": "Always", "limit": 0})), [""; 0]);
        assert_eq!(of(Value::Null), [""; 0]);
    }

    #[test]
    fn declarations_that_say_nothing_are_found() {
        assert_eq!(
            found(Rule::RerunUnsafe, job(json!({"backoffLimit": 0}), "no")),
            [
                "warning rerun-unsafe Pod shop/p: replank.dev/rerun: \"no\" is neither safe nor unsafe: it counts as unsafe"
            ]
        );
        let extra = json!({"metadata": {"annotations": {RERUN: "unsafe"}}});
        let moved = found(Rule::RerunUnsafe, [vec![node("n", "a")], service("web", &["n"], &extra)].concat());
        assert!(moved[0].contains("not a batch pod"), "{moved:?}");
    }
}
