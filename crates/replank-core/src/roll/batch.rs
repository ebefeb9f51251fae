//! Until when a batch pod is waited for.

use replank_facts::node_pods::BatchPod;
use replank_model::time::Time;

use super::context::Context;
use super::held_pods::deadline;

/// Until when a batch pod is waited for on a node that was cordoned then.
pub(super) fn batch_deadline(ctx: &Context<'_>, since: Time, batch: &BatchPod) -> Time {
    deadline(ctx.scope, since, batch)
}

pub(super) fn batch_is_over(ctx: &Context<'_>, since: Time, batch: &BatchPod) -> bool {
    ctx.now >= batch_deadline(ctx, since, batch)
}
