//! What an audit is told besides the cluster.

use std::collections::BTreeSet;

use replank_facts::groups::GroupBy;
use replank_model::text::GroupName;

/// What an audit is told besides the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How the group of a node is known. Nodes without one are told by their Karpenter node pool.
    pub group_by: GroupBy,
    /// Groups whose nodes an autoscaler adds and takes away, besides those that the cluster itself tells.
    pub autoscaled: BTreeSet<GroupName>,
}
