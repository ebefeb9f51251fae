//! What if: pods taken to be somewhere, pods taken away, nodes left out or added, and all of it undone again.

use std::sync::Arc;

use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::object::volume::CsiNode;
use replank_model::text::NodeName;
use replank_model::view::View;

use super::Scheduler;
use super::certain_fit::{CertainFit, CertainFits};
use super::detail::Detail;
use super::explain::Explanation;
use super::nodes::Touched;
use super::place::{Placed, Unschedulable};
use super::pods::PodEntry;
use super::preempt::Preemption;
use super::volumes::{Promised, VolumeDecisions};

pub(super) use super::assumed::Assumed;

impl Scheduler {
    /// Takes a pod to be on a node until it is observed bound, or gone. A driver that has bound a pod and does not see it
    /// yet, places the next ones by this.
    ///
    /// `volumes` is what [`Placed::volumes`] said. Nothing happens if the pod is known to be on a node.
    pub fn assume(&mut self, view: &View, pod: &Arc<Pod>, node: &NodeName, volumes: &VolumeDecisions) {
        let key = pod.meta.key();
        let slot = view.pods.find(&key);
        if slot.is_some_and(|slot| self.world.pods.at_slot(slot.raw()).is_some())
            || self.world.pods.assumed.contains_key(&key)
        {
            return;
        }
        self.tidy();
        let promised = self.world.volumes.promise(volumes, node);
        let id = self.world.add_pod(pod, node, None);
        self.world.pods.assumed.insert(key, Assumed { id, promised });
    }

    /// Takes a pod to be nowhere that was assumed on a node: binding it failed. Whether there was one.
    pub fn forget(&mut self, pod: &Key) -> bool {
        let Some(assumed) = self.world.pods.assumed.remove(pod) else { return false };
        self.world.remove_pod(assumed.id);
        self.world.volumes.take_back(assumed.promised);
        true
    }

    /// An assumed pod was observed on a node: it counts there, and what it was promised stands until that is observed, too.
    pub(super) fn confirm(&mut self, pod: &Key) {
        if let Some(assumed) = self.world.pods.assumed.remove(pod) {
            self.world.remove_pod(assumed.id);
        }
    }

    /// Leaves a node out, or counts it in again: no pod goes to one that is left out, whatever it tolerates, while pods that
    /// are there stay and count. It holds until it is said otherwise or the node is gone; [`Trial::exclude`] undoes
    /// it by itself. Whether that changed anything.
    pub fn set_excluded(&mut self, node: &NodeName, is_excluded: bool) -> bool {
        let world = &mut self.world;
        let Some(id) = world.nodes.find(node) else { return false };
        if world.nodes[id].is_excluded == is_excluded {
            return false;
        }
        world.nodes[id].is_excluded = is_excluded;
        world.nodes.touch(id, Touched::Itself);
        true
    }

    /// Begins a what-if question. Everything done in it is undone when it is dropped.
    pub fn trial(&mut self) -> Trial<'_> {
        Trial { scheduler: self, undo: Vec::new() }
    }
}

/// How to undo one step.
#[derive(Debug)]
enum Undo {
    /// Forget an assumed pod.
    Forget(Key),
    /// Put a pod back onto its node.
    PutBack { entry: PodEntry, epoch: u32, slot: Option<u32>, assumed: Option<Promised> },
    /// Count a node in again, or leave it out again.
    SetExcluded(NodeName, bool),
    /// Take a node out that was not there.
    Remove(NodeName),
    /// Put a node back as it was.
    Restore(Arc<Node>),
    /// Take it that a node's CSINode is not there.
    NoCsiNode(NodeName),
}

/// A what-if question.
#[derive(Debug)]
pub struct Trial<'a> {
    scheduler: &'a mut Scheduler,
    undo: Vec<Undo>,
}

/// A point in a trial to which it can be taken back; later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(usize);

impl Trial<'_> {
    /// As [`Scheduler::place`].
    ///
    /// # Errors
    /// As there.
    pub fn place(&mut self, view: &View, pod: &Arc<Pod>, draw: u64) -> Result<Placed, Unschedulable> {
        self.scheduler.place(view, pod, draw)
    }

    /// Promises a pod a place on a node other than its own, where it is sure of one: it can be placed after those that were promised one before, in this order, wherever
    /// they are placed. `None` where it is not, or that takes a closer look. What is placed then must be the pod without its status: resizes and nominations are not looked at.
    #[must_use]
    pub fn certain_fit(&mut self, view: &View, pod: &Arc<Pod>, before: &CertainFits) -> Option<CertainFit> {
        self.scheduler.certain_fit(view, pod, before)
    }

    /// Whether it may matter to a pod, or to what it is told, where those are put that were promised a place, or to them where it is put. If not, it can be placed before they
    /// are.
    #[must_use]
    pub fn depends_on(&mut self, view: &View, pod: &Arc<Pod>, certain_fits: &CertainFits) -> bool {
        self.scheduler.depends_on(view, pod, certain_fits)
    }

    /// As [`Scheduler::best`].
    #[must_use]
    pub fn best(&mut self, view: &View, pod: &Arc<Pod>) -> Vec<NodeName> {
        self.scheduler.best(view, pod)
    }

    /// As [`Scheduler::explain`].
    #[must_use]
    pub fn explain(&mut self, view: &View, pod: &Arc<Pod>) -> Explanation {
        self.scheduler.explain(view, pod)
    }

    /// As [`Scheduler::details`].
    #[must_use]
    pub fn details(&mut self, view: &View, pod: &Arc<Pod>, nodes: &[NodeName]) -> Vec<(NodeName, Detail)> {
        self.scheduler.details(view, pod, nodes)
    }

    /// As [`Scheduler::preempt`].
    #[must_use]
    pub fn preempt(&mut self, view: &View, pod: &Arc<Pod>, draw: u64) -> Preemption {
        self.scheduler.preempt(view, pod, draw)
    }

    /// Takes a pod to be on a node. The pod may be one that does not exist; its name must then be its own. Whether it was
    /// not on a node before.
    pub fn assume(
        &mut self,
        view: &View,
        pod: &Arc<Pod>,
        node: &NodeName,
        volumes: &VolumeDecisions,
    ) -> bool {
        let before = self.scheduler.world.pods.assumed.len();
        self.scheduler.assume(view, pod, node, volumes);
        let is_new = self.scheduler.world.pods.assumed.len() > before;
        if is_new {
            self.undo.push(Undo::Forget(pod.meta.key()));
        }
        is_new
    }

    /// Takes a pod away from the node it is on. Whether it was on one.
    pub fn take_away(&mut self, view: &View, pod: &Key) -> bool {
        let world = &mut self.scheduler.world;
        let slot = view.pods.find(pod).map(replank_model::view::Ix::raw);
        let known = slot.and_then(|slot| world.pods.at_slot(slot).map(|id| (slot, id)));
        let assumed = if world.pods.assumed.is_empty() { None } else { world.pods.assumed.remove(pod) };
        let (id, slot, assumed) = match (known, assumed) {
            (Some((slot, id)), _) => (id, Some(slot), None),
            (None, Some(Assumed { id, promised })) => (id, None, Some(promised)),
            (None, None) => return false,
        };
        let entry = world.remove_pod(id);
        self.undo.push(Undo::PutBack { entry, epoch: world.epoch, slot, assumed });
        true
    }

    /// Leaves a node out: no pod goes there, whatever it tolerates. Pods that are there stay and count. Whether there is
    /// such a node, not left out before.
    pub fn exclude(&mut self, node: &NodeName) -> bool {
        let is_changed = self.scheduler.set_excluded(node, true);
        if is_changed {
            self.undo.push(Undo::SetExcluded(node.clone(), false));
        }
        is_changed
    }

    /// Takes a node to be there, or to look like this: one that does not exist yet, or one with other labels or taints.
    pub fn put_node(&mut self, node: Arc<Node>) {
        let world = &mut self.scheduler.world;
        let name = node.name();
        self.undo.push(match world.nodes.find(&name) {
            Some(id) => Undo::Restore(world.nodes[id].node.clone()),
            None => Undo::Remove(name),
        });
        world.put_node(node);
    }

    /// Takes the CSINode of a node to be there that the View does not have; one that is there counts more.
    pub fn put_csi_node(&mut self, name: NodeName, csi: CsiNode) {
        self.scheduler.world.suppose_csi_node(name.clone(), csi);
        self.undo.push(Undo::NoCsiNode(name));
    }

    /// Takes a node to be gone, with its pods. Whether there was one.
    pub fn remove_node(&mut self, name: &NodeName) -> bool {
        let world = &mut self.scheduler.world;
        let Some(id) = world.nodes.find(name) else { return false };
        // Undone last to first: the node comes back, and is left out if it was.
        self.undo.push(Undo::SetExcluded(name.clone(), world.nodes[id].is_excluded));
        self.undo.push(Undo::Restore(world.nodes[id].node.clone()));
        world.remove_node(id);
        true
    }

    /// The point reached.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(self.undo.len())
    }

    /// Undoes everything done since a point.
    pub fn revert_to(&mut self, mark: Mark) {
        while self.undo.len() > mark.0 {
            let step = self.undo.pop().expect("there is more than the mark");
            self.revert(step);
        }
    }

    fn revert(&mut self, step: Undo) {
        match step {
            Undo::Forget(key) => {
                self.scheduler.forget(&key);
            }
            Undo::PutBack { entry, epoch, slot, assumed } => {
                let world = &mut self.scheduler.world;
                let id = world.put_back(entry, epoch, slot);
                if slot.is_none() {
                    let promised = assumed.unwrap_or_default();
                    let key = world.pods[id].pod.meta.key();
                    world.pods.assumed.insert(key, Assumed { id, promised });
                }
            }
            Undo::SetExcluded(node, is_excluded) => {
                self.scheduler.set_excluded(&node, is_excluded);
            }
            Undo::Remove(node) => {
                if let Some(id) = self.scheduler.world.nodes.find(&node) {
                    self.scheduler.world.remove_node(id);
                }
            }
            Undo::Restore(node) => {
                self.scheduler.world.put_node(node);
            }
            Undo::NoCsiNode(name) => self.scheduler.world.suppose_no_csi_node(&name),
        }
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        self.revert_to(Mark(0));
    }
}
