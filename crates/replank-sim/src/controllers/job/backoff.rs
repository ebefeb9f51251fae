//! Pauses after failures (`backoff_utils.go`).

use std::sync::Arc;

use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::pod::{ContainerStatus, Pod, RestartPolicy};
use replank_model::time::{Span, Time};

use super::indexes::failures_before;

/// Pause after the first failure (`DefaultJobPodFailureBackOff`), doubled with every further one.
const FIRST: Span = Span::from_secs(10);
/// Longest pause (`MaxJobPodFailureBackOff`).
const MAX: Span = Span::from_secs(600);

/// Failures since the last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    failures: i32,
    last: Option<Time>,
}

impl Record {
    /// The record after pods that have ended since (`newBackoffRecord`).
    pub(super) fn with(self, succeeded: &[Arc<Pod>], failed: &[Arc<Pod>]) -> Self {
        let last_success = succeeded.iter().filter_map(|pod| finished(pod)).max();
        let mut failures: Vec<_> = failed.iter().filter_map(|pod| finished(pod)).collect();
        match last_success {
            None if failed.is_empty() => self,
            None => Self {
                failures: self.failures + i32::try_from(failed.len()).unwrap_or(i32::MAX),
                last: failures.into_iter().max(),
            },
            Some(success) => {
                failures.retain(|at| *at > success);
                Self {
                    failures: i32::try_from(failures.len()).unwrap_or(i32::MAX),
                    last: failures.into_iter().max(),
                }
            }
        }
    }

    /// How long to wait before pods are made again.
    pub(super) fn remaining(self, now: Time) -> Span {
        self.last.map_or(Span::ZERO, |last| remaining(self.failures, last, now))
    }
}

/// How long to wait before the pod of an index is made again.
pub(super) fn remaining_of_index(last_failed: Option<&Arc<Pod>>, now: Time) -> Span {
    let Some(pod) = last_failed else { return Span::ZERO };
    let (counted, ignored) = failures_before(pod);
    finished(pod).map_or(Span::ZERO, |last| remaining(counted + ignored + 1, last, now))
}

fn remaining(failures: i32, last: Time, now: Time) -> Span {
    if failures <= 0 {
        return Span::ZERO;
    }
    let doubled = u32::try_from(failures - 1).unwrap_or(0).min(16);
    let pause = (FIRST * (1 << doubled)).min(MAX);
    (last + pause - now).max(Span::ZERO)
}

/// When a pod ended (`getFinishedTime`).
pub(super) fn finished(pod: &Pod) -> Option<Time> {
    let unready = || {
        let ready = condition::find(&pod.status.conditions, "Ready");
        ready
            .filter(|ready| ready.status == ConditionStatus::False)
            .and_then(|ready| ready.last_transition_time)
    };
    let deleted = || {
        let grace = Span::from_secs(pod.meta.deletion_grace_period_seconds.unwrap_or(0));
        pod.meta.deletion_timestamp.map(|at| at - grace)
    };
    containers_finished(pod).or_else(unready).or_else(deleted).or(pod.meta.creation_timestamp)
}

/// When the last container ended, if all have: sidecars end after the others.
fn containers_finished(pod: &Pod) -> Option<Time> {
    let ended = |status: &ContainerStatus| status.state.terminated.as_ref()?.finished_at;
    let mut last = None;
    for status in &pod.status.container_statuses {
        last = last.max(Some(ended(status)?));
    }
    let is_sidecar = |name: &str| {
        let mut sidecars = pod.spec.init_containers.iter();
        sidecars.any(|c| &*c.name == name && c.restart_policy == Some(RestartPolicy::Always))
    };
    for status in pod.status.init_container_statuses.iter().filter(|status| is_sidecar(&status.name)) {
        last = last.max(Some(ended(status)?));
    }
    last
}
