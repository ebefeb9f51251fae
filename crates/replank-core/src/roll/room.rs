//! Whether a pod has a place on a node that stays.
//!
//! The question is put to the scheduler, over a copy of the View in which what is planned has happened: pods that are to move
//! have moved, and nodes that take no part (old ones, new ones that are not ready) are full. What was tried is taken
//! back at the end of each decision, so that between decisions the copy says what the View says.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::condition;
use replank_model::object::meta::Meta;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodPhase, PodStatus};
use replank_model::object::resources::PODS;
use replank_model::quantity::Quantity;
use replank_model::text::{Name, NodeName, Text, Uid};
use replank_model::view::View;

use crate::schedule::Scheduler;

/// The copy and what was tried on it.
#[derive(Debug)]
pub(crate) struct Room {
    copy: View,
    scheduler: Scheduler,
    closed: BTreeSet<NodeName>,
    tried: Vec<Tried>,
}

#[derive(Debug)]
enum Tried {
    /// The pod was moved; this is how it was.
    Moved(Arc<Pod>),
    /// The pod was added.
    Added(Arc<Pod>),
}

/// How far things had been tried: see [`Room::rewind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point(usize);

impl Room {
    pub(crate) fn load(view: &View, closed: BTreeSet<NodeName>) -> Self {
        let mut copy = view.clone();
        for name in &closed {
            if let Some(node) = view.node(name) {
                copy.apply(Delta::from(filled(node)));
            }
        }
        let scheduler = Scheduler::load(&copy);
        Self { copy, scheduler, closed, tried: Vec::new() }
    }

    /// Takes in what the View has taken in.
    pub(crate) fn observe(&mut self, delta: &Delta) {
        debug_assert!(self.tried.is_empty(), "what is tried is taken back before the next observation");
        let delta = match delta {
            Delta::Put(Object::Node(node)) if self.closed.contains(&node.name()) => Delta::from(filled(node)),
            other => other.clone(),
        };
        self.apply(delta);
    }

    /// Says whether a node may take pods.
    pub(crate) fn set_closed(&mut self, view: &View, name: &NodeName, closed: bool) {
        let has_changed = if closed { self.closed.insert(name.clone()) } else { self.closed.remove(name) };
        if let Some(node) = view.node(name).filter(|_| has_changed) {
            let node = if closed { filled(node) } else { node.clone() };
            self.apply(Delta::from(node));
        }
    }

    /// Says for all nodes at once which may take no pods.
    pub(crate) fn set_all_closed(&mut self, view: &View, closed: &BTreeSet<NodeName>) {
        let changed: Vec<NodeName> = self.closed.symmetric_difference(closed).cloned().collect();
        for name in changed {
            self.set_closed(view, &name, closed.contains(&name));
        }
    }

    /// Finds a place for a pod other than its present one, and takes it.
    ///
    /// # Errors
    /// The scheduler's words, if there is none; the pod stays where it was.
    pub(crate) fn find(&mut self, pod: &Arc<Pod>) -> Result<NodeName, Text> {
        let loose = Arc::new(unbound(pod));
        self.apply(Delta::from(loose.clone()));
        match self.place(&loose) {
            Ok(node) => {
                self.tried.push(Tried::Moved(pod.clone()));
                Ok(node)
            }
            Err(message) => {
                self.apply(Delta::from(pod.clone()));
                Err(message)
            }
        }
    }

    /// Finds a place for one more pod like this one, and takes it; whether there was one.
    pub(crate) fn find_for_another(&mut self, pod: &Arc<Pod>, number: usize) -> bool {
        let mut another = unbound(pod);
        another.meta = Meta {
            name: Name::from(format!("{}.{number}", pod.meta.name)),
            uid: Uid::from(format!("{}.{number}", pod.meta.uid)),
            ..another.meta
        };
        let another = Arc::new(another);
        self.apply(Delta::from(another.clone()));
        let has_place = self.place(&another).is_ok();
        if has_place {
            self.tried.push(Tried::Added(another));
        } else {
            self.apply(Delta::Gone(Object::from(another).reference()));
        }
        has_place
    }

    /// How far things have been tried.
    pub(crate) fn point(&self) -> Point {
        Point(self.tried.len())
    }

    /// Takes back everything that was tried since a point.
    pub(crate) fn rewind(&mut self, to: Point) {
        while self.tried.len() > to.0 {
            match self.tried.pop() {
                Some(Tried::Moved(pod)) => self.apply(Delta::from(pod)),
                Some(Tried::Added(pod)) => self.apply(Delta::Gone(Object::from(pod).reference())),
                None => break,
            }
        }
    }

    /// Takes back everything.
    pub(crate) fn reset(&mut self) {
        self.rewind(Point(0));
    }

    fn place(&mut self, pod: &Arc<Pod>) -> Result<NodeName, Text> {
        let placed = self.scheduler.place(&self.copy, pod, 0).map_err(|error| error.message)?;
        let bound = Pod { node: Some(placed.name.clone()), ..Pod::clone(pod) };
        self.apply(Delta::from(bound));
        Ok(placed.name)
    }

    fn apply(&mut self, delta: Delta) {
        let change = self.copy.apply(delta);
        self.scheduler.observe(&self.copy, &change);
    }
}

/// A node on which no pod has room.
fn filled(node: &Arc<Node>) -> Arc<Node> {
    let mut node = Node::clone(node);
    node.status.allocatable.set(PODS, Quantity::ZERO);
    Arc::new(node)
}

/// The pod that will be made in place of this one, as it is before it has a node.
fn unbound(pod: &Pod) -> Pod {
    let mut pod = pod.clone();
    pod.node = None;
    pod.meta.deletion_timestamp = None;
    pod.meta.deletion_grace_period_seconds = None;
    pod.status = PodStatus { phase: PodPhase::Pending, ..PodStatus::default() };
    pod
}

/// Whether a pod waits for a node and the scheduler has not said yet that there is none: it will take room that a look at
/// the nodes does not show as taken.
pub(crate) fn is_about_to_be_placed(pod: &Pod) -> bool {
    let is_refused = condition::find(&pod.status.conditions, "PodScheduled")
        .is_some_and(|condition| condition.status == condition::ConditionStatus::False);
    pod.node.is_none() && pod.is_active() && pod.spec.scheduling_gates.is_empty() && !is_refused
}
