//! The stand-in for kubelets that recorded the transcripts: fixed delays, overridden by annotations `fake.kubelet/…`.

use replank_model::object::pod::{
    ContainerRunning, ContainerState, ContainerStatus, ContainerTerminated, Pod, RestartPolicy,
};
use replank_model::text::Text;
use replank_model::time::{Span, Time};

use super::KubeletModel;

/// From the end of a container to its next start.
pub(super) const RESTART: Span = Span::from_millis(500);
/// From the last status to the removal.
pub(super) const REMOVE: Span = Span::from_millis(100);

/// How a pod's containers behave.
pub(super) struct Delays {
    /// From the binding to running.
    pub(super) start: Span,
    /// From running to ready; `None`: never.
    pub(super) ready: Option<Span>,
    /// From running to the end; `None`: they run for ever.
    pub(super) run: Option<Span>,
    /// How they end by themselves.
    pub(super) exit_code: i32,
    /// From the wish to stop to the stop.
    pub(super) stop: Span,
    /// The same where they have not started.
    pub(super) unstarted_stop: Span,
    /// How they end when they are told to stop.
    pub(super) term_exit_code: i32,
    /// Whether a deletion is never finished.
    pub(super) is_stuck: bool,
}

impl Delays {
    pub(super) fn of(model: &KubeletModel, pod: &Pod) -> Self {
        match model {
            KubeletModel::Fake => {}
        }
        let mut delays = Self {
            start: Span::from_millis(500),
            ready: Some(Span::ZERO),
            run: None,
            exit_code: 0,
            stop: Span::from_millis(1000),
            unstarted_stop: Span::from_millis(100),
            term_exit_code: 143,
            is_stuck: false,
        };
        for (key, value) in pod.meta.annotations.iter() {
            let Some(name) = key.strip_prefix("fake.kubelet/") else { continue };
            let span = value.parse().ok().map(Span::from_millis);
            match name {
                "start-ms" => delays.start = span.unwrap_or(delays.start),
                "ready-ms" if value == "never" => delays.ready = None,
                "ready-ms" => delays.ready = span.or(delays.ready),
                "run-ms" => delays.run = span.or(delays.run),
                "exit-code" => delays.exit_code = value.parse().unwrap_or(delays.exit_code),
                "stop-ms" => delays.stop = span.unwrap_or(delays.stop),
                "term-exit-code" => delays.term_exit_code = value.parse().unwrap_or(delays.term_exit_code),
                "stuck" => delays.is_stuck = value != "false",
                // Others are other stand-ins'.
                _ => {}
            }
        }
        delays
    }
}

/// An address of its own for every pod that was ever started.
pub(super) fn address(number: u32) -> Text {
    let [_, b, c, d] = number.to_be_bytes();
    Text::from(format!("10.{b}.{c}.{d}"))
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
pub(super) fn running(pod: &Pod, now: Time, ready: bool) -> Vec<ContainerStatus> {
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
        .into_iter()
        .map(|status| ContainerStatus { ready: false, state: ended(&status, code, now), ..status })
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
