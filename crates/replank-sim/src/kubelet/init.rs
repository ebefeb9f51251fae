//! Init containers: one after the other, before the others start (pkg/kubelet/kuberuntime `computeInitContainerActions`).
//!
//! One that fails is started again, ever more slowly, or the pod fails with it. Those that are restartable (sidecars) have started as soon as they run, and
//! go on beside the others. Only clients of a served cluster look at them; in a rehearsal they take no time of their own.

use replank_model::object::pod::{
    Container, ContainerRunning, ContainerState, ContainerStatus, ContainerTerminated, ContainerWaiting, Pod,
    PodPhase, RestartPolicy,
};
use replank_model::text::Text;
use replank_model::time::{GoForm, Span, Time};
use serde_json::Value;

use super::conditions::set_condition;
use super::crash::BackOff;
use super::{containers, fake, report, told};
use crate::context::Ctx;

/// An init container, and what its command says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Init {
    name: Text,
    is_sidecar: bool,
    /// How long it runs; a sidecar runs as long as its pod.
    run: Span,
    exit_code: i32,
}

/// What is to be done about the init containers of a pod.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Nothing: all have done their part.
    Done,
    /// To be started: sidecars, and the first behind them that is none.
    Begin(Vec<Init>),
    /// Its end is awaited.
    Runs(Init),
    /// It has failed, and is to be started again.
    Failed(Init),
}

/// How far the init containers of a pod have come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// All have done their part: the others may start.
    Done,
    /// One runs, for so long.
    Runs(Span),
    /// One has failed, and is to be started again.
    Failed,
    /// One has failed, and waits so long.
    Waits(Span),
    /// The pod has failed with one.
    Over,
}

/// Lets init containers run that are due; a pod's address, by its number, is given with its first container.
pub(super) fn initialize(ctx: &mut Ctx<'_>, slot: u32, pod: &Pod, number: u32) -> Progress {
    if !ctx.api.serving().traces {
        return Progress::Done;
    }
    let these = match next(pod) {
        Next::Done => return Progress::Done,
        Next::Runs(one) => return Progress::Runs(one.run),
        Next::Failed(_) => return Progress::Failed,
        Next::Begin(these) => these,
    };
    let now = ctx.api.timestamp();
    let begun = report::write(ctx, slot, |pod| {
        pod.status.start_time = pod.status.start_time.or(Some(now));
        pod.status.pod_ip = containers::address(number);
        these.iter().for_each(|one| begin(pod, one, now));
    });
    debug_assert!(begun.is_some(), "the pod was just read");
    these.iter().for_each(|one| told::init_started(ctx, pod, &one.name));
    match these.last().filter(|one| !one.is_sidecar) {
        Some(one) => Progress::Runs(one.run),
        None => Progress::Done,
    }
}

/// The init container that runs ends; nothing where none does.
pub(super) fn ends(ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) -> Option<Progress> {
    let Next::Runs(one) = next(pod) else { return None };
    let (now, code) = (ctx.api.timestamp(), one.exit_code);
    let is_over = code != 0 && pod.spec.restart_policy == Some(RestartPolicy::Never);
    let ended = report::write(ctx, slot, |pod| {
        end(pod, &one.name, code, now);
        if is_over {
            pod.status.phase = PodPhase::Failed;
            stop(pod, SIGTERM, now);
            set_condition(&mut pod.status.conditions, "Ready", false, "PodFailed", now);
        }
    });
    debug_assert!(ended.is_some(), "the pod was just read");
    Some(match (code, is_over) {
        (0, _) => Progress::Done,
        (_, true) => Progress::Over,
        (_, false) => Progress::Failed,
    })
}

/// An init container that has failed is started again, or waits first; nothing where none has. What is remembered of crashes changes with it.
pub(super) fn again(
    ctx: &mut Ctx<'_>,
    slot: u32,
    pod: &Pod,
    back_off: &mut Option<BackOff>,
) -> Option<Progress> {
    let Next::Failed(one) = next(pod) else { return None };
    let (moment, now) = (ctx.api.now(), ctx.api.timestamp());
    let has_waited = status(pod, &one.name).is_some_and(|status| status.state.waiting.is_some());
    let pause = if has_waited { Span::ZERO } else { BackOff::pause(*back_off, moment) };
    let written = report::write(ctx, slot, |pod| match pause > Span::ZERO {
        true => wait(pod, &one.name, pause),
        false => run_again(pod, &one.name, now),
    });
    debug_assert!(written.is_some(), "the pod was just read");
    if pause > Span::ZERO {
        told::init_backs_off(ctx, pod, &one.name);
        return Some(Progress::Waits(pause));
    }
    told::init_started(ctx, pod, &one.name);
    *back_off = Some(BackOff::next(*back_off, moment));
    Some(Progress::Runs(one.run))
}

/// What a container ends with that is told to stop and does not say otherwise.
pub(super) const SIGTERM: i32 = 143;

/// What is to be done about the init containers of a pod.
fn next(pod: &Pod) -> Next {
    let all = all(pod);
    for (at, one) in all.iter().enumerate() {
        let state = status(pod, &one.name).map(|status| &status.state);
        let Some(state) = state.filter(|state| has_begun(state)) else {
            let first = all[at..].iter().position(|one| !one.is_sidecar);
            let end = first.map_or(all.len(), |first| at + first + 1);
            return Next::Begin(all[at..end].to_vec());
        };
        let is_done = match (&state.running, &state.terminated) {
            (Some(_), _) if one.is_sidecar => true,
            (Some(_), _) => return Next::Runs(one.clone()),
            (None, Some(ended)) => ended.exit_code == 0 && !one.is_sidecar,
            (None, None) => false,
        };
        if !is_done {
            return Next::Failed(one.clone());
        }
    }
    Next::Done
}

/// Whether a container has run, or waits for its next start.
fn has_begun(state: &ContainerState) -> bool {
    let waits = state.waiting.as_ref().is_some_and(|waiting| &*waiting.reason == "CrashLoopBackOff");
    waits || state.running.is_some() || state.terminated.is_some()
}

/// The init containers of a pod, in their order.
fn all(pod: &Pod) -> Vec<Init> {
    let raw: Option<Value> = pod.spec.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
    let of = |(at, container): (usize, &Container)| {
        let written = raw.as_ref().and_then(|raw| raw["initContainers"].get(at));
        let (run, exit_code) = written.map_or((None, None), fake::told_by);
        Init {
            name: container.name.clone(),
            is_sidecar: container.restart_policy == Some(RestartPolicy::Always),
            run: run.unwrap_or(fake::AT_ONCE),
            exit_code: exit_code.unwrap_or(0),
        }
    };
    pod.spec.init_containers.iter().enumerate().map(of).collect()
}

fn status<'p>(pod: &'p Pod, name: &Text) -> Option<&'p ContainerStatus> {
    pod.status.init_container_statuses.iter().find(|status| status.name == *name)
}

/// The status of an init container, made if it is not there.
fn status_mut<'p>(pod: &'p mut Pod, name: &Text) -> &'p mut ContainerStatus {
    let all = &mut pod.status.init_container_statuses;
    let at = all.iter().position(|status| status.name == *name).unwrap_or_else(|| {
        all.push(ContainerStatus { name: name.clone(), ..ContainerStatus::default() });
        all.len() - 1
    });
    &mut all[at]
}

fn runs(now: Time) -> ContainerState {
    let running = Some(ContainerRunning { started_at: Some(now) });
    ContainerState { running, ..ContainerState::default() }
}

fn begin(pod: &mut Pod, one: &Init, now: Time) {
    let status = status_mut(pod, &one.name);
    status.state = runs(now);
    status.ready = one.is_sidecar;
}

fn end(pod: &mut Pod, name: &Text, code: i32, now: Time) {
    let status = status_mut(pod, name);
    let started_at = status.state.running.as_ref().and_then(|running| running.started_at);
    let terminated = Some(ContainerTerminated {
        exit_code: code,
        reason: Text::from(if code == 0 { "Completed" } else { "Error" }),
        started_at,
        finished_at: Some(now),
        ..ContainerTerminated::default()
    });
    status.state = ContainerState { terminated, ..ContainerState::default() };
    status.ready = code == 0;
}

fn wait(pod: &mut Pod, name: &Text, pause: Span) {
    let place = format!("{}_{}({})", pod.meta.name, pod.meta.namespace, pod.meta.uid);
    let status = status_mut(pod, name);
    let message = format!("back-off {} restarting failed container={name} pod={place}", GoForm(pause));
    let waiting = ContainerWaiting { reason: Text::from("CrashLoopBackOff"), message: Text::from(message) };
    let waits = ContainerState { waiting: Some(waiting), ..ContainerState::default() };
    status.last_state = std::mem::replace(&mut status.state, waits);
}

fn run_again(pod: &mut Pod, name: &Text, now: Time) {
    let status = status_mut(pod, name);
    let was = std::mem::replace(&mut status.state, runs(now));
    if was.terminated.is_some() {
        status.last_state = was;
    }
    status.restart_count += 1;
}

/// Stops the init containers that run: sidecars go after the others, in the reverse of their order.
pub(super) fn stop(pod: &mut Pod, code: i32, now: Time) {
    let running = pod.status.init_container_statuses.iter().filter(|status| status.state.running.is_some());
    let names: Vec<Text> = running.map(|status| status.name.clone()).collect();
    for name in names {
        end(pod, &name, code, now);
        status_mut(pod, &name).ready = false;
    }
}
