//! What follows a decision: binding, claims that must be bound first, and what is written when there is no node.
//!
//! Sources (Kubernetes 1.36): `pkg/scheduler/schedule_one.go` (`bindingCycle`, `handleSchedulingFailure`),
//! `pkg/scheduler/framework/plugins/volumebinding` (`BindPodVolumes`).

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::condition::ConditionStatus;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::{Ix, View};
use replank_schedule::VolumeDecisions;

use crate::context::Ctx;
use crate::controllers::volumes;
use replank_apiserver::EventType;
use replank_apiserver::condition::{condition, set};

/// How long claims may take to be bound (`bindTimeoutSeconds`).
const BIND_TIMEOUT: Span = Span::from_minutes(10);
/// How often it is looked whether they are (`BindPodVolumes`).
const POLL: Span = Span::from_secs(1);

/// What becomes of a pod's nomination when it stays without a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Nominate {
    /// It stays as it is.
    Keep,
    /// It ends.
    Clear,
    /// It is for this node.
    To(NodeName),
}

/// Pods that have a node as soon as their claims are bound, by slot.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    waiting: BTreeMap<u32, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    uid: Uid,
    node: NodeName,
    claims: Vec<Key>,
    since: Time,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Claims are being bound.
    Open,
    /// All are bound.
    Ready,
    /// A claim is gone.
    Lost,
}

impl Waiting {
    /// When it is looked next.
    fn next_poll(&self, now: Time) -> Time {
        let polls = (now - self.since).as_millis() / POLL.as_millis() + 1;
        self.since + Span::from_millis(POLL.as_millis() * polls)
    }
}

impl Bindings {
    pub(super) fn contains(&self, slot: u32) -> bool {
        self.waiting.contains_key(&slot)
    }

    /// A pod waits for its claims; until when at most.
    pub(super) fn add(&mut self, slot: u32, pod: &Pod, node: NodeName, now: Time) -> Time {
        let (uid, claims) = (pod.meta.uid.clone(), volumes::claims_of(pod));
        self.waiting.insert(slot, Waiting { uid, node, claims, since: now, state: State::Open });
        now + BIND_TIMEOUT
    }

    /// The pod is bound, or gone; whether it waited.
    pub(super) fn remove(&mut self, slot: u32) -> bool {
        self.waiting.remove(&slot).is_some()
    }

    /// Takes out a pod whose time is up, if it is that pod.
    pub(super) fn expire(&mut self, slot: u32, now: Time) -> bool {
        let is_over = |waiting: &Waiting| match waiting.state {
            State::Open => waiting.since + BIND_TIMEOUT <= now,
            State::Ready => false,
            State::Lost => true,
        };
        self.waiting.get(&slot).is_some_and(is_over) && self.remove(slot)
    }

    /// The pods that waited for a claim and now have all that they need, and when that will be noticed.
    pub(super) fn claim_bound(&mut self, view: &View, claim: &Key, now: Time) -> Vec<(u32, Time)> {
        let is_ready = |slot: u32| {
            let pod = view.pods.get(Ix::<Pod>::new(slot));
            pod.is_some_and(|pod| volumes::are_bound(view, pod))
        };
        self.settle(claim, State::Ready, now, is_ready)
    }

    /// The pods that waited for a claim that is gone, and when that will be noticed.
    pub(super) fn claim_gone(&mut self, claim: &Key, now: Time) -> Vec<(u32, Time)> {
        self.settle(claim, State::Lost, now, |_| true)
    }

    fn settle(
        &mut self,
        claim: &Key,
        state: State,
        now: Time,
        is_settled: impl Fn(u32) -> bool,
    ) -> Vec<(u32, Time)> {
        let mut settled = Vec::new();
        for (slot, waiting) in &mut self.waiting {
            if waiting.state == State::Open && waiting.claims.contains(claim) && is_settled(*slot) {
                waiting.state = state;
                settled.push((*slot, waiting.next_poll(now)));
            }
        }
        settled
    }

    /// Takes out a pod that has all that it needs, with its node.
    pub(super) fn finish(&mut self, slot: u32, pod: &Pod) -> Option<NodeName> {
        let is_it = |waiting: &&Waiting| waiting.state == State::Ready && waiting.uid == pod.meta.uid;
        let node = self.waiting.get(&slot).filter(is_it)?.node.clone();
        self.remove(slot);
        Some(node)
    }
}

/// Binds a pod, or asks for its claims first; whether it is bound.
pub(super) fn begin(
    ctx: &mut Ctx<'_>,
    slot: u32,
    pod: &Arc<Pod>,
    node: &NodeName,
    decisions: &VolumeDecisions,
) -> bool {
    if volumes::are_bound(ctx.view(), pod) {
        bind(ctx, slot, pod, node);
        return true;
    }
    volumes::ask(ctx, pod, node, decisions);
    false
}

/// Binds the pod in a slot (pkg/registry/core/pod/storage `assignPod`); its nomination ends with it.
pub(super) fn bind(ctx: &mut Ctx<'_>, slot: u32, pod: &Arc<Pod>, node: &NodeName) {
    let now = ctx.api.timestamp();
    let topology = ctx.api.topology_labels(node);
    let bound = ctx.api.modify_at(Ix::<Pod>::new(slot), |pod| {
        pod.node = Some(node.clone());
        for (key, value) in topology {
            if !pod.meta.labels.contains_key(&key) {
                pod.meta.labels = pod.meta.labels.with(key, value);
            }
        }
        pod.status.nominated_node_name = None;
        set(&mut pod.status.conditions, condition("PodScheduled", ConditionStatus::True, "", ""), now);
    });
    debug_assert!(bound.is_some(), "the pod was just read");
    if ctx.api.serving().traces {
        let message = format!("Successfully assigned {}/{} to {node}", pod.meta.namespace, pod.meta.name);
        ctx.api.tell("default-scheduler", &Object::Pod(pod.clone()), "Scheduled", &message);
    }
}

/// Writes why the pod in a slot has no node.
pub(super) fn mark(ctx: &mut Ctx<'_>, slot: u32, (reason, message): (&str, &str), nominate: Nominate) {
    let (now, traces) = (ctx.api.timestamp(), ctx.api.serving().traces);
    let marked = ctx.api.modify_at(Ix::<Pod>::new(slot), |pod| {
        let mut why = condition("PodScheduled", ConditionStatus::False, reason, message);
        if traces {
            why.observed_generation = pod.meta.generation;
        }
        set(&mut pod.status.conditions, why, now);
        match nominate {
            Nominate::Keep => {}
            Nominate::Clear => pod.status.nominated_node_name = None,
            Nominate::To(node) => pod.status.nominated_node_name = Some(node),
        }
    });
    debug_assert!(marked.is_some(), "the pod was just read");
    if let Some(marked) = marked
        && ctx.api.serves_clients()
    {
        let told = ("FailedScheduling", message);
        ctx.api.record_of("default-scheduler", &Object::Pod(marked), EventType::Warning, told);
    }
}

/// What is said of a pod whose claims were not bound.
pub(super) const NOT_BOUND: &str =
    "running PreBind plugin \"VolumeBinding\": binding volumes: context deadline exceeded";
