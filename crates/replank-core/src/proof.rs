//! What a node must be when its instance is terminated, as far as the View knows it: the driver proves it before it acts.

use replank_model::text::RunId;
use replank_model::view::View;
use replank_protocol::command::{Expected, NodeTarget, PodTarget};
use replank_protocol::mark;

/// The node carries the mark that is seen on it, or else the run's own, and has no pods but those that go with it and the ones that are named.
pub(crate) fn drained(view: &View, node: NodeTarget, run: &RunId, remaining: Vec<PodTarget>) -> Expected {
    let found = view.node(&node.name).and_then(|known| mark::of(known));
    let marked_by = found.map_or_else(|| run.clone(), |found| found.run);
    Expected::Drained { node, marked_by, remaining }
}
