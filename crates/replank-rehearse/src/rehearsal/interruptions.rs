//! Instances that others take away while the rehearsal goes on: how soon their nodes were cordoned and empty, and what was lost.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use replank_facts::drain::is_daemon;
use replank_model::object::Object;
use replank_model::object::cloud::{Instance, InstanceState, Lifecycle};
use replank_model::object::pod::Pod;
use replank_model::text::{InstanceId, NodeName, Text};
use replank_model::time::{Span, Time};
use replank_model::view::{Change, View};
use replank_protocol::command::{Effect, GroupEffect, NodeRole};
use replank_protocol::mark;
use serde::{Serialize, Serializer};

use replank_sim::Observer;
use replank_sim::Sent;
use replank_sim::Told;
use replank_sim::ends_by_itself;

/// Why an instance goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum InterruptionKind {
    /// A spot instance is taken back.
    Spot,
    /// It may be taken back soon.
    Rebalance,
    /// AWS Health announced its end.
    Retirement,
    /// Its group, or somebody, ended it without a word before.
    Ended,
}

impl InterruptionKind {
    /// As a person reads it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spot => "spot",
            Self::Rebalance => "rebalance",
            Self::Retirement => "retired",
            Self::Ended => "ended",
        }
    }
}

/// One instance that others took away, or said that they may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InterruptionFigures {
    /// When the cloud said so, or its end began.
    pub at: Time,
    /// Why.
    pub kind: InterruptionKind,
    /// The node.
    pub node: Text,
    /// Its instance.
    pub instance: Text,
    /// Its group.
    pub group: Text,
    /// Its zone.
    pub zone: Text,
    /// Pods that were to be moved.
    pub pods: usize,
    /// How long it took until the node took no pods any more, if that was so before its end.
    #[serde(rename = "cordonedMs", serialize_with = "maybe")]
    pub cordoned: Option<Span>,
    /// How long it took until no pod was left that was to be moved, if that was so before its end.
    #[serde(rename = "drainedMs", serialize_with = "maybe")]
    pub drained: Option<Span>,
    /// How long it took until the instance was gone, if it is.
    #[serde(rename = "endedMs", serialize_with = "maybe")]
    pub ended: Option<Span>,
    /// Pods that were still there when it was gone.
    pub pods_lost: usize,
    /// Those of them that were batch pods.
    pub batch_lost: usize,
}

fn maybe<S: Serializer>(span: &Option<Span>, serializer: S) -> Result<S::Ok, S::Error> {
    span.map(Span::as_millis).serialize(serializer)
}

/// Watches a rehearsal and notes every interruption.
#[derive(Clone, Debug, Default)]
pub(super) struct Interruptions(Rc<RefCell<Notes>>);

#[derive(Debug, Default)]
struct Notes {
    all: Vec<InterruptionFigures>,
    /// Those whose instance is not gone yet, by their numbers.
    open: Vec<usize>,
    /// Instances that the run itself ends.
    ours: BTreeSet<InstanceId>,
}

impl Interruptions {
    pub(super) fn figures(&self) -> Vec<InterruptionFigures> {
        self.0.borrow().all.clone()
    }
}

impl Observer for Interruptions {
    fn changed(&mut self, at: Time, change: &Change, view: &View) {
        let notes = &mut *self.0.borrow_mut();
        match change {
            Change::Instance { old: Some(old), new } => notes.instance(at, old, new.as_deref(), view),
            Change::Object { new: Some(Object::Node(node)), .. } if node.spec.unschedulable => {
                notes.cordoned(at, &node.name());
            }
            Change::Object { old: Some(Object::Pod(pod)), .. } => {
                pod.node.iter().for_each(|node| notes.fewer(at, node, view));
            }
            Change::Object { .. }
            | Change::Instance { old: None, .. }
            | Change::Group { .. }
            | Change::Message { .. }
            | Change::Unread(_)
            | Change::Stale => {}
        }
    }

    fn told(&mut self, at: Time, instance: &Instance, told: Told, view: &View) {
        let kind = match told {
            Told::Spot => InterruptionKind::Spot,
            Told::Rebalance => InterruptionKind::Rebalance,
            Told::Retirement(_) => InterruptionKind::Retirement,
        };
        self.0.borrow_mut().begin(at, instance, kind, view);
    }

    fn executed(&mut self, _at: Time, sent: &Sent, _view: &View) {
        if let Effect::Group(GroupEffect::Terminate { instance, .. }) = &sent.command.effect {
            self.0.borrow_mut().ours.insert(instance.clone());
        }
    }
}

impl Notes {
    fn begin(&mut self, at: Time, instance: &Instance, kind: InterruptionKind, view: &View) {
        let Some(name) = &instance.node else { return };
        let pods = left_on(view, name).count();
        let is_cordoned = view.node(name).is_some_and(|node| node.spec.unschedulable);
        self.open.push(self.all.len());
        self.all.push(InterruptionFigures {
            at: at.floor_seconds(),
            kind,
            node: name.text().clone(),
            instance: instance.id.text().clone(),
            group: instance.group.text().clone(),
            zone: instance.zone.text().clone(),
            pods,
            cordoned: is_cordoned.then_some(Span::ZERO),
            drained: (pods == 0).then_some(Span::ZERO),
            ended: None,
            pods_lost: 0,
            batch_lost: 0,
        });
    }

    /// The open entries of a node.
    fn of<'a>(&'a mut self, node: &NodeName) -> impl Iterator<Item = &'a mut InterruptionFigures> {
        let (open, node) = (&self.open, node.text().clone());
        let all = self.all.iter_mut().enumerate();
        all.filter(move |(number, entry)| entry.node == node && open.contains(number)).map(|(_, entry)| entry)
    }

    fn cordoned(&mut self, at: Time, node: &NodeName) {
        if self.open.is_empty() {
            return;
        }
        for entry in self.of(node).filter(|entry| entry.cordoned.is_none()) {
            entry.cordoned = Some(at - entry.at);
        }
    }

    /// A pod of a node has changed: perhaps it was the last.
    fn fewer(&mut self, at: Time, node: &NodeName, view: &View) {
        if self.open.is_empty() || self.of(node).all(|entry| entry.drained.is_some()) {
            return;
        }
        if left_on(view, node).next().is_none() {
            for entry in self.of(node).filter(|entry| entry.drained.is_none()) {
                entry.drained = Some(at - entry.at);
            }
        }
    }

    fn instance(&mut self, at: Time, old: &Instance, new: Option<&Instance>, view: &View) {
        let Some(node) = &old.node else { return };
        let is_known = self.of(node).next().is_some();
        let is_going =
            new.is_none_or(|new| new.lifecycle == Lifecycle::TerminatingWait || !new.state.is_alive());
        // Who replaces what is drained was told to.
        let is_handed_out = view.node(node).and_then(|node| mark::of(node));
        let is_handed_out = is_handed_out.is_some_and(|found| found.mark.role == NodeRole::Drained);
        if !is_known && old.is_counted() && is_going && !is_handed_out && !self.ours.contains(&old.id) {
            self.begin(at, old, InterruptionKind::Ended, view);
        }
        if new.is_some_and(|new| new.state != InstanceState::Terminated) {
            return;
        }
        let (pods, batch) = left_on(view, node)
            .fold((0, 0), |(pods, batch), pod| (pods + 1, batch + usize::from(ends_by_itself(pod))));
        for entry in self.of(node) {
            (entry.ended, entry.pods_lost, entry.batch_lost) = (Some(at - entry.at), pods, batch);
        }
        let all = &self.all;
        self.open.retain(|number| all[*number].ended.is_none());
    }
}

/// Pods of a node that have to be moved before it goes.
fn left_on<'a>(view: &'a View, node: &NodeName) -> impl Iterator<Item = &'a Pod> {
    let pods = view.pods_on(node).iter().filter_map(|ix| view.pods.get(*ix)).map(|pod| &**pod);
    pods.filter(|pod| !pod.is_terminal() && !pod.is_mirror() && !is_daemon(pod))
}
