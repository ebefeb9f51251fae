//! What is known of the groups behind a cluster's nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use replank_model::text::{InstanceId, Text};
use serde_json::Value;

/// What is known of the groups behind nodes.
#[derive(Debug, Default)]
pub(super) struct Discovery {
    /// Whether groups are found by the nodes that come; otherwise those that are known are all.
    pub(super) follows_nodes: bool,
    /// Instances of nodes whose group was asked for.
    pub(super) asked: BTreeSet<InstanceId>,
    /// Groups that were found so.
    pub(super) groups: BTreeSet<Text>,
    pub(super) hooks: BTreeMap<Text, (Instant, Value)>,
}
