//! Containers that restart again and again, though too seldom for a crash loop.
//!
//! A container that was started again and ends within ten minutes rests before the next start, in `CrashLoopBackOff`, and longer each time. One that runs
//! for longer is started again at once, however often it ends: the kubelet has forgotten the ends before (pkg/kubelet/kubelet.go,
//! `crashLoopBackOff.HasExpiredFunc`: 600 s). So a pod that an image or a node makes end every quarter of an hour looks well at almost any moment.
//!
//! A status tells how often a container was started again, and when its last run began and ended: nothing of the runs before. A second restart
//! whose run before it was short is therefore the least that shows a rate, and it needs nobody who remembers.

use replank_model::object::pod::{ContainerStatus, Pod};
use replank_model::time::{Span, Time};

use crate::drain::is_daemon;

/// A second run that lasts no longer is followed by a rest: a crash loop, which is told by itself.
pub const CRASH_LOOP: Span = Span::from_minutes(10);
/// How long a run may last, and how long ago its end may be, for its container to count.
pub const WITHIN: Span = Span::from_minutes(60);
/// So often a container must have been started again: one restart is an accident.
pub const RESTARTS_MIN: i32 = 2;

/// Until when a pod counts as restarting again and again, unless it ends once more; `None` where it does not, and for pods of DaemonSets: one more of
/// these comes with every node, so an agent that restarts on all nodes would look like an increase.
#[must_use]
pub fn restarting_until(pod: &Pod) -> Option<Time> {
    if is_daemon(pod) {
        return None;
    }
    let containers = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
    containers.filter(|status| status.restart_count >= RESTARTS_MIN).filter_map(until).max()
}

fn until(status: &ContainerStatus) -> Option<Time> {
    let last = status.last_state.terminated.as_ref()?;
    let (began, ended) = (last.started_at?, last.finished_at?);
    let ran = ended - began;
    (ran > CRASH_LOOP && ran <= WITHIN).then_some(ended + WITHIN)
}

#[cfg(test)]
mod tests {
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;

    fn pod(owner: &str, restarts: i32, began: &str, ended: &str) -> Pod {
        let owners =
            json!([{"apiVersion": "apps/v1", "kind": owner, "name": "o", "uid": "u", "controller": true}]);
        let last = json!({"terminated": {"exitCode": 0, "startedAt": began, "finishedAt": ended}});
        let statuses = json!([{"name": "c", "restartCount": restarts, "lastState": last}]);
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n", "ownerReferences": owners},
            "spec": {"containers": [{"name": "c"}]}, "status": {"containerStatuses": statuses}});
        let Ok(Object::Pod(pod)) = Object::from_json(pod) else { unreachable!("a pod was written") };
        Pod::clone(&pod)
    }

    #[test]
    fn two_restarts_within_an_hour_that_are_no_crash_loop_count_for_an_hour() {
        let ended = "2026-11-20T01:00:00Z";
        let of = |owner, restarts, began| {
            restarting_until(&pod(owner, restarts, began, ended)).map(|until| until.to_string())
        };
        let until = Some("2026-11-20T02:00:00Z".to_owned());
        assert_eq!(of("ReplicaSet", 2, "2026-11-20T00:45:00Z"), until);
        assert_eq!(of("ReplicaSet", 2, "2026-11-20T00:00:00Z"), until, "an hour counts");
        assert_eq!(of("ReplicaSet", 40, "2026-11-19T23:59:59Z"), None, "more than an hour does not");
        assert_eq!(of("ReplicaSet", 1, "2026-11-20T00:45:00Z"), None, "once is an accident");
        assert_eq!(of("ReplicaSet", 9, "2026-11-20T00:50:00Z"), None, "a crash loop, with a rest");
        assert_eq!(of("DaemonSet", 9, "2026-11-20T00:45:00Z"), None);
    }
}
