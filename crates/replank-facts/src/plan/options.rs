//! What a run is told besides its plan.

use replank_model::time::Time;

use crate::groups::GroupBy;

/// What a run is told besides its plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// When the run began. After a restart the same moment: the plan's deadline is counted from it, and under an empty target
    /// it tells old nodes from new ones.
    pub started: Time,
    /// How the group of a node is known whose instance is not.
    pub group_by: GroupBy,
}
