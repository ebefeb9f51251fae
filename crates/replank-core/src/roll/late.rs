//! New nodes that are late.

use replank_facts::drain::Otherwise;
use replank_facts::plan::OnDeadline;
use replank_model::text::NodeName;

use super::context::Context;
use super::evict::batch_is_over;
use super::fleet::GroupNodes;
use super::member::{Member, NodeState};

/// Nodes that are held by nothing but batch pods that are to be evicted now.
pub(super) fn late<'a>(ctx: &Context<'a>, nodes: &'a GroupNodes) -> impl Iterator<Item = &'a NodeName> {
    let is_evicted = ctx.scope.plan.batch.on_deadline == OnDeadline::Evict;
    let held = is_evicted.then_some(&nodes.held);
    held.into_iter().flatten().filter(move |name| is_late(ctx, ctx.member(name)))
}

pub(super) fn is_late(ctx: &Context<'_>, member: &Member) -> bool {
    let NodeState::Queued { since, node_pods } = &member.state else { return false };
    node_pods.refused.is_empty()
        && node_pods.unrecorded.is_empty()
        && node_pods
            .batch
            .iter()
            .all(|batch| batch.otherwise == Otherwise::Moves && batch_is_over(ctx, *since, batch))
}
