//! Where a pod goes, or why nowhere.

use std::collections::BTreeSet;

use replank_model::text::{NodeName, Text};

use super::plugin::{CycleError, Plugin};
use super::volumes::VolumeDecisions;

/// Where a pod goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The node.
    pub node: NodeName,
    /// How many nodes it fits on.
    pub feasible: usize,
    /// What becomes of its claims that are not bound yet.
    pub volumes: VolumeDecisions,
}

/// Why a pod goes nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unschedulable {
    /// There are no nodes at all.
    #[error("no nodes available to schedule pods")]
    NoNodes,
    /// No node fits.
    #[error("{message}")]
    DoesNotFit {
        /// The scheduler's words: `0/5 nodes are available: …`.
        message: Text,
        /// Those whose objections decided: a change that none of them cares about cannot help.
        plugins: BTreeSet<Plugin>,
    },
    /// The cycle ended in an error.
    #[error(transparent)]
    Error(#[from] CycleError),
}
