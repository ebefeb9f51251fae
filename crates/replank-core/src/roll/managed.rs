//! Externally managed nodes: they are reported and left alone.

use super::context::Context;
use super::member::NodeState;
use replank_protocol::waiting::{RollEnd, Subject, WaitingOn};

/// Reports which of the chosen nodes are left to their provisioner: Karpenter, EKS Auto Mode, Fargate. They block nothing:
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
