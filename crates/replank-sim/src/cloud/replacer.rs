//! What somebody who replaces drained nodes has seen of them ([`super::replacing`]).

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::plan::Target;
use replank_model::text::{InstanceId, Uid};

/// See the module's page.
#[derive(Debug, Default)]
pub(super) struct Replacer {
    /// What new nodes are; `None` where nobody replaces anything.
    pub(super) target: Option<Target>,
    /// Instances of drained nodes, by the number that events carry.
    pub(super) drained: BTreeMap<u32, InstanceId>,
    /// Nodes that they have seen drained.
    pub(super) seen: BTreeSet<Uid>,
    /// Nodes that they leave alone.
    pub(super) left: BTreeSet<Uid>,
}
