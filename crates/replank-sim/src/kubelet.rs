//! Kubelets: starting, readying, stopping pods.

use std::collections::BTreeSet;

use replank_model::object::Object;
use replank_model::object::condition::{Condition, ConditionStatus};
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::{Kind, condition};
use replank_model::text::{NodeName, Text, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, Ix};

use crate::api::DeleteOptions;
use crate::controllers::Ctx;
use crate::world::Event;

/// How kubelets behave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KubeletModel {
    /// Fixed delays, overridden by annotations of pods: the stand-in that recorded the transcripts.
    Fake,
}

/// One thing that a kubelet is to do for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    slot: u32,
    number: u32,
    step: Step,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Containers run.
    Start,
    /// The readiness probe says yes.
    Ready,
    /// Containers have stopped.
    Stopped,
    /// The pod can be taken out of the API.
    Remove,
}

/// All kubelets.
#[derive(Debug)]
pub(crate) struct Kubelets {
    model: KubeletModel,
    /// What the kubelet knows of each pod, by slot.
    records: Vec<Option<Record>>,
    next: u32,
    /// Nodes whose machine is off.
    silent: BTreeSet<NodeName>,
}

#[derive(Clone, Debug)]
struct Record {
    uid: Uid,
    /// Tells this incarnation's events from those of an earlier one in the same slot.
    number: u32,
    is_stopping: bool,
}

impl Kubelets {
    pub(crate) fn new(model: KubeletModel) -> Self {
        Self { model, records: Vec::new(), next: 0, silent: BTreeSet::new() }
    }

    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { slot, old, new } = change else { return };
        match (old, new) {
            (_, Some(Object::Pod(pod))) if pod.node.is_some() => self.see(ctx, *slot, pod),
            (Some(Object::Pod(_)), None) => self.forget(*slot),
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    /// The machine under a kubelet is off.
    pub(crate) fn fall_silent(&mut self, node: &NodeName) {
        self.silent.insert(node.clone());
    }

    /// The machine is on again: its kubelet takes up what the pods on it wait for.
    pub(crate) fn speak_again(&mut self, ctx: &mut Ctx<'_>, node: &NodeName) {
        self.silent.remove(node);
        let mut pods = ctx.view().pods_on(node).to_vec();
        pods.sort_by(|a, b| ctx.view().pods[*a].meta.key().cmp(&ctx.view().pods[*b].meta.key()));
        for ix in pods {
            self.forget(ix.raw());
            let pod = ctx.view().pods[ix].clone();
            self.see(ctx, ix.raw(), &pod);
        }
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>, due: Due) {
        let is_current = self.record(due.slot).is_some_and(|record| record.number == due.number);
        let Some(pod) = ctx.view().pods.get(Ix::new(due.slot)).filter(|_| is_current).cloned() else {
            return;
        };
        if pod.node.as_ref().is_some_and(|node| self.silent.contains(node)) {
            return;
        }
        match due.step {
            Step::Start => self.start(ctx, due, &pod),
            Step::Ready => set_ready(ctx, &pod, true),
            Step::Stopped => self.stopped(ctx, due, &pod),
            Step::Remove => remove(ctx, &pod),
        }
    }

    fn see(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) {
        let known = self.record(slot).filter(|record| record.uid == pod.meta.uid).cloned();
        let record = match known {
            Some(record) => record,
            None => self.admit(ctx, slot, pod),
        };
        if pod.is_terminating() && !record.is_stopping {
            self.set(slot, Record { is_stopping: true, ..record.clone() });
            let stop = self.stop_time(pod);
            self.after(ctx, stop, slot, record.number, Step::Stopped);
        }
    }

    fn admit(&mut self, ctx: &mut Ctx<'_>, slot: u32, pod: &Pod) -> Record {
        self.next += 1;
        let record = Record { uid: pod.meta.uid.clone(), number: self.next, is_stopping: false };
        self.set(slot, record.clone());
        if pod.status.phase == PodPhase::Pending {
            let start = self.annotated(pod, "start-ms").unwrap_or(Span::from_millis(500));
            self.after(ctx, start, slot, record.number, Step::Start);
        }
        record
    }

    fn start(&mut self, ctx: &mut Ctx<'_>, due: Due, pod: &Pod) {
        if pod.is_terminating() || pod.status.phase != PodPhase::Pending {
            return;
        }
        let ready = self.annotated(pod, "ready-ms").unwrap_or_default();
        let now = ctx.api.timestamp();
        let is_ready = ready == Span::default();
        let started = ctx.api.modify::<Pod>(&pod.meta.key(), |pod| {
            pod.status.phase = PodPhase::Running;
            pod.status.start_time = Some(now);
            set_condition(&mut pod.status.conditions, "Ready", is_ready, "", now);
        });
        debug_assert!(started.is_ok(), "the pod was just read");
        if !is_ready {
            self.after(ctx, ready, due.slot, due.number, Step::Ready);
        }
    }

    fn stopped(&mut self, ctx: &mut Ctx<'_>, due: Due, pod: &Pod) {
        let now = ctx.api.timestamp();
        let stopped = ctx.api.modify::<Pod>(&pod.meta.key(), |pod| {
            if !pod.is_terminal() {
                pod.status.phase = PodPhase::Failed;
            }
            set_condition(&mut pod.status.conditions, "Ready", false, "PodFailed", now);
        });
        debug_assert!(stopped.is_ok(), "the pod was just read");
        self.after(ctx, Span::from_millis(100), due.slot, due.number, Step::Remove);
    }

    fn stop_time(&self, pod: &Pod) -> Span {
        let grace = pod.meta.deletion_grace_period_seconds.unwrap_or(0);
        let stop = self.annotated(pod, "stop-ms").unwrap_or(Span::from_millis(1000));
        stop.min(Span::from_secs(grace))
    }

    fn annotated(&self, pod: &Pod, name: &str) -> Option<Span> {
        match self.model {
            KubeletModel::Fake => {}
        }
        let text = pod.meta.annotations.value(&format!("fake.kubelet/{name}"))?;
        text.parse().ok().map(Span::from_millis)
    }

    fn after(&self, ctx: &mut Ctx<'_>, span: Span, slot: u32, number: u32, step: Step) {
        ctx.agenda.after(span, Event::Kubelet(Due { slot, number, step }));
    }

    fn record(&self, slot: u32) -> Option<&Record> {
        self.records.get(slot as usize).and_then(Option::as_ref)
    }

    fn set(&mut self, slot: u32, record: Record) {
        let at = slot as usize;
        if self.records.len() <= at {
            self.records.resize(at + 1, None);
        }
        self.records[at] = Some(record);
    }

    fn forget(&mut self, slot: u32) {
        if let Some(record) = self.records.get_mut(slot as usize) {
            *record = None;
        }
    }
}

fn set_ready(ctx: &mut Ctx<'_>, pod: &Pod, ready: bool) {
    let now = ctx.api.timestamp();
    let written = ctx.api.modify::<Pod>(&pod.meta.key(), |pod| {
        set_condition(&mut pod.status.conditions, "Ready", ready, "", now);
    });
    debug_assert!(written.is_ok(), "the pod was just read");
}

fn remove(ctx: &mut Ctx<'_>, pod: &Pod) {
    let options =
        DeleteOptions { grace_seconds: Some(0), uid: Some(pod.meta.uid.clone()), ..DeleteOptions::default() };
    let key: Key = pod.meta.key();
    let removed = ctx.api.delete(Kind::Pod, &key, &options);
    debug_assert!(removed.is_ok(), "the pod was just read");
}

/// Sets a condition; its transition time moves only when its status does.
pub(crate) fn set_condition(
    conditions: &mut Vec<Condition>,
    r#type: &str,
    holds: bool,
    reason: &str,
    now: Time,
) {
    let status = ConditionStatus::from(holds);
    match conditions.iter_mut().find(|condition| &*condition.r#type == r#type) {
        Some(known) => {
            if known.status != status {
                known.last_transition_time = Some(now);
            }
            known.status = status;
            known.reason = Text::from(reason);
        }
        None => conditions.push(condition::Condition {
            r#type: Text::from(r#type),
            status,
            reason: Text::from(reason),
            last_transition_time: Some(now),
            ..condition::Condition::default()
        }),
    }
}
