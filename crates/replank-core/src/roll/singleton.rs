//! Workloads of which no pod can be spared ([`replank_facts::singleton`]), on nodes that are to be emptied.
//!
//! - `evict`: like any other; the workload is missing until its successor is Ready, and where a budget says never, the node waits.
//! - `surge`: a rolling restart of its Deployment moves it. All old nodes are cordoned, so the new pod comes up on a node that
//!   stays, and the old one goes when the new one is Ready. It is asked for once: a pod whose Deployment has been restarted since
//!   the pod was made, or is being rolled out for whatever reason, is waited for. Where a restart would make a gap or could not
//!   finish, the pod is evicted; `check` says so beforehand. A pod that is not Ready has nothing to lose, and is evicted, too.
//! - `skip`: when the node's turn comes, it is left out and uncordoned.

use std::sync::Arc;

use replank_model::object::workload::Deployment;
use replank_model::view::View;

use super::context::Context;
use super::evict::Works;
use super::member::{Member, Scope};
use super::prepare::MARK_LIFE;
use replank_facts::node_pods::{Bound, NodePods};
use replank_facts::plan::Singletons;
use replank_facts::singleton::is_singleton;
use replank_protocol::command::{Mark, NodeRole};
use replank_protocol::owner::Owner;

use crate::moving;

/// The Deployment whose rolling restart is to move a pod.
pub(super) fn moved_by<'v>(scope: &Scope, view: &'v View, bound: &Bound) -> Option<&'v Arc<Deployment>> {
    match scope.plan.care.singletons {
        Singletons::Surge => moving::moved_by(view, &scope.run, bound),
        Singletons::Evict | Singletons::Skip => None,
    }
}

/// Moves a pod by a rolling restart of its Deployment; whether that is how it moves.
pub(super) fn surge(ctx: &mut Context<'_>, works: &mut Works<'_>, bound: &Bound) -> bool {
    let Some(deployment) = moved_by(ctx.scope, ctx.view, bound) else { return false };
    moving::restart(ctx, deployment, bound, || works.find_room_beside(&bound.pod));
    true
}

/// Leaves a node out that has a pod which the plan does not move; whether it is left out.
pub(super) fn skip(ctx: &mut Context<'_>, member: &Member, node_pods: &NodePods) -> bool {
    let is_left_out = match ctx.scope.plan.care.singletons {
        Singletons::Skip => node_pods.movers.iter().any(|bound| is_singleton(ctx.view, bound.ix, &bound.pod)),
        Singletons::Evict | Singletons::Surge => false,
    };
    if is_left_out {
        let mark =
            Mark { owner: Owner::Run, role: NodeRole::Skipped, since: ctx.now, expires: ctx.now + MARK_LIFE };
        let key = ctx.key("skip", &member.uid);
        ctx.mark(member, "mark for a skipped node", key, mark);
    }
    is_left_out
}
