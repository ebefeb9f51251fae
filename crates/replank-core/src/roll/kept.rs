//! Whether replaced nodes are kept.

use replank_facts::plan::Retained;
use replank_model::time::Time;
use replank_protocol::command::{Mark, NodeRole};
use replank_protocol::owner::Owner;

use super::context::Context;
use super::member::{Member, Scope};
use super::prepare::MARK_LIFE;

/// What is kept. On the way back, of what failed, nothing is.
pub(super) fn kept(scope: &Scope) -> Retained {
    if scope.is_way_back() { Retained::None } else { scope.plan.care.retain.capacity }
}

/// Whether nodes are kept that are empty.
pub(super) fn keeps_nodes(scope: &Scope) -> bool {
    kept(scope) == Retained::Cordoned
}

/// Keeps a node that is empty.
pub(super) fn keep(ctx: &mut Context<'_>, member: &Member, since: Time) {
    let mark = Mark { owner: Owner::Run, role: NodeRole::Retained, since, expires: ctx.now + MARK_LIFE };
    let key = ctx.key("retain", &member.uid);
    ctx.mark(member, "mark for a retained node", key, mark);
}
