//! How far each node of a run is, read off what is seen.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::node_pods::NodePods;
use replank_facts::plan::Plan;
use replank_model::object::node::Node;
use replank_model::text::{NodeName, RunId, Text, Uid};
use replank_model::view::View;
use replank_protocol::mark;
use replank_protocol::role::NodeRole;
use replank_protocol::waiting::Subject;

/// A node that is replaced.
pub(super) struct Row {
    pub(super) node: NodeName,
    pub(super) phase: Phase,
    /// Pods that are still to leave it.
    pub(super) pods: usize,
    /// What else says why it waits: its NodeClaim, its pods.
    pub(super) subjects: Vec<Subject>,
}

/// How far a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Open,
    Cordoned,
    Draining,
    Drained,
    Skipped,
    Replaced,
}

impl Phase {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Cordoned => "cordoned",
            Self::Draining => "draining",
            Self::Drained => "drained",
            Self::Skipped => "skipped",
            Self::Replaced => "replaced",
        }
    }

    pub(super) fn is_done(self) -> bool {
        self == Self::Replaced
    }
}

/// Where each of these nodes is; a node of the same name and another uid is another node.
/// One that is to be replaced no more was replaced where it stands.
pub(super) fn rows(
    view: &View,
    (plan, run): (&Plan, &RunId),
    nodes: &BTreeMap<NodeName, Uid>,
    left: &BTreeSet<NodeName>,
) -> Vec<Row> {
    let of = |(name, uid)| {
        let mut row = row(view, (plan, run), name, uid);
        if row.phase == Phase::Open && !left.contains(name) {
            row.phase = Phase::Replaced;
        }
        row
    };
    nodes.iter().map(of).collect()
}

fn row(view: &View, (plan, run): (&Plan, &RunId), name: &NodeName, uid: &Uid) -> Row {
    let gone = || Row { node: name.clone(), phase: Phase::Replaced, pods: 0, subjects: Vec::new() };
    let Some(node) = view.node(name).filter(|node| node.meta.uid == *uid) else { return gone() };
    let left = NodePods::of(view, plan, name);
    let pods = left.movers.iter().map(|bound| &bound.pod);
    let pods = pods
        .chain(left.batch.iter().map(|batch| &batch.bound.pod))
        .chain(left.leaving.iter().map(|one| &one.pod));
    let mut subjects: Vec<Subject> = pods.map(|pod| Subject::Pod(pod.meta.key())).collect();
    subjects.extend(left.refused.iter().map(|(key, _)| Subject::Pod(key.clone())));
    let number = subjects.len();
    let claim = view.node_claims.unordered().map(|(_, claim)| claim);
    let claim = claim.into_iter().find(|claim| claim.status.node_name.as_ref() == Some(name));
    subjects.extend(
        claim.iter().map(|claim| Subject::Object(Text::from(format!("NodeClaim {}", claim.meta.name)))),
    );
    let is_leaving = node.meta.is_terminating() || claim.is_some_and(|claim| claim.meta.is_terminating());
    let phase = if is_leaving { Phase::Draining } else { marked(node, run) };
    Row { node: name.clone(), phase, pods: number, subjects }
}

fn marked(node: &Node, run: &RunId) -> Phase {
    let role = mark::of(node).filter(|found| found.is_of_run(run)).map(|found| found.mark.role);
    match role {
        Some(NodeRole::Queued | NodeRole::Postponed { .. } | NodeRole::Listed) if node.spec.unschedulable => {
            Phase::Cordoned
        }
        Some(NodeRole::Draining { .. } | NodeRole::Interrupted { .. }) => Phase::Draining,
        Some(NodeRole::Drained | NodeRole::Retained) => Phase::Drained,
        Some(NodeRole::Skipped) => Phase::Skipped,
        Some(NodeRole::Queued | NodeRole::Postponed { .. } | NodeRole::Listed | NodeRole::Surplus) | None => {
            Phase::Open
        }
    }
}
