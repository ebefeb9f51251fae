//! Which nodes a canary is made of.
//!
//! A canary, or the first wave, is to try out what runs here: of the nodes that can be emptied, those with pods of most workloads are taken, then those with most pods, then
//! the plan's order. One that lacks nothing but room is waited for while new nodes come up: a new node is Ready a moment before its taint `node.kubernetes.io/not-ready` is
//! gone, and those of other zones follow later. An empty node needs no room, and would always be first.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use replank_facts::node_pods::Bound;
use replank_facts::taints;
use replank_model::text::Uid;

use super::context::{Context, GroupRoll};
use super::member::{Member, NodeState, last_step};
use super::stage;
use super::terms::LATE_AFTER;

/// What a node is worth as a canary: how many workloads have pods on it that move, and how many pods these are.
pub(super) type Worth = Reverse<(usize, usize)>;

/// The choice of a canary.
pub(super) struct Canary {
    /// Whether the nodes that are chosen next are one.
    pub(super) is_next: bool,
    /// Whether there may be more room in a moment.
    is_room_coming: bool,
    /// The best of the nodes for whose pods there is no room yet.
    awaited: Option<Worth>,
}

impl Canary {
    pub(super) fn of(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> Self {
        let is_next = stage::is_canary_next(ctx, roll);
        Self { is_next, is_room_coming: is_next && is_room_coming(ctx, roll), awaited: None }
    }

    /// There is no room for the pods of a node.
    pub(super) fn lacks_room(&mut self, member: &Member) {
        if self.is_room_coming {
            let worth = worth(member);
            self.awaited = Some(self.awaited.map_or(worth, |awaited| awaited.min(worth)));
        }
    }

    /// Whether a better node than this one is waited for.
    pub(super) fn waits_for_better_than(&self, member: &Member) -> bool {
        self.awaited.is_some_and(|awaited| awaited < worth(member))
    }
}

/// What a node is worth as a canary. The more, the smaller.
pub(super) fn worth(member: &Member) -> Worth {
    let NodeState::Queued { node_pods, .. } = &member.state else { return Reverse((0, 0)) };
    let owner = |bound: &Bound| {
        let pod = &bound.pod;
        pod.meta.controller().map_or_else(|| pod.meta.uid.clone(), |owner| owner.uid.clone())
    };
    let owners: BTreeSet<Uid> = node_pods.movers.iter().map(owner).collect();
    Reverse((owners.len(), node_pods.movers.len()))
}

/// Whether a new node comes up in time, or is there and takes no pods yet.
fn is_room_coming(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> bool {
    let nodes = roll.nodes;
    let is_in_time = |since| ctx.now <= since + LATE_AFTER;
    let mut last_steps =
        nodes.arriving.iter().filter_map(|name| ctx.view.node(name).and_then(|node| last_step(node)));
    nodes.loose_new.values().flatten().copied().any(is_in_time)
        || last_steps.any(is_in_time)
        || nodes.usable.iter().filter_map(|name| ctx.view.node(name)).any(|node| {
            let is_fresh = last_step(node).is_some_and(is_in_time);
            is_fresh && node.spec.taints.iter().any(taints::is_passing)
        })
}
