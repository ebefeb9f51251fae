//! Who replaces nodes that are drained.

use replank_model::time::Span;

/// Who replaces nodes that are drained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provider {
    /// Whoever made them, as the cloud and the cluster show it: an Auto Scaling group, EKS, Karpenter.
    #[default]
    Automatic,
    /// Somebody that Replank cannot ask: Cluster API, kops, a person. It drains, and waits.
    External(External),
}

/// What is said of somebody else who replaces nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct External {
    /// How long an empty node may take to be replaced, and a new node to come up in its place.
    pub wait: Span,
    /// What old nodes are before their turn comes.
    pub old_nodes: OldNodes,
}

/// What old nodes are before their turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldNodes {
    /// Cordoned: nothing is moved onto a node that goes later, and what has no room elsewhere waits for new nodes.
    Cordon,
    /// They take pods if there is no room elsewhere (`PreferNoSchedule`).
    Avoid,
}

/// How long an empty node may take to be replaced, where the plan does not say.
pub(crate) const WAIT_DEFAULT: Span = Span::from_minutes(24 * 60);
