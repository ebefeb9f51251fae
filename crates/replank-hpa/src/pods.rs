//! Which pods count, and what they asked for (`groupPods`, `calculateRequests`, `getReadyPodsCount`).

use std::sync::Arc;

use replank_model::object::condition::{self, ConditionStatus};
use replank_model::object::pod::{Container, Pod, PodPhase, RestartPolicy};
use replank_model::object::requests::{self, Counting};
use replank_model::object::resources::CPU;
use replank_model::text::Name;
use replank_model::time::Time;

use super::by_name::ByName;
use super::given::Config;
use super::sample::{Sample, Samples};

/// The pods of a target as a metric sees them, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// Measured, and they count.
    pub ready: Vec<Name>,
    /// Not running, or for CPU: still starting.
    pub unready: Vec<Name>,
    /// Not measured.
    pub missing: Vec<Name>,
    /// On their way out, or failed.
    pub ignored: Vec<Name>,
}

/// What a Go time is that nobody set: long before everything.
const NEVER: Time = Time::from_millis(-62_135_596_800_000);

/// Sorts the pods.
pub(super) fn group(
    pods: &[&Arc<Pod>],
    samples: &Samples<'_>,
    resource: Option<&str>,
    config: &Config,
    now: Time,
) -> Groups {
    let mut groups = Groups::default();
    for pod in pods {
        let sample = samples.get(pod.meta.name.as_str());
        let into = if pod.is_terminating() || pod.status.phase == PodPhase::Failed {
            &mut groups.ignored
        } else if pod.status.phase == PodPhase::Pending {
            &mut groups.unready
        } else {
            match sample {
                None => &mut groups.missing,
                Some(sample) if resource == Some(CPU) && is_starting(pod, sample, config, now) => {
                    &mut groups.unready
                }
                Some(_) => &mut groups.ready,
            }
        };
        into.push(pod.meta.name.clone());
    }
    groups
}

/// Whether CPU was measured while the pod was not at its work yet.
fn is_starting(pod: &Pod, sample: &Sample, config: &Config, now: Time) -> bool {
    let ready = condition::find(&pod.status.conditions, "Ready");
    let (Some(ready), Some(start)) = (ready, pod.status.start_time) else { return true };
    let is_unready = ready.status == ConditionStatus::False;
    let changed = ready.last_transition_time.unwrap_or(NEVER);
    if start + config.cpu_initialization_period > now {
        is_unready || sample.at.unwrap_or(NEVER) < changed + sample.window
    } else {
        // It has never been ready, then, or not for long.
        is_unready && start + config.initial_readiness_delay > changed
    }
}

/// Pods that run and are ready, for metrics that are not the pods' own.
pub(super) fn ready(pods: &[&Arc<Pod>]) -> Result<usize, String> {
    if pods.is_empty() {
        return Err(NO_PODS.to_owned());
    }
    Ok(pods.iter().filter(|pod| pod.status.phase == PodPhase::Running && pod.is_ready()).count())
}

/// The target has no pods.
pub(super) const NO_PODS: &str = "no pods returned by selector while calculating replica count";

/// By name of the pod, in thousandths.
pub(super) type Requests<'a> = ByName<'a, i64>;

/// What each pod, or its container, asked for. One that did not say fails the metric.
pub(super) fn requests<'a>(
    pods: &[&'a Arc<Pod>],
    container: Option<&str>,
    resource: &str,
) -> Result<Requests<'a>, String> {
    let mut all = Requests::with_capacity(pods.len());
    for pod in pods {
        let is_whole = container.is_none() && requests::has_pod_level_requests(&pod.spec);
        let request =
            if is_whole { of_whole(pod, resource)? } else { of_containers(pod, container, resource)? };
        all.insert(pod.meta.name.as_str(), request);
    }
    Ok(all)
}

/// What all these pods, or their containers of one name, asked for together, in thousandths.
///
/// # Errors
/// A pod or container that did not say, in the controller's words.
pub fn requested(pods: &[&Arc<Pod>], container: Option<&str>, resource: &str) -> Result<i64, String> {
    Ok(requests(pods, container, resource)?.values().sum())
}

fn of_whole(pod: &Pod, resource: &str) -> Result<i64, String> {
    let requests = requests::of_spec(&pod.spec, Counting::default());
    match requests.get(resource) {
        Some(request) => Ok(request.milli_value()),
        None => Err(format!("missing pod-level request for {resource} in Pod {}", pod.meta.name)),
    }
}

fn of_containers(pod: &Pod, container: Option<&str>, resource: &str) -> Result<i64, String> {
    let is_sidecar = |container: &&Container| container.restart_policy == Some(RestartPolicy::Always);
    let sidecars = pod.spec.init_containers.iter().filter(is_sidecar);
    let mut sum = 0i64;
    for of in pod.spec.containers.iter().chain(sidecars) {
        if container.is_some_and(|asked| asked != &*of.name) {
            continue;
        }
        let Some(request) = of.resources.requests.get(resource) else {
            return Err(format!(
                "missing request for {resource} in container {} of Pod {}",
                of.name, pod.meta.name
            ));
        };
        sum = sum.wrapping_add(request.milli_value());
        if container.is_some() {
            return Ok(sum);
        }
    }
    match container {
        Some(container) => Err(format!("container {container} not found in Pod {}", pod.meta.name)),
        None => Ok(sum),
    }
}
