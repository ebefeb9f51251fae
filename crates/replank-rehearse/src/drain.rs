//! A drain that a person asks for, rehearsed: how long each node takes, and what holds it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use replank_core::drain::{Drain, NodeStatus, Phase, Request};
use replank_model::delta::Delta;
use replank_model::object::Kind;
use replank_model::object::meta::Key;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::command::{Effect, KubernetesEffect, Outcome};
use replank_protocol::decision::{Decision, End};
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;
use replank_protocol::waiting::Waiting;
use replank_sim::{Assumption, Settings, World};

use crate::complete::complete;

/// The outcome.
#[derive(Clone, Debug)]
pub struct DrainResult {
    /// How it ended; `None` where its time was up.
    pub end: Option<End>,
    /// What was still waited for.
    pub waiting: Vec<Waiting>,
    /// From its beginning to its end.
    pub took: Span,
    /// When each node's drain began, and when it was drained, from the beginning.
    pub nodes: BTreeMap<NodeName, NodeTimes>,
    /// Pods in the order in which they were evicted or deleted, and when.
    pub evicted: Vec<(Key, Span)>,
    /// Evictions that the API server refused.
    pub refused: usize,
    /// Pods that find no node at the end.
    pub pending: Vec<Key>,
    /// How far each node was at the end.
    pub statuses: Vec<NodeStatus>,
    /// What had to be assumed.
    pub assumptions: Vec<Assumption>,
}

/// When a node's drain began and ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeTimes {
    /// When its turn came.
    pub begun: Option<Span>,
    /// When nothing was left that was to go.
    pub drained: Option<Span>,
}

/// Drains nodes of a copy of a cluster, for at most `limit` of virtual time.
#[must_use]
pub fn rehearse_drain(mut view: View, settings: Settings, request: Request, limit: Span) -> DrainResult {
    let mut assumptions = complete(&mut view);
    let start = settings.start;
    let mut world = World::new(settings, view);
    world.assume_operators();
    let pending_before = pending(world.view());
    let notes = Rc::new(RefCell::new(Notes { start, nodes: BTreeMap::new(), statuses: Vec::new() }));
    world.put_in_charge(Box::new(Watched { drain: Drain::new(request), notes: notes.clone() }));
    while world.end().is_none() && world.step_until(start + limit) {}
    let notes = notes.borrow();
    assumptions.extend(world.assumptions());
    let carried_out = world.commands().iter().filter_map(|sent| {
        let (at, result) = sent.result.as_ref()?;
        Some((pod_of(&sent.command.effect)?.clone(), *at - start, result.is_ok()))
    });
    let (granted, refused): (Vec<_>, Vec<_>) = carried_out.partition(|(_, _, is_granted)| *is_granted);
    let left = pending(world.view());
    DrainResult {
        end: world.end().cloned(),
        waiting: world.decision().map(|decision| decision.waiting.to_vec()).unwrap_or_default(),
        took: world.ended().unwrap_or_else(|| world.now()) - start,
        nodes: notes.nodes.clone(),
        evicted: granted.into_iter().map(|(pod, at, _)| (pod, at)).collect(),
        refused: refused.len(),
        pending: left.into_iter().filter(|pod| !pending_before.contains(pod)).collect(),
        statuses: notes.statuses.clone(),
        assumptions,
    }
}

fn pending(view: &View) -> Vec<Key> {
    let pods = view.pods.sorted();
    let waiting = pods.into_iter().map(|(_, pod)| pod).filter(|pod| pod.node.is_none() && pod.is_active());
    waiting.map(|pod| pod.meta.key()).collect()
}

/// The pod that a command takes off its node.
fn pod_of(effect: &Effect) -> Option<&Key> {
    match effect {
        Effect::Kubernetes(KubernetesEffect::Evict { pod, .. } | KubernetesEffect::DeletePod { pod, .. }) => {
            Some(&pod.key)
        }
        Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => None,
    }
}

struct Notes {
    start: Time,
    nodes: BTreeMap<NodeName, NodeTimes>,
    statuses: Vec<NodeStatus>,
}

impl Notes {
    fn take(&mut self, now: Time, statuses: &[NodeStatus]) {
        for status in statuses {
            let times = self.nodes.entry(status.node.name.clone()).or_default();
            times.begun = status.from.map(|from| from - self.start).or(times.begun);
            if status.phase == Phase::Drained {
                times.drained.get_or_insert(now - self.start);
            }
        }
        self.statuses = statuses.to_vec();
    }
}

/// The engine, and who notes how far it is.
struct Watched {
    drain: Drain,
    notes: Rc<RefCell<Notes>>,
}

impl Engine for Watched {
    fn observe(&mut self, delta: Delta) {
        self.drain.observe(delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        self.drain.outcome(&outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        let decision = self.drain.decide(now);
        self.notes.borrow_mut().take(now, self.drain.statuses());
        decision
    }

    fn intend(&mut self, intent: Intent) {
        self.drain.intend(intent);
    }

    fn start_anew(&mut self) {
        self.drain.start_anew();
    }

    fn watches(&self, kind: Kind) -> bool {
        self.drain.reads(kind)
    }
}
