//! The stand-in for kubelets that recorded the transcripts: fixed delays, overridden by annotations `fake.kubelet/…`.

use replank_facts::shutdown::slept;
use replank_model::object::pod::Pod;
use replank_model::time::Span;
use serde_json::Value;

use super::pod_delays::Delays;
use crate::context::Ctx;

/// Annotation of a pod whose deletion is never finished, in every model: a script's doing.
pub(crate) const STUCK: &str = "fake.kubelet/stuck";

/// Whether a script says that a pod's deletion is never finished.
pub(super) fn is_stuck(pod: &Pod) -> bool {
    pod.meta.annotations.value(STUCK).is_some_and(|value| value != "false")
}

/// How long the containers of a Job run that do not say it: somebody waits for the Job to complete.
const JOB: Span = Span::from_secs(5);
/// A Job's pod that has run for longer when its kubelet begins came with a snapshot, and goes on.
const JOB_AT_MOST: Span = Span::from_minutes(1);

/// The same for a cluster that clients use: containers of Jobs end by themselves, with success.
pub(super) fn served(ctx: &Ctx<'_>, pod: &Pod) -> Delays {
    let mut delays = delays(pod);
    let is_of_job = pod.meta.controller().is_some_and(|owner| &*owner.kind == "Job");
    let is_young = pod.status.start_time.is_none_or(|since| ctx.api.now() - since < JOB_AT_MOST);
    if delays.run.is_none() && is_of_job && is_young {
        delays.run = Some(sleeps(pod).unwrap_or(JOB));
    }
    delays
}

/// How long a pod's commands sleep, where one does: that of the container that sleeps longest.
fn sleeps(pod: &Pod) -> Option<Span> {
    let spec: Value = serde_json::from_str(pod.spec.raw.as_deref()?).ok()?;
    let each = spec["containers"].as_array()?.iter().filter_map(|container| {
        let words = [&container["command"], &container["args"]];
        slept(words.into_iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str))
    });
    each.max()
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
        // The stand-in of the kubectl transcripts says it in seconds.
        if let Some(name) = key.strip_prefix("fakekubelet/") {
            seconds(name, value, &mut delays);
            continue;
        }
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

fn seconds(name: &str, value: &str, delays: &mut Delays) {
    let span = value.parse().ok().map(|seconds: f64| Span::from_secs(1).divided(1.0 / seconds.max(0.001)));
    match name {
        "start-after" => delays.start = span.or(delays.start),
        "ready-after" if value == "never" => delays.ready = None,
        "ready-after" if value != "0" => delays.ready = span.or(delays.ready),
        "run-seconds" => delays.run = span.or(delays.run),
        "exit-code" => delays.exit_code = value.parse().unwrap_or(delays.exit_code),
        "stop-seconds" => delays.stop = span.unwrap_or(delays.stop),
        // Others are other stand-ins'.
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;

    fn sleeping(containers: &Value) -> Option<Span> {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a", "uid": "p"},
            "spec": {"containers": containers}});
        match Object::from_json(pod) {
            Ok(Object::Pod(pod)) => sleeps(&pod),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_job_that_sleeps_runs_for_so_long() {
        let long = json!({"name": "a", "image": "i", "command": ["sleep", "300"]});
        let short = json!({"name": "b", "image": "i", "command": ["sh", "-c"], "args": ["sleep 20; true"]});
        let untold = json!({"name": "c", "image": "i", "args": ["work"]});
        assert_eq!(sleeping(&json!([short, long, untold])), Some(Span::from_secs(300)));
        assert_eq!(sleeping(&json!([short])), Some(Span::from_secs(20)));
        assert_eq!(sleeping(&json!([untold])), None);
    }
}
