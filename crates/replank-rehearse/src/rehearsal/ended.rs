//! Batch pods that somebody else than the run ended before they were done, and what became of their work.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::batch::Job;
use replank_model::object::condition;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::object::{Object, render};
use replank_model::text::Uid;
use replank_model::view::View;
use replank_sim::ends_by_itself;
use serde::Serialize;

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
            Self::Unknown => "outcome unknown",
        }
    }
}

/// Notes them.
#[derive(Debug, Default)]
pub(super) struct EndedByOthers {
    ended: BTreeMap<Uid, (Key, Option<(String, Key)>)>,
    /// Evicted by the run, which counts them itself.
    ours: BTreeSet<Uid>,
    /// What had become of Jobs that are gone (`ttlSecondsAfterFinished`, a CronJob's history limits).
    removed: BTreeMap<Key, Outcome>,
}

impl EndedByOthers {
    pub(super) fn changed(&mut self, old: &Pod, new: Option<&Pod>) {
        // Most changes are none of this: the state before is looked at for the others alone.
        if new.is_some_and(|new| new.meta.deletion_timestamp.is_none()) {
            return;
        }
        let was_at_work = old.node.is_some() && !old.is_terminal() && old.meta.deletion_timestamp.is_none();
        if was_at_work && ends_by_itself(old) {
            let owner = old.meta.controller().map(|owner| {
                let key = Key { namespace: old.meta.namespace.clone(), name: owner.name.clone() };
                (owner.kind.to_string(), key)
            });
            self.ended.insert(old.meta.uid.clone(), (old.meta.key(), owner));
        }
    }

    pub(super) fn evicted(&mut self, pod: &Pod) {
        self.ours.insert(pod.meta.uid.clone());
    }

    /// How many batch pods were ended before they were done, by whomever.
    pub(super) fn count(&self) -> usize {
        self.ended.len()
    }

    pub(super) fn job_removed(&mut self, job: &Job) {
        match of_job(job) {
            Outcome::Running => {}
            known @ (Outcome::Succeeded | Outcome::Failed | Outcome::Unknown) => {
                self.removed.insert(job.meta.key(), known);
            }
        }
    }

    /// All of them, sorted by name, with what a view shows of their owners.
    pub(super) fn all(&self, view: &View) -> Vec<EndedBatch> {
        let others = self.ended.iter().filter(|(uid, _)| !self.ours.contains(*uid));
        let mut all: Vec<EndedBatch> = others
            .map(|(_, (pod, owner))| EndedBatch {
                pod: pod.to_string(),
                owner: owner.as_ref().map_or_else(String::new, |(kind, key)| format!("{kind} {key}")),
                outcome: owner.as_ref().map_or(Outcome::Unknown, |(kind, key)| self.outcome(view, kind, key)),
            })
            .collect();
        all.sort_by(|a, b| a.pod.cmp(&b.pod));
        all
    }

    fn outcome(&self, view: &View, kind: &str, key: &Key) -> Outcome {
        match kind {
            "Job" => {
                let removed = || self.removed.get(key).copied().unwrap_or(Outcome::Unknown);
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
        let mut ended = EndedByOthers::default();
        for name in ["a", "b", "c"] {
            ended.changed(&of(name), None);
        }
        ended.evicted(&of("c"));
        let told: Vec<_> =
            ended.all(&view).into_iter().map(|one| (one.pod, one.owner, one.outcome)).collect();
        assert_eq!(
            told,
            [
                ("ml/a".to_owned(), "Workflow ml/own".to_owned(), Outcome::Failed),
                ("ml/b".to_owned(), "Job ml/own".to_owned(), Outcome::Running),
            ]
        );
        // One that is done, or was on its way out, is none.
        let mut done = EndedByOthers::default();
        let mut finished = (*of("a")).clone();
        finished.status.phase = replank_model::object::pod::PodPhase::Succeeded;
        done.changed(&finished, None);
        assert!(done.all(&view).is_empty());
    }
}
