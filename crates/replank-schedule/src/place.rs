//! Placing a pod: the node it goes to, or why it goes nowhere.
//!
//! Source: `schedulePod` (Kubernetes 1.36 `pkg/scheduler/schedule_one.go`).

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Text};
use replank_model::view::View;

use super::Scheduler;
use super::base::{Bases, Fresh, Group};
use super::cycle::Rejection;
use super::explain::rejection_message;
use super::filter::Cycle;
use super::ids::NodeId;
use super::plugin::{CycleError, Failure, Plugin};
use super::predicate::Narrowing;
use super::select::{Found, Marks, Search};
use super::world::World;

pub use super::placed::{Placed, Unschedulable};

impl Scheduler {
    /// The best node for a pod, all nodes scored. Among equally good ones `draw` decides, in a way that depends on the
    /// nodes' names and not on the order in which they were observed.
    ///
    /// # Errors
    /// When no node fits, with the scheduler's words.
    pub fn place(&mut self, view: &View, pod: &Arc<Pod>, draw: u64) -> Result<Placed, Unschedulable> {
        self.tidy();
        let Self { options, world, classes, bases, marks, epoch: _ } = self;
        if world.nodes.len() == 0 {
            return Err(Unschedulable::NoNodes);
        }
        let (mut cycle, rejected) = Cycle::begin(world, (classes, bases), options, view, pod);
        if let Some(rejected) = rejected {
            let (message, plugins) = refused(world, &rejected);
            return Err(Unschedulable::DoesNotFit { message, plugins });
        }
        if let Some(placed) = cycle.place(world, bases, marks, draw)? {
            return Ok(placed);
        }
        let (message, plugins) = cycle.objections(world, bases).words(world.nodes.len());
        Err(Unschedulable::DoesNotFit { message: message.into(), plugins })
    }

    /// All nodes that share the best score, sorted by name; empty if none fits.
    #[must_use]
    pub fn best(&mut self, view: &View, pod: &Arc<Pod>) -> Vec<NodeName> {
        self.tidy();
        let Self { options, world, classes, bases, marks, epoch: _ } = self;
        let (mut cycle, rejected) = Cycle::begin(world, (classes, bases), options, view, pod);
        let found = if rejected.is_some() { Ok(Found::default()) } else { cycle.find(world, bases, marks) };
        let mut names: Vec<NodeName> =
            found.unwrap_or_default().best.into_iter().map(|id| world.nodes[id].name.clone()).collect();
        names.sort();
        names
    }
}

/// The scheduler's words for a pod that is refused as a whole, and who refuses it.
pub(super) fn refused(world: &World, rejected: &Rejection) -> (Text, BTreeSet<Plugin>) {
    (rejection_message(world.nodes.len(), rejected).into(), BTreeSet::from([rejected.plugin]))
}

impl Cycle<'_> {
    /// The best node, if any fits.
    ///
    /// # Errors
    /// When nodes fit and cannot be scored.
    pub(super) fn place(
        &mut self,
        world: &mut World,
        bases: &mut Bases,
        marks: &mut Marks,
        draw: u64,
    ) -> Result<Option<Placed>, CycleError> {
        let found = self.find(world, bases, marks)?;
        // Upstream draws lots; here the lot of a node is its name's hash, scattered by the draw.
        let Some(id) = world.nodes.drawn(&found.best, draw) else { return Ok(None) };
        let volumes = self.volumes.check_binding(world, self.view, id).unwrap_or_default();
        Ok(Some(Placed { node: world.nodes[id].name.clone(), feasible: found.feasible, volumes }))
    }

    /// The best nodes.
    ///
    /// # Errors
    /// When nodes fit and cannot be scored.
    fn find(&mut self, world: &mut World, bases: &mut Bases, marks: &mut Marks) -> Result<Found, CycleError> {
        if let Some(name) = &self.pod.status.nominated_node_name
            && let Some(id) = world.nodes.find(name)
        {
            self.measure(world, &[id]);
            if self.failure(world, id).is_none() {
                return Ok(Found { feasible: 1, best: vec![id] });
            }
        }
        if self.narrowing != Narrowing::All || self.pod.node.is_some() {
            let named = self.pod.node.as_ref().map(|name| world.nodes.find(name));
            let mut scope = self.scope(world);
            scope.retain(|id| named.is_none_or(|named| named == Some(*id)));
            return self.find_among(world, &scope);
        }
        let Fresh { base, sorting } = bases.fresh(self.plan.base, world);
        if world.pods.has_nominees() || self.volumes.attaches() {
            let all = base.groups().iter().flat_map(Group::nodes);
            let near: Vec<NodeId> = all.filter(|id| self.volumes.reaches(world, self.view, *id)).collect();
            self.measure(world, &near);
        }
        Search { world, cycle: self, base, sorting, marks }.run()
    }

    /// The best of a few nodes.
    fn find_among(&mut self, world: &mut World, scope: &[NodeId]) -> Result<Found, CycleError> {
        self.measure(world, scope);
        let asked: Vec<(NodeId, Option<Failure>)> =
            scope.iter().map(|id| (*id, self.failure(world, *id))).collect();
        let fits = asked.iter().filter(|(_, failure)| failure.is_none());
        let feasible: Vec<NodeId> = fits.map(|(id, _)| *id).collect();
        if feasible.is_empty() && self.pod.node.is_none() {
            self.refused_by = asked;
        }
        if feasible.len() < 2 {
            return Ok(Found { feasible: feasible.len(), best: feasible });
        }
        let (_, scores) = self.scores(world, &feasible)?;
        let highest = scores.values().map(|scores| scores.total).max();
        let best = scores.iter().filter(|(_, scores)| Some(scores.total) == highest).map(|(id, _)| *id);
        Ok(Found { feasible: feasible.len(), best: best.collect() })
    }
}
