//! Pods that were assumed on a node.

use super::ids::PodId;
use super::volumes::Promised;

/// A pod that is taken to be on a node.
#[derive(Clone, Debug)]
pub(super) struct Assumed {
    pub(super) id: PodId,
    pub(super) promised: Promised,
}
