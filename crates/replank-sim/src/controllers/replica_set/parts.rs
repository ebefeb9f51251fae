//! What the controllers of ReplicaSets and ReplicationControllers remember between two looks, and share.

use std::sync::Arc;

use replank_model::object::pod::Pod;
use replank_model::text::Uid;
use rustc_hash::FxHashMap;

use super::tally::Tallies;
use crate::controllers::Controller;
use crate::controllers::index::Index;
use crate::ties::SharedTies;

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
