//! Proof before destruction: what a driver has read, held against what a command expects.
//!
//! A driver reads the node and its pods from the API server itself, not from a cache, after the cordon that the command speaks of; what cannot be read
//! counts as being there. The rule is here so that every driver goes by the same one.

use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{RunId, Text};

use crate::command::{NodeTarget, PodTarget, Refusal};
use crate::mark;

/// Kind of the controllers whose pods stay on a node until it is gone.
const DAEMON_SET: &str = "DaemonSet";

/// Whether a pod goes with its node: its work is done, or nobody but the node's own kubelet could end it, or it would come back at once.
#[must_use]
pub fn goes_with_its_node(pod: &Pod) -> bool {
    let is_daemon = || pod.meta.controller().is_some_and(|owner| &*owner.kind == DAEMON_SET);
    pod.is_mirror() || pod.is_terminal() || is_daemon()
}

/// Holds a node, as it was read, against what a command expects of it.
///
/// # Errors
/// The mismatch, where it is another node, is not cordoned, carries another mark, or has a pod that is not expected.
pub fn drained<'p>(
    node: &Node,
    pods: impl Iterator<Item = &'p Pod>,
    (target, marked_by, remaining): (&NodeTarget, &RunId, &[PodTarget]),
) -> Result<(), Refusal> {
    let name = &target.name;
    if node.meta.uid != target.uid {
        return Err(mismatch(format!("uid of node {name}"), target.uid.as_str(), node.meta.uid.as_str()));
    }
    if !node.spec.unschedulable {
        return Err(mismatch(format!("node {name}"), "cordoned", "schedulable"));
    }
    if let Some(version) = mark::newer_on_node(node) {
        return Err(mismatch(
            format!("mark on node {name}"),
            marked_by.as_str(),
            &format!("a newer Replank's (version {version})"),
        ));
    }
    let found = mark::of(node).map(|found| found.run);
    if found.as_ref() != Some(marked_by) {
        let found = found.as_ref().map_or("nobody's", RunId::as_str);
        return Err(mismatch(format!("mark on node {name}"), marked_by.as_str(), found));
    }
    let is_expected = |pod: &Pod| remaining.iter().any(|target| target.uid == pod.meta.uid);
    let mut left = pods.filter(|pod| !goes_with_its_node(pod) && !is_expected(pod));
    match left.next() {
        None => Ok(()),
        Some(pod) => {
            let found = format!("pod {}", pod.meta.key());
            Err(mismatch(format!("pods on node {name}"), "no other pods", &found))
        }
    }
}

/// A read that differs from what the decision was taken on.
#[must_use]
pub fn mismatch(what: String, expected: &str, found: &str) -> Refusal {
    Refusal::Mismatch { what: Text::from(what), expected: Text::from(expected), found: Text::from(found) }
}
