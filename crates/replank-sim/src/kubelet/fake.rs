//! The stand-in for kubelets that recorded the transcripts: fixed delays, overridden by annotations `fake.kubelet/…`.

use replank_model::object::pod::Pod;
use replank_model::time::Span;

use super::delays::Delays;

/// Annotation of a pod whose deletion is never finished, in every model: a script's doing.
pub(crate) const STUCK: &str = "fake.kubelet/stuck";

/// Whether a script says that a pod's deletion is never finished.
pub(super) fn is_stuck(pod: &Pod) -> bool {
    pod.meta.annotations.value(STUCK).is_some_and(|value| value != "false")
}

/// How a pod's containers behave, as its annotations say.
pub(super) fn delays(pod: &Pod) -> Delays {
    let mut delays = Delays {
        start: Some(Span::from_millis(500)),
        ready: Some(Span::ZERO),
        run: None,
        exit_code: 0,
        stop: Span::from_millis(1000),
        unstarted_stop: Span::from_millis(100),
        term_exit_code: 143,
        is_stuck: is_stuck(pod),
    };
    for (key, value) in pod.meta.annotations.iter() {
        let Some(name) = key.strip_prefix("fake.kubelet/") else { continue };
        let span = value.parse().ok().map(Span::from_millis);
        match name {
            "start-ms" => delays.start = span.or(delays.start),
            "ready-ms" if value == "never" => delays.ready = None,
            "ready-ms" => delays.ready = span.or(delays.ready),
            "run-ms" => delays.run = span.or(delays.run),
            "exit-code" => delays.exit_code = value.parse().unwrap_or(delays.exit_code),
            "stop-ms" => delays.stop = span.unwrap_or(delays.stop),
            "term-exit-code" => delays.term_exit_code = value.parse().unwrap_or(delays.term_exit_code),
            // Others are other stand-ins'.
            _ => {}
        }
    }
    delays
}
