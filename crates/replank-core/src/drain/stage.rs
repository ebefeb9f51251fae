//! How far each node is, read off the View.

use std::sync::Arc;

use replank_facts::kubectl::Sorted;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::text::NodeName;
use replank_model::time::Time;
use replank_protocol::command::NodeTarget;
use replank_protocol::mark::ByHand;
use replank_protocol::waiting::{DrainEnd, RefusedPods, Subject, Waiting};

use super::context::Context;
use super::memory::Memory;

/// How far a node is.
pub(super) enum Stage {
    /// It is not to be drained any more.
    Over(DrainEnd),
    /// It is not cordoned for this call.
    Open(Arc<Node>),
    /// It is cordoned, and its turn has not come.
    Queued(Arc<Node>),
    /// Its pods leave.
    Draining { by: ByHand, sorted: Sorted },
    /// Nothing is left that is to go.
    Drained,
}

impl Stage {
    /// How far a node is.
    pub(super) fn of(ctx: &Context<'_>, memory: &mut Memory, target: &NodeTarget) -> Self {
        let known = ctx.view.node(&target.name).filter(|node| node.meta.uid == target.uid);
        let Some(node) = known else { return Self::Over(DrainEnd::NodeGone) };
        let written = ByHand::of(node);
        let is_another = written.as_ref().is_some_and(|by| by.run != ctx.request.run);
        let own = written.filter(|_| !is_another);
        let held = memory.held.get(&target.uid);
        // Two calls may drain one node at the same time: it stays cordoned for both.
        let by = own.clone().or_else(|| held.filter(|_| is_another).cloned());
        if (by.is_some() && !node.spec.unschedulable) || (by.is_none() && held.is_some()) {
            return Self::Over(DrainEnd::Uncordoned);
        }
        if let Some(own) = own {
            memory.held.insert(target.uid.clone(), own);
        }
        let Some(by) = by else { return Self::Open(node.clone()) };
        let Some(from) = by.from else { return Self::Queued(node.clone()) };
        let options = &ctx.request.options;
        let sorted = Sorted::of(ctx.view, &options.filters, &target.name, Some(from), ctx.now);
        if !sorted.refused.is_empty() {
            return Self::Over(DrainEnd::RefusedPods { refused: sorted.refused });
        }
        if sorted.going.is_empty() {
            return Self::Drained;
        }
        match options.timeout {
            Some(limit) if ctx.now >= from + limit => {
                Self::Over(DrainEnd::DrainTimeout { limit, pods: counted(sorted.going.len()) })
            }
            Some(_) | None => Self::Draining { by, sorted },
        }
    }
}

/// That a node is not drained.
pub(super) fn waiting(node: &NodeName, on: DrainEnd) -> Waiting {
    Waiting { what: Subject::Node(node.clone()), on: on.into() }
}

pub(super) fn counted(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// How far a node is, for those who watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// The node.
    pub node: NodeTarget,
    /// How far it is.
    pub phase: Phase,
    /// Whether it is cordoned, by whomever.
    pub is_cordoned: bool,
    /// Pods that are still to go.
    pub pods: Vec<Key>,
    /// From when on it is drained, where that has begun.
    pub from: Option<Time>,
}

/// How far a node is, in one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It is not cordoned yet.
    Open,
    /// It is cordoned; its turn has not come.
    Cordoned,
    /// Its pods leave.
    Draining,
    /// All that is to go has gone.
    Drained,
    /// Some of its pods may not be moved, so that none is.
    Refused(Vec<RefusedPods>),
    /// It is not drained, for another reason.
    Ended(DrainEnd),
}
