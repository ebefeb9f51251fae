//! What runs have written on nodes and groups and not removed: its run, whether it is still valid, and what removes it
//! (promise S3).
//!
//! A mark on a node has an expiry time. A tag on a group has none: it is valid as long as any node has a valid mark of the same run, or
//! the time in the tag itself is in the future. What is valid belongs to a running run and is left alone; the rest belongs to a run that
//! died or ended without being done, and may be removed.
//!
//! A rolling restart's annotation on a workload's template is not a leftover: `kubectl rollout restart` writes the same, nothing waits for
//! it, and removing it would restart the pods again.

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
