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
use replank_model::view::Ix;
use serde_json::Value;

use super::crash::BackOff;
use super::{KubeletModel, Kubelets, conditions::set_condition, containers, delays, fake, report, told};
use crate::context::Ctx;
use crate::event::Step;

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

impl Kubelets {
    /// Lets init containers run first. Whether the others may start.
    pub(super) fn initialize(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) -> bool {
        if !ctx.api.serving().traces {
            return true;
        }
        match next(pod) {
            Next::Done => true,
            Next::Runs(one) => {
                self.await_init(ctx, slot, &one);
                false
            }
            Next::Failed(_) => {
                self.after(ctx, Span::ZERO, slot, Step::InitAgain);
                false
            }
            Next::Begin(these) => {
                let (now, address) = (ctx.api.timestamp(), containers::address(self.next_address(slot)));
                let begun = report::write(ctx, &pod.meta.key(), |pod| {
                    pod.status.start_time = pod.status.start_time.or(Some(now));
                    pod.status.pod_ip = address;
                    these.iter().for_each(|one| begin(pod, one, now));
                });
                debug_assert!(begun.is_ok(), "the pod was just read");
                these.iter().for_each(|one| told::init_started(ctx, pod, &one.name));
                match these.last().filter(|one| !one.is_sidecar) {
                    Some(one) => {
                        self.await_init(ctx, slot, one);
                        false
                    }
                    None => true,
                }
            }
        }
    }

    fn await_init(&self, ctx: &mut Ctx<'_>, slot: u32, one: &Init) {
        let run = match &self.model {
            KubeletModel::Served { speed } => one.run.divided(*speed),
            KubeletModel::Fake | KubeletModel::Learnt(_) => one.run,
        };
        self.after(ctx, run, slot, Step::InitEnd);
    }

    /// The init container that runs ends: the next one starts, or it is to be started again, or the pod has failed.
    pub(super) fn init_ends(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        let Next::Runs(one) = next(pod) else { return };
        if !self.is_initializing(slot, pod) {
            return;
        }
        let (now, code) = (ctx.api.timestamp(), one.exit_code);
        let is_over = code != 0 && pod.spec.restart_policy == Some(RestartPolicy::Never);
        let ended = report::write(ctx, &pod.meta.key(), |pod| {
            end(pod, &one.name, code, now);
            if is_over {
                pod.status.phase = PodPhase::Failed;
                stop(pod, SIGTERM, now);
                set_condition(&mut pod.status.conditions, "Ready", false, "PodFailed", now);
            }
        });
        debug_assert!(ended.is_ok(), "the pod was just read");
        if code != 0 {
            if !is_over {
                self.after(ctx, delays::RESTART, slot, Step::InitAgain);
            }
            return;
        }
        // What is remembered of crashes is remembered of one container.
        self.remember_back_off(slot, None);
        if let Some(pod) = ctx.view().pods.get(Ix::new(slot)).cloned() {
            self.start(ctx, slot, &pod);
        }
    }

    /// An init container that has failed is started again, or waits first.
    pub(super) fn init_again(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        let Next::Failed(one) = next(pod) else { return };
        if !self.is_initializing(slot, pod) {
            return;
        }
        let (moment, now) = (ctx.api.now(), ctx.api.timestamp());
        let known = self.record(slot).and_then(|record| record.back_off);
        let has_waited = status(pod, &one.name).is_some_and(|status| status.state.waiting.is_some());
        let pause = if has_waited { Span::ZERO } else { BackOff::pause(known, moment) };
        let written = report::write(ctx, &pod.meta.key(), |pod| match pause > Span::ZERO {
            true => wait(pod, &one.name, pause),
            false => again(pod, &one.name, now),
        });
        debug_assert!(written.is_ok(), "the pod was just read");
        if pause > Span::ZERO {
            told::init_backs_off(ctx, pod, &one.name);
            self.after(ctx, pause, slot, Step::InitAgain);
            return;
        }
        told::init_started(ctx, pod, &one.name);
        self.remember_back_off(slot, Some(BackOff::next(known, moment)));
        self.await_init(ctx, slot, &one);
    }

    fn is_initializing(&self, slot: u32, pod: &Pod) -> bool {
        pod.status.phase == PodPhase::Pending && !pod.is_terminating() && !self.is_stopping(slot)
    }

    fn remember_back_off(&mut self, slot: u32, back_off: Option<BackOff>) {
        if let Some(record) = self.records.get_mut(slot as usize).and_then(Option::as_mut) {
            record.back_off = back_off;
        }
    }
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

fn again(pod: &mut Pod, name: &Text, now: Time) {
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
