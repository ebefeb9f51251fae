//! Where would a pod go, and why not there: kube-scheduler's answers for a person.
//!
//! An [`PlacementQuery`] is a cluster, or one as it would be without some nodes, that is asked about pods one after the other:
//! pods of the cluster, or of a workload that is not there yet ([`PodFactory`]). Every answer is the engine's
//! ([`replank_schedule`]). Where a pod fits nowhere, [`PlacementQuery::remedies`] finds the smallest changes with which it does, each
//! tried out.

mod change;
mod claims;
mod edit;
mod paste;
mod per_node;
mod propose;
mod query;
mod queue;
mod remedy;
mod what_if;

#[cfg(test)]
mod tests;

pub use change::{Change, Weight};
pub use per_node::{DaemonRow, Wanted};
pub use query::{Answer, Copies, Outcome, PlacementQuery, Row, UnschedulablePod, is_workload};
pub use queue::{Fate, Queued};
pub use remedy::Remedy;
pub use what_if::{NoPick, Pick, WhatIf, WhatIfError};
