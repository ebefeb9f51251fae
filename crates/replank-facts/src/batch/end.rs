//! When a batch pod that runs is over, as earlier runs tell, or other pods of its Job.

use std::fmt;

use replank_model::object::pod::Pod;
use replank_model::time::Time;
use replank_model::view::View;

use super::past::{self, Past};
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
        let workload = workload_of(view, pod);
        let own = running_since(pod).or(pod.status.start_time);
        let run = workload.as_ref().and_then(|workload| {
            let past = past::of(view, workload)?;
            Some((past, past::started(view, workload).or(own)?, By::Runs(past)))
        });
        let pods = || {
            let past = past::of_siblings(view, pod)?;
            Some((past, own?, By::Pods(past)))
        };
        match run.or_else(pods) {
            Some((past, since, by)) if since + past.longest > now => {
                Self::Expected { latest: since + past.longest, earliest: since + past.shortest, now, by }
            }
            Some((.., by)) => Self::Overdue(by),
            None => Self::Unknown,
        }
    }

    /// That of a pod which somebody makes later, like one that is there.
    #[must_use]
    pub fn of_later(view: &View, like: &Pod) -> Self {
        let runs = || Some(By::Runs(past::of(view, &workload_of(view, like)?)?));
        let pods = || past::of_siblings(view, like).map(By::Pods);
        runs().or_else(pods).map_or(Self::Unknown, Self::Begins)
    }

    /// Whether the pod may be over by a moment.
    #[must_use]
    pub fn may_come_by(self, moment: Time) -> bool {
        match self {
            Self::Expected { earliest, .. } => earliest <= moment,
            Self::Overdue(_) | Self::Begins(_) | Self::Unknown => true,
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
            Self::Begins(By::Runs(past)) => write!(f, "it is not there yet, and {past}"),
            Self::Begins(By::Pods(past)) => write!(f, "it is not there yet, and there were {}", Pods(past)),
            Self::Unknown => f.write_str("nothing tells how long it takes"),
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
    use replank_model::object::meta::Key;
    use serde_json::{Value, json};

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
            "it is not there yet, and there were 2 other pods of its Job, which took 1h10m to 1h30m"
        );
        assert_eq!(later.when(), "when it has finished");
    }

    #[test]
    fn steps_of_a_workflow_tell_nothing_of_each_other() {
        let none = end("Workflow", &[70, 90]);
        assert_eq!((none, none.when()), (End::Unknown, "when it has finished".to_owned()));
        assert!(none.may_come_by("2026-01-01T11:00:00Z".parse().expect("a time")));
        assert_eq!(end("Job", &[]), End::Unknown);
    }
}
