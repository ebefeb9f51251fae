//! What others have in hand: it is said, and nothing is done about it.

use super::context::Context;
use super::member::NodeState;
use replank_protocol::waiting::{RollEnd, Subject, WaitingOn};

/// Says which of the chosen nodes are left to whoever made them: Karpenter, EKS Auto Mode, Fargate. They are in nobody's way:
/// the run is done without them.
pub(super) fn kept(ctx: &mut Context<'_>) {
    let fleet = ctx.fleet;
    for name in fleet.groups.values().flat_map(|nodes| &nodes.kept) {
        if let NodeState::Kept { by } = &ctx.member(name).state {
            let on = WaitingOn::RollEnd(RollEnd::ManagedBy { provisioner: by.clone() });
            ctx.wait(Subject::Node(name.clone()), on);
        }
    }
}
