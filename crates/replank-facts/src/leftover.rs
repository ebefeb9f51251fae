//! What runs have written on nodes and groups and not taken off: whose it is, whether it still holds, and what clears it
//! (promise S3).
//!
//! A mark on a node says until when it holds. What stands on a group has no such moment: it holds for as long as a mark of the same run
//! does on any node, or the moment that it names itself is to come. What holds is a running run's and nobody else's business; what does
//! not is of a run that died or has ended without being done, and anybody may clear it.
//!
//! What a rolling restart writes on a workload's template is none of it: `kubectl rollout restart` writes the same, nothing waits for it,
//! and to take it off would restart the pods once more.

mod group;
mod holds;
mod node;
mod record;

pub use holds::{Holds, Leftover, On, State};
#[cfg(test)]
mod tests;

use replank_model::object::node::Node;
use replank_model::time::Time;
use replank_model::view::View;

/// Everything that was left: on nodes, on groups, records; each in order of names.
#[must_use]
pub fn find(view: &View, now: Time) -> Vec<Leftover> {
    let holds = Holds::of(view, now);
    let nodes = view.nodes.sorted().into_iter().filter_map(|(_, node)| node::of(&holds, node));
    let groups = view.groups().values().flat_map(|group| group::of(&holds, group));
    let records = replank_protocol::record::all(view);
    let records = records.iter().map(|found| record::of(&holds, view, found));
    nodes.chain(groups).chain(records).collect()
}

impl Holds {
    /// What a run has left on a node.
    pub fn on_node(&self, node: &Node) -> Option<Leftover> {
        node::of(self, node)
    }

    /// What runs have left on a group.
    pub fn on_group(&self, group: &replank_model::object::cloud::NodeGroup) -> Vec<Leftover> {
        group::of(self, group)
    }
}
