//! What ReplicaSets and ReplicationControllers have in common.

use replank_model::object::pod::PodTemplate;
use replank_model::object::workload::ReplicaSetStatus;
use replank_model::selector::{LabelSelector, Selector};
use replank_model::view::Tabled;

use crate::controllers::Controller;

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
