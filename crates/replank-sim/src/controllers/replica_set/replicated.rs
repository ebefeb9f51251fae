//! What ReplicaSets and ReplicationControllers have in common.

use std::sync::Arc;

use replank_model::object::pod::{Pod, PodTemplate};
use replank_model::object::workload::ReplicaSetStatus;
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::Uid;
use replank_model::view::Tabled;
use rustc_hash::FxHashMap;

use super::tally::Tallies;
use crate::controllers::Controller;
use crate::controllers::index::Index;
use crate::ties::SharedTies;

/// What both kinds are made of.
pub(crate) trait Replicated: Tabled {
    /// The controller that looks at it.
    const CONTROLLER: Controller;
    /// Whether `status.terminatingReplicas` is kept.
    const COUNTS_TERMINATING: bool;
    /// Pods wanted.
    fn replicas(&self) -> i32;
    /// Which pods are its own; `None` if the selector cannot be read.
    fn selector(&self) -> Option<Selector>;
    /// The same as it is written, of a kind that has it so.
    fn label_selector(&self) -> Option<&LabelSelector>;
    /// What its pods look like.
    fn template(&self) -> Option<&PodTemplate>;
    /// Seconds of readiness that make a pod available.
    fn min_ready_seconds(&self) -> i32;
    /// Observed state.
    fn status(&self) -> &ReplicaSetStatus;
    /// Observed state, to be changed.
    fn status_mut(&mut self) -> &mut ReplicaSetStatus;
}

/// What the replica controllers share.
pub(in crate::controllers) struct Parts<'a> {
    pub(in crate::controllers) index: &'a Index,
    pub(in crate::controllers) bursts: &'a mut Bursts,
    pub(in crate::controllers) tallies: &'a mut Tallies,
    pub(in crate::controllers) ties: &'a mut Option<SharedTies>,
}

/// Sets whose pods are being made, batch by batch, by controller and slot.
pub(in crate::controllers) type Bursts = FxHashMap<(Controller, u32), Burst>;

/// Pods that are being made in batches of 1, 2, 4…: where one fails, the following batches are not tried
/// (`slowStartBatch`).
#[derive(Debug)]
pub(in crate::controllers) struct Burst {
    pub(super) uid: Uid,
    pub(super) remaining: usize,
    pub(super) batch: usize,
    /// What was there before.
    pub(super) active: Vec<Arc<Pod>>,
    pub(super) terminating: i32,
}
