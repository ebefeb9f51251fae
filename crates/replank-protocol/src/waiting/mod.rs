//! Why something is not done: one type for the terminal, the report, metrics and Kubernetes events.
//!
//! Each module has reasons of its own; some are shared. *Waits* pass: time, a command that was sent, or another actor ends them. *Ends* do not: nothing
//! more comes until an operator changes something. In JSON a reason is one object whose key is its kind.

mod capacity;
mod drain;
mod finality;
mod interruption;
pub mod migration;
mod pod;
mod roll;
mod run;
mod scaling;
#[cfg(test)]
mod tests;

use std::fmt;

use replank_model::text::Text;
use replank_model::time::Time;
use serde::{Deserialize, Serialize};

use crate::policy::BatchKind;
pub use crate::subject::{Hope, Subject};
pub use capacity::CapacityWait;
pub use drain::{DrainEnd, DrainWait, RefusedPods};
pub use finality::Finality;
pub use interruption::{InterruptionEnd, InterruptionWait};
pub use migration::{MigrationEnd, MigrationWait};
pub use pod::{PodEnd, PodWait};
pub use roll::{LeftPod, RollEnd, RollWait};
pub use run::{DENIED_TRIES_MAX, RecordWhy, RunEnd, RunWait};
pub use scaling::ScalingWait;

/// One thing that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// What waits.
    pub what: Subject,
    /// What it waits on.
    pub on: WaitingOn,
}

/// What is waited on, with its numbers. Kinds of all modules differ, so that JSON needs no module's name; only migrations have a name of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WaitingOn {
    /// A migration waits.
    Migration(MigrationWait),
    /// A migration does not go on.
    MigrationEnd(MigrationEnd),
    /// Shared: commands, pauses and windows.
    #[serde(untagged)]
    Run(RunWait),
    /// Shared: the run as a whole does not go on.
    #[serde(untagged)]
    RunEnd(RunEnd),
    /// Shared: a pod is still on its node.
    #[serde(untagged)]
    Pod(PodWait),
    /// Shared: a pod stays on its node.
    #[serde(untagged)]
    PodEnd(PodEnd),
    /// Shared: new nodes are not ready.
    #[serde(untagged)]
    Capacity(CapacityWait),
    /// A roll waits.
    #[serde(untagged)]
    Roll(RollWait),
    /// A roll leaves something as it is.
    #[serde(untagged)]
    RollEnd(RollEnd),
    /// An interruption is under way.
    #[serde(untagged)]
    Interruption(InterruptionWait),
    /// An interruption is over.
    #[serde(untagged)]
    InterruptionEnd(InterruptionEnd),
    /// Scaling waits.
    #[serde(untagged)]
    Scaling(ScalingWait),
    /// Scaling leaves something as it is.
    #[serde(untagged)]
    ScalingEnd(ScalingEnd),
    /// A drain waits.
    #[serde(untagged)]
    Drain(DrainWait),
    /// A node is not drained.
    #[serde(untagged)]
    DrainEnd(DrainEnd),
}

impl WaitingOn {
    /// One word for the kind of reason, its key in JSON: what figures and metrics are grouped by.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Migration(_) => "migration",
            Self::MigrationEnd(_) => "migrationEnd",
            Self::Run(on) => on.names().0,
            Self::RunEnd(on) => on.names().0,
            Self::Pod(on) => on.names().0,
            Self::PodEnd(on) => on.names().0,
            Self::Capacity(on) => on.names().0,
            Self::Roll(on) => on.names().0,
            Self::RollEnd(on) => on.names().0,
            Self::Interruption(on) => on.names().0,
            Self::InterruptionEnd(on) => on.names().0,
            Self::Scaling(on) => on.names().0,
            Self::ScalingEnd(on) => on.names().0,
            Self::Drain(on) => on.names().0,
            Self::DrainEnd(on) => on.names().0,
        }
    }

    /// The kind in words, without numbers: what a table of reasons shows.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Migration(_) => "a step of the migration",
            Self::MigrationEnd(_) => "migration blocked",
            Self::Run(on) => on.names().1,
            Self::RunEnd(on) => on.names().1,
            Self::Pod(on) => on.names().1,
            Self::PodEnd(on) => on.names().1,
            Self::Capacity(on) => on.names().1,
            Self::Roll(on) => on.names().1,
            Self::RollEnd(on) => on.names().1,
            Self::Interruption(on) => on.names().1,
            Self::InterruptionEnd(on) => on.names().1,
            Self::Scaling(on) => on.names().1,
            Self::ScalingEnd(on) => on.names().1,
            Self::Drain(on) => on.names().1,
            Self::DrainEnd(on) => on.names().1,
        }
    }

    /// Whether waiting can help.
    #[must_use]
    pub fn hope(&self) -> Hope {
        match self {
            Self::Run(on) => on.hope(),
            Self::Pod(on) => on.hope(),
            Self::Capacity(on) => on.hope(),
            Self::Roll(on) => on.hope(),
            Self::Scaling(on) => on.hope(),
            Self::Drain(on) => on.hope(),
            Self::Migration(on) => on.hope(),
            // Its node is still to be uncordoned.
            Self::Interruption(_) | Self::InterruptionEnd(InterruptionEnd::Release { .. }) => Hope::Moving,
            // The pod that keeps a node may leave by itself.
            Self::ScalingEnd(ScalingEnd::KeepsNode { .. }) => Hope::Possible,
            Self::RunEnd(_)
            | Self::PodEnd(_)
            | Self::RollEnd(_)
            | Self::DrainEnd(_)
            | Self::InterruptionEnd(InterruptionEnd::Poison { .. })
            | Self::MigrationEnd(_) => Hope::None,
        }
    }

    /// What kind of end it is; `None` if it is a wait.
    #[must_use]
    pub fn finality(&self) -> Option<Finality> {
        match self {
            Self::Run(_)
            | Self::Pod(_)
            | Self::Capacity(_)
            | Self::Roll(_)
            | Self::Interruption(_)
            | Self::Scaling(_)
            | Self::Drain(_)
            | Self::Migration(_) => None,
            Self::RunEnd(on) => Some(on.finality()),
            Self::RollEnd(on) => Some(on.finality()),
            Self::DrainEnd(on) => Some(on.finality()),
            Self::InterruptionEnd(on) => Some(on.finality()),
            Self::ScalingEnd(ScalingEnd::KeepsNode { .. }) => Some(Finality::Kept),
            Self::PodEnd(_) | Self::MigrationEnd(_) => Some(Finality::Blocked),
        }
    }

    /// The reason as what blocks: that manual action is needed goes without saying.
    #[must_use]
    pub fn reason(&self) -> &dyn fmt::Display {
        match self {
            Self::Migration(on) => on,
            Self::MigrationEnd(on) => on,
            Self::Run(on) => on,
            Self::RunEnd(on) => on,
            Self::Pod(on) => on,
            Self::PodEnd(on) => on,
            Self::Capacity(on) => on,
            Self::Roll(on) => on,
            Self::RollEnd(on) => on,
            Self::Interruption(on) => on,
            Self::InterruptionEnd(on) => on,
            Self::Scaling(on) => on,
            Self::ScalingEnd(on) => on,
            Self::Drain(on) => on,
            Self::DrainEnd(on) => on,
        }
    }
}

/// Of a wait, what is waited for: `{what} waits for {on}`. Of an end, what is so: `{what}: {on}`.
impl fmt::Display for WaitingOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.finality() {
            Some(Finality::Blocked) => write!(f, "manual action needed: {}", self.reason()),
            Some(Finality::Kept | Finality::GivenUp) | None => self.reason().fmt(f),
        }
    }
}

/// `web waits for …`, or `web: …`.
impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, on } = self;
        match on.finality() {
            None => write!(f, "{what} waits for {on}"),
            Some(_) => write!(f, "{what}: {on}"),
        }
    }
}

macro_rules! reasons {
    ($($variant:ident($module:ty)),* $(,)?) => {
        $(impl From<$module> for WaitingOn {
            fn from(on: $module) -> Self {
                Self::$variant(on)
            }
        })*
    };
}

reasons! {
    Migration(MigrationWait),
    MigrationEnd(MigrationEnd),
    Run(RunWait),
    RunEnd(RunEnd),
    Pod(PodWait),
    PodEnd(PodEnd),
    Capacity(CapacityWait),
    Roll(RollWait),
    RollEnd(RollEnd),
    Interruption(InterruptionWait),
    InterruptionEnd(InterruptionEnd),
    Scaling(ScalingWait),
    ScalingEnd(ScalingEnd),
    Drain(DrainWait),
    DrainEnd(DrainEnd),
}

/// What scaling leaves as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ScalingEnd {
    /// A pod keeps a node that is not needed otherwise.
    KeepsNode {
        /// Why.
        why: Box<Blocks>,
    },
}

impl ScalingEnd {
    fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::KeepsNode { .. } => ("keepsNode", "pods that block scale-down"),
        }
    }
}

impl fmt::Display for ScalingEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeepsNode { why } => write!(f, "it blocks the scale-down of its node: it {why}"),
        }
    }
}

/// Why a pod keeps its node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Blocks {
    /// It has no controller: nothing would recreate it.
    Bare,
    /// Its controller's kind is not known to recreate it.
    CustomController(Text),
    /// It belongs to the system, and has no disruption budget.
    System {
        /// Until when that counts.
        until: Time,
    },
    /// Its work would be lost, for it is a batch pod.
    Batch(BatchKind),
    /// It says so: `safe-to-evict=false`.
    NotSafe,
    /// It has data on the node, in this volume.
    LocalStorage(Text),
    /// Its controller has too few replicas.
    FewReplicas {
        /// How many it has.
        replicas: i32,
        /// How many it must have.
        min: i32,
    },
    /// Its disruption budget allows no eviction now.
    Budget(WaitingOn),
    /// It cannot be read.
    Unreadable,
    /// Its Workflow has not recorded its result yet.
    Unrecorded,
    /// It tolerates the cordon taint: what is created in its place may be put onto the same node, again and again.
    ToleratesCordon,
}

impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bare => f.write_str("has no controller that would recreate it"),
            Self::CustomController(kind) => {
                write!(f, "is controlled by a {kind} (--skip-nodes-with-custom-controller-pods)")
            }
            Self::System { until } => {
                write!(
                    f,
                    "is in kube-system and has no disruption budget (until {until}; --skip-nodes-with-system-pods)"
                )
            }
            Self::Batch(kind) => {
                write!(f, "is a batch pod and would lose its work: {kind} (--skip-nodes-with-batch-pods)")
            }
            Self::NotSafe => f.write_str("is annotated safe-to-evict=false"),
            Self::LocalStorage(volume) => {
                write!(f, "has local data in volume {volume} (--skip-nodes-with-local-storage)")
            }
            Self::FewReplicas { replicas, min } => {
                write!(f, "is one of {replicas} replicas, and --min-replica-count is {min}")
            }
            Self::Budget(on) => write!(f, "cannot be evicted: {}", on.reason()),
            Self::Unreadable => f.write_str("cannot be read"),
            Self::Unrecorded => f.write_str("has finished, but its Workflow has not recorded the result"),
            Self::ToleratesCordon => {
                f.write_str("tolerates the cordon taint: its replacement may land on the same node")
            }
        }
    }
}
