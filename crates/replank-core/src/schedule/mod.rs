//! Where pods can go: kube-scheduler's answers.
//!
//! A [`Scheduler`] is fed with the [`Change`]s of one [`View`] and asked where pods fit. It answers as kube-scheduler 1.36
//! with its default profile does, all nodes scored. It is a cache over the View: [`Scheduler::load`] makes an equal one
//! from scratch at any time.

mod simple;

use std::sync::Arc;

use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{NodeName, Text};
use replank_model::view::{Change, Ix, View};

/// Answers where pods fit.
#[derive(Clone, Debug, Default)]
pub struct Scheduler {}

/// Where a pod goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The node.
    pub node: Ix<Node>,
    /// Its name.
    pub name: NodeName,
    /// How many nodes were feasible.
    pub feasible: usize,
}

/// Why a pod goes nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unschedulable {
    /// The scheduler's words: `0/5 nodes are available: …`.
    pub message: Text,
}

impl Scheduler {
    /// A scheduler that knows what the View knows.
    #[must_use]
    pub fn load(view: &View) -> Self {
        let _ = view;
        Self {}
    }

    /// Takes in a change that `view` has already taken in.
    pub fn observe(&mut self, view: &View, change: &Change) {
        let _ = (view, change);
    }

    /// The best node for a pod. Among equally good ones `draw` decides, in a way that depends on the nodes' names and not
    /// on the order in which they were observed.
    ///
    /// # Errors
    /// When no node fits, with the reasons.
    pub fn place(&mut self, view: &View, pod: &Arc<Pod>, draw: u64) -> Result<Placed, Unschedulable> {
        simple::place(view, pod, draw)
    }

    /// All nodes that share the best score, sorted by name; empty if none fits.
    #[must_use]
    pub fn best(&mut self, view: &View, pod: &Arc<Pod>) -> Vec<NodeName> {
        simple::best(view, pod).into_iter().map(|ix| view.nodes[ix].name()).collect()
    }
}
