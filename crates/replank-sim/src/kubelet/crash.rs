//! Containers that crash again and again, and how long the kubelet waits between (`doBackOff` in `kuberuntime_manager.go`,
//! client-go `flowcontrol.Backoff`).

use replank_model::object::pod::{
    ContainerRunning, ContainerState, ContainerStatus, ContainerTerminated, ContainerWaiting, Pod,
};
use replank_model::text::Text;
use replank_model::time::{GoForm, Span, Time};

/// From the start of a container to its crash.
pub(super) const CRASH: Span = Span::from_secs(1);
/// How it ends.
pub(super) const CODE: i32 = 1;
/// First pause (`containerBackOffPeriod`).
const FIRST: Span = Span::from_secs(10);
/// Longest pause (`MaxCrashLoopBackOff`).
const MAX: Span = Span::from_secs(300);

/// What the kubelet remembers of a pod's crashes. Its containers crash together, so one memory does for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BackOff {
    pause: Span,
    last: Time,
}

impl BackOff {
    /// How long the kubelet waits after a crash: not at all after the first, and where the last start was twice the longest pause
    /// ago.
    pub(super) fn pause(known: Option<Self>, now: Time) -> Span {
        match known {
            Some(known) if now - known.last <= MAX * 2 => known.pause,
            Some(_) | None => Span::ZERO,
        }
    }

    /// The memory after a start.
    pub(super) fn next(known: Option<Self>, now: Time) -> Self {
        let pause = match known {
            Some(known) if now - known.last <= MAX * 2 => (known.pause * 2).min(MAX),
            Some(_) | None => FIRST,
        };
        Self { pause, last: now }
    }
}

/// Containers have crashed: they wait, or are started again at once.
pub(super) fn crashed(pod: &mut Pod, pause: Span, now: Time) {
    let place = format!("{}_{}({})", pod.meta.name, pod.meta.namespace, pod.meta.uid);
    for status in &mut pod.status.container_statuses {
        let ended = ended(status, now);
        status.ready = false;
        status.last_state = ended.clone();
        status.state = if pause == Span::ZERO {
            ended
        } else {
            let (pause, name) = (GoForm(pause), &status.name);
            let message = format!("back-off {pause} restarting failed container={name} pod={place}");
            let waiting =
                ContainerWaiting { reason: Text::from("CrashLoopBackOff"), message: Text::from(message) };
            ContainerState { waiting: Some(waiting), ..ContainerState::default() }
        };
    }
}

/// Whether containers wait for their next start.
pub(super) fn is_waiting(pod: &Pod) -> bool {
    pod.status.container_statuses.iter().any(|status| status.state.waiting.is_some())
}

/// Whether containers run, all of them for so long.
pub(super) fn has_run_for(pod: &Pod, span: Span, now: Time) -> bool {
    let runs = |status: &ContainerStatus| {
        let running = status.state.running.as_ref();
        running.is_some_and(|running| running.started_at.is_none_or(|since| since + span <= now))
    };
    pod.status.container_statuses.iter().all(runs)
}

/// Containers that had crashed run again.
pub(super) fn started_again(pod: &mut Pod, now: Time) {
    for status in &mut pod.status.container_statuses {
        let running = Some(ContainerRunning { started_at: Some(now) });
        status.state = ContainerState { running, ..ContainerState::default() };
        status.restart_count += 1;
    }
}

fn ended(status: &ContainerStatus, now: Time) -> ContainerState {
    let started_at = status.state.running.as_ref().and_then(|running| running.started_at);
    let terminated = Some(ContainerTerminated {
        exit_code: CODE,
        reason: Text::from("Error"),
        started_at,
        finished_at: Some(now),
        ..ContainerTerminated::default()
    });
    ContainerState { terminated, ..ContainerState::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_from_ten_seconds_to_five_minutes_and_are_forgotten() {
        let mut now = Time::from_millis(0);
        let mut known = None;
        let mut pauses = Vec::new();
        for _ in 0..9 {
            now += CRASH;
            let pause = BackOff::pause(known, now);
            pauses.push(pause.as_secs());
            now += pause;
            known = Some(BackOff::next(known, now));
        }
        assert_eq!(pauses, [0, 10, 20, 40, 80, 160, 300, 300, 300]);
        let later = now + Span::from_secs(601);
        assert_eq!(BackOff::pause(known, later), Span::ZERO, "it had run for longer than ten minutes");
        assert_eq!(BackOff::next(known, later).pause, FIRST);
    }
}
