//! `cordon`, `uncordon` and `drain` for a person: what kubectl does with these words, and within the budgets of all nodes taken together.
//!
//! Every decision reads off the View how far each node is ([`stage`]) and asks for what is missing:
//!
//! 1. All nodes are cordoned. Nothing moves before: what leaves one must not land on the next.
//! 2. In the order in which they were named, `parallel` nodes at a time are drained. When a node's turn comes, that moment is written beside its cordon; pods that
//!    are made later are left alone, as by kubectl, which lists the pods of a node once. A node on which only pods are left that wait for something else (a batch
//!    pod, a budget that never allows an eviction, a stuck pod) keeps nobody from his turn.
//! 3. Where the filters of `kubectl drain` refuse a class of pods ([`replank_facts::kubectl`]), the node is left before a single eviction, cordoned. The
//!    others go on.
//! 4. Pods are evicted as the ledger of budgets allows, so that no eviction is asked for that would be refused ([`pods`]).
//!
//! A person's cordon does not expire. It is `spec.unschedulable` and one annotation ([`replank_protocol::mark::ByHand`]), and `kubectl uncordon` ends it.
//! Whoever uncordons a node while it is drained has the last word: it is left.

mod context;
mod decide;
mod dry_run;
mod forecast;
mod memory;
mod pods;
mod request;
mod stage;

use replank_model::delta::Delta;
use replank_model::object::Kind;
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::Outcome;
use replank_protocol::decision::Decision;
use replank_protocol::intent::Intent;
use replank_protocol::noticed::Noticed;
use replank_protocol::taker::Taker;

use crate::sent::Sent;
use context::Context;
use memory::Memory;

pub use forecast::{Forecast, forecast};
pub use request::{DryRun, OnInterrupt, Options, Request, Sparing, Verb};
pub use stage::{NodeStatus, Phase};

/// Nodes cordoned, uncordoned or drained for a person: see the module's page.
#[derive(Debug)]
pub struct Drain {
    request: Request,
    view: View,
    sent: Sent,
    intent: Intent,
    memory: Memory,
    statuses: Vec<NodeStatus>,
}

impl Drain {
    /// One that knows nothing yet.
    #[must_use]
    pub fn new(request: Request) -> Self {
        Self {
            request,
            view: View::default(),
            sent: Sent::default(),
            intent: Intent::default(),
            memory: Memory::default(),
            statuses: Vec::new(),
        }
    }

    /// Takes in an observation.
    pub fn observe(&mut self, delta: Delta) {
        let change = self.view.apply(delta);
        self.memory.healths.observe(&self.view, &change);
        if let Some(room) = &mut self.memory.room {
            room.observe(&self.view, &change);
        }
    }

    /// Takes in what became of a command.
    pub fn outcome(&mut self, outcome: &Outcome) {
        self.sent.outcome(outcome);
    }

    /// Takes an intent of the person.
    pub fn intend(&mut self, intent: Intent) {
        self.intent = intent;
    }

    /// Starts anew, as another process that takes over.
    pub fn start_anew(&mut self) {
        let intent = self.intent;
        *self = Self::new(self.request.clone());
        self.intend(intent);
    }

    /// What is to be done, what waits and on what, and when to look again.
    pub fn decide(&mut self, now: Time) -> Decision {
        self.sent.forget_late(now);
        // Evictions that were sent count as long as they may be carried out, whether their node is still drained or not.
        self.sent.keep(&format!("{}/evict/", self.request.run));
        let ctx = Context::new(now, &self.view, &self.request, &mut self.sent);
        let (decision, statuses) = decide::decide(ctx, &mut self.memory, self.intent);
        self.statuses = statuses;
        self.sent.sweep();
        Decision { noticed: self.taken(), ..decision }
    }

    /// Which of the nodes somebody else takes away, each told once: what is drained there goes with the machine at their time, not at this call's.
    fn taken(&mut self) -> Vec<Noticed> {
        let mut noticed = Vec::new();
        for target in &self.request.nodes {
            let node = self.view.node(&target.name).filter(|node| node.meta.uid == target.uid);
            if let Some(by) = node.and_then(|node| Taker::of(node))
                && self.memory.taken.insert((target.uid.clone(), by))
            {
                noticed.push(Noticed::TakenAway(target.name.clone(), by));
            }
        }
        noticed
    }

    /// How far each node was at the last decision, in the order in which they were named.
    #[must_use]
    pub fn statuses(&self) -> &[NodeStatus] {
        &self.statuses
    }

    /// Everything that has been observed.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whether an object of a kind can change a decision: what is not read needs no permission.
    #[must_use]
    pub fn reads(&self, kind: Kind) -> bool {
        reads(&self.request, kind)
    }
}

/// Kinds that are read for a request.
#[must_use]
pub fn reads(request: &Request, kind: Kind) -> bool {
    let is_of_drain = matches!(kind, Kind::Pod | Kind::PodDisruptionBudget | Kind::DaemonSet);
    // Where a second pod of a workload has room is the scheduler's to say.
    let is_of_surge = matches!(
        kind,
        Kind::Deployment
            | Kind::ReplicaSet
            | Kind::StatefulSet
            | Kind::ReplicationController
            | Kind::PersistentVolumeClaim
            | Kind::PersistentVolume
            | Kind::StorageClass
            | Kind::Namespace
            | Kind::PriorityClass
    );
    match request.verb {
        Verb::Cordon | Verb::Uncordon => kind == Kind::Node,
        Verb::Drain => {
            kind == Kind::Node || is_of_drain || is_of_surge && request.options.sparing == Sparing::Surge
        }
    }
}
