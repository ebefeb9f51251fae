//! Pod garbage collection: pods that no kubelet will ever end (pkg/controller/podgc).
//!
//! Upstream goes over all pods every 20 s. Here a round takes place only if some pod has given reason for it since the one
//! before: its node is gone, its node is out of service, it is on its way out and was never bound, or there are too many
//! ended pods.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::affinity::TaintEffect;
use replank_model::object::condition::ConditionStatus;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::object::{Kind, Object};
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_model::view::{Change, Ix, View};
use rustc_hash::FxHashSet;

use super::phase::Phase;
use super::{Ctx, PodChange};
use crate::event::ControlDue;
use crate::event::Event;
use replank_apiserver::DISRUPTION_TARGET;
use replank_apiserver::DeleteOptions;
use replank_apiserver::condition as conditions;

/// Time between two rounds (`gcCheckPeriod`).
const PERIOD: Span = Span::from_secs(20);
/// How long a node must be missing (`quarantineTime`).
const QUARANTINE: Span = Span::from_secs(40);
/// Ended pods that may stay (`--terminated-pod-gc-threshold`).
const ENDED_MAX: usize = 12_500;
/// Taint of a node that somebody has declared dead.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The controller.
#[derive(Debug, Default)]
pub(crate) struct PodGc {
    /// Nodes that pods are bound to and that are not there; when they were first missed, once they were.
    missing: BTreeMap<NodeName, Option<Time>>,
    /// Nodes that are out of service.
    dead: BTreeSet<NodeName>,
    /// Pods on their way out that were never bound.
    unbound: BTreeSet<u32>,
    /// Ended pods, by slot. Hardly ever are there so many that their order is asked for.
    ended: FxHashSet<u32>,
    /// When the next round is on the agenda.
    next_round: Option<Time>,
}

/// An ended pod: evicted ones go first, then the oldest (`byEvictionAndCreationTimestamp`).
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ended {
    is_not_evicted: bool,
    created: Option<Time>,
    key: Key,
}

impl PodGc {
    pub(crate) fn watch(&mut self, ctx: &mut Ctx<'_>, change: &Change) {
        let Change::Object { old, new, .. } = change else { return };
        match (old, new) {
            (_, Some(Object::Node(node))) => self.see_node(ctx, node),
            (Some(Object::Node(node)), None) => {
                let name = node.name();
                self.dead.remove(&name);
                if !ctx.view().pods_on(&name).is_empty() {
                    self.missing.insert(name, None);
                    self.round_at(ctx, ctx.api.now());
                }
            }
            (Some(_) | None, Some(_) | None) => {}
        }
    }

    pub(crate) fn pod_changed(&mut self, ctx: &mut Ctx<'_>, change: &PodChange<'_>) {
        match change.new {
            Some(new) => self.see_pod(ctx, change.slot, change.old.map(|old| &**old), new),
            None => {
                self.unbound.remove(&change.slot);
                self.ended.remove(&change.slot);
            }
        }
    }

    pub(crate) fn handle(&mut self, ctx: &mut Ctx<'_>) {
        self.next_round = None;
        self.remove_ended(ctx);
        self.remove_from_dead_nodes(ctx);
        self.remove_from_missing_nodes(ctx);
        for slot in std::mem::take(&mut self.unbound) {
            let pod = ctx.view().pods.get(Ix::<Pod>::new(slot)).cloned();
            if let Some(pod) = pod.filter(|pod| pod.is_terminating() && pod.node.is_none()) {
                force_delete(ctx, &pod, None);
            }
        }
    }

    fn see_pod(&mut self, ctx: &mut Ctx<'_>, slot: u32, old: Option<&Pod>, new: &Pod) {
        if new.is_terminal() && old.is_none_or(|old| !old.is_terminal()) {
            self.ended.insert(slot);
            if self.ended.len() > ENDED_MAX {
                self.round_at(ctx, ctx.api.now());
            }
        }
        match &new.node {
            None => {
                if new.is_terminating() && self.unbound.insert(slot) {
                    self.round_at(ctx, ctx.api.now());
                }
            }
            Some(node) => {
                let is_new = old.is_none_or(|old| old.node.is_none());
                if is_new && ctx.view().node(node).is_none() && !self.missing.contains_key(node) {
                    self.missing.insert(node.clone(), None);
                    self.round_at(ctx, ctx.api.now());
                }
                if new.is_terminating() && self.dead.contains(node) {
                    self.round_at(ctx, ctx.api.now());
                }
            }
        }
    }

    fn see_node(&mut self, ctx: &mut Ctx<'_>, node: &Node) {
        let name = node.name();
        self.missing.remove(&name);
        if !is_dead(node) {
            self.dead.remove(&name);
        } else if self.dead.insert(name) {
            self.round_at(ctx, ctx.api.now());
        }
    }

    fn round_at(&mut self, ctx: &mut Ctx<'_>, from: Time) {
        let at = Phase::of(ctx.draws, "pod gc", PERIOD).next(from);
        if self.next_round.is_none_or(|known| at < known) {
            self.next_round = Some(at);
            ctx.agenda.at(at, Event::Control(ControlDue::PodGc));
        }
    }

    fn remove_ended(&mut self, ctx: &mut Ctx<'_>) {
        let excess = self.ended.len().saturating_sub(ENDED_MAX);
        if excess == 0 {
            return;
        }
        let pods = self.ended.iter().map(|slot| Ix::<Pod>::new(*slot));
        let pods = pods.filter_map(|ix| Some((ended(ctx.view().pods.get(ix)?), ix)));
        let mut all: Vec<(Ended, Ix<Pod>)> = pods.collect();
        all.sort();
        for (_, ix) in all.into_iter().take(excess) {
            self.ended.remove(&ix.raw());
            if let Some(pod) = ctx.view().pods.get(ix).cloned() {
                force_delete(ctx, &pod, None);
            }
        }
    }

    fn remove_from_dead_nodes(&mut self, ctx: &mut Ctx<'_>) {
        for node in self.dead.clone() {
            let is_dead = ctx.view().node(&node).is_some_and(|node| is_dead(node));
            for pod in pods_on(ctx.view(), &node) {
                if is_dead && pod.is_terminating() {
                    force_delete(ctx, &pod, None);
                }
            }
        }
    }

    fn remove_from_missing_nodes(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.api.now();
        let mut next: Option<Time> = None;
        for (node, missed) in std::mem::take(&mut self.missing) {
            let pods = pods_on(ctx.view(), &node);
            if pods.is_empty() || ctx.view().node(&node).is_some() {
                continue;
            }
            let missed = missed.unwrap_or(now);
            if missed + QUARANTINE <= now {
                for pod in pods {
                    force_delete(ctx, &pod, Some("PodGC: node no longer exists"));
                }
                continue;
            }
            next = Some(next.map_or(missed + QUARANTINE, |known| known.min(missed + QUARANTINE)));
            self.missing.insert(node, Some(missed));
        }
        if let Some(next) = next {
            self.round_at(ctx, next);
        }
    }
}

fn ended(pod: &Pod) -> Ended {
    let is_evicted = pod.status.phase == PodPhase::Failed && &*pod.status.reason == "Evicted";
    let (created, key) = (pod.meta.creation_timestamp, pod.meta.key());
    Ended { is_not_evicted: !is_evicted, created, key }
}

fn is_dead(node: &Node) -> bool {
    let is_marked = |taint: &replank_model::object::affinity::Taint| {
        &*taint.key == OUT_OF_SERVICE
            && matches!(
                taint.effect,
                TaintEffect::NoExecute | TaintEffect::NoSchedule | TaintEffect::PreferNoSchedule
            )
    };
    !node.is_ready() && node.spec.taints.iter().any(is_marked)
}

fn pods_on(view: &View, node: &NodeName) -> Vec<std::sync::Arc<Pod>> {
    view.sorted_pods_on(node).into_iter().cloned().collect()
}

/// The pod ends as failed, then goes at once.
fn force_delete(ctx: &mut Ctx<'_>, pod: &Pod, disruption: Option<&str>) {
    let (key, now) = (pod.meta.key(), ctx.api.timestamp());
    if !pod.is_terminal() {
        let written = ctx.api.modify::<Pod>(&key, |pod| {
            pod.status.phase = PodPhase::Failed;
            if let Some(message) = disruption {
                let target = conditions::condition(
                    DISRUPTION_TARGET,
                    ConditionStatus::True,
                    "DeletionByPodGC",
                    message,
                );
                conditions::set(&mut pod.status.conditions, target, now);
            }
        });
        debug_assert!(written.is_ok(), "the pod was just read");
    }
    let options = DeleteOptions { grace_seconds: Some(0), ..DeleteOptions::default() };
    let deleted = ctx.api.delete(Kind::Pod, &key, &options);
    debug_assert!(deleted.is_ok(), "the pod was just read");
}
