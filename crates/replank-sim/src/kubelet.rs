//! Kubelets: starting, readying, restarting, stopping pods.

mod conditions;
mod containers;
mod crash;
mod deadline;
mod delays;
mod dns;
mod fake;
mod faults;
mod init;
mod learnt;
mod model;
mod pod_delays;
mod pressure;
mod record;
mod report;
mod told;
mod trouble;

pub use model::KubeletModel;
pub use trouble::NodeTrouble;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::condition;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::text::NodeName;
use replank_model::time::Span;
use replank_model::view::{Change, Ix};
use rustc_hash::FxHashSet;

use crate::context::Ctx;
use crate::controllers::volumes;
use crate::event::{Event, KubeletDue as Due, Step};
pub(crate) use conditions::set_condition;
use crash::BackOff;
use delays::{Delays, Readiness};
pub(crate) use fake::STUCK;
pub(crate) use faults::ImageFaults;
pub use faults::{ImageFault, ImageName};
use init::Progress;
use pressure::Looks;
use record::{Record, Records};
use replank_apiserver::DeleteOptions;

/// What somebody has a kubelet do with a pod out of turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodAct {
    /// The readiness probe says yes.
    Ready,
    /// The readiness probe says no.
    Unready,
    /// The containers end with this code.
    Exit(i32),
}

/// All kubelets.
#[derive(Debug)]
pub(crate) struct Kubelets {
    model: KubeletModel,
    records: Records,
    next: u32,
    /// Nodes whose machine is off.
    silent: FxHashSet<NodeName>,
    /// Pods whose volumes are not yet attached, by node.
    without_volumes: BTreeMap<NodeName, Vec<Due>>,
    faults: ImageFaults,
    looks: Looks,
}

impl Kubelets {
    pub(crate) fn new(model: KubeletModel) -> Self {
        Self {
            model,
            records: Records::default(),
            next: 0,
            silent: FxHashSet::default(),
            without_volumes: BTreeMap::new(),
            faults: ImageFaults::default(),
            looks: Looks::default(),
        }
    }

    /// Which machines are off, and how nodes misbehave.
    pub(crate) fn misbehaving(&self) -> (BTreeSet<NodeName>, &ImageFaults) {
        (self.silent.iter().cloned().collect(), &self.faults)
    }

    /// Takes in how nodes misbehave, from another time.
    pub(crate) fn remember(&mut self, faults: ImageFaults) {
        self.faults = faults;
    }

    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        if let Change::Group { new: Some(group), .. } = change {
            self.faults.see(group);
        }
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (_, Some(Object::Pod(pod))) if pod.node.is_some() => {
                self.see(ctx, *slot, pod);
                self.looks.pod_comes(ctx, &self.faults, pod);
            }
            (Some(Object::Pod(_)), None) => self.records.forget(*slot),
            (old, Some(Object::Node(node))) => {
                let old = match old {
                    Some(Object::Node(old)) => Some(&**old),
                    Some(_) | None => None,
                };
                if !self.silent.contains(&node.name()) {
                    told::ready(ctx, old, node);
                }
                if !self.without_volumes.is_empty() {
                    self.volumes_changed(ctx, &node.name());
                }
                if self.faults.trouble_nodes() {
                    self.looks.at_node(ctx, *slot, Span::ZERO);
                }
            }
            (Some(Object::Node(node)), None) => {
                self.faults.pressed.remove(&node.name());
                self.looks.forget(*slot);
            }
            (_, Some(Object::PersistentVolumeClaim(_))) => {
                for node in self.without_volumes.keys().cloned().collect::<Vec<_>>() {
                    self.volumes_changed(ctx, &node);
                }
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    /// The machine under a kubelet is off.
    pub(crate) fn fall_silent(&mut self, node: &NodeName) {
        self.silent.insert(node.clone());
    }

    /// Whether a node's kubelet does nothing here.
    pub(crate) fn is_left_to_client(&self, node: &NodeName) -> bool {
        self.silent.contains(node)
    }

    /// The machine is on again: its kubelet takes up what the pods on it wait for.
    pub(crate) fn speak_again(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        self.silent.remove(node);
        self.looks.at_nodes(ctx, &self.faults);
        let mut pods = ctx.view().pods_on(node).to_vec();
        pods.sort_by(|a, b| ctx.view().pods[*a].meta.key().cmp(&ctx.view().pods[*b].meta.key()));
        for ix in pods {
            let slot = ix.raw();
            self.make_up(ctx, slot);
            let pod = ctx.view().pods[ix].clone();
            self.see(ctx, slot, &pod);
        }
    }

    /// Has a kubelet do what it could not do for a pod.
    fn make_up(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        if let Some(record) = self.records.get_mut(slot) {
            let number = record.number;
            for step in std::mem::take(&mut record.missed) {
                ctx.agenda.after(Span::ZERO, Event::Kubelet(Due { slot, number, step }));
            }
        }
    }

    /// Nodes of an image misbehave from now on, or do no longer.
    pub(crate) fn image_fault(&mut self, ctx: &mut Ctx<'_>, image: &ImageName, fault: Option<ImageFault>) {
        self.faults.set(image, fault);
        self.looks.at_nodes(ctx, &self.faults);
        let pods: Vec<(u32, Arc<Pod>)> =
            ctx.view().pods.sorted().into_iter().map(|(ix, pod)| (ix.raw(), pod.clone())).collect();
        for (slot, pod) in pods {
            if fault.is_none() {
                self.make_up(ctx, slot);
                continue;
            }
            let is_running = pod.status.phase == PodPhase::Running && !self.is_stopping(slot);
            match self.fault(ctx, &pod).filter(|_| is_running) {
                Some(ImageFault::Crashes) => self.after(ctx, Span::ZERO, slot, Step::Crash),
                Some(ImageFault::RestartsPods { every }) => self.after(ctx, every, slot, Step::Crash),
                Some(ImageFault::KeepsUnready) if pod.is_ready() => {
                    set_ready(ctx, slot, false);
                    self.miss(slot, Step::Ready);
                }
                // What runs has the names that it needs.
                Some(
                    ImageFault::KeepsUnready
                    | ImageFault::CannotStop { .. }
                    | ImageFault::SlowsStarts { .. }
                    | ImageFault::Troubles { .. }
                    | ImageFault::BreaksDns,
                )
                | None => {}
            }
        }
    }

    /// Kubelets look at their nodes, if there is anything to see.
    pub(crate) fn look_at_nodes(&mut self, ctx: &mut Ctx<'_>) {
        self.looks.at_nodes(ctx, &self.faults);
    }

    /// A kubelet looks at what its node is short of.
    pub(crate) fn node_pressure(&mut self, ctx: &mut Ctx<'_>, slot: u32) {
        let node = ctx.view().nodes.get(Ix::<Node>::new(slot)).map(|node| node.name());
        if node.is_none_or(|name| self.silent.contains(&name)) {
            self.looks.forget(slot);
        } else {
            self.looks.look(ctx, &mut self.faults, slot);
        }
    }

    /// Whether a pod or node has felt a fault of this image.
    pub(crate) fn image_was_met(&self, image: &ImageName) -> bool {
        self.faults.was_met(image)
    }

    fn fault(&mut self, ctx: &Ctx<'_>, pod: &Pod) -> Option<ImageFault> {
        self.faults.of(ctx.view(), pod, ctx.api.now())
    }

    fn miss(&mut self, slot: u32, step: Step) {
        if let Some(record) = self.records.get_mut(slot) {
            record.missed.push(step);
        }
    }

    /// Whether a fault of the node's image keeps the kubelet from this.
    fn is_kept_from(&mut self, ctx: &Ctx<'_>, pod: &Pod, step: Step) -> bool {
        match step {
            Step::Stopped => matches!(self.fault(ctx, pod), Some(ImageFault::CannotStop { .. })),
            Step::Ready => self.fault(ctx, pod).is_some_and(|fault| fault.is_never_ready(pod)),
            Step::Observe
            | Step::Deadline
            | Step::InitEnd
            | Step::InitAgain
            | Step::Start
            | Step::Exit
            | Step::Restart
            | Step::Crash
            | Step::StartAgain
            | Step::Remove => false,
        }
    }

    /// Has the kubelet of a pod do something out of turn; nothing where the pod is not there or the kubelet is silent.
    pub(crate) fn act(&mut self, ctx: &mut Ctx<'_>, ix: Ix<Pod>, act: PodAct) {
        let Some(pod) = ctx.view().pods.get(ix).cloned().filter(|pod| !self.is_silent(pod)) else { return };
        match act {
            PodAct::Ready => set_ready(ctx, ix.raw(), true),
            PodAct::Unready => set_ready(ctx, ix.raw(), false),
            PodAct::Exit(code) => self.exit(ctx, ix.raw(), &pod, code),
        }
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, due: Due) {
        let is_current = self.records.get(due.slot).is_some_and(|record| record.number == due.number);
        let Some(pod) = ctx.view().pods.get(Ix::new(due.slot)).filter(|_| is_current).cloned() else {
            return;
        };
        if self.is_silent(&pod) || self.is_kept_from(ctx, &pod, due.step) {
            self.miss(due.slot, due.step);
            return;
        }
        match due.step {
            Step::Start if !volumes::is_attached(ctx.view(), &pod) => {
                if let Some(node) = &pod.node {
                    self.without_volumes.entry(node.clone()).or_default().push(due);
                }
            }
            Step::Start => self.start(ctx, due.slot, &pod),
            Step::InitEnd => self.init_ends(ctx, due.slot, &pod),
            Step::InitAgain => self.init_again(ctx, due.slot, &pod),
            Step::Ready if pod.status.phase == PodPhase::Running && !crash::is_waiting(&pod) => {
                set_ready(ctx, due.slot, true);
            }
            Step::Ready => {}
            Step::Observe => self.observe(ctx, due.slot, &pod),
            Step::Deadline => deadline::pass(ctx, due.slot, &pod),
            Step::Exit => self.exit(ctx, due.slot, &pod, Delays::of(&self.model, ctx, &pod).exit_code),
            Step::Restart => self.restart(ctx, due.slot, &pod),
            Step::Crash => self.crash(ctx, due.slot, &pod),
            Step::StartAgain => self.start_again(ctx, due.slot, &pod),
            Step::Stopped => self.stopped(ctx, due.slot, &pod),
            Step::Remove => remove(ctx, pod),
        }
    }

    fn is_silent(&self, pod: &Pod) -> bool {
        pod.node.as_ref().is_some_and(|node| self.silent.contains(node))
    }

    /// The pods of a node that wait for their volumes look again.
    fn volumes_changed(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        for due in self.without_volumes.remove(node).unwrap_or_default() {
            ctx.agenda.after(Span::default(), Event::Kubelet(due));
        }
    }

    fn see(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        let known = self.records.get(slot).filter(|record| record.uid == pod.meta.uid);
        let is_stopping = known.map(|record| record.is_stopping);
        let is_behind = !pod.is_terminating() && report::is_behind(ctx.api, pod);
        // Most changes of a pod are its kubelet's own, or ask for nothing new.
        let is_seen = is_stopping.is_some_and(|is_stopping| is_stopping || !pod.is_terminating());
        if is_seen && !is_behind {
            return;
        }
        // A pod may name a node that nobody has.
        let is_nowhere =
            ctx.api.serving().traces && pod.node.as_ref().is_some_and(|node| ctx.view().node(node).is_none());
        if self.is_silent(pod) || is_nowhere {
            return;
        }
        if is_stopping.is_none() {
            self.admit(ctx, slot, pod);
        }
        if is_behind {
            self.after(ctx, delays::OBSERVE, slot, Step::Observe);
        }
        if !pod.is_terminating() || is_stopping == Some(true) {
            return;
        }
        let delays = delays::stopping(&self.model, ctx, pod);
        if !delays.is_stuck {
            if let Some(record) = self.records.get_mut(slot) {
                record.is_stopping = true;
            }
            let grace = Span::from_secs(pod.meta.deletion_grace_period_seconds.unwrap_or(0));
            let stop = match pod.status.phase {
                PodPhase::Pending => delays.unstarted_stop,
                PodPhase::Running | PodPhase::Unknown => delays.stop.min(grace),
                PodPhase::Succeeded | PodPhase::Failed => Span::ZERO,
            };
            if pod.status.phase == PodPhase::Running {
                told::stops(ctx, pod);
            }
            self.after(ctx, stop, slot, Step::Stopped);
        }
    }

    fn admit(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        self.next += 1;
        let record = Record {
            uid: pod.meta.uid.clone(),
            number: self.next,
            is_stopping: false,
            missed: Vec::new(),
            back_off: None,
            readiness: Readiness::Open,
        };
        self.records.set(slot, record);
        match pod.status.phase {
            PodPhase::Pending => {
                let (start, readiness) = delays::start(&self.model, ctx, pod);
                if let Some(record) = self.records.get_mut(slot) {
                    record.readiness = readiness;
                }
                if let Some(start) = start {
                    self.after(ctx, start, slot, Step::Start);
                }
                let known = ctx.view().pods.get(Ix::new(slot));
                let is_there = known.is_some_and(|known| known.meta.uid == pod.meta.uid);
                if is_there
                    && ctx.api.serving().traces
                    && report::is_silent_about(pod)
                    && !pod.is_terminating()
                {
                    let now = ctx.api.timestamp();
                    let taken = report::write(ctx, slot, |pod| pod.status.start_time = Some(now));
                    debug_assert!(taken.is_some(), "the pod was just read");
                }
            }
            PodPhase::Running | PodPhase::Unknown => self.take_over(ctx, slot, pod),
            PodPhase::Succeeded | PodPhase::Failed => {}
        }
    }

    /// A pod that was already running goes on. (The stand-in of the transcripts forgot such pods when it was restarted.)
    fn take_over(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        match self.model {
            KubeletModel::Fake => {}
            KubeletModel::Served { .. } => self.go_on(ctx, slot, pod),
            KubeletModel::Learnt(_) => {
                let readiness = if pod.is_ready() { Readiness::Never } else { Readiness::Open };
                let (ready, run) = delays::started(&self.model, ctx, pod, readiness);
                if let Some(ready) = ready {
                    self.after(ctx, ready, slot, Step::Ready);
                }
                if let Some(run) = run {
                    self.after(ctx, run, slot, Step::Exit);
                }
            }
        }
    }

    /// A pod whose kubelet has started again goes on from where it was: what has passed of its delays since its containers started is over.
    fn go_on(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        self.await_deadline(ctx, slot, pod);
        let delays = Delays::of(&self.model, ctx, pod);
        let since =
            pod.status.container_statuses.iter().filter_map(|one| one.state.running.as_ref()?.started_at);
        let since = since.min().or(pod.status.start_time).unwrap_or(ctx.api.now());
        let left = |span: Span| (since + span - ctx.api.now()).max(Span::ZERO);
        let fault = self.fault(ctx, pod);
        let ready = delays.ready.filter(|_| !pod.is_ready()).map(|ready| left(ready + lateness(fault)));
        let run = delays.run.map(left);
        let crash =
            fault.and_then(|fault| fault.crashes_after(pod)).filter(|_| !crash::is_waiting(pod)).map(left);
        if let Some(crash) = crash {
            self.after(ctx, crash, slot, Step::Crash);
        }
        if let Some(ready) = ready {
            self.after(ctx, ready, slot, Step::Ready);
        }
        if let Some(run) = run {
            self.after(ctx, run, slot, Step::Exit);
        }
    }

    fn start(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        if pod.is_terminating() || pod.status.phase != PodPhase::Pending {
            return;
        }
        let progress = init::initialize(ctx, slot, pod, self.next_address(slot));
        if progress != Progress::Done {
            self.await_deadline(ctx, slot, pod);
            self.await_init(ctx, slot, &progress);
            return;
        }
        let readiness = self.records.get(slot).map_or(Readiness::Open, |record| record.readiness);
        let (ready, run) = delays::started(&self.model, ctx, pod, readiness);
        let fault = self.fault(ctx, pod);
        let is_well = !fault.is_some_and(|fault| fault.is_never_ready(pod));
        let ready = ready.map(|ready| ready + lateness(fault));
        let is_ready = ready == Some(Span::ZERO) && is_well;
        let (now, number) = (ctx.api.timestamp(), self.next_address(slot));
        let started = report::write(ctx, slot, |pod| {
            pod.status.phase = PodPhase::Running;
            pod.status.start_time = pod.status.start_time.or(Some(now));
            pod.status.pod_ip = containers::address(number);
            pod.status.container_statuses = containers::running(pod, now, is_ready);
            set_condition(&mut pod.status.conditions, "Ready", is_ready, "", now);
        });
        debug_assert!(started.is_some(), "the pod was just read");
        told::started(ctx, pod);
        self.await_deadline(ctx, slot, pod);
        if let Some(after) = fault.and_then(|fault| fault.crashes_after(pod)) {
            self.after(ctx, after, slot, Step::Crash);
        }
        let awaits = !is_ready && fault != Some(ImageFault::Crashes);
        if let Some(ready) = ready.filter(|_| awaits) {
            self.after(ctx, ready, slot, Step::Ready);
        }
        if let Some(run) = run {
            self.after(ctx, run, slot, Step::Exit);
        }
    }

    /// Waits for what is next of the init containers of a pod.
    fn await_init(&self, ctx: &mut Ctx<'_>, slot: u32, progress: &Progress) {
        match progress {
            Progress::Done | Progress::Over => {}
            Progress::Runs(run) => {
                let speed = match &self.model {
                    KubeletModel::Served { speed } => *speed,
                    KubeletModel::Fake | KubeletModel::Learnt(_) => 1.0,
                };
                self.after(ctx, run.divided(speed), slot, Step::InitEnd);
            }
            Progress::Failed => self.after(ctx, delays::RESTART, slot, Step::InitAgain),
            Progress::Waits(pause) => self.after(ctx, *pause, slot, Step::InitAgain),
        }
    }

    /// The init container that runs ends: the next one starts, or it is to be started again, or the pod has failed.
    fn init_ends(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        let is_initializing = self.is_initializing(slot, pod);
        let Some(progress) = is_initializing.then(|| init::ends(ctx, slot, pod)).flatten() else { return };
        self.await_init(ctx, slot, &progress);
        let current = ctx.view().pods.get(Ix::new(slot)).cloned();
        if let (Progress::Done, Some(pod)) = (progress, current) {
            // What is remembered of crashes is remembered of one container.
            self.remember_back_off(slot, None);
            self.start(ctx, slot, &pod);
        }
    }

    /// An init container that has failed is started again, or waits first.
    fn init_again(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        if !self.is_initializing(slot, pod) {
            return;
        }
        let mut back_off = self.records.get(slot).and_then(|record| record.back_off);
        let Some(progress) = init::again(ctx, slot, pod, &mut back_off) else { return };
        self.remember_back_off(slot, back_off);
        self.await_init(ctx, slot, &progress);
    }

    fn is_initializing(&self, slot: u32, pod: &Pod) -> bool {
        pod.status.phase == PodPhase::Pending && !pod.is_terminating() && !self.is_stopping(slot)
    }

    fn remember_back_off(&mut self, slot: u32, back_off: Option<BackOff>) {
        if let Some(record) = self.records.get_mut(slot) {
            record.back_off = back_off;
        }
    }

    /// The containers end: for good, or they are started again in place.
    fn exit(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod, code: i32) {
        if pod.status.phase != PodPhase::Running || self.is_stopping(slot) {
            return;
        }
        let now = ctx.api.timestamp();
        let ends = containers::ends_for_good(pod, code);
        let ended = report::write(ctx, slot, |pod| {
            if ends {
                pod.status.phase = if code == 0 { PodPhase::Succeeded } else { PodPhase::Failed };
                containers::terminate(pod, code, now);
                init::stop(pod, init::SIGTERM, now);
            } else {
                containers::count_restart(pod, code, now);
            }
            let reason = if ends { "PodCompleted" } else { "ContainersNotReady" };
            set_condition(&mut pod.status.conditions, "Ready", false, reason, now);
        });
        debug_assert!(ended.is_some(), "the pod was just read");
        if !ends {
            self.after(ctx, delays::RESTART, slot, Step::Restart);
        }
    }

    fn restart(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        if pod.status.phase != PodPhase::Running || self.is_stopping(slot) {
            return;
        }
        let now = ctx.api.timestamp();
        let delays = Delays::of(&self.model, ctx, pod);
        let fault = self.fault(ctx, pod);
        let ready = delays.ready.map(|ready| ready + lateness(fault));
        let is_resolved = fault != Some(ImageFault::BreaksDns) || !dns::is_waited_for(pod);
        let is_ready = ready == Some(Span::ZERO) && is_resolved;
        let restarted = report::write(ctx, slot, |pod| {
            containers::run_again(pod, now, is_ready);
            set_condition(&mut pod.status.conditions, "Ready", is_ready, "", now);
        });
        debug_assert!(restarted.is_some(), "the pod was just read");
        told::started(ctx, pod);
        if let Some(after) = fault.and_then(|fault| fault.crashes_after(pod)) {
            self.after(ctx, after, slot, Step::Crash);
        }
        if let Some(ready) = ready.filter(|_| !is_ready) {
            self.after(ctx, ready, slot, Step::Ready);
        }
        if let Some(run) = delays.run {
            self.after(ctx, run, slot, Step::Exit);
        }
    }

    /// The containers end because of their node's image; the kubelet starts them again, ever more slowly.
    fn crash(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        let fault = self.fault(ctx, pod);
        let still = fault.and_then(|fault| fault.crashes_after(pod)).is_some();
        if !still || pod.status.phase != PodPhase::Running || self.is_stopping(slot) {
            return;
        }
        if let Some(ImageFault::RestartsPods { every }) = fault
            && !crash::has_run_for(pod, every, ctx.api.now())
        {
            // What is due was of an earlier start: this one has its own.
            return;
        }
        if containers::ends_for_good(pod, crash::CODE) {
            self.exit(ctx, slot, pod, crash::CODE);
            return;
        }
        let now = ctx.api.timestamp();
        let pause = BackOff::pause(self.records.get(slot).and_then(|record| record.back_off), now);
        let crashed = report::write(ctx, slot, |pod| {
            crash::crashed(pod, pause, now);
            set_condition(&mut pod.status.conditions, "Ready", false, "ContainersNotReady", now);
        });
        debug_assert!(crashed.is_some(), "the pod was just read");
        if pause > Span::ZERO {
            told::backs_off(ctx, pod);
        }
        self.after(ctx, pause.max(delays::RESTART), slot, Step::StartAgain);
    }

    fn start_again(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        if pod.status.phase != PodPhase::Running || self.is_stopping(slot) {
            return;
        }
        let now = ctx.api.timestamp();
        let written = report::write(ctx, slot, |pod| crash::started_again(pod, now));
        debug_assert!(written.is_some(), "the pod was just read");
        told::started(ctx, pod);
        if let Some(record) = self.records.get_mut(slot) {
            record.back_off = Some(BackOff::next(record.back_off, now));
        }
        let fault = self.fault(ctx, pod);
        if let Some(after) = fault.and_then(|fault| fault.crashes_after(pod)) {
            self.after(ctx, after, slot, Step::Crash);
        }
        if fault != Some(ImageFault::Crashes)
            && let Some(ready) = Delays::of(&self.model, ctx, pod).ready
        {
            self.after(ctx, ready + lateness(fault), slot, Step::Ready);
        }
    }

    fn stopped(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        let code = delays::term_exit_code(&self.model, ctx, pod);
        let now = ctx.api.timestamp();
        let stopped = report::write(ctx, slot, |pod| {
            if !pod.is_terminal() {
                let is_done = pod.status.phase != PodPhase::Pending && code == 0;
                pod.status.phase = if is_done { PodPhase::Succeeded } else { PodPhase::Failed };
                containers::terminate(pod, code, now);
                init::stop(pod, init::SIGTERM, now);
            }
            if condition::find(&pod.status.conditions, "Ready").is_some() {
                set_condition(&mut pod.status.conditions, "Ready", false, "PodFailed", now);
            }
        });
        debug_assert!(stopped.is_some(), "the pod was just read");
        self.after(ctx, delays::REMOVE, slot, Step::Remove);
    }

    /// Takes up what has changed of a pod.
    fn observe(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        if report::is_behind(ctx.api, pod) {
            self.await_deadline(ctx, slot, pod);
            let written = report::write(ctx, slot, |_| {});
            debug_assert!(written.is_some(), "the pod was just read");
        }
    }

    fn await_deadline(&self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        if let Some(left) = deadline::left(ctx, pod) {
            self.after(ctx, left.max(Span::ZERO), slot, Step::Deadline);
        }
    }

    fn is_stopping(&self, slot: u32) -> bool {
        self.records.get(slot).is_some_and(|record| record.is_stopping)
    }

    fn next_address(&self, slot: u32) -> u32 {
        self.records.get(slot).map_or(0, |record| record.number)
    }

    fn after(&self, ctx: &mut Ctx<'_>, span: Span, slot: u32, step: Step) {
        let Some(record) = self.records.get(slot) else { return };
        ctx.agenda.after(span, Event::Kubelet(Due { slot, number: record.number, step }));
    }
}

/// How much later a pod gets Ready because of its node's image.
fn lateness(fault: Option<ImageFault>) -> Span {
    fault.map_or(Span::ZERO, ImageFault::lateness)
}

fn set_ready(ctx: &mut Ctx<'_>, slot: u32, ready: bool) {
    let now = ctx.api.timestamp();
    let written = report::write(ctx, slot, |pod| {
        set_condition(&mut pod.status.conditions, "Ready", ready, "", now);
    });
    debug_assert!(written.is_some(), "the pod was just read");
}

fn remove(ctx: &mut Ctx<'_>, pod: Arc<Pod>) {
    let options = DeleteOptions { grace_seconds: Some(0), ..DeleteOptions::default() };
    let removed = ctx.api.delete_known(&Object::Pod(pod), &options);
    debug_assert!(removed.is_ok(), "the pod was just read");
}
