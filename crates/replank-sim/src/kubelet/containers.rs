//! What a kubelet writes into the status of a pod's containers.

use replank_model::list::List;
use replank_model::object::pod::{
    ContainerRunning, ContainerState, ContainerStatus, ContainerTerminated, Pod, RestartPolicy,
};
use replank_model::text::Text;
use replank_model::time::Time;

/// An address of its own for every pod that was ever started, and none that a node has.
pub(super) fn address(number: u32) -> Text {
    let [_, b, c, d] = number.to_be_bytes();
    Text::from(format!("10.{}.{c}.{d}", b | 0x80))
}

/// Whether containers that end so are not started again.
pub(super) fn ends_for_good(pod: &Pod, code: i32) -> bool {
    match pod.spec.restart_policy.unwrap_or(RestartPolicy::Always) {
        RestartPolicy::Never => true,
        RestartPolicy::OnFailure => code == 0,
        RestartPolicy::Always => false,
    }
}

/// The statuses of containers that have just been started.
pub(super) fn running(pod: &Pod, now: Time, ready: bool) -> List<ContainerStatus> {
    pod.spec
        .containers
        .iter()
        .map(|container| ContainerStatus {
            name: container.name.clone(),
            ready,
            state: runs(now),
            ..ContainerStatus::default()
        })
        .collect()
}

/// Containers have ended for good.
pub(super) fn terminate(pod: &mut Pod, code: i32, now: Time) {
    let known = std::mem::take(&mut pod.status.container_statuses);
    let statuses = if known.is_empty() { running(pod, now, false) } else { known };
    pod.status.container_statuses = statuses
        .iter()
        .map(|status| ContainerStatus { ready: false, state: ended(status, code, now), ..status.clone() })
        .collect();
}

/// Containers have ended and are to be started again.
pub(super) fn count_restart(pod: &mut Pod, code: i32, now: Time) {
    for status in &mut pod.status.container_statuses {
        status.last_state = ended(status, code, now);
        status.state = ContainerState::default();
        status.ready = false;
        status.restart_count += 1;
    }
}

/// Containers that had ended run again.
pub(super) fn run_again(pod: &mut Pod, now: Time, ready: bool) {
    for status in &mut pod.status.container_statuses {
        status.state = runs(now);
        status.ready = ready;
    }
}

fn runs(now: Time) -> ContainerState {
    let running = Some(ContainerRunning { started_at: Some(now) });
    ContainerState { running, ..ContainerState::default() }
}

fn ended(status: &ContainerStatus, code: i32, now: Time) -> ContainerState {
    let started_at = status.state.running.as_ref().and_then(|running| running.started_at);
    let terminated = Some(ContainerTerminated {
        exit_code: code,
        reason: Text::from(if code == 0 { "Completed" } else { "Error" }),
        started_at,
        finished_at: Some(now),
        ..ContainerTerminated::default()
    });
    ContainerState { terminated, ..ContainerState::default() }
}
