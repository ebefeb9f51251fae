//! What the node controller remembers of a node.

use replank_model::object::condition::ConditionStatus;
use replank_model::time::Time;

/// What the monitor knows of a node.
#[derive(Clone, Debug)]
pub(super) struct Health {
    /// Ready, as it was after the last look; `None` before the kubelet has ever said.
    pub(super) seen: Option<ConditionStatus>,
    /// When a sign of life was last seen, in moments of the monitor.
    pub(super) probe: Time,
    /// The last renewal that was seen of a lease that has ended.
    pub(super) renewal: Option<Time>,
}
