//! How long a kubelet takes over a pod.

use replank_model::object::pod::{Pod, RestartPolicy};
use replank_model::time::{Span, Time};

/// How a pod's containers behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delays {
    /// From now, for a pod that does not run yet, to running; `None`: never.
    pub(super) start: Option<Span>,
    /// From running to ready; `None`: never.
    pub(super) ready: Option<Span>,
    /// From now, for a pod that runs, to the end; `None`: they run for ever.
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

/// How long a pod's containers take from running to ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    /// That is asked for when they run.
    Open,
    /// So long.
    After(Span),
    /// That is not waited for: they never are, or are by now.
    Never,
}

impl Readiness {
    /// How long it takes, where that is settled and waited for.
    pub(super) fn span(self) -> Option<Span> {
        match self {
            Self::After(span) => Some(span),
            Self::Open | Self::Never => None,
        }
    }
}

/// How long from now until the `activeDeadlineSeconds` of a pod are over, if that is before its containers end by themselves. Of a pod that is
/// restarted the pod would have to fail as a whole; those have none.
pub(super) fn ends_before(run: Option<Span>, now: Time, pod: &Pod) -> Option<Span> {
    let is_once = pod.spec.restart_policy == Some(RestartPolicy::Never);
    let seconds = pod.spec.active_deadline_seconds.filter(|_| is_once)?;
    let left = pod.status.start_time.unwrap_or(now) + Span::from_secs(seconds) - now;
    Some(left).filter(|left| run.is_none_or(|run| run > *left))
}

/// How a pod stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stopping {
    /// From the wish to stop to the stop.
    pub(super) stop: Span,
    /// The same where the containers have not started.
    pub(super) unstarted_stop: Span,
    /// Whether a deletion is never finished.
    pub(super) is_stuck: bool,
}

impl Delays {
    /// What of it is about stopping.
    pub(super) fn stopping(self) -> Stopping {
        let Self { stop, unstarted_stop, is_stuck, .. } = self;
        Stopping { stop, unstarted_stop, is_stuck }
    }

    /// The same, so many times as fast. Deadlines and periods of grace are the API's, and stay as they are.
    pub(super) fn faster(self, times: f64) -> Self {
        let of = |span: Span| span.divided(times);
        Self {
            start: self.start.map(of),
            ready: self.ready.map(of),
            run: self.run.map(of),
            stop: of(self.stop),
            unstarted_stop: of(self.unstarted_stop),
            ..self
        }
    }

    /// The same for a pod that has an `activeDeadlineSeconds`: then it is killed (`active_deadline.go`).
    pub(super) fn until_deadline(self, now: Time, pod: &Pod) -> Self {
        let Some(left) = ends_before(self.run, now, pod) else { return self };
        // A caller that asks when the time is over asks how it ended.
        let exit_code = if left <= Span::ZERO { 137 } else { self.exit_code };
        Self { run: Some(left.max(Span::ZERO)), exit_code, ..self }
    }
}
