//! Batch pods that were ended before they were done, and what became of their work.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::batch::alerted::{self, Alerted, in_words};
use replank_facts::batch::alerts::Alerts;
use replank_facts::batch::rerun;
use replank_facts::workload::workload_of;
use replank_model::object::batch::Job;
use replank_model::object::condition;
use replank_model::object::meta::{Key, Meta};
use replank_model::object::pod::{Pod, RestartPolicy};
use replank_model::object::{Object, render};
use replank_model::text::Uid;
use replank_model::time::Time;
use replank_model::view::View;
use replank_sim::ends_by_itself;
use serde::Serialize;

use super::ids::BATCH_FAILED;
use crate::finding_entry::FindingEntry;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndedBatch {
    /// Namespace and name.
    pub pod: String,
    /// Kind, namespace and name of the Job, Workflow or other object that it belongs to; empty for none.
    pub owner: String,
    /// What became of that.
    pub outcome: Outcome,
    /// Who hears of it, as far as the cluster says it, where its work failed or is lost.
    pub alerted: Vec<Alerted>,
}

impl EndedBatch {
    /// `Job ml/train FAILED; nothing in the snapshot says who is alerted`
    #[must_use]
    pub fn what_became(&self) -> String {
        let owner = if self.owner.is_empty() { "its work" } else { &self.owner };
        match self.outcome {
            Outcome::Failed | Outcome::Lost => {
                format!("{owner} {}; {}", self.outcome.as_str(), in_words(&self.alerted))
            }
            Outcome::Running | Outcome::Succeeded | Outcome::Unknown => {
                format!("{owner} {}", self.outcome.as_str())
            }
        }
    }
}

/// What became of the owner of a pod by the end of the rehearsal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It goes on: its work was taken up again, or other pods of it run.
    Running,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// The pod belongs to nothing that makes it again.
    Lost,
    /// It is not there, or does not say.
    Unknown,
}

impl Outcome {
    /// As reports say it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "still running: retried",
            Self::Succeeded => "succeeded",
            Self::Failed => "FAILED",
            Self::Lost => "LOST: nothing makes the pod again",
            Self::Unknown => "outcome unknown",
        }
    }

    /// Whether the work is not done, and nothing does it again.
    #[must_use]
    pub fn is_failure(self) -> bool {
        match self {
            Self::Failed | Self::Lost => true,
            Self::Running | Self::Succeeded | Self::Unknown => false,
        }
    }
}

/// Notes them.
#[derive(Debug, Default)]
pub(super) struct Ended {
    ended: BTreeMap<Uid, One>,
    /// Evicted by the run.
    ours: BTreeSet<Uid>,
    /// What had become of Jobs that are gone (`ttlSecondsAfterFinished`, a CronJob's history limits).
    removed: BTreeMap<Key, (Outcome, Meta)>,
    /// When Jobs failed. Then, and not before, their controller deletes the pods that are left: they are no reason for it.
    failed: BTreeMap<Uid, Time>,
}

/// A pod that was ended.
#[derive(Clone, Debug)]
struct One {
    at: Time,
    pod: Key,
    /// Kind and name of what it belongs to.
    owner: Option<(String, Key)>,
    owner_uid: Option<Uid>,
    /// What a person would name for it.
    object: String,
    /// Whether its author declares that it must not be run again.
    is_unsafe: bool,
    restarts: Option<RestartPolicy>,
}

/// Who ended a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The run, by an eviction.
    Run,
    /// A person, a controller, the loss of a node.
    Others,
}

impl Ended {
    pub(super) fn changed(&mut self, at: Time, view: &View, old: &Pod, new: Option<&Pod>) {
        // Most changes are none of this: the state before is looked at for the others alone.
        if new.is_some_and(|new| new.meta.deletion_timestamp.is_none()) {
            return;
        }
        let was_at_work = old.node.is_some() && !old.is_terminal() && old.meta.deletion_timestamp.is_none();
        if was_at_work && ends_by_itself(old) {
            let controller = old.meta.controller();
            let owner_uid = controller.map(|owner| owner.uid.clone());
            let owner = controller.map(|owner| {
                let key = Key { namespace: old.meta.namespace.clone(), name: owner.name.clone() };
                (owner.kind.to_string(), key)
            });
            let pod = old.meta.key();
            let object =
                workload_of(view, old).map_or_else(|| format!("Pod {pod}"), |workload| workload.to_string());
            let (is_unsafe, restarts) = (rerun::is_unsafe(old), old.spec.restart_policy);
            let one = One { at, pod, owner, owner_uid, object, is_unsafe, restarts };
            self.ended.insert(old.meta.uid.clone(), one);
        }
    }

    pub(super) fn evicted(&mut self, pod: &Pod) {
        self.ours.insert(pod.meta.uid.clone());
    }

    /// How many batch pods were ended before they were done, by whomever.
    pub(super) fn count(&self) -> usize {
        self.ended.len()
    }

    pub(super) fn job_changed(&mut self, at: Time, job: &Job) {
        if of_job(job) == Outcome::Failed && !self.failed.contains_key(&job.meta.uid) {
            self.failed.insert(job.meta.uid.clone(), at);
        }
    }

    pub(super) fn job_removed(&mut self, job: &Job) {
        match of_job(job) {
            Outcome::Running => {}
            known @ (Outcome::Succeeded | Outcome::Failed | Outcome::Lost | Outcome::Unknown) => {
                self.removed.insert(job.meta.key(), (known, job.meta.clone()));
            }
        }
    }

    /// Those that somebody ended, sorted by name, with what a view shows of their owners.
    pub(super) fn all(&self, view: &View, by: By) -> Vec<EndedBatch> {
        self.told(view, by).into_iter().map(|(_, told)| told).collect()
    }

    /// Finds the work that failed because somebody else than the run ended its pod: one finding for each object.
    pub(super) fn find(&self, view: &View, findings: &mut Vec<FindingEntry>) {
        let mut by_object: BTreeMap<&str, Vec<(&One, EndedBatch)>> = BTreeMap::new();
        for (one, told) in self.told(view, By::Others) {
            let failed = one.owner_uid.as_ref().and_then(|uid| self.failed.get(uid));
            let is_reason = failed.is_none_or(|failed| one.at < *failed);
            if told.outcome.is_failure() && is_reason && !is_shut_down(view, one.owner.as_ref()) {
                by_object.entry(&one.object).or_default().push((one, told));
            }
        }
        for (object, failed) in by_object {
            let Some((one, first)) = failed.first() else { continue };
            let more = match failed.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            let became = match (&one.owner, first.outcome) {
                (None, _) | (_, Outcome::Lost) => "lost in the rehearsal, and nothing makes the pod again",
                (Some(_), Outcome::Failed | Outcome::Running | Outcome::Succeeded | Outcome::Unknown) => {
                    "failed in the rehearsal"
                }
            };
            let run = if first.owner == object || first.owner.is_empty() {
                String::new()
            } else {
                format!("{} ", first.owner)
            };
            let next = match object.starts_with("CronJob ") {
                true => "; this run is skipped, the next one starts at its time",
                false => "",
            };
            let reason = format!(
                "{run}{became}: something else than the run ended pod {}{more}{next}; {}",
                first.pod,
                in_words(&first.alerted)
            );
            findings.push(FindingEntry::advised(BATCH_FAILED, object, &reason, remedy(one, &first.alerted)));
        }
    }

    fn told(&self, view: &View, by: By) -> Vec<(&One, EndedBatch)> {
        let those = self.ended.iter().filter(|(uid, _)| self.ours.contains(*uid) == (by == By::Run));
        let mut alerts = None;
        let mut all: Vec<(&One, EndedBatch)> = those
            .map(|(_, one)| {
                let outcome = self.outcome(view, one.owner.as_ref());
                let alerted = match (&one.owner, outcome.is_failure()) {
                    (Some((kind, key)), true) => {
                        let alerts = alerts.get_or_insert_with(|| Alerts::read(view));
                        let known = self.removed.get(key).map(|(_, meta)| meta);
                        alerted::of_failed(view, alerts, (kind, key), known)
                    }
                    (Some(_) | None, _) => Vec::new(),
                };
                let owner =
                    one.owner.as_ref().map_or_else(String::new, |(kind, key)| format!("{kind} {key}"));
                (one, EndedBatch { pod: one.pod.to_string(), owner, outcome, alerted })
            })
            .collect();
        all.sort_by(|(_, a), (_, b)| a.pod.cmp(&b.pod));
        all
    }

    fn outcome(&self, view: &View, owner: Option<&(String, Key)>) -> Outcome {
        let Some((kind, key)) = owner else { return Outcome::Lost };
        match kind.as_str() {
            "Job" => {
                let removed = || self.removed.get(key).map_or(Outcome::Unknown, |(outcome, _)| *outcome);
                view.jobs.by_key(key).map_or_else(removed, |job| of_job(job))
            }
            "Workflow" => {
                view.other("argoproj.io", "Workflow", key).map_or(Outcome::Unknown, |workflow| match render(
                    &Object::Other(workflow.clone()),
                )["status"]["phase"]
                    .as_str()
                {
                    Some("Succeeded") => Outcome::Succeeded,
                    Some("Failed" | "Error") => Outcome::Failed,
                    Some("Running" | "Pending") => Outcome::Running,
                    Some(_) | None => Outcome::Unknown,
                })
            }
            _ => Outcome::Unknown,
        }
    }
}

/// Whether somebody wanted a Workflow to end: a person, or its CronWorkflow for the next run (`concurrencyPolicy: Replace`).
fn is_shut_down(view: &View, owner: Option<&(String, Key)>) -> bool {
    let Some((kind, key)) = owner else { return false };
    let workflow = (kind == "Workflow").then(|| view.other("argoproj.io", "Workflow", key)).flatten();
    workflow.is_some_and(|workflow| {
        let shutdown = &render(&Object::Other(workflow.clone()))["spec"]["shutdown"];
        shutdown.as_str().is_some_and(|how| !how.is_empty())
    })
}

/// What would have kept the work: it is done again by itself, where its author does not forbid that, or no drain comes near it. And who would hear of it.
fn remedy(one: &One, alerted: &[Alerted]) -> String {
    let kind = one.owner.as_ref().map_or("", |(kind, _)| kind.as_str());
    let again = match (kind, one.restarts) {
        _ if one.is_unsafe => None,
        ("Job", Some(RestartPolicy::OnFailure)) => Some("raise the Job's backoffLimit"),
        ("Job", _) => Some(
            "ignore disruptions in the first rule of the Job's podFailurePolicy: {action: Ignore, onPodConditions: [{type: \
             DisruptionTarget}]}",
        ),
        ("Workflow", _) => Some(
            "retry lost steps in the Workflow's spec: retryStrategy: {retryPolicy: Always, limit: 3, backoff: {duration: 30s}}",
        ),
        (_, _) => Some("run it as a Job, which makes lost pods again"),
    };
    let keep = "keep every drain from it: a disruption budget over its pods with minAvailable: 9999";
    let first = again.map_or_else(|| keep.to_owned(), |again| format!("{again}; or {keep}"));
    let tell = match (alerted, kind) {
        ([], "Workflow") => {
            "\nhave somebody hear of it: an exit handler (onExit) of the Workflow that sends a message"
        }
        ([], "Job") => {
            "\nhave somebody hear of it: an alert on kube_job_failed (KubeJobFailed of kubernetes-mixin), or the annotation a8r.io/owner"
        }
        (_, _) => "",
    };
    format!("{first}{tell}")
}

fn of_job(job: &Job) -> Outcome {
    let is = |what| condition::is_true(&job.status.conditions, what);
    if is("Complete") || is("SuccessCriteriaMet") {
        Outcome::Succeeded
    } else if is("Failed") || is("FailureTarget") {
        Outcome::Failed
    } else {
        Outcome::Running
    }
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use serde_json::{Value, json};

    use super::*;

    fn view(objects: &[Value]) -> View {
        let put = |value: &Value| Delta::Put(Object::from_json(value.clone()).expect("an object"));
        objects.iter().map(put).collect()
    }

    fn pod(name: &str, kind: &str, api: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ml", "uid": name,
                "ownerReferences": [{"apiVersion": api, "kind": kind, "name": "own", "uid": "own", "controller": true}]},
            "spec": {"restartPolicy": "Never", "nodeName": "n", "containers": [{"name": "c"}]}, "status": {"phase": "Running"}})
    }

    #[test]
    fn a_pod_that_somebody_deletes_is_named_with_what_became_of_its_workflow() {
        let argo = "argoproj.io/v1alpha1";
        let workflow = json!({"apiVersion": argo, "kind": "Workflow", "metadata": {"name": "own", "namespace": "ml", "uid": "own"}, "status": {"phase": "Failed"}});
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "own", "namespace": "ml", "uid": "own"}, "spec": {"template": {"spec": {}}}});
        let view = view(&[
            pod("a", "Workflow", argo),
            pod("b", "Job", "batch/v1"),
            pod("c", "Job", "batch/v1"),
            workflow,
            job,
        ]);
        let of = |name: &str| view.pods.by_key(&Key::new("ml", name)).expect("it is there").clone();
        let mut ended = Ended::default();
        for name in ["a", "b", "c"] {
            ended.changed(Time::from_millis(0), &view, &of(name), None);
        }
        ended.evicted(&of("c"));
        let told = |by: By| -> Vec<_> {
            ended.all(&view, by).into_iter().map(|one| (one.pod, one.owner, one.outcome)).collect()
        };
        assert_eq!(
            told(By::Others),
            [
                ("ml/a".to_owned(), "Workflow ml/own".to_owned(), Outcome::Failed),
                ("ml/b".to_owned(), "Job ml/own".to_owned(), Outcome::Running),
            ]
        );
        assert_eq!(told(By::Run), [("ml/c".to_owned(), "Job ml/own".to_owned(), Outcome::Running)]);
        // One that is done, or was on its way out, is none.
        let mut done = Ended::default();
        let mut finished = (*of("a")).clone();
        finished.status.phase = replank_model::object::pod::PodPhase::Succeeded;
        done.changed(Time::from_millis(0), &view, &finished, None);
        assert!(done.all(&view, By::Others).is_empty());
    }
    fn ended_by_others(mut pods: Vec<Value>, job_fails: bool, annotation: Option<&str>) -> Vec<FindingEntry> {
        let conditions = if job_fails { json!([{"type": "Failed", "status": "True"}]) } else { json!([]) };
        for pod in &mut pods {
            if let Some(value) = annotation {
                pod["metadata"]["annotations"] = json!({rerun::RERUN: value});
            }
        }
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "own", "namespace": "ml", "uid": "own"},
            "spec": {"template": {"spec": {}}}, "status": {"conditions": conditions}});
        let names: Vec<String> =
            pods.iter().map(|pod| pod["metadata"]["name"].as_str().expect("a name").to_owned()).collect();
        let view = view(&[pods, vec![job]].concat());
        let mut ended = Ended::default();
        for name in names {
            let pod = view.pods.by_key(&Key::new("ml", name.as_str())).expect("it is there").clone();
            ended.changed(Time::from_millis(0), &view, &pod, None);
        }
        let mut findings = Vec::new();
        ended.find(&view, &mut findings);
        findings
    }

    #[test]
    fn work_that_fails_because_somebody_ends_its_pod_is_found() {
        let found =
            ended_by_others(vec![pod("a", "Job", "batch/v1"), pod("b", "Job", "batch/v1")], true, None);
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(
            (found.id, found.severity, found.object.as_str()),
            ("batch-failed", "warning", "Job ml/own")
        );
        assert_eq!(
            found.reason,
            "failed in the rehearsal: something else than the run ended pod ml/a (and 1 more); nothing in the snapshot says who is alerted"
        );
        assert!(
            found.remedy.contains("action: Ignore") && found.remedy.contains("kube_job_failed"),
            "{}",
            found.remedy
        );
        // What must not be run again is only to be kept.
        let found = ended_by_others(vec![pod("a", "Job", "batch/v1")], true, Some("unsafe"));
        assert!(found[0].remedy.starts_with("keep every drain from it"), "{}", found[0].remedy);
        let mut bare = pod("a", "Job", "batch/v1");
        bare["metadata"]["ownerReferences"] = json!([]);
        let found = ended_by_others(vec![bare], false, None);
        assert!(found[0].reason.starts_with("lost in the rehearsal"), "{}", found[0].reason);
    }

    #[test]
    fn pods_that_a_job_deletes_because_it_has_failed_are_no_reason_for_it() {
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "own", "namespace": "ml", "uid": "own"},
            "spec": {"template": {"spec": {}}}, "status": {"conditions": [{"type": "FailureTarget", "status": "True"}]}});
        let view = view(&[pod("a", "Job", "batch/v1"), job]);
        let found = |deleted: i64, failed: i64| {
            let mut ended = Ended::default();
            let pod = view.pods.by_key(&Key::new("ml", "a")).expect("it is there").clone();
            ended.changed(Time::from_millis(deleted), &view, &pod, None);
            ended.job_changed(
                Time::from_millis(failed),
                view.jobs.by_key(&Key::new("ml", "own")).expect("it is there"),
            );
            let mut findings = Vec::new();
            ended.find(&view, &mut findings);
            findings.len()
        };
        assert_eq!((found(5_000, 5_000), found(5_000, 7_000)), (0, 1));
    }

    #[test]
    fn work_that_is_taken_up_again_is_not_found() {
        assert_eq!(ended_by_others(vec![pod("a", "Job", "batch/v1")], false, None), []);
    }
}
