//! The stand-in for kubelets that recorded the transcripts: fixed delays, overridden by annotations `fake.kubelet/…`.

use replank_facts::shutdown::slept;
use replank_model::object::pod::{Pod, RestartPolicy};
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

/// How long a command takes that says it is over at once.
pub(super) const AT_ONCE: Span = Span::from_millis(200);

/// The same for a cluster that clients use: containers of Jobs end by themselves, and so do those of pods that are not to be restarted, where their commands say
/// how.
pub(super) fn served(ctx: &Ctx<'_>, pod: &Pod) -> Delays {
    let mut delays = delays(pod);
    if delays.ready == Some(Span::ZERO) {
        delays.ready = probed(pod);
    }
    let is_of_job = pod.meta.controller().is_some_and(|owner| &*owner.kind == "Job");
    let is_young = pod.status.start_time.is_none_or(|since| ctx.api.now() - since < JOB_AT_MOST);
    let ends = !matches!(pod.spec.restart_policy, None | Some(RestartPolicy::Always));
    if delays.run.is_some() || !(is_of_job && is_young || ends) {
        return delays;
    }
    let told = Told::of(pod);
    delays.run = told.run.or(is_of_job.then_some(JOB));
    delays.exit_code = told.exit_code;
    delays
}

/// When a pod is ready whose probes wait before they ask; `None` where one fails for ever.
fn probed(pod: &Pod) -> Option<Span> {
    let all = &pod.spec.containers;
    if all.iter().all(|container| container.readiness_probe.is_none() && container.startup_probe.is_none()) {
        return Some(Span::ZERO);
    }
    let spec: Option<Value> = pod.spec.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
    for container in spec.iter().filter_map(|spec| spec["containers"].as_array()).flatten() {
        let command = container["readinessProbe"]["exec"]["command"].as_array();
        let words: Vec<&str> = command.into_iter().flatten().filter_map(Value::as_str).collect();
        if code(&words).is_some_and(|code| code != 0) {
            return None;
        }
    }
    let probes = all.iter().flat_map(|container| [&container.readiness_probe, &container.startup_probe]);
    let delays = probes.flatten().map(|probe| Span::from_secs(i64::from(probe.initial_delay_seconds)));
    Some(delays.max().unwrap_or(Span::ZERO))
}

/// What a pod's commands say of its end.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    /// When the last of its containers has ended; `None` where none says so.
    run: Option<Span>,
    /// How they end.
    exit_code: i32,
}

impl Told {
    fn of(pod: &Pod) -> Self {
        let spec: Option<Value> = pod.spec.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
        let containers = spec.as_ref().and_then(|spec| spec["containers"].as_array());
        let mut told = Self { run: None, exit_code: 0 };
        for container in containers.into_iter().flatten() {
            let (run, code) = told_by(container);
            told.run = told.run.max(run);
            told.exit_code = told.exit_code.max(code.unwrap_or(0));
        }
        told
    }
}

/// How long a container runs and what it ends with, where its command says so.
pub(super) fn told_by(container: &Value) -> (Option<Span>, Option<i32>) {
    let words = [&container["command"], &container["args"]];
    let words: Vec<&str> =
        words.into_iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str).collect();
    let (sleeps, code) = (slept(words.iter().copied()), code(&words));
    (sleeps.or(code.map(|_| AT_ONCE)), code)
}

/// The code that a command ends with: `true`, `false`, or a script whose last command is one of these or `exit 3`.
fn code(words: &[&str]) -> Option<i32> {
    let last = words.last()?.rsplit([';', '\n', '&']).map(str::trim).find(|command| !command.is_empty())?;
    match last.rsplit('/').next().unwrap_or(last) {
        "true" => Some(0),
        "false" => Some(1),
        _ => last.strip_prefix("exit ").and_then(|code| code.trim().parse::<u8>().ok()).map(i32::from),
    }
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

    fn told(containers: &Value) -> Told {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a", "uid": "p"},
            "spec": {"containers": containers}});
        match Object::from_json(pod) {
            Ok(Object::Pod(pod)) => Told::of(&pod),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_probe_that_waits_makes_a_pod_ready_later_and_one_that_fails_never() {
        let of = |probe: Value| {
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a", "uid": "p"},
                "spec": {"containers": [{"name": "c", "image": "i", "readinessProbe": probe}]}});
            match Object::from_json(pod) {
                Ok(Object::Pod(pod)) => probed(&pod),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            of(json!({"httpGet": {"port": 80}, "initialDelaySeconds": 15})),
            Some(Span::from_secs(15))
        );
        assert_eq!(of(json!({"exec": {"command": ["/bin/false"]}})), None);
        assert_eq!(of(json!({"exec": {"command": ["cat", "/ready"]}})), Some(Span::ZERO));
    }

    #[test]
    fn commands_say_how_long_containers_run_and_how_they_end() {
        let container = |name: &str, words: &[&str]| json!({"name": name, "image": "i", "command": words});
        let long = container("a", &["sleep", "300"]);
        let short = json!({"name": "b", "image": "i", "command": ["sh", "-c"], "args": ["sleep 20; true"]});
        let untold = container("c", &["work"]);
        let after = |seconds, exit_code| Told { run: Some(Span::from_secs(seconds)), exit_code };
        assert_eq!(told(&json!([long, short, untold])), after(300, 0));
        assert_eq!(told(&json!([short])), after(20, 0));
        assert_eq!(told(&json!([untold])), Told { run: None, exit_code: 0 });
        let at_once = |exit_code| Told { run: Some(AT_ONCE), exit_code };
        assert_eq!(told(&json!([container("d", &["/bin/true"])])), at_once(0));
        assert_eq!(told(&json!([container("e", &["/bin/false"]), container("f", &["true"])])), at_once(1));
        assert_eq!(told(&json!([container("g", &["sh", "-c", "echo no; exit 42"])])), at_once(42));
        assert_eq!(told(&json!([container("h", &["sh", "-c", "sleep 7; exit 3"])])), after(7, 3));
    }
}
