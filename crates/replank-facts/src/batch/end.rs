//! When a batch pod that runs is over, as earlier runs tell, or other pods of its Job.

use std::fmt;

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::time::Time;
use replank_model::view::View;
use serde_json::Value;

use super::past::{self, Past, job_of};
use super::{retry, templates};
use crate::workload::workload_of;

/// What is known of a pod's end, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// If it takes no longer and no shorter than those before.
    Expected {
        /// By when.
        latest: Time,
        /// Not before.
        earliest: Time,
        /// The moment that was asked about.
        now: Time,
        /// What tells.
        by: By,
    },
    /// It runs for longer than any of those before.
    Overdue(By),
    /// It is not there yet, and others like it took so long.
    Begins(By),
    /// There is nothing that tells.
    Unknown,
}

/// What tells how long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// Earlier runs.
    Runs(Past),
    /// Pods of the same Job that have succeeded.
    Pods(Past),
}

impl End {
    /// That of a pod, at a moment.
    #[must_use]
    pub fn of(view: &View, now: Time, pod: &Pod) -> Self {
        let own = running_since(pod).or(pod.status.start_time);
        let pods = past::of_siblings(view, pod).and_then(|past| Some((past, own?, By::Pods(past))));
        let run = || {
            let workload = workload_of(view, pod)?;
            let past = past::of(view, &workload)?;
            // A CronJob may have several that run.
            let began = match job_of(view, pod) {
                Some(job) => job.status.start_time,
                None => past::started(view, &workload),
            };
            Some((past, began.or(own)?, By::Runs(past)))
        };
        match pods.or_else(run) {
            Some((past, since, by)) if since + past.longest > now => {
                let earliest = match by {
                    By::Runs(_) if !is_all_of_its_run(view, pod) => now,
                    By::Runs(_) | By::Pods(_) => since + past.shortest,
                };
                Self::Expected { latest: since + past.longest, earliest, now, by }
            }
            Some((.., by)) => Self::Overdue(by),
            None => Self::Unknown,
        }
    }

    /// That of a pod which somebody makes later, like one that is there.
    #[must_use]
    pub fn of_later(view: &View, like: &Pod) -> Self {
        let runs = || Some(By::Runs(past::of(view, &workload_of(view, like)?)?));
        let pods = past::of_siblings(view, like).map(By::Pods);
        pods.or_else(runs).map_or(Self::Unknown, Self::Begins)
    }

    /// Whether the pod may be over by a moment.
    #[must_use]
    pub fn may_come_by(self, moment: Time) -> bool {
        match self {
            Self::Expected { earliest, .. } => earliest <= moment,
            Self::Overdue(_) | Self::Begins(_) | Self::Unknown => true,
        }
    }

    /// Whether the pod is over by a moment, if it takes no longer than those before.
    #[must_use]
    pub fn comes_by(self, moment: Time) -> bool {
        match self {
            Self::Expected { latest, .. } => latest <= moment,
            Self::Overdue(_) | Self::Begins(_) | Self::Unknown => false,
        }
    }

    /// From when on the pod is over, in words.
    #[must_use]
    pub fn when(self) -> String {
        match self {
            Self::Expected { latest, .. } => format!("after {latest}"),
            Self::Overdue(_) | Self::Begins(_) | Self::Unknown => "when it has finished".to_owned(),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected { latest, now, by, .. } => {
                write!(f, "expected to finish by {latest}, in {}", (*latest - *now).rounded())?;
                match by {
                    By::Runs(_) => Ok(()),
                    By::Pods(past) => write!(f, " ({})", Pods(past)),
                }
            }
            Self::Overdue(By::Runs(_)) => f.write_str("it runs for longer than any run before"),
            Self::Overdue(By::Pods(past)) => write!(f, "it runs for longer than {}", Pods(past)),
            Self::Begins(By::Runs(past)) => write!(f, "not created yet; {past}"),
            Self::Begins(By::Pods(past)) => write!(f, "not created yet; compare {}", Pods(past)),
            Self::Unknown => f.write_str("nothing in the snapshot shows how long it takes"),
        }
    }
}

/// Other pods of a Job, and how long they took.
struct Pods<'a>(&'a Past);

impl fmt::Display for Pods<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Past { runs, shortest, longest, .. } = self.0;
        match runs {
            1 => write!(f, "another pod of its Job, which took {longest}"),
            _ if shortest == longest => write!(f, "{runs} other pods of its Job, which took {longest} each"),
            _ => write!(f, "{runs} other pods of its Job, which took {shortest} to {longest}"),
        }
    }
}

/// Whether a run is this one pod: that of a Job which needs one, or of a Workflow without steps. One of several may be over long before the run is.
fn is_all_of_its_run(view: &View, pod: &Pod) -> bool {
    if let Some(job) = job_of(view, pod) {
        return job.spec.completions.unwrap_or(1) <= 1 && job.spec.parallelism.unwrap_or(1) <= 1;
    }
    let Some(owner) = pod.meta.controller().filter(|owner| &*owner.kind == "Workflow") else { return false };
    let key = Key { namespace: pod.meta.namespace.clone(), name: owner.name.clone() };
    let Some(workflow) = retry::raw(view, &key) else { return false };
    let spec = retry::spec_of(view, &workflow);
    let has = |of: &Value, member: &str| of.get(member).is_some_and(|value| !value.is_null());
    let entry = spec.get("entrypoint").and_then(Value::as_str);
    let entry = entry.and_then(|name| templates::named(&spec, name));
    // What it does at its end is a pod, too.
    !has(&spec, "onExit") && entry.is_some_and(|entry| !has(entry, "steps") && !has(entry, "dag"))
}

/// Since when its containers run.
fn running_since(pod: &Pod) -> Option<Time> {
    let running =
        pod.status.container_statuses.iter().filter_map(|container| container.state.running.as_ref());
    running.filter_map(|running| running.started_at).min()
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;

    /// A pod of a Job, or of something else, with the state of its container.
    fn pod(name: &str, kind: &str, phase: &str, state: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "uid": name,
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": kind, "name": "train", "uid": "train", "controller": true}]},
            "spec": {"containers": [{"name": "c"}]},
            "status": {"phase": phase, "containerStatuses": [{"name": "c", "state": state}]}})
    }

    /// A pod that runs since 10:00, and others that took so many minutes.
    fn view(kind: &str, minutes: &[u32]) -> View {
        let mut objects: Vec<Value> = minutes
            .iter()
            .map(|minutes| {
                let end = format!("2026-01-01T{:02}:{:02}:00Z", 8 + minutes / 60, minutes % 60);
                let state = json!({"terminated": {"exitCode": 0, "startedAt": "2026-01-01T08:00:00Z", "finishedAt": end}});
                pod(&format!("train-{minutes}"), kind, "Succeeded", &state)
            })
            .collect();
        objects.push(pod("p", kind, "Running", &json!({"running": {"startedAt": "2026-01-01T10:00:00Z"}})));
        let objects = objects.into_iter().map(|value| Object::from_json(value).expect("a valid object"));
        objects.map(Delta::Put).collect()
    }

    /// The end of that pod, as it is at 11:00.
    fn end(kind: &str, minutes: &[u32]) -> End {
        let view = view(kind, minutes);
        let own = view.pods.by_key(&Key::new("shop", "p")).expect("it is there");
        End::of(&view, "2026-01-01T11:00:00Z".parse().expect("a time"), own)
    }

    #[test]
    fn other_pods_of_a_job_tell_how_long_one_takes() {
        let two = end("Job", &[70, 90]);
        assert_eq!(
            two.to_string(),
            "expected to finish by 2026-01-01T11:30:00Z, in 30m (2 other pods of its Job, which took 1h10m to 1h30m)"
        );
        assert_eq!(two.when(), "after 2026-01-01T11:30:00Z");
        let at = |text: &str| text.parse::<Time>().expect("a time");
        assert!(two.may_come_by(at("2026-01-01T11:10:00Z")) && !two.may_come_by(at("2026-01-01T11:09:00Z")));
        assert_eq!(
            end("Job", &[60]).to_string(),
            "it runs for longer than another pod of its Job, which took 1h"
        );
    }

    #[test]
    fn of_a_pod_that_comes_later_only_the_length_is_told() {
        let view = view("Job", &[70, 90]);
        let like = view.pods.by_key(&Key::new("shop", "p")).expect("it is there");
        let later = End::of_later(&view, like);
        assert_eq!(
            later.to_string(),
            "not created yet; compare 2 other pods of its Job, which took 1h10m to 1h30m"
        );
        assert_eq!(later.when(), "when it has finished");
    }

    /// The end of a pod of one of two Jobs of a CronJob that run beside each other, since 08:10 and 10:50: at 11:00, where an earlier run took three hours.
    fn end_of_a_run(completions: u32) -> End {
        let job = |name: &str, start: &str, status: &Value| {
            let mut job = json!({"apiVersion": "batch/v1", "kind": "Job",
                "metadata": {"name": name, "namespace": "shop", "uid": name,
                    "ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "nightly", "controller": true}]},
                "spec": {"completions": completions}, "status": {"startTime": format!("2026-01-01T{start}:00Z")}});
            let more = status.as_object().expect("a map").clone();
            job["status"].as_object_mut().expect("a map").extend(more);
            job
        };
        let done = json!({"completionTime": "2026-01-01T03:00:00Z", "conditions": [{"type": "Complete", "status": "True"}]});
        let cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly", "namespace": "shop", "uid": "nightly"},
            "spec": {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": {"spec": {}}}}}});
        let own = pod("p", "Job", "Running", &json!({"running": {"startedAt": "2026-01-01T10:51:00Z"}}));
        let jobs = [
            job("done", "00:00", &done),
            job("long", "08:10", &json!({})),
            job("train", "10:50", &json!({})),
        ];
        let objects = jobs.into_iter().chain([cron, own]);
        let objects = objects.map(|value| Object::from_json(value).expect("a valid object"));
        let view: View = objects.map(Delta::Put).collect();
        let own = view.pods.by_key(&Key::new("shop", "p")).expect("it is there");
        End::of(&view, "2026-01-01T11:00:00Z".parse().expect("a time"), own)
    }

    #[test]
    fn a_run_tells_of_the_pod_that_is_all_of_it_from_when_its_own_job_began() {
        let at = |text: &str| text.parse::<Time>().expect("a time");
        let one = end_of_a_run(1);
        assert_eq!(one.to_string(), "expected to finish by 2026-01-01T13:50:00Z, in 2h50m");
        assert!(!one.may_come_by(at("2026-01-01T13:49:00Z")) && one.comes_by(at("2026-01-01T13:50:00Z")));
        // One pod of ten may be over at any time.
        let of_ten = end_of_a_run(10);
        assert_eq!(of_ten.when(), "after 2026-01-01T13:50:00Z");
        assert!(
            of_ten.may_come_by(at("2026-01-01T11:00:00Z")) && !of_ten.comes_by(at("2026-01-01T13:49:00Z"))
        );
    }

    #[test]
    fn a_step_is_all_of_a_workflow_that_has_no_other() {
        let workflow = |spec: &Value| {
            let value = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "train", "namespace": "shop", "uid": "train"}, "spec": spec});
            let own = pod("p", "Workflow", "Running", &json!({}));
            let objects =
                [value, own].into_iter().map(|value| Object::from_json(value).expect("a valid object"));
            let view: View = objects.map(Delta::Put).collect();
            is_all_of_its_run(&view, view.pods.by_key(&Key::new("shop", "p")).expect("it is there"))
        };
        let one = json!({"name": "one", "container": {}});
        assert!(workflow(&json!({"entrypoint": "one", "templates": [one]})));
        assert!(!workflow(&json!({"entrypoint": "one", "onExit": "one", "templates": [one]})));
        let two = json!({"name": "two", "steps": [[{"name": "a", "template": "one"}]]});
        assert!(!workflow(&json!({"entrypoint": "two", "templates": [one, two]})));
        assert!(!workflow(&json!({})));
    }

    #[test]
    fn steps_of_a_workflow_tell_nothing_of_each_other() {
        let none = end("Workflow", &[70, 90]);
        assert_eq!((none, none.when()), (End::Unknown, "when it has finished".to_owned()));
        assert!(none.may_come_by("2026-01-01T11:00:00Z".parse().expect("a time")));
        assert_eq!(end("Job", &[]), End::Unknown);
    }
}
