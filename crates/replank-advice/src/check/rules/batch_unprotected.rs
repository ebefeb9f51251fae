//! Batch pods whose work an eviction would lose.
//!
//! The roll waits for them, up to the plan's deadline; everybody else who drains a node does not. So what is at stake is
//! said beforehand.

use replank_model::object::batch::{ExitCodeOperator, Job, PodFailureAction, PodFailurePolicyRule};
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, RestartPolicy};
use replank_model::selector::Selector;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::{Subject, Survey};
use super::change::waited_for;
use super::no_budget::common_labels;
use super::worst::Worst;
use replank_facts::batch::alerted;
use replank_facts::batch::alerts::Alerts;
use replank_facts::batch::rerun::{self, Rerun};
use replank_facts::batch::retry::Retried;
use replank_facts::batch::{failure_policy, past, retry};
use replank_facts::budget::{failed_sync, uncounted};
use replank_facts::remedy::{BudgetBound, Edit, Remedy};
use replank_facts::workload::{Workload, workload_of};
use replank_protocol::policy::BatchKind;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Worst::default();
    let mut workflows = retry::Reader::default();
    let mut alerts = None;
    for (workload, subject) in survey.batch() {
        // What would be run again without leave has a finding of its own. A value that cannot be read counts as unsafe, and nothing more is said of it there.
        let is_unsafe = rerun::declared(&subject.pod) == Some(Ok(Rerun::Unsafe));
        if is_unsafe && runs_again(survey, &mut workflows, subject).is_some() {
            continue;
        }
        let stake = stake(survey, &mut workflows, subject);
        // What costs nothing but a run, and may be run again, is as its author wants it.
        let is_wanted = |stake: &Stake| stake.severity == Severity::Info && is_safe(&subject.pod);
        let stake = stake.filter(|stake| !is_wanted(stake) && !is_protected(survey, subject));
        let Some(stake) = stake else { continue };
        findings.take(workload, stake.severity, || finding(survey, (workload, subject), &stake, &mut alerts));
    }
    findings.findings()
}

/// What an eviction does to the work.
pub(super) struct Stake {
    pub(super) severity: Severity,
    pub(super) text: String,
    cure: Cure,
}

/// What helps, unless the work must not be run again.
#[derive(Clone, Copy)]
enum Cure {
    /// To wait for it.
    Wait,
    /// To ignore disruptions.
    Ignore,
    /// To keep every drain from it.
    Keep,
    /// To retry lost steps.
    Retry,
}

/// What an eviction does to the work of a batch pod; none where nothing is known of it.
pub(super) fn stake(survey: &Survey<'_>, workflows: &mut retry::Reader, subject: &Subject) -> Option<Stake> {
    match subject.batch_kind()? {
        BatchKind::Job => job_stake(survey, subject),
        BatchKind::Workflow => workflow_stake(survey, workflows, subject),
        BatchKind::RunsOnce => Some(custom_stake(subject)),
        BatchKind::NotSafeToEvict | BatchKind::DoNotDisrupt | BatchKind::Selected => None,
    }
}

fn finding(
    survey: &Survey<'_>,
    (workload, subject): (&Workload, &Subject),
    stake: &Stake,
    alerts: &mut Option<Alerts>,
) -> Finding {
    let alerted = match stake.severity {
        Severity::Warning => {
            who_is_alerted(survey, subject, alerts.get_or_insert_with(|| Alerts::read(survey.view)))
        }
        Severity::Blocking | Severity::Info => String::new(),
    };
    let since = past::started(survey.view, workload);
    let running = since.map_or(String::new(), |since| format!("; running for {}", survey.now() - since));
    let past = past::of(survey.view, workload).map_or(String::new(), |past| format!("; {past}"));
    let schedule = survey.view.cron_jobs.by_key(&workload.key).filter(|_| &*workload.kind == "CronJob");
    let schedule = schedule.map_or(String::new(), |cron| format!("; scheduled {:?}", cron.spec.schedule));
    Finding {
        rule: Rule::BatchUnprotected,
        severity: stake.severity,
        object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
        reason: format!("{}{alerted}{running}{past}{schedule}", stake.text),
        // Every other remedy has the work run again.
        remedy: match rerun::is_unsafe(&subject.pod) {
            true => kept_from_drains(survey, workload, None),
            false => remedy(survey, (workload, subject), stake),
        },
    }
}

fn remedy(survey: &Survey<'_>, (workload, subject): (&Workload, &Subject), stake: &Stake) -> Remedy {
    match stake.cure {
        Cure::Wait => waited_for(survey, "6h", false),
        Cure::Ignore => ignored(survey, (workload, subject), stake.severity),
        Cure::Keep => budget_until_over(survey, workload).unwrap_or_else(|| waited_for(survey, "6h", false)),
        Cure::Retry => Remedy::look(
            "retry lost steps in the Workflow's spec: retryStrategy: {retryPolicy: Always, limit: 3, backoff: \
                      {duration: 30s}}",
        ),
    }
}

/// A policy for the next Job, and what keeps the one that runs.
fn ignored(survey: &Survey<'_>, (workload, subject): (&Workload, &Subject), severity: Severity) -> Remedy {
    let job = past::job_of(survey.view, &subject.pod);
    let has_rules = failure_policy::has_rules(survey.view, &subject.pod);
    let ignores = failure_policy::ignore_disruptions(&*workload.kind == "CronJob", has_rules);
    let needs = match subject.pod.spec.restart_policy {
        Some(RestartPolicy::Never) => "",
        Some(RestartPolicy::Always | RestartPolicy::OnFailure) | None => {
            "; podFailurePolicy requires restartPolicy: Never"
        }
    };
    let runs_once =
        job.is_some_and(|job| job.spec.backoff_limit_per_index.or(job.spec.backoff_limit) == Some(0));
    let again = match runs_once && rerun::declared(&subject.pod).is_none() {
        true => "; an evicted run then runs again, so only if it is safe to rerun (replank.dev/rerun: safe)",
        false => "",
    };
    let next = format!("{ignores}{needs}{again}");
    match severity {
        // In words: such a budget is a finding of its own, as it holds up whoever drains.
        Severity::Blocking | Severity::Warning => {
            Remedy::look(format!("{next}\nfor the running Job: {KEEPS}"))
        }
        Severity::Info => {
            let wait = waited_for(survey, "6h", false);
            let look = match &*wait.look {
                "" => next,
                look => format!("{next}\nfor the running Job: {look}"),
            };
            wait.look_first(look)
        }
    }
}

/// Who is alerted where an eviction fails a Job or a Workflow. Of other controllers nobody knows what they tell.
fn who_is_alerted(survey: &Survey<'_>, subject: &Subject, alerts: &Alerts) -> String {
    match (subject.batch_kind(), subject.pod.meta.controller()) {
        (Some(BatchKind::Job | BatchKind::Workflow), Some(owner)) => {
            let key = Key { namespace: subject.pod.meta.namespace.clone(), name: owner.name.clone() };
            let workflow = match &*owner.kind {
                "Workflow" => retry::Workflow::read(survey.view, &key),
                _ => None,
            };
            let all = alerted::of_failed(survey.view, alerts, (&owner.kind, &key), workflow.as_ref(), None);
            format!("; {}", alerted::in_words(&all))
        }
        (
            Some(
                BatchKind::Job
                | BatchKind::Workflow
                | BatchKind::RunsOnce
                | BatchKind::NotSafeToEvict
                | BatchKind::DoNotDisrupt
                | BatchKind::Selected,
            )
            | None,
            _,
        ) => String::new(),
    }
}

/// Whether a budget keeps the pod; one whose pods cannot be counted keeps them all, as `pdb-not-counted` says.
pub(super) fn is_protected(survey: &Survey<'_>, subject: &Subject) -> bool {
    survey.view.budgets_of(subject.ix).iter().any(|ix| {
        let budget = &survey.view.pod_disruption_budgets[*ix];
        let counts = uncounted(budget).is_none() && budget.status.disruptions_allowed == 0;
        counts || failed_sync(budget).is_some()
    })
}

pub(super) fn is_safe(pod: &Pod) -> bool {
    rerun::declared(pod) == Some(Ok(Rerun::Safe))
}

/// What has an evicted pod's work run again, if anything does.
pub(super) fn runs_again(
    survey: &Survey<'_>,
    workflows: &mut retry::Reader,
    subject: &Subject,
) -> Option<String> {
    match subject.batch_kind()? {
        BatchKind::Job => job_runs_again(survey, subject),
        BatchKind::Workflow => workflow_runs_again(survey, workflows, subject),
        BatchKind::RunsOnce | BatchKind::NotSafeToEvict | BatchKind::DoNotDisrupt | BatchKind::Selected => {
            let owner = subject.pod.meta.controller()?;
            Some(format!("{} {} may make it again", owner.kind, owner.name))
        }
    }
}

/// Whether a Job runs the work of an evicted pod again, and by what.
fn job_runs_again(survey: &Survey<'_>, subject: &Subject) -> Option<String> {
    let job = past::job_of(survey.view, &subject.pod)?;
    match cost(job, &subject.pod) {
        Cost::Time => Some("its failure policy ignores disruptions".to_owned()),
        Cost::Failure => Some(written_limit(job)),
        Cost::Index | Cost::Job(Why::Rule | Why::Limit) => None,
    }
}

/// The same of a Workflow's step.
fn workflow_runs_again(
    survey: &Survey<'_>,
    workflows: &mut retry::Reader,
    subject: &Subject,
) -> Option<String> {
    let stake = workflows.stake_of(survey.view, &subject.pod)?;
    let retry::Stake::Strategy { evicted, deleted, .. } = stake else {
        return None;
    };
    let words = match (evicted, deleted) {
        (Retried::No, Retried::No) => return None,
        (Retried::Unknown, _) | (_, Retried::Unknown) => "its retry expression may retry it",
        (Retried::Yes, Retried::Yes) => "its retryStrategy retries it",
        (Retried::Yes, Retried::No) => "its retryStrategy retries it if it ends with exit code 143",
        (Retried::No, Retried::Yes) => "its retryStrategy retries it if it is lost as \"pod deleted\"",
    };
    Some(words.to_owned())
}

/// How many failures a Job bears, as it is written there.
fn written_limit(job: &Job) -> String {
    match job.spec.backoff_limit_per_index {
        Some(limit) => format!("backoffLimitPerIndex {limit}"),
        None => format!("backoffLimit {}", job.spec.backoff_limit.unwrap_or(BACKOFF_LIMIT)),
    }
}

fn job_stake(survey: &Survey<'_>, subject: &Subject) -> Option<Stake> {
    let job = past::job_of(survey.view, &subject.pod)?;
    let cost = cost(job, &subject.pod);
    let written = written_limit(job);
    let (severity, text) = match (cost, job.status.failed) {
        (Cost::Time, _) => (
            Severity::Info,
            "its failure policy ignores disruptions: an eviction costs the work done, not the Job".to_owned(),
        ),
        (Cost::Failure, _) => {
            (Severity::Info, format!("{written}: an eviction costs the work done and counts as a failure"))
        }
        (Cost::Index, _) => {
            (Severity::Warning, format!("{written}: an eviction fails the index, and in the end the Job"))
        }
        (Cost::Job(Why::Rule), _) => (
            Severity::Warning,
            format!(
                "its failure policy fails the Job when a container exits with {SIGTERM}: an eviction does"
            ),
        ),
        (Cost::Job(Why::Limit), 0) => (Severity::Warning, format!("{written}: an eviction fails the Job")),
        (Cost::Job(Why::Limit), failed) => {
            (Severity::Warning, format!("{written}, and {failed} failed already: an eviction fails the Job"))
        }
    };
    let cure = match cost {
        Cost::Time => Cure::Wait,
        Cost::Failure | Cost::Index | Cost::Job(Why::Rule | Why::Limit) => Cure::Ignore,
    };
    Some(Stake { severity, text, cure })
}

/// Failures that a Job bears where it says nothing.
const BACKOFF_LIMIT: i32 = 6;
/// What a container exits with that ends at SIGTERM, as most do.
const SIGTERM: i32 = 143;
/// How often the index of a pod has failed before.
const INDEX_FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";

/// What the eviction of one of its pods costs a Job.
#[derive(Clone, Copy)]
enum Cost {
    /// Nothing but the work done.
    Time,
    /// A failure that is borne.
    Failure,
    /// The pod's index.
    Index,
    /// The Job.
    Job(Why),
}

/// Why a Job fails.
#[derive(Clone, Copy)]
enum Why {
    /// A rule of its failure policy says so.
    Rule,
    /// It bears no more failures.
    Limit,
}

/// The first rule that fits an evicted pod decides, then the limits (pkg/controller/job `matchPodFailurePolicy`, `getNewFinishedPods`).
fn cost(job: &Job, pod: &Pod) -> Cost {
    let mut rules = job.spec.pod_failure_policy.iter().flat_map(|policy| &policy.rules);
    match rules.find(|rule| fits_eviction(rule)).and_then(|rule| rule.action) {
        Some(PodFailureAction::Ignore) => return Cost::Time,
        Some(PodFailureAction::FailJob) => return Cost::Job(Why::Rule),
        Some(PodFailureAction::FailIndex) => return Cost::Index,
        Some(PodFailureAction::Count) | None => {}
    }
    if let Some(limit) = job.spec.backoff_limit_per_index {
        let before = pod.meta.annotations.value(INDEX_FAILURES).and_then(|text| text.parse().ok());
        return if before.unwrap_or(0) >= limit { Cost::Index } else { Cost::Failure };
    }
    let limit = job.spec.backoff_limit.unwrap_or(BACKOFF_LIMIT);
    if job.status.failed >= limit { Cost::Job(Why::Limit) } else { Cost::Failure }
}

/// Whether a rule speaks of a pod that is evicted: of its condition, or of the exit code of a container that ends at SIGTERM.
fn fits_eviction(rule: &PodFailurePolicyRule) -> bool {
    let of_condition = rule.on_pod_conditions.iter().any(|condition| {
        &*condition.r#type == "DisruptionTarget" && matches!(&*condition.status, "" | "True")
    });
    let of_code = rule.on_exit_codes.as_ref().is_some_and(|codes| match codes.operator {
        Some(ExitCodeOperator::In) => codes.values.contains(&SIGTERM),
        Some(ExitCodeOperator::NotIn) => !codes.values.contains(&SIGTERM),
        None => false,
    });
    of_condition || of_code
}

/// Of custom resources nothing is known but that their pods run to an end.
fn custom_stake(subject: &Subject) -> Stake {
    let policy = subject.pod.spec.restart_policy.map_or("Never", |policy| policy.as_str());
    Stake {
        severity: Severity::Warning,
        text: format!(
            "restartPolicy {policy} and no disruption budget protects it: an eviction kills its work"
        ),
        cure: Cure::Keep,
    }
}

/// What a budget does for batch pods.
const KEEPS: &str = "a disruption budget on its pods with minAvailable: 9999 blocks every eviction; a roll waits until they have finished";

/// What keeps every drain from the pods of work that must not be run again, below what is to be done `first`.
pub(super) fn kept_from_drains(survey: &Survey<'_>, workload: &Workload, first: Option<&str>) -> Remedy {
    match (budget_until_over(survey, workload), first) {
        (Some(remedy), Some(first)) => remedy.or_look(KEEPS).look_first(first),
        (Some(remedy), None) => remedy.or_look(KEEPS),
        (None, Some(first)) => Remedy::look(format!("{first}\n{KEEPS}")),
        (None, None) => Remedy::look(KEEPS),
    }
}

/// A budget that lets none of a workload's pods go. A plain number holds for whatever makes them. It must not hold what is kept up for ever.
fn budget_until_over(survey: &Survey<'_>, workload: &Workload) -> Option<Remedy> {
    let bound = BudgetBound::MinAvailable("9999".into());
    let selector = common_labels(survey, workload)?;
    let selected: Selector = selector.parse().ok()?;
    let is_other = |pod: &Pod| {
        pod.spec.restart_policy.is_none_or(|policy| policy == RestartPolicy::Always)
            && workload_of(survey.view, pod).as_ref() != Some(workload)
    };
    let mut pods = survey.view.select_pods(&workload.key.namespace, &selected);
    if pods.any(|ix| is_other(&survey.view.pods[ix])) {
        return None;
    }
    let edit = Edit::CreateBudget { key: workload.key.clone(), selector, bound };
    Some(Remedy::edit(edit).note("a plain number: until the run is over"))
}

fn workflow_stake(survey: &Survey<'_>, workflows: &mut retry::Reader, subject: &Subject) -> Option<Stake> {
    let stake = workflows.stake_of(survey.view, &subject.pod)?;
    let budget = match survey.view.budgets_of(subject.ix) {
        [] => "no disruption budget and ",
        _ => "",
    };
    Some(Stake {
        severity: if stake.is_safe() { Severity::Info } else { Severity::Warning },
        text: format!("{budget}{}", stake.consequence()),
        cure: if stake.is_safe() { Cure::Wait } else { Cure::Retry },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{budget, found, merge, node, pod, remedies};
    use super::*;

    fn job(spec: Value) -> Vec<Value> {
        let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "shop", "uid": "j"},
            "spec": {"template": {"spec": {}}}, "status": {"startTime": "2026-01-01T08:00:00Z"}});
        merge(&mut job["spec"], spec);
        let labels = json!({"metadata": {"labels": {"app": "j"}}});
        vec![node("n", "a"), job, pod("p", "n", Some(("batch/v1", "Job", "j")), labels)]
    }

    #[test]
    fn what_an_eviction_costs_a_job_is_said() {
        let of = |spec| found(Rule::BatchUnprotected, job(spec));
        assert_eq!(
            of(json!({"backoffLimit": 0})),
            [
                "warning batch-unprotected Job shop/j: backoffLimit 0: an eviction fails the Job; nothing in the snapshot says who is \
                 alerted; running for 4h"
            ]
        );
        let ignore = json!({"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]});
        assert_eq!(
            of(json!({"backoffLimit": 0, "podFailurePolicy": ignore})),
            [
                "info batch-unprotected Job shop/j: its failure policy ignores disruptions: an eviction costs the work done, not the \
              Job; running for 4h"
            ]
        );
        assert!(of(json!({}))[0].starts_with("info batch-unprotected Job shop/j: backoffLimit 6"));
    }

    #[test]
    fn who_is_alerted_is_told_where_an_eviction_fails_the_job() {
        let rule = |expr: &str| {
            json!({"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": {"name": "k8s", "namespace": "monitoring", "uid": "k8s"},
                "spec": {"groups": [{"name": "apps", "rules": [{"alert": "KubeJobFailed", "expr": expr, "labels": {"severity": "warning"}}]}]}})
        };
        let of = |spec: Value, expr: &str| {
            found(Rule::BatchUnprotected, [job(spec), vec![rule(expr)]].concat()).remove(0)
        };
        let told = "who is alerted: alert KubeJobFailed, severity warning (PrometheusRule monitoring/k8s)";
        assert!(of(json!({"backoffLimit": 0}), "kube_job_failed > 0").contains(told));
        let other = of(json!({"backoffLimit": 0}), "kube_job_failed{namespace=\"test\"} > 0");
        assert!(other.contains("nothing in the snapshot says who is alerted"), "{other}");
        let borne = of(json!({}), "kube_job_failed > 0");
        assert!(!borne.contains("alerted") && !borne.contains("hears"), "{borne}");
    }

    #[test]
    fn a_policy_is_for_the_next_job_and_a_budget_for_the_one_that_runs() {
        let of = |spec: Value, extra: Value| {
            let mut objects = job(spec);
            merge(&mut objects[2], extra);
            remedies(Rule::BatchUnprotected, objects).remove(0)
        };
        let never = || json!({"spec": {"restartPolicy": "Never"}});
        let fails = of(json!({"backoffLimit": 0}), never());
        assert_eq!(
            fails,
            "for the next Job: ignore disruptions in its spec: podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}]} (immutable on an \
             existing Job); an evicted run then runs again, so only if it is safe to rerun (replank.dev/rerun: safe)\n\
             for the running Job: a disruption budget on its pods with minAvailable: 9999 blocks every eviction; a roll waits until they have finished"
        );
        let mut safe = never();
        merge(&mut safe, json!({"metadata": {"annotations": {"replank.dev/rerun": "safe"}}}));
        assert!(!of(json!({"backoffLimit": 0}), safe).contains("safe to rerun"), "it may run twice");
        let borne = of(json!({}), never());
        assert!(
            borne.ends_with("existing Job)\nfor the running Job: a plan waits 6h for it by default, and then pauses; set batch.wait if it takes longer"),
            "{borne}"
        );
        assert!(
            of(json!({}), json!({"spec": {"restartPolicy": "OnFailure"}}))
                .contains("podFailurePolicy requires restartPolicy: Never")
        );
        let cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c", "namespace": "shop", "uid": "c"},
            "spec": {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": {"spec": {}}}}}});
        let mut objects = job(json!({"backoffLimit": 1}));
        objects[1]["metadata"]["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "c", "uid": "c", "controller": true}]);
        let told = remedies(Rule::BatchUnprotected, [objects, vec![cron]].concat()).remove(0);
        assert!(
            told.starts_with(
                "for the next runs: ignore disruptions in the CronJob's spec.jobTemplate.spec: "
            ),
            "{told}"
        );
        assert!(!told.contains("safe to rerun"), "it runs again after a failure anyway");
    }

    #[test]
    fn the_first_rule_that_fits_an_eviction_decides() {
        let of = |rules: Value| {
            found(Rule::BatchUnprotected, job(json!({"podFailurePolicy": {"rules": rules}}))).remove(0)
        };
        let ignore =
            json!({"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]});
        let fails = |operator: &str, value: i32| json!({"action": "FailJob", "onExitCodes": {"operator": operator, "values": [value]}});
        assert!(of(json!([fails("In", 143), ignore])).contains("when a container exits with 143"));
        assert!(of(json!([ignore, fails("In", 143)])).starts_with("info"));
        assert!(of(json!([fails("In", 42), ignore])).starts_with("info"));
        assert!(of(json!([fails("NotIn", 42)])).starts_with("warning"));
        assert!(
            of(json!([{"action": "Count", "onExitCodes": {"operator": "In", "values": [143]}}, ignore]))
                .starts_with("info")
        );
    }

    #[test]
    fn the_last_failure_that_is_borne_was_the_last() {
        let of = |spec: Value, failed: i32| {
            let mut objects = job(spec);
            objects[1]["status"]["failed"] = json!(failed);
            found(Rule::BatchUnprotected, objects).remove(0)
        };
        assert!(of(json!({"backoffLimit": 2}), 1).starts_with("info"));
        assert!(
            of(json!({"backoffLimit": 2}), 2)
                .contains("backoffLimit 2, and 2 failed already: an eviction fails the Job")
        );
        let index = |limit: i32| of(json!({"completionMode": "Indexed", "backoffLimitPerIndex": limit}), 9);
        assert!(index(0).starts_with("warning") && index(0).contains("fails the index"));
        assert!(index(1).starts_with("info"));
    }

    #[test]
    fn what_runs_to_an_end_for_a_custom_resource_is_found_and_what_is_kept_up_is_not() {
        let with = |policy: &str| {
            let extra = json!({"metadata": {"labels": {"app": "t"}}, "spec": {"restartPolicy": policy}});
            found(
                Rule::BatchUnprotected,
                vec![node("n", "a"), pod("t-0", "n", Some(("example.com/v1", "TrainingJob", "t")), extra)],
            )
        };
        assert_eq!(
            with("OnFailure"),
            [
                "warning batch-unprotected TrainingJob shop/t: restartPolicy OnFailure and no disruption budget protects it: an eviction kills its work"
            ]
        );
        assert_eq!(with("Always"), [""; 0]);
    }

    #[test]
    fn a_budget_that_keeps_the_pod_protects_it() {
        let kept =
            [job(json!({"backoffLimit": 0})), vec![budget("j", &json!({"minAvailable": 99}), (1, 99, 1))]]
                .concat();
        assert_eq!(found(Rule::BatchUnprotected, kept), [""; 0]);
        let release =
            [job(json!({"backoffLimit": 0})), vec![budget("j", &json!({"minAvailable": 0}), (1, 0, 1))]]
                .concat();
        assert_eq!(found(Rule::BatchUnprotected, release).len(), 1);
    }

    #[test]
    fn the_retry_policy_in_force_is_the_templates_then_the_workflows() {
        let of = |template: Value, spec: Value| {
            let mut workflow = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow",
                "metadata": {"name": "w", "namespace": "shop"}, "spec": {"templates": [{"name": "step"}]},
                "status": {"nodes": {"w-1": {"templateName": "step"}}}});
            merge(&mut workflow["spec"]["templates"][0], template);
            merge(&mut workflow["spec"], spec);
            let step = json!({"metadata": {"annotations": {"workflows.argoproj.io/node-id": "w-1"}}});
            found(
                Rule::BatchUnprotected,
                vec![
                    node("n", "a"),
                    workflow,
                    pod("p", "n", Some(("argoproj.io/v1alpha1", "Workflow", "w")), step),
                ],
            )
        };
        let strategy = |policy: &str| json!({"retryStrategy": {"retryPolicy": policy}});
        assert_eq!(
            of(json!({}), json!({})),
            [
                "warning batch-unprotected Workflow shop/w: no disruption budget and no retryStrategy: an eviction fails the run; nothing in \
                 the snapshot says who is alerted"
            ]
        );
        assert!(of(strategy("Always"), json!({}))[0].starts_with("info"));
        assert!(of(strategy("OnFailure"), strategy("Always"))[0].contains("\"pod deleted\" is not retried"));
        assert!(of(json!({}), strategy("OnError"))[0].contains("exit code 143"));
        let expression = |text: &str| json!({"retryStrategy": {"expression": text}});
        assert!(of(expression("true"), json!({}))[0].starts_with("info"), "with an expression alone, Always");
        assert!(
            of(expression("lastRetry.status == 'Failed'"), json!({}))[0]
                .contains("\"pod deleted\": it is not")
        );
        assert!(
            of(expression("asInt(lastRetry.exitCode) < 128"), json!({}))[0]
                .contains("(exit code 143): it is not")
        );
        assert!(of(expression("workflow.name == 'w'"), json!({}))[0].contains("cannot be evaluated"));
        // What the template does not say, the defaults of templates do, field by field, before the Workflow's strategy.
        let defaults = json!({"templateDefaults": {"retryStrategy": {"retryPolicy": "Always"}}, "retryStrategy": {"retryPolicy": "OnError"}});
        assert!(of(json!({"retryStrategy": {"limit": 2}}), defaults.clone())[0].starts_with("info"));
        assert!(of(json!({}), defaults)[0].starts_with("info"));
        assert!(
            of(json!({"retryStrategy": {"retryPolicy": "Always", "limit": "0"}}), json!({}))[0]
                .contains("limit 0")
        );
    }
}
