//! Batch pods that were ended before they were done, and what became of their work.

mod cause;

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_facts::batch::alerted::{self, Alerted, in_words};
use replank_facts::batch::alerts::Alerts;
use replank_facts::batch::retry::Workflow;
use replank_facts::batch::{failure_policy, past, rerun};
use replank_facts::workload::series_of;
use replank_model::object::batch::Job;
use replank_model::object::cluster::Other;
use replank_model::object::condition;
use replank_model::object::meta::{Key, Meta};
use replank_model::object::pod::{Pod, RestartPolicy};
use replank_model::object::{Object, render};
use replank_model::text::{NodeName, Text, Uid};
use replank_model::time::Time;
use replank_model::view::View;
use replank_sim::{Asker, ends_by_itself};
use serde::Serialize;
use serde_json::Value;

pub use cause::EndedBy;

use super::evictions::By;
use super::ids::BATCH_FAILED;
use crate::finding_entry::FindingEntry;

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndedBatch {
    /// Namespace and name.
    pub pod: String,
    /// What ended it.
    pub by: EndedBy,
    /// Kind, namespace and name of the Job, Workflow or other object that it belongs to; empty for none.
    pub owner: String,
    /// What became of that.
    pub outcome: Outcome,
    /// Who is alerted, as far as the cluster says it, where its work failed or is lost.
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
    /// Batch pods of which somebody asked for the end, and was heard.
    asked: BTreeMap<Uid, By>,
    /// What had become of Jobs that are gone (`ttlSecondsAfterFinished`, a CronJob's history limits).
    removed: BTreeMap<Key, (Outcome, Meta)>,
    /// When Jobs and Workflows failed. Then, and not before, their controllers delete the pods that are left: they are no reason for it.
    failed: BTreeMap<Uid, Time>,
}

/// A pod that was ended.
#[derive(Clone, Debug)]
struct One {
    at: Time,
    pod: Key,
    node: Option<NodeName>,
    /// What its own condition says of what ended it.
    by: EndedBy,
    /// The words of its kubelet, where that evicted it.
    why: Option<Text>,
    /// Kind and name of what it belongs to.
    owner: Option<(String, Key)>,
    owner_uid: Option<Uid>,
    /// What a person would name for it.
    object: String,
    /// Whether its author declares that it must not be run again.
    is_unsafe: bool,
    restarts: Option<RestartPolicy>,
    /// Whether it is of a Job whose failure policy has rules.
    has_rules: bool,
}

/// Batch pods that were ended, when the rehearsal is over.
pub(super) struct AtEnd<'e>(Vec<Told<'e>>);

struct Told<'e> {
    one: &'e One,
    batch: EndedBatch,
    /// Whether it can be the reason why its work failed.
    is_reason: bool,
}

/// What became of what the pods belonged to. Each is looked at once, however many of its pods were ended: a Workflow's status grows with their number.
#[derive(Debug, Default)]
struct Owners {
    alerts: Option<Alerts>,
    known: BTreeMap<(String, Key), Fate>,
}

/// What became of an owner of pods.
#[derive(Debug)]
struct Fate {
    outcome: Outcome,
    alerted: Vec<Alerted>,
    /// Until when a Workflow could go on at most.
    bound: Option<Time>,
    /// Whether somebody has stopped a Workflow.
    is_shut_down: bool,
}

/// For whom batch pods were ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndedFor {
    /// The run.
    Run,
    /// A person, EKS, a controller, a kubelet, the loss of a node.
    Others,
}

impl Ended {
    pub(super) fn changed(&mut self, at: Time, view: &View, old: &Pod, new: Option<&Pod>) {
        // Most changes are none of this: the state before is looked at for the others alone.
        let stays = new.filter(|new| new.meta.deletion_timestamp.is_none());
        if stays.is_some_and(|new| !cause::is_evicted_by_kubelet(old, new)) {
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
                series_of(view, old).map_or_else(|| format!("Pod {pod}"), |workload| workload.to_string());
            let (is_unsafe, restarts) = (rerun::is_unsafe(old), old.spec.restart_policy);
            let has_rules = failure_policy::has_rules(view, old);
            let last = new.unwrap_or(old);
            let by = EndedBy::of(last);
            let why = (by == EndedBy::Kubelet).then(|| last.status.message.clone());
            let node = old.node.clone();
            let one =
                One { at, pod, node, by, why, owner, owner_uid, object, is_unsafe, restarts, has_rules };
            self.ended.insert(old.meta.uid.clone(), one);
        }
    }

    /// The run has evicted a pod, or deleted it.
    pub(super) fn evicted(&mut self, pod: &Pod) {
        self.asked_by(By::Replank, pod);
    }

    /// Somebody else has evicted a pod.
    pub(super) fn evicted_by(&mut self, asker: Asker, pod: &Pod) {
        self.asked_by(asker.into(), pod);
    }

    /// Few of all pods that are evicted are batch pods, and nothing is told of the others.
    fn asked_by(&mut self, by: By, pod: &Pod) {
        if ends_by_itself(pod) {
            self.asked.entry(pod.meta.uid.clone()).or_insert(by);
        }
    }

    /// What ended a pod: one that was asked for by nobody but what its condition says.
    fn by(&self, uid: &Uid, one: &One) -> EndedBy {
        let asked = self.asked.get(uid).filter(|_| one.by.is_asked_for());
        asked.map_or(one.by, |by| EndedBy::Asked(*by))
    }

    /// How many batch pods were ended before they were done: by the run, or by others.
    pub(super) fn count(&self) -> usize {
        self.ended.len()
    }

    pub(super) fn job_changed(&mut self, at: Time, job: &Job) {
        if of_job(job) == Outcome::Failed && !self.failed.contains_key(&job.meta.uid) {
            self.failed.insert(job.meta.uid.clone(), at);
        }
    }

    pub(super) fn workflow_changed(&mut self, at: Time, workflow: &Arc<Other>) {
        let is_workflow = &*workflow.kind == "Workflow" && workflow.group() == "argoproj.io";
        if is_workflow
            && !self.failed.contains_key(&workflow.meta.uid)
            && of_workflow(&render(&Object::Other(workflow.clone()))) == Outcome::Failed
        {
            self.failed.insert(workflow.meta.uid.clone(), at);
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

    /// Those that were ended, sorted by name, with what a view shows of their owners.
    pub(super) fn at_end(&self, view: &View) -> AtEnd<'_> {
        let mut owners = Owners::default();
        let lost = Fate { outcome: Outcome::Lost, alerted: Vec::new(), bound: None, is_shut_down: false };
        let mut all: Vec<Told<'_>> = Vec::new();
        for (uid, one) in &self.ended {
            let fate = match &one.owner {
                Some(owner) => owners.fate(view, &self.removed, owner),
                None => &lost,
            };
            let failed = one.owner_uid.as_ref().and_then(|uid| self.failed.get(uid));
            let is_reason = failed.is_none_or(|failed| one.at < *failed) && !fate.ends_by_itself(one.at);
            let owner = one.owner.as_ref().map_or_else(String::new, |(kind, key)| format!("{kind} {key}"));
            let batch = EndedBatch {
                pod: one.pod.to_string(),
                by: self.by(uid, one),
                owner,
                outcome: fate.outcome,
                alerted: fate.alerted.clone(),
            };
            all.push(Told { one, batch, is_reason });
        }
        all.sort_by(|a, b| a.batch.pod.cmp(&b.batch.pod));
        AtEnd(all)
    }
}

impl AtEnd<'_> {
    /// Those that were ended for the run, or for others.
    pub(super) fn of(&self, whom: EndedFor) -> Vec<EndedBatch> {
        self.those(whom).map(|told| told.batch.clone()).collect()
    }

    fn those(&self, whom: EndedFor) -> impl Iterator<Item = &Told<'_>> {
        self.0
            .iter()
            .filter(move |told| (told.batch.by == EndedBy::Asked(By::Replank)) == (whom == EndedFor::Run))
    }

    /// Finds the work that failed because somebody other than the run ended its pod: one finding for each object.
    pub(super) fn find(&self, findings: &mut Vec<FindingEntry>) {
        let mut by_object: BTreeMap<&str, Vec<&Told<'_>>> = BTreeMap::new();
        for told in self.those(EndedFor::Others) {
            if told.batch.outcome.is_failure() && told.is_reason {
                by_object.entry(&told.one.object).or_default().push(told);
            }
        }
        for (object, failed) in by_object {
            let Some(Told { one, batch: first, .. }) = failed.first() else { continue };
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
            let is_scheduled = ["CronJob ", "CronWorkflow "].iter().any(|kind| object.starts_with(kind));
            let next = match is_scheduled {
                true => "; this run is skipped, the next one starts at its time",
                false => "",
            };
            let ended = first.by.sentence(one.node.as_ref().map_or("", |node| node.as_str()), &first.pod);
            let words = one.why.as_deref().map(|why| why.trim().trim_end_matches('.'));
            let why = words.filter(|why| !why.is_empty()).map_or_else(String::new, |why| format!(" ({why})"));
            let alerted = in_words(&first.alerted);
            let reason = format!("{run}{became}: {ended}{why}{more}{next}; {alerted}");
            let remedy = remedy(one, first.by, &first.alerted);
            findings.push(FindingEntry::advised(BATCH_FAILED, object, &reason, remedy));
        }
    }
}

impl Owners {
    /// What became of one.
    fn fate(
        &mut self,
        view: &View,
        removed: &BTreeMap<Key, (Outcome, Meta)>,
        owner: &(String, Key),
    ) -> &Fate {
        let alerts = &mut self.alerts;
        self.known.entry(owner.clone()).or_insert_with(|| {
            let (kind, key) = owner;
            let workflow = if kind == "Workflow" { Workflow::read(view, key) } else { None };
            let known = removed.get(key);
            let outcome = match kind.as_str() {
                "Job" => {
                    let removed = || known.map_or(Outcome::Unknown, |(outcome, _)| *outcome);
                    view.jobs.by_key(key).map_or_else(removed, |job| of_job(job))
                }
                _ => workflow.as_ref().map_or(Outcome::Unknown, |workflow| of_workflow(workflow.raw())),
            };
            let alerted = match outcome.is_failure() {
                true => {
                    let alerts = alerts.get_or_insert_with(|| Alerts::read(view));
                    let meta = known.map(|(_, meta)| meta);
                    alerted::of_failed(view, alerts, (kind, key), workflow.as_ref(), meta)
                }
                false => Vec::new(),
            };
            let shutdown = workflow.as_ref().and_then(|workflow| workflow.raw()["spec"]["shutdown"].as_str());
            Fate {
                outcome,
                alerted,
                bound: workflow.as_ref().and_then(past::bound_of),
                is_shut_down: shutdown.is_some_and(|how| !how.is_empty()),
            }
        })
    }
}

impl Fate {
    /// Whether the pod of a Workflow went because the Workflow was to end: its `activeDeadlineSeconds` were over, or somebody wanted it, a person or its CronWorkflow for
    /// the next run (`concurrencyPolicy: Replace`). Its controller deletes the pods first, and writes that it has failed when its exit handler is done.
    fn ends_by_itself(&self, at: Time) -> bool {
        self.is_shut_down || self.bound.is_some_and(|bound| bound <= at)
    }
}

/// What would have kept the work: it is done again by itself, where its author does not forbid that, or its pod stays. And how somebody would be alerted.
fn remedy(one: &One, by: EndedBy, alerted: &[Alerted]) -> String {
    let kind = one.owner.as_ref().map_or("", |(kind, _)| kind.as_str());
    let again = match (kind, one.restarts) {
        _ if one.is_unsafe => None,
        ("Job", Some(RestartPolicy::OnFailure)) => Some("raise the Job's backoffLimit".to_owned()),
        ("Job", _) => Some(failure_policy::ignore_disruptions(one.object.starts_with("CronJob "), one.has_rules)),
        ("Workflow", _) => Some(
            "retry lost steps in the Workflow's spec: retryStrategy: {retryPolicy: Always, limit: 3, backoff: {duration: 30s}}".to_owned(),
        ),
        (_, _) => Some("run it as a Job, which makes lost pods again".to_owned()),
    };
    let first = match (again, by.remedy(one.why.as_deref().unwrap_or_default())) {
        (Some(again), Some(keep)) => format!("{again}; or {keep}"),
        (Some(only), None) => only,
        (None, Some(only)) => only.to_owned(),
        (None, None) => "no setting keeps a pod that is deleted, or lost with its node: save the progress of the work, so that it can be run again".to_owned(),
    };
    let tell = match (alerted, kind) {
        ([], "Workflow") => "\nalert somebody: an exit handler (onExit) of the Workflow that sends a message",
        ([], "Job") => {
            "\nalert somebody: an alert on kube_job_failed (KubeJobFailed of kubernetes-mixin), or the annotation a8r.io/owner"
        }
        (_, _) => "",
    };
    format!("{first}{tell}")
}

fn of_workflow(workflow: &Value) -> Outcome {
    match workflow.pointer("/status/phase").and_then(Value::as_str) {
        Some("Succeeded") => Outcome::Succeeded,
        Some("Failed" | "Error") => Outcome::Failed,
        Some("Running" | "Pending") => Outcome::Running,
        Some(_) | None => Outcome::Unknown,
    }
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
mod tests;
