//! What is shown of one object that a run has left something on.

use replank_facts::coverage::Coverage;
use replank_facts::leftover::{Leftover, On};
use replank_model::time::Time;

/// What was looked at, and what was left.
#[derive(Debug)]
pub(super) struct Found {
    /// What was read, in a few words.
    pub(super) name: String,
    /// When it was.
    pub(super) now: Time,
    /// Whether groups' tags were read, too.
    pub(super) with_groups: bool,
    pub(super) left: Vec<Leftover>,
    /// What of the cluster could be seen.
    pub(super) coverage: Coverage,
}

pub(super) fn object(one: &Leftover) -> String {
    match &one.on {
        On::Node(name) => format!("Node {name}"),
        On::Group(name) => format!("NodeGroup {name}"),
        On::Record(key) => format!("ConfigMap {key}"),
    }
}
